"""Assigns a retrieval to an arm: who is served, who is the comparison, and how likely it was.

Decisions where several rules could apply, first match wins:

1. The caller wants memory off: `forced_off`, eligible or not. It may be the off-run of a pair, and
   the receipt stores eligibility apart.
2. Nothing passes the gates: `empty`, also for those who wanted memory on. There is nothing to
   serve, so the retrieval says nothing about memory whatever it is called.
3. The caller promises both runs: `paired`, also when it wants memory on. Never control, because
   the caller makes the comparison itself.
4. The caller wants memory on: `forced_on`.
5. A preview is never control: it stores nothing and shows what would be served.
6. In a suspended cell chance decides between `suspended` and, at the control rate, `retest`.
7. Otherwise chance decides between `control` and `on`.

So who promises a pair or wants memory on is served in a suspended cell as well: such a run can
show that memory helps again.
"""

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

CONTROL_RATE = 0.05


YOUNG_CONTROL_RATE = 0.2


YOUNG_BELOW = 30


class Arm(StrEnum):
    """How a retrieval was served."""

    ON = "on"
    CONTROL = "control"
    FORCED_ON = "forced_on"
    FORCED_OFF = "forced_off"
    PAIRED = "paired"
    EMPTY = "empty"
    SUSPENDED = "suspended"
    RETEST = "retest"


class Purpose(StrEnum):
    """What the caller will do with the guideline."""

    ACT = "act"
    PAIRED = "paired"
    REPLAY = "replay"
    PREVIEW = "preview"


class Reason(StrEnum):
    """Why an arm was assigned; an empty guideline is answered with it."""

    CALLER_WANTS_OFF = "caller_wants_off"
    NOTHING_TO_SERVE = "nothing_to_serve"
    CALLER_PAIRS = "caller_pairs"
    CALLER_WANTS_ON = "caller_wants_on"
    PREVIEW = "preview"
    RANDOMISED = "randomised"
    SUSPENDED = "suspended_negative_transfer"
    RETESTED = "retested"


@dataclass(frozen=True, slots=True)
class Ask:
    """What the assignment depends on.

    `control_outcomes` counts the outcomes of the cell's control arm so far: a young cell is given
    more control. `control_rate` in [0, 1] replaces both built-in rates; 0 is no control arm.
    """

    arm: Literal["auto", "on", "off"]
    purpose: Purpose
    eligible: bool
    control_outcomes: int
    control_rate: float | None = None
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The arm, the probability it had, and why."""

    arm: Arm
    propensity: float
    reason: Reason


def assign(ask: Ask, chance: random.Random) -> Assignment:
    """The arm of one retrieval; chance is asked only where the arm is randomised."""
    settled = _settled(ask)
    if settled is not None:
        arm, reason = settled
        return Assignment(arm, 1.0, reason)
    rate = control_rate(ask)
    if ask.suspended:
        if chance.random() < rate:
            return Assignment(Arm.RETEST, rate, Reason.RETESTED)
        return Assignment(Arm.SUSPENDED, 1 - rate, Reason.SUSPENDED)
    if chance.random() < rate:
        return Assignment(Arm.CONTROL, rate, Reason.RANDOMISED)
    return Assignment(Arm.ON, 1 - rate, Reason.RANDOMISED)


def control_rate(ask: Ask) -> float:
    """The share of randomised retrievals that go without memory."""
    if ask.control_rate is not None:
        return ask.control_rate
    return YOUNG_CONTROL_RATE if ask.control_outcomes < YOUNG_BELOW else CONTROL_RATE


def _settled(ask: Ask) -> tuple[Arm, Reason] | None:
    rules = (
        (ask.arm == "off", Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (not ask.eligible, Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (ask.purpose is Purpose.PAIRED, Arm.PAIRED, Reason.CALLER_PAIRS),
        (ask.arm == "on", Arm.FORCED_ON, Reason.CALLER_WANTS_ON),
        (ask.purpose is Purpose.PREVIEW, Arm.ON, Reason.PREVIEW),
    )
    return next(((arm, reason) for applies, arm, reason in rules if applies), None)

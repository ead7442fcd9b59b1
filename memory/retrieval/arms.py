"""The arm of one retrieval: who is served, who is the comparison, and how likely that was.

Where several rules could apply, the first match wins:

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
from typing import Literal

from memory.receipts.entities import Arm, Purpose, Reason

CONTROL_RATE = 0.05


YOUNG_CONTROL_RATE = 0.2


YOUNG_BELOW = 30


@dataclass(frozen=True, slots=True)
class ArmRequest:
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


def assign_arm(request: ArmRequest, chance: random.Random) -> Assignment:
    """The arm of one retrieval; chance is asked only where the arm is randomised."""
    certain = _certain_arm(request)
    if certain is not None:
        return certain
    rate = control_rate(request)
    if request.suspended:
        if chance.random() < rate:
            return Assignment(Arm.RETEST, rate, Reason.RETESTED)
        return Assignment(Arm.SUSPENDED, 1 - rate, Reason.SUSPENDED)
    if chance.random() < rate:
        return Assignment(Arm.CONTROL, rate, Reason.RANDOMISED)
    return Assignment(Arm.ON, 1 - rate, Reason.RANDOMISED)


def control_rate(request: ArmRequest) -> float:
    """The share of randomised retrievals that go without memory."""
    if request.control_rate is not None:
        return request.control_rate
    return YOUNG_CONTROL_RATE if request.control_outcomes < YOUNG_BELOW else CONTROL_RATE


def _certain_arm(request: ArmRequest) -> Assignment | None:
    rules = (
        (request.arm == "off", Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (not request.eligible, Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (request.purpose is Purpose.PAIRED, Arm.PAIRED, Reason.CALLER_PAIRS),
        (request.arm == "on", Arm.FORCED_ON, Reason.CALLER_WANTS_ON),
        (request.purpose is Purpose.PREVIEW, Arm.ON, Reason.PREVIEW),
    )
    found = (Assignment(arm, 1.0, reason) for applies, arm, reason in rules if applies)
    return next(found, None)

"""How far each served memory could have acted on an outcome: its exposure h, in [0, 1].

A meta-guideline always stands beside the memories that it directs, so its exposure is no share of
what they did: it is whether it was followed less the probability that it would be. Over its coin
that is 0 on average, and so is what it is credited with of anything but its own effect: a residual
that is the memories', the agent's or the task's comes with either sign alike (Robins 2004, g-
estimation). Where no coin was tossed it is 0 each time.

Who says which memories an agent acted on, says it best. Without that, similarity stands in: a
memory that is hardly nearer to the task than unrelated texts are could hardly have done anything.
The two are not mixed within a cell, as they grade on different scales: a cell follows what is named
once most of its last outcomes name something. A memory with a verdict has acted, whatever else is
said. Figures and scale: learning study 2, sections 2 and 5; what constraints and meta-guidelines
are given: decisions 40 and 49.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memory.belief.states import State, later

FLOOR = 0.1
"""The least that a served memory could have done, where nobody says what was used."""

SPAN = 0.43
"""Of the way from q99 to 1, how far similarity has to go until a memory is taken to act wholly."""


def acts_wholly_from(q99: float) -> float:
    """The cosine from which on a memory is taken to act wholly, and two tasks to be alike."""
    return q99 + SPAN * (1 - q99)


WINDOW = 50
"""The outcomes by which a cell is judged."""

NAMING_SHARE = (4, 5)
"""The share of them that has to name what was used: 4 of 5."""


class _Usage(NamedTuple):
    """Which of the last outcomes named what was used: the newest is the lowest bit, 1 if it did."""

    history: float
    n: float


NO_USAGE = State(_Usage(0.0, 0.0)[:])


def note_usage(usage: State | None, now: datetime, *, named: bool) -> State:
    """A cell's usage after one more outcome. Where that changes nothing, the same state."""
    before = usage or NO_USAGE
    history, n = _Usage(*before.values)
    bits = (2 * int(history) + named) % 2**WINDOW
    after = _Usage(float(bits), min(n + 1.0, float(WINDOW)))
    if usage is not None and after == usage.values:
        return usage
    return State(after[:], later(before.touched, now))


def follows_used(usage: State | None) -> bool:
    """Whether the cell goes by what outcomes name as used: at least 80 % of its last 50 do, or of
    as many as there are.
    """
    history, n = _Usage(*(usage or NO_USAGE).values)
    part, whole = NAMING_SHARE
    return n > 0.0 and whole * int(history).bit_count() >= part * int(n)


@dataclass(frozen=True, slots=True)
class ExposedMemory:
    """What its receipt says of a memory: its cosine to the task, and whether it directs how the
    others are used, as a meta-guideline does.

    `inclusion`: the probability of its coin, None where none was tossed; `left_out`: how it fell.
    """

    similarity: float
    directs: bool = False
    inclusion: float | None = None
    left_out: bool = False

    @property
    def surprise(self) -> float:
        """Of what directs: whether it was followed, less the probability that it would be."""
        if self.inclusion is None:
            return 0.0
        return -self.inclusion if self.left_out else 1.0 - self.inclusion


@dataclass(frozen=True, slots=True)
class Naming:
    """What an outcome says of the memories that were served; `used` is None where it says nothing.

    `followed`: whether its cell goes by what is named as used.
    """

    used: Collection[UUID] | None
    helpful: Collection[UUID]
    harmful: Collection[UUID]
    followed: bool

    @property
    def judged(self) -> frozenset[UUID]:
        """Those with a verdict; named both helpful and harmful, a memory was told nothing."""
        return frozenset(set(self.helpful) ^ set(self.harmful))


def decide_exposure(
    served: Mapping[UUID, ExposedMemory], named: Naming, q99: float
) -> dict[UUID, float]:
    """The exposure of each served memory, and of a meta-guideline that its coin left out; `q99` is
    that of the model that found them. That of a constraint is its nearest source task's, and tells
    as much.
    """
    used, judged = named.used, named.judged
    found = {i: one.surprise for i, one in served.items() if one.directs}
    others = {i: one for i, one in served.items() if not one.directs}
    if named.followed and used is not None:
        acted = {*used, *judged}
        return found | {i: 1.0 if i in acted else 0.0 for i in others}
    similar = {i: ramp(one.similarity, q99) for i, one in others.items()}
    return found | similar | dict.fromkeys(judged & others.keys(), 1.0)


def ramp(similarity: float, q99: float) -> float:
    """From the floor at the model's q99 to 1. A model under which nothing is apart tells nothing:
    with q99 at 1 everything acts.
    """
    if q99 >= 1.0:
        return 1.0
    return min(1.0, max(FLOOR, (similarity - q99) / (SPAN * (1.0 - q99))))

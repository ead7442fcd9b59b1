"""When probation ends, when a memory retires, what may be done to its status, which texts are one,
and how far from its category a memory is looked for. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.kernel.errors import Conflict
from memory.kernel.likeness import TWIN, signature
from memory.memories.entities import Status

CREDITS_TO_RISE, CREDITS_TO_FALL = 3, 5


WEIGHT_TO_RISE, WEIGHT_TO_FALL = 1.0, 0.8


def after_probation(effective_weight: float, credited: int) -> Status | None:
    """Active, rejected, or None where the outcomes do not say yet. The weight is the whole one,
    not halved.
    """
    if credited >= CREDITS_TO_RISE and effective_weight > WEIGHT_TO_RISE:
        return Status.ACTIVE
    if credited >= CREDITS_TO_FALL and effective_weight <= WEIGHT_TO_FALL:
        return Status.REJECTED
    return None


# A memory retires when its effective weight has fallen this low on this much evidence, or when it
# was neither served nor credited for this long and has nothing to show (source: the archive rule
# of weight <= .2 with at least 5 uses, or 180 days without use).
LOW_WEIGHT = 0.2


ENOUGH_CREDITS = 5


DISUSE = timedelta(days=180)


_RESTORABLE = frozenset({Status.SUSPENDED, Status.RETIRED})


_STOPPABLE = frozenset({Status.ACTIVE, Status.PROBATION, Status.SUSPENDED})


@dataclass(frozen=True, slots=True)
class RetirementCase:
    """What retirement looks at. `last_used` is when it was learned, last served or last
    credited.
    """

    effective_weight: float
    credited: int
    last_used: datetime
    pinned: bool


def find_retirement_reason(case: RetirementCase, now: datetime) -> str | None:
    """Why the memory should retire now; None where it should stay. A pinned one always stays."""
    if case.pinned:
        return None
    if case.effective_weight <= LOW_WEIGHT and case.credited >= ENOUGH_CREDITS:
        return "low_weight"
    if case.credited == 0 and now - case.last_used >= DISUSE:
        return "disuse"
    return None


def next_status(current: Status, action: str) -> Status:
    """The status after suspend, retire or restore. Raises Conflict where that cannot be done."""
    allowed = _RESTORABLE if action == "restore" else _STOPPABLE
    target = {
        "suspend": Status.SUSPENDED,
        "retire": Status.RETIRED,
        "restore": Status.ACTIVE,
    }[action]
    if current not in allowed or current is target:
        done = {"suspend": "suspended", "retire": "retired", "restore": "restored"}[action]
        raise Conflict(f"a memory that is {current} cannot be {done}", code="status_conflict")
    return target


__all__ = ["TWIN", "is_twin"]


def is_twin(first: str, second: str, cosine: float) -> bool:
    """Whether two texts are one, given the cosine of their vectors."""
    return cosine >= TWIN and signature(first) == signature(second)


ENOUGH = 3
"""A bucket with fewer than this many borrows."""


MULTIPLIERS = (1.0, 0.9, 0.8, 0.7)
"""What a memory counts in the category asked for, in its parent, in those that the taxonomy calls
related, and anywhere else.
"""


def back_off(sizes: Mapping[int, int]) -> dict[int, float]:
    """The buckets to look in, 0 being the exact one, and what a memory counts in each.

    `sizes` says how many memories are in each bucket and not in a nearer one.
    """
    opened: dict[int, float] = {}
    held = 0
    for bucket, multiplier in enumerate(MULTIPLIERS):
        opened[bucket] = multiplier
        held += sizes.get(bucket, 0)
        if held >= ENOUGH:
            break
    return opened

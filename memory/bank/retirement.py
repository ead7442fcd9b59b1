"""When a memory retires, and what a change of status by hand may be."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.domain.bank import Status
from memory.errors import Conflict

# A memory retires when its effective weight has fallen this low on this much evidence, or when it
# was neither served nor credited for this long and has nothing to show (source: the archive rule
# of weight <= .2 with at least 5 uses, or 180 days without use).
LOW_WEIGHT = 0.2
ENOUGH_CREDITS = 5
DISUSE = timedelta(days=180)

_RESTORABLE = frozenset({Status.SUSPENDED, Status.RETIRED})
_STOPPABLE = frozenset({Status.ACTIVE, Status.PROBATION, Status.SUSPENDED})


@dataclass(frozen=True, slots=True)
class Standing:
    """What retirement looks at. `last_used` is when it was learned, last served or last
    credited.
    """

    effective_weight: float
    credited: int
    last_used: datetime
    pinned: bool


def retires(standing: Standing, now: datetime) -> str | None:
    """Why the memory should retire now; None where it should stay. A pinned one always stays."""
    if standing.pinned:
        return None
    if standing.effective_weight <= LOW_WEIGHT and standing.credited >= ENOUGH_CREDITS:
        return "low_weight"
    if standing.credited == 0 and now - standing.last_used >= DISUSE:
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
        raise Conflict(f"a memory that is {current} cannot {action}", code="status_conflict")
    return target

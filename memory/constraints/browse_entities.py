"""What a list of constraints shows beside each, and all of them by kind of task."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ConstraintCluster:
    """Constraints about one kind of task."""

    category: str
    subcategory: str | None
    n: int
    """All of them that the viewer may see, retired and rejected ones aside."""
    in_use: int
    """Those that are served, on probation among them."""
    waiting: int
    """Those that are proposed and wait for proof or for a manager's word."""
    conflicting: int
    """Those that an open contradiction names."""


@dataclass(frozen=True, slots=True)
class ConstraintLinks:
    """Where a constraint leads: its open contradictions, and the newest pairs that support it."""

    contradictions: tuple[UUID, ...] = ()
    contrasts: tuple[UUID, ...] = ()

"""Changes of what is in the bank: status, trust, and either of many memories at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, Name
from memory.kernel.text import NAME, optional
from memory.memories.entities import Trust

MAX_BULK = 256


@dataclass(frozen=True, slots=True)
class StatusChange:
    """suspend, retire or restore, and why."""

    action: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.action not in ("suspend", "retire", "restore"):
            raise Rejected("action must be suspend, retire or restore", field="action")
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class MergeInto:
    """Which memory says the same and stays, and why."""

    __pydantic_config__ = INPUT

    into: UUID
    """The memory that stays; it takes over the evidence and the origins of the other."""
    reason: Name | None = None
    """Why, for the audit trail."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class TrustChange:
    """Whether a memory's source is believed from now on."""

    __pydantic_config__ = INPUT

    trust: Trust
    """`quarantined` keeps the memory from all retrievals."""
    reason: Name | None = None
    """Why, for the audit trail."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class BulkChange:
    """One action on many memories."""

    __pydantic_config__ = INPUT

    ids: Annotated[Sequence[UUID], Field(min_length=1, max_length=MAX_BULK)]
    """The memories."""
    action: Literal["suspend", "retire", "restore", "trust"]
    """What to do with each of them."""
    trust: Trust | None = None
    """Given with the action of that name alone."""
    reason: Name | None = None
    """Why, for the audit trail."""

    def __post_init__(self) -> None:
        if self.action not in ("suspend", "retire", "restore", "trust"):
            raise Rejected("action must be suspend, retire, restore or trust", field="action")
        if (self.action == "trust") != (self.trust is not None):
            raise Rejected("trust goes with action trust, and only with it", field="trust")
        if not 1 <= len(self.ids) <= MAX_BULK:
            raise Rejected(f"ids takes 1…{MAX_BULK}", field="ids", limit=MAX_BULK)
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))

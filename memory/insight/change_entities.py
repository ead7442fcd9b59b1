"""What changed in a namespace, as a reader follows it."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from memory.kernel.fields import OUTPUT

ChangedPart = Literal[
    "experience",
    "constraint",
    "meta_guideline",
    "memory",
    "agent",
    "category",
    "centroid",
    "taxonomy",
    "support",
    "cell",
    "strength",
    "record",
]
"""What changed: memories of a kind, with their status; `memory`: their texts, vectors and weights;
what routes a task (`category`, `centroid`, `taxonomy`); what a constraint rests on (`support`);
what an agent's cells have learned (`cell`, `strength`) and how each ranker did (`record`).
"""


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """How far a reader has come: all that was seen in a snapshot of the database; within the
    changes up to a later one, the last that was read.

    `version` and `at` are the version of the bank and the database's time of that snapshot.
    """

    seen: str
    version: int
    at: datetime
    until: str | None = None
    until_version: int = 0
    until_at: datetime | None = None
    last: int = 0

    @property
    def oldest(self) -> int:
        """Every transaction below this one was seen, or will never be."""
        return int(self.seen.partition(":")[0])

    @property
    def next_transaction(self) -> int:
        """No transaction had come this far."""
        return int(self.seen.split(":")[1])

    def up_to(self, now: "FeedPosition") -> "FeedPosition":
        """The same reader, who reads what was written until then."""
        if self.until is not None:
            return self
        return replace(self, until=now.seen, until_version=now.version, until_at=now.at, last=0)

    def after(self, last: int) -> "FeedPosition":
        """Once this change was read too, of more to come."""
        return replace(self, last=last)

    def finished(self) -> "FeedPosition":
        """Once everything up to the later snapshot was read."""
        assert self.until is not None
        assert self.until_at is not None
        return FeedPosition(self.until, self.until_version, self.until_at)


@dataclass(frozen=True, slots=True)
class BankChange:
    """Rows that one transaction wrote."""

    __pydantic_config__ = OUTPUT

    part: ChangedPart
    """What changed."""
    memory_ids: tuple[UUID, ...]
    """The memories that it is about, of those that the caller may read; empty where it is about
    none.
    """
    recorded_at: datetime
    """When it was written, to the second."""


@dataclass(frozen=True, slots=True)
class ReadChanges:
    """Changes in the order in which they were written, and where the reader is after each."""

    changes: tuple[BankChange, ...]
    positions: tuple[FeedPosition, ...]
    reached: FeedPosition
    has_more: bool


@dataclass(frozen=True, slots=True)
class ChangePage:
    """A page of what changed."""

    __pydantic_config__ = OUTPUT

    items: tuple[BankChange, ...]
    """The changes, each once; what one transaction wrote of one part is one change."""
    after: str
    """To be sent for what comes after these; good for 23 hours."""
    has_more: bool
    """Whether there is more already."""

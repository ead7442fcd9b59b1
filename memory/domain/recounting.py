"""A receipt told to people: why each memory stands where it does, and what was said of the run."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from memory.domain.bank import MemoryText
from memory.domain.loop import Outcome, Receipt
from memory.domain.task import Task


@dataclass(frozen=True, slots=True)
class Explanation:
    """A receipt, and a sentence for each of its memories."""

    receipt: Receipt
    sentences: Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class Recount:
    """One turn of the loop, from task to outcome.

    `texts`: each memory's words as they were served, by id; a memory that was erased, or that the
    caller may not see, has none. `outcomes`: all that was reported, oldest first; `effective` is
    the one that counts, None while there is none.
    """

    explanation: Explanation
    task: Task | None
    texts: Mapping[UUID, MemoryText]
    outcomes: tuple[Outcome, ...]
    effective: UUID | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A receipt in a list, without its items: its task's words, the outcome in effect, and how
    many were reported.
    """

    receipt: Receipt
    task: str | None
    effective: Outcome | None
    reported: int

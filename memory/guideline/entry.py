"""What the compiler is given: chosen memories, and the meta-guideline to use them by."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.domain.bank import Trust
from memory.domain.guidance import Directives


class CutReason(StrEnum):
    """Why an entry is not in the guideline."""

    BUDGET = "budget"
    QUARANTINED = "quarantined"
    EMPTY = "empty"
    LEFT_OUT = "left_out"  # a language model had no use for it
    CATEGORY = "category"  # cross_category: exclude
    DISAGREEMENT = "disagreement"  # on_disagreement: strongest or drop
    MAX_MEMORIES = "max_memories"


@dataclass(frozen=True, slots=True)
class Entry:
    """A chosen memory as the compiler needs it; ids are distinct among the entries of a call.

    `rank` is the place the ranker gave it. `sign` is where its evidence points in this cell: 1 it
    helped, -1 it did harm, 0 not known.
    """

    id: UUID
    kind: str
    situation: str
    lesson: str
    author: str
    score: float
    effective_weight: float
    trust: Trust
    learned_at: datetime
    category: str = ""
    rank: int = 0
    sign: int = 0


@dataclass(frozen=True, slots=True)
class Guidance:
    """The meta-guideline to compile by; `category` is the task's. Its id is no entry's."""

    id: UUID
    instruction: str
    author: str
    effective_weight: float
    trust: Trust
    learned_at: datetime
    directives: Directives
    category: str

"""What the compiler is given: chosen memories, and the meta-guideline to use them by."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol
from uuid import UUID

from pydantic import Field

from memory.belief.rankers import Standing, earned, standing
from memory.kernel.errors import Rejected
from memory.kernel.fields import BOTH_WAYS, Whole
from memory.memories.entities import Trust
from memory.receipts.entities import Item

MAX_MEMORIES = 64


class Order(StrEnum):
    """In which order the notes of a guideline stand; the strongest are chosen whatever it is."""

    STRONGEST = "strongest"
    NEWEST = "newest"
    AS_RANKED = "as_ranked"


class CrossCategory(StrEnum):
    """Whether experiences of another category than the task's may be shown."""

    ALLOW = "allow"
    EXCLUDE = "exclude"


class OnDisagreement(StrEnum):
    """What becomes of memories the evidence of which points in opposite directions."""

    SHOW_BOTH = "show_both"  # and say of each which way its evidence points
    STRONGEST = "strongest"  # those that agree with the strongest of them
    DROP = "drop"  # none of them


@dataclass(frozen=True, slots=True)
class Directives:
    """What the compiler does by itself; what is left out changes nothing."""

    __pydantic_config__ = BOTH_WAYS

    order: Order = Order.STRONGEST
    """The order in which memories are listed."""
    max_memories: Annotated[Whole, Field(ge=1, le=MAX_MEMORIES)] | None = None
    """The largest number of memories that are listed."""
    cross_category: CrossCategory = CrossCategory.ALLOW
    """Whether memories of other categories are listed."""
    on_disagreement: OnDisagreement | None = None
    """What happens to memories that point in opposite directions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", Order(self.order))
        object.__setattr__(self, "cross_category", CrossCategory(self.cross_category))
        if self.on_disagreement is not None:
            object.__setattr__(self, "on_disagreement", OnDisagreement(self.on_disagreement))
        if self.max_memories is not None and not 1 <= self.max_memories <= MAX_MEMORIES:
            raise Rejected(
                f"directives.max_memories must lie in 1…{MAX_MEMORIES}",
                field="directives.max_memories",
                limit=[1, MAX_MEMORIES],
            )

    def stored(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def read(cls, detail: Mapping[str, object]) -> "Directives":
        """The directives in a memory's detail; what was erased directs nothing."""
        stored = detail.get("directives") or {}
        return cls(**stored)  # pyright: ignore[reportCallIssue] - written by `stored`, above


@dataclass(frozen=True, slots=True)
class Entry:
    """A chosen memory as the compiler needs it; ids are distinct among the entries of a call.

    `rank` is the place the ranker gave it. `sign` is where its evidence points in this cell: 1 it
    helped, -1 it did harm, 0 not known. `credited`, `helpful` and `harmful` count outcomes: those
    that moved it, and those whose reporter named it so. `disputed`: another entry of the call
    speaks against it.
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
    credited: int = 0
    helpful: int = 0
    harmful: int = 0
    earned: float = 0.0
    disputed: bool = False

    @property
    def standing(self) -> Standing:
        """Of entries that say the same, the smallest speaks for all."""
        return standing(self, trusted=self.trust is Trust.TRUSTED)


# A weight this far from neutral (.02 of reward, the dead band of a paired gap), learned from this
# many outcomes, says which way a memory's evidence points.
SIGNED_WEIGHT = 0.2


ENOUGH_CREDITS = 3


def sign_of(effective_weight: float, credited: int) -> int:
    """Where the evidence of a memory points: 1 it helped, -1 it did harm, 0 not known."""
    if credited < ENOUGH_CREDITS or abs(effective_weight - 1.0) < SIGNED_WEIGHT:
        return 0
    return 1 if effective_weight > 1.0 else -1


@dataclass(frozen=True, slots=True)
class Guidance:
    """The meta-guideline to compile by; `category` is the task's, None where it was only guessed:
    on that ground nothing is cut. Its id is no entry's.
    """

    id: UUID
    instruction: str
    author: str
    effective_weight: float
    trust: Trust
    learned_at: datetime
    directives: Directives
    category: str | None


class CitableRow(Protocol):
    """A stored memory's words and what is known of them."""

    @property
    def id(self) -> UUID: ...
    @property
    def situation(self) -> str: ...
    @property
    def lesson(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def trust(self) -> str: ...
    @property
    def learned_at(self) -> datetime: ...
    @property
    def category(self) -> str: ...
    @property
    def start_weight(self) -> float: ...
    @property
    def n_credited(self) -> int: ...
    @property
    def n_helpful(self) -> int: ...
    @property
    def n_harmful(self) -> int: ...


def entry_of(row: CitableRow, item: Item) -> Entry:
    """A memory of either kind as the compiler needs it, with the numbers it was chosen by."""
    return Entry(
        id=row.id,
        kind=item.kind,
        situation=row.situation,
        lesson=row.lesson,
        author=row.agent,
        score=item.score,
        effective_weight=item.effective_weight,
        trust=Trust(row.trust),
        learned_at=row.learned_at,
        category=row.category,
        rank=item.rank,
        sign=sign_of(item.effective_weight, row.n_credited),
        credited=row.n_credited,
        helpful=row.n_helpful,
        harmful=row.n_harmful,
        earned=earned(item.effective_weight, row.start_weight, row.n_credited),
    )


def without_counts(entry: Entry) -> Entry:
    """For a moment in the past: what has been counted since was not known then."""
    return replace(entry, credited=0, helpful=0, harmful=0)

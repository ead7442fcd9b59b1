"""Memories of all kinds as people look through them: filters, order, and what stands around one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.domain.bank import MAX_WEIGHT, Erased, Kind, Memory, Status, Trust
from memory.domain.history import Moment
from memory.domain.text import NAME, cleaned, optional
from memory.errors import Rejected

NEIGHBOURS = 8
MAX_BULK = 256
MAX_FORESEEN = 500
SOUGHT = 500


class Sort(StrEnum):
    RECORDED = "recorded_at"
    WEIGHT = "weight"
    SERVED = "served"
    CREDITED = "credited"


@dataclass(frozen=True, slots=True)
class Sought:
    """Which memories; None does not filter. `text` is looked for in situation and lesson, in any
    case; weights are effective ones for no agent in particular, bounds included.
    """

    kind: Kind | None = None
    status: Status | None = None
    trust: Trust | None = None
    category: str | None = None
    agent: str | None = None
    text: str | None = None
    min_weight: float | None = None
    max_weight: float | None = None

    def __post_init__(self) -> None:
        if self.text is not None:
            object.__setattr__(self, "text", cleaned(self.text, "text", SOUGHT))
        for name in ("min_weight", "max_weight"):
            bound: float | None = getattr(self, name)
            if bound is not None and not 0.0 <= bound <= MAX_WEIGHT:
                raise Rejected(f"{name} lies outside [0, {MAX_WEIGHT}]", field=name)
        if self.weighed and self.lowest > self.highest:
            raise Rejected("min_weight lies above max_weight", field="min_weight")

    @property
    def weighed(self) -> bool:
        """Whether weights decide what matches."""
        return self.min_weight is not None or self.max_weight is not None

    @property
    def lowest(self) -> float:
        return 0.0 if self.min_weight is None else self.min_weight

    @property
    def highest(self) -> float:
        return MAX_WEIGHT if self.max_weight is None else self.max_weight


@dataclass(frozen=True, slots=True)
class Browse:
    """What to list, in which order, and as of when."""

    sought: Sought = field(default_factory=Sought)
    sort: Sort = Sort.RECORDED
    descending: bool = False
    moment: Moment = field(default_factory=Moment)

    def __post_init__(self) -> None:
        if not self.moment.now and self.sort in (Sort.SERVED, Sort.CREDITED):
            raise Rejected("counts are those of now: sort a past bank by weight", field="sort")


@dataclass(frozen=True, slots=True)
class Browsed:
    """A memory in a list, with how often it was served and credited until now.

    In the bank of a moment its text, status and weight are those of that moment.
    """

    memory: Memory
    served: int
    credited: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory whose situation is near: the cosine of the two situations' vectors."""

    memory: Memory
    cosine: float


@dataclass(frozen=True, slots=True)
class Episode:
    """One receipt in which a memory was served, and what came of it.

    The rewards are of the outcome in effect, None while there is none. `weight_before` and
    `weight_after` are around the step that this outcome was for the memory, None where it moved
    nothing.
    """

    retrieval_id: UUID
    known_at: datetime
    agent: str
    category: str
    arm: str
    version: int
    rank: int
    similarity: float
    cited: bool
    outcome_id: UUID | None
    status: str | None
    evidence: str | None
    reason: str | None
    reward: float | None
    reward_without: float | None
    weight_before: float | None
    weight_after: float | None


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What came of one memory for one agent in one category.

    Means are over outcomes in effect that moved something; `n_pairs` of the `n` had a reward
    without memory. `deviation` is how far the agent's belief stands from the memory's, in reward;
    it is one number for all of the agent's categories. None where it has no evidence.
    """

    agent: str
    category: str
    served: int
    n: int
    reward: float | None
    n_pairs: int
    reward_without: float | None
    deviation: float | None
    effective_weight: float


@dataclass(frozen=True, slots=True)
class TrustChange:
    """Whether the source is believed from now on, and why."""

    trust: Trust
    reason: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class Bulk:
    """One action on many memories; `trust` is given with the action of that name alone."""

    ids: Sequence[UUID]
    action: str
    trust: Trust | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.action not in ("suspend", "retire", "restore", "trust"):
            raise Rejected("action must be suspend, retire, restore or trust", field="action")
        if (self.action == "trust") != (self.trust is not None):
            raise Rejected("trust goes with action trust, and only with it", field="trust")
        if not 1 <= len(self.ids) <= MAX_BULK:
            raise Rejected(f"ids takes 1…{MAX_BULK}", field="ids", limit=MAX_BULK)
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class Derived:
    """A memory that stays but rests on what goes, and by how many of its `supports`."""

    memory_id: UUID
    kind: Kind
    lost: int
    supports: int


@dataclass(frozen=True, slots=True)
class ForeseenErasure:
    """What an erasure would take: the counts it would answer with, and which rows it would reach.

    Lists name at most MAX_FORESEEN; counts count all.
    """

    erased: Erased
    memory_ids: tuple[UUID, ...]
    retrieval_ids: tuple[UUID, ...]
    derived: tuple[Derived, ...]

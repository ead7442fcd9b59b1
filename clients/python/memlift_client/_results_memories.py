"""What the server answers about memories of all kinds and what stands around one, frozen."""

from dataclasses import dataclass
from datetime import datetime

from memlift_client._results_bank import Erased, Memory


@dataclass(frozen=True, slots=True)
class BrowsedMemory(Memory):
    """A memory in a list; how often it was served and credited until now."""

    served: int = 0
    credited: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory whose situation is near, with the cosine of the two situations."""

    memory_id: str
    kind: str
    status: str
    agent: str
    category: str
    situation: str
    lesson: str
    effective_weight: float
    cosine: float


@dataclass(frozen=True, slots=True)
class Episode:
    """A receipt in which the memory was served, with the outcome in effect, if there is one."""

    retrieval_id: str
    known_at: datetime
    agent: str
    category: str
    arm: str
    version: int
    rank: int
    similarity: float
    cited: bool
    outcome_id: str | None
    status: str | None
    evidence: str | None
    reason: str | None
    reward: float | None
    reward_without: float | None
    weight_before: float | None
    weight_after: float | None


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What came of the memory for one agent in one category."""

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
class Changed:
    """One memory after a bulk change."""

    id: str
    memory_status: str
    trust: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A memory that would stay, and how many of its supports it would lose."""

    memory_id: str
    kind: str
    lost: int
    supports: int


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure would reach, at most 500 of each."""

    memory_ids: tuple[str, ...]
    retrieval_ids: tuple[str, ...]
    derived: tuple[Derived, ...]


@dataclass(frozen=True, slots=True)
class ForeseenErasure:
    """What an erasure would take."""

    erased: Erased
    reach: Reach | None

"""What the server answers about constraints, frozen. Ids are text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memlift_client._results_bank import Remembered


@dataclass(frozen=True, slots=True)
class AddedConstraint(Remembered):
    """What became of a constraint; `lint` says why it was rejected, where it was."""

    lint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SupportCounts:
    """What speaks for a constraint: distinct tasks, agent pairs, families and keys of what counts;
    `contrasts` is all of it.
    """

    contrasts: int
    tasks: int
    agent_pairs: int
    families: int
    keys: int
    agnostic_score: float


@dataclass(frozen=True, slots=True)
class Constraint:
    """When `trigger`, enforce this, avoid that. `origin` is distilled or written."""

    id: str
    origin: str
    status: str
    status_reason: str | None
    trust: str
    visibility: str
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    trigger: str
    enforce: str | None
    avoid: str | None
    lint: tuple[str, ...]
    support: SupportCounts
    task_ids: tuple[str, ...]
    metadata: Mapping[str, object]
    version: int
    evidence: int
    effective_weight: float
    learned_at: datetime
    recorded_at: datetime
    bank_version: int


@dataclass(frozen=True, slots=True)
class Support:
    """One piece of support: a contrast of two runs, or its author's word (no contrast)."""

    id: str
    contrast_id: str | None
    task_id: str
    preferred_agent: str | None
    unpreferred_agent: str | None
    preferred_family: str | None
    unpreferred_family: str | None
    preferred_size: str | None
    unpreferred_size: str | None
    pair_class: str | None
    verifier: str
    counts: bool
    known_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two constraints that cannot both be followed."""

    id: str
    first_id: str
    second_id: str
    category: str
    reason: str
    likeness: float
    state: str
    resolution: str | None
    resolution_reason: str | None
    recorded_at: datetime
    resolved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ServedConstraint:
    """A constraint in an answer: when `trigger`, enforce and avoid; and the numbers it was chosen
    by. `similarity` is that of the nearest task it was learned from.
    """

    memory_id: str
    version: int
    trigger: str
    enforce: str | None
    avoid: str | None
    category: str
    subcategory: str | None
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    cited: bool
    origin: str
    support: SupportCounts
    task_ids: tuple[str, ...] = ()
    rank: int = 0
    agent: str | None = None
    learned_at: datetime | None = None

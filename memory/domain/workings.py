"""The workings of a retrieval: every stage with its numbers, for who asks why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.domain.task import CategoryName


class Fate(StrEnum):
    """What selecting does with a candidate.

    served: it has a place. slot: it was drawn into the last place. displaced: it had the last
    place, and the slot took it. raw_gate: not similar enough. score_floor: its score is too low.
    group: another memory of its source group has a place. probation: the one place for a memory on
    probation is taken. beyond_k: all k places are taken.
    """

    SERVED = "served"
    SLOT = "slot"
    DISPLACED = "displaced"
    RAW_GATE = "raw_gate"
    SCORE_FLOOR = "score_floor"
    GROUP = "group"
    PROBATION = "probation"
    BEYOND_K = "beyond_k"


class RoutedBy(StrEnum):
    """Whose word the category is: the task's, the caller's, the nearest centroid's, or nobody's."""

    TASK = "task"
    CALLER = "caller"
    NEAREST = "nearest"
    NONE_NEAR = "none_near"


@dataclass(frozen=True, slots=True)
class NearCategory:
    """A category, and the cosine of its tasks' centroid to the task, in [0, 1]."""

    category: CategoryName
    similarity: float


@dataclass(frozen=True, slots=True)
class Routing:
    """How the category was found; `near` has the nearest first, also where it was given."""

    by: RoutedBy
    confidence: float
    near: tuple[NearCategory, ...]


@dataclass(frozen=True, slots=True)
class ByRanker:
    """What one ranker makes of a candidate: what it sorts by, the factor for the age of the
    knowledge that is part of it, and what it would do with it.
    """

    order_score: float
    knowledge_age: float
    fate: Fate


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate and what became of it.

    `place`: in the order of the ranker that serves. `deviation`: what this agent's own record adds
    to the effective weight. `served` and `cited`: whether the agent got it, whether the guideline
    says it. `situation` and `lesson` are for a preview alone: an agent that acts reads what it was
    served and nothing else, or the comparison with those who went without would be spoilt.
    """

    memory_id: UUID
    version: int
    place: int
    fate: Fate
    why: str
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    deviation: float
    score: float
    propensity: float
    served: bool
    cited: bool
    credited: int
    probation: bool
    group: str
    learned_at: datetime
    agent: str
    category: CategoryName
    situation: str | None
    lesson: str | None
    rankers: Mapping[str, ByRanker]


@dataclass(frozen=True, slots=True)
class Workings:
    """Every stage of one retrieval, beside its receipt.

    `matching`: how many memories the agent may see; `head`: how many of them were candidates, of
    which `considered` has those placed first and all that are served. `shares`: how far each
    ranker is believed (π). `timings`: milliseconds by stage.
    """

    routing: Routing
    matching: int
    head: int
    considered: tuple[Considered, ...]
    shares: Mapping[str, float]
    timings: Mapping[str, float]

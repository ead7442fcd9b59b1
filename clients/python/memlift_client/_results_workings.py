"""The workings of a retrieval that was asked with `explain`: every stage with its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NearCategory:
    category: str
    subcategory: str | None
    similarity: float


@dataclass(frozen=True, slots=True)
class Routing:
    """How the category was found; `near` has the nearest first."""

    by: str
    confidence: float
    near: tuple[NearCategory, ...]


@dataclass(frozen=True, slots=True)
class ByRanker:
    """What one ranker sorts a candidate by, the factor of age in it, and what it would do."""

    order_score: float
    knowledge_age: float
    fate: str


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate and what became of it; texts only in a preview.

    fate: served, slot, displaced, raw_gate, score_floor, group, probation or beyond_k.
    """

    memory_id: str
    version: int
    place: int
    fate: str
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
    source_group: str
    learned_at: datetime
    agent: str
    category: str
    subcategory: str | None
    situation: str | None
    lesson: str | None
    rankers: Mapping[str, ByRanker]


@dataclass(frozen=True, slots=True)
class Workings:
    """Every stage of one retrieval; `timings` in milliseconds."""

    routing: Routing
    matching: int
    head: int
    considered: tuple[Considered, ...]
    shares: Mapping[str, float]
    timings: Mapping[str, float]

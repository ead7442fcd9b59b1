"""Shapes of the workings of a retrieval: every stage with its numbers."""

from uuid import UUID

from memory.receipts.entities import Fate
from memory.retrieval.entities import ByRanker, Considered, RoutedBy, Routing, Workings
from server.schemas.base import Out, UtcTime


class NearCategoryOut(Out):
    """A category near the task; `similarity` to the centroid of its tasks."""

    category: str
    subcategory: str | None
    similarity: float


class RoutingOut(Out):
    """How the category was found. `near`: the nearest categories, also where it was given."""

    by: RoutedBy
    confidence: float
    near: list[NearCategoryOut]

    @classmethod
    def of(cls, routing: Routing) -> "RoutingOut":
        return cls(
            by=routing.by,
            confidence=routing.confidence,
            near=[
                NearCategoryOut(
                    category=one.category.name,
                    subcategory=one.category.subcategory,
                    similarity=one.similarity,
                )
                for one in routing.near
            ],
        )


class ByRankerOut(Out):
    """What one ranker makes of a candidate: `order_score` is what it sorts by, `knowledge_age` the
    factor in it, `fate` what it would do.
    """

    order_score: float
    knowledge_age: float
    fate: Fate

    @classmethod
    def of(cls, by: ByRanker) -> "ByRankerOut":
        return cls.model_validate(by)


class ConsideredOut(Out):
    """A candidate and what became of it; texts only where the purpose is `preview`."""

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
    source_group: str
    learned_at: UtcTime
    agent: str
    category: str
    subcategory: str | None
    situation: str | None
    lesson: str | None
    rankers: dict[str, ByRankerOut]

    @classmethod
    def of(cls, one: Considered) -> "ConsideredOut":
        return cls(
            memory_id=one.memory_id,
            version=one.version,
            place=one.place,
            fate=one.fate,
            why=one.why,
            similarity=one.similarity,
            relevance=one.relevance,
            effective_weight=one.effective_weight,
            ranking_weight=one.ranking_weight,
            deviation=one.deviation,
            score=one.score,
            propensity=one.propensity,
            served=one.served,
            cited=one.cited,
            credited=one.credited,
            probation=one.probation,
            source_group=one.group,
            learned_at=one.learned_at,
            agent=one.agent,
            category=one.category.name,
            subcategory=one.category.subcategory,
            situation=one.situation,
            lesson=one.lesson,
            rankers={name: ByRankerOut.of(by) for name, by in one.rankers.items()},
        )


class WorkingsOut(Out):
    """Every stage of a retrieval. `matching`: memories the agent may see; `head`: candidates among
    them; `shares`: how far each ranker is believed; `timings`: milliseconds by stage.
    """

    routing: RoutingOut
    matching: int
    head: int
    considered: list[ConsideredOut]
    shares: dict[str, float]
    timings: dict[str, float]

    @classmethod
    def of(cls, workings: Workings) -> "WorkingsOut":
        return cls(
            routing=RoutingOut.of(workings.routing),
            matching=workings.matching,
            head=workings.head,
            considered=[ConsideredOut.of(one) for one in workings.considered],
            shares=dict(workings.shares),
            timings=dict(workings.timings),
        )

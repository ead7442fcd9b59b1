"""Shapes of runs, contrasts, constraints and the taxonomy where the wire differs."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.constraints.contrast_entities import ContrastFilter, ContrastState, PairClass
from memory.constraints.entities import (
    Origin,
    ServedConstraint,
    SupportCounts,
)
from memory.constraints.taxonomy import shipped_draft
from memory.constraints.taxonomy_entities import MAX_ENTRIES, Branch, TaxonomyDraft
from memory.constraints.trajectory_entities import TrajectoryDraft, TrajectoryFilter, Verifier
from memory.kernel.errors import Rejected
from memory.memories.entities import MemoryFilter, Status
from memory.receipts.entities import Item
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import (
    AgentQuery,
    Flag,
    In,
    ListQuery,
    Moment,
    Name,
    Out,
    Refusable,
    UtcTime,
    named,
)
from server.schemas.problems import BatchItem, Problem


class TaxonomyPut(In):
    """A taxonomy of one's own, or the shipped one; at most 500 entries. Differs from
    `TaxonomyDraft`: the shipped one can be named instead of brought.
    """

    categories: Annotated[
        tuple[Branch, ...] | None,
        Field(
            description="the first level, each with its second",
            json_schema_extra={"maxItems": MAX_ENTRIES},
        ),
    ] = None
    default: Flag = Field(default=False, description="whether the shipped taxonomy is meant")
    allow_new: Flag = Field(
        default=False, description="whether categories are accepted that it does not name"
    )

    def to_draft(self) -> TaxonomyDraft:
        if self.default == (self.categories is not None):
            raise Rejected("give exactly one of categories and default", field="categories")
        if self.categories is None:
            return shipped_draft(allow_new=self.allow_new)
        return TaxonomyDraft(self.categories, self.allow_new)


class TrajectoryBatch(In):
    """Runs that are taken in one by one: a bad one does not lose the rest."""

    items: list[Annotated[TrajectoryDraft, Refusable]] = Field(
        min_length=1, max_length=MAX_BATCH, description="each run by itself"
    )


class AddedTrajectoryItem(BatchItem):
    """The result of one item of a batch: a run that was kept, or a problem."""

    id: Annotated[UUID | None, Field(description="names the run for ever")] = None
    task_id: Annotated[UUID | None, Field(description="the task that was run")] = None
    category: Annotated[str | None, Field(description="the task's category")] = None
    subcategory: Annotated[
        str | None, Field(description="the task's second level, if it has one")
    ] = None
    right: Annotated[
        bool | None, Field(description="whether it succeeded; null: nobody vouches")
    ] = None
    problem: Annotated[Problem | None, Field(description="why it was not kept")] = None


class AddedTrajectories(Out):
    """The result of a batch of runs."""

    items: list[AddedTrajectoryItem] = Field(description="in the order of the batch")
    """The items, in the order of the batch."""


class TrajectoryQuery(AgentQuery):
    """Which runs to list. Differs from `TrajectoryFilter`: it is paged, and names are as they were
    typed.
    """

    task_id: UUID | None = None
    category: Name | None = None
    verifier: Verifier | None = None
    retrieval_id: UUID | None = None

    def to_filter(self) -> TrajectoryFilter:
        return TrajectoryFilter(
            agent=self.agent_name(),
            task_id=self.task_id,
            category=named(self.category, "category"),
            verifier=named(self.verifier, "verifier"),
            retrieval_id=self.retrieval_id,
        )


class CompetenceQuery(ListQuery):
    """From runs known by `as_of`; without it, from all."""

    as_of: Moment | None = None


class ContrastQuery(ListQuery):
    """Which contrasts to list. Differs from `ContrastFilter`: it is paged."""

    state: ContrastState | None = None
    pair_class: PairClass | None = None
    task_id: UUID | None = None

    def to_filter(self) -> ContrastFilter:
        return ContrastFilter(self.state, self.pair_class, self.task_id)


class ConstraintServed(Out):
    """A served constraint, and the numbers it was chosen by. Differs from `ServedConstraint`: it
    joins the content with the numbers of the receipt's item.
    """

    memory_id: UUID = Field(description="names the constraint for ever")
    version: int = Field(description="the version of its text that was served")
    rank: int = Field(description="its place among all that was served")
    trigger: str = Field(description="the kind of situation, to be read after the word When")
    enforce: str | None = Field(description="what to do then")
    avoid: str | None = Field(description="what not to do")
    category: str = Field(description="where it applies")
    subcategory: str | None = Field(description="the second level, if it has one")
    similarity: float = Field(description="that of the nearest task it was learned from")
    relevance: float = Field(description="similarity by category and by who ran, in [0, 1]")
    effective_weight: float = Field(description="what it counts for the agent that asks")
    ranking_weight: float = Field(description="the weight that the policy ranks by")
    score: float = Field(description="effective weight times relevance")
    cited: bool = Field(description="whether it stands in the guideline")
    origin: Origin = Field(description="whether a contrast, a check of runs or a caller gave it")
    agent: str = Field(description="who says so")
    support: SupportCounts = Field(description="its support in numbers")
    evidence: str | None = Field(description="what recorded runs say for it, if they were asked")
    task_ids: list[UUID] = Field(description="the near tasks it comes from, the nearest first")
    learned_at: UtcTime = Field(description="when it was learned")

    @classmethod
    def of(cls, constraint: ServedConstraint, item: Item) -> "ConstraintServed":
        wording = constraint.wording
        return cls(
            memory_id=item.memory_id,
            version=item.version,
            rank=item.rank,
            trigger=wording.trigger,
            enforce=wording.enforce,
            avoid=wording.avoid,
            category=constraint.category.name,
            subcategory=constraint.category.subcategory,
            similarity=item.similarity,
            relevance=item.relevance,
            effective_weight=item.effective_weight,
            ranking_weight=item.ranking_weight,
            score=item.score,
            cited=item.cited,
            origin=constraint.origin,
            agent=constraint.agent,
            support=constraint.support,
            evidence=constraint.evidence,
            task_ids=list(constraint.task_ids),
            learned_at=constraint.learned_at,
        )


class ConstraintQuery(AgentQuery):
    """Which constraints to list."""

    status: Status | None = None
    category: Name | None = None
    origin: Origin | None = None

    def to_filter(self) -> MemoryFilter:
        return MemoryFilter(
            status=self.status,
            category=named(self.category, "category"),
            agent=self.agent_name(),
            origin=self.origin,
        )


class ContradictionQuery(ListQuery):
    """Which contradictions to list."""

    state: Literal["open", "resolved", "all"] = "open"

    @property
    def wanted_state(self) -> str | None:
        return None if self.state == "all" else self.state

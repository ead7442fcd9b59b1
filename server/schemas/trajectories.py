"""Shapes of runs and their pairs: many at a time, and how lists are filtered."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.constraints.contrast_entities import ContrastFilter, ContrastState, PairClass
from memory.constraints.trajectory_entities import TrajectoryDraft, TrajectoryFilter, Verifier
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import AgentQuery, In, ListQuery, Moment, Name, Out, Refusable, named
from server.schemas.problems import Problem


class TrajectoryBatch(In):
    """Runs that are taken in one by one: a bad one does not lose the rest."""

    items: list[Annotated[TrajectoryDraft, Refusable]] = Field(
        min_length=1, max_length=MAX_BATCH, description="each run by itself"
    )


class AddedTrajectoryItem(Out):
    """What became of one item of a batch: a run that was kept, or a problem."""

    index: int = Field(description="its place in the batch, from 0")
    status: int = Field(description="the HTTP status it would have had by itself")
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
    """What became of a batch of runs."""

    items: list[AddedTrajectoryItem] = Field(description="in the order of the batch")


class TrajectoryQuery(AgentQuery):
    """Which runs to list. Differs from `TrajectoryFilter`: it is paged, and names are as they were
    typed.
    """

    task_id: UUID | None = None
    category: Name | None = None
    verifier: Verifier | None = None

    def to_filter(self) -> TrajectoryFilter:
        return TrajectoryFilter(
            agent=self.agent_name(),
            task_id=self.task_id,
            category=named(self.category, "category"),
            verifier=named(self.verifier, "verifier"),
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

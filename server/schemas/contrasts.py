"""Shapes of contrasts: pairs of runs, and what became of them."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.constraints.entities import (
    MAX_GROUP,
    PAIR,
    Contrast,
    Contrasted,
    ContrastFilter,
    ContrastRequest,
    ContrastState,
    PairClass,
)
from server.schemas.base import Free, In, ListQuery, Out, UtcTime


class ContrastIn(In):
    """Which runs to hold against each other: two or more of one task, or all of a task."""

    trajectory_ids: Annotated[list[UUID], Field(min_length=PAIR, max_length=MAX_GROUP)] | None = (
        None
    )
    task_id: UUID | None = None

    def to_request(self) -> ContrastRequest:
        return ContrastRequest(tuple(self.trajectory_ids or ()), self.task_id)


class ContrastOut(Out):
    """A pair of runs. `supports` says whether it may be counted for a constraint; `reason` why not,
    or why nothing came of it yet. `rejected` names what the distiller said and could not be used.
    """

    id: UUID
    task_id: UUID
    preferred_id: UUID
    unpreferred_id: UUID
    preferred_agent: str
    unpreferred_agent: str
    pair_class: PairClass
    self_contrast: bool
    supports: bool
    reason: str | None
    state: ContrastState
    distiller: str | None
    memory_ids: list[UUID]
    rejected: list[Free]
    duration_ms: float | None
    tokens: int
    known_at: UtcTime
    recorded_at: UtcTime
    done_at: UtcTime | None

    @classmethod
    def of(cls, contrast: Contrast) -> "ContrastOut":
        return cls.model_validate(contrast)


class ContrastsOut(Out):
    """The pairs of the runs; none where nothing sets them apart."""

    contrasts: list[ContrastOut]

    @classmethod
    def of(cls, done: Contrasted) -> "ContrastsOut":
        return cls(contrasts=[ContrastOut.of(one) for one in done.contrasts])


class ContrastQuery(ListQuery):
    """Which contrasts to list."""

    state: ContrastState | None = None
    pair_class: PairClass | None = None
    task_id: UUID | None = None

    def to_filter(self) -> ContrastFilter:
        return ContrastFilter(self.state, self.pair_class, self.task_id)

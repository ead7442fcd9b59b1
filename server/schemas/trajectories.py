"""Shapes of runs: as they are brought, as they are kept, and what they say of their agents."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.constraints.trajectory_entities import (
    MAX_STEPS,
    RESULT,
    STEP,
    VERIFIERS,
    Competence,
    Kept,
    Step,
    Trajectory,
    TrajectoryBrief,
    TrajectoryDraft,
    TrajectoryFilter,
)
from memory.kernel.text import NAME
from memory.retrieval.entities import MAX_BATCH
from server.schemas.actors import TaskIn
from server.schemas.base import (
    AgentQuery,
    In,
    ListQuery,
    Moment,
    Name,
    Number,
    Out,
    UtcTime,
    hint,
    named,
)
from server.schemas.problems import Problem

StepText = Annotated[str, Field(json_schema_extra=hint(STEP))]  # pyright: ignore[reportArgumentType] - JSON values
Result = Annotated[str, Field(json_schema_extra=hint(RESULT))]  # pyright: ignore[reportArgumentType] - JSON values
Verifier = Annotated[str, Field(max_length=NAME, json_schema_extra={"enum": list(VERIFIERS)})]


class StepIn(In):
    """One step of a run; `kind` in the caller's words (thought, action, observation, …)."""

    text: StepText
    kind: Name | None = None


class TrajectoryIn(In):
    """A run of a task by an agent: at most 1,000 steps and 400,000 characters. `reward` in [0, 1]
    with who vouches for it; `cost`: what the run took, in the caller's unit.
    """

    agent: Name
    task: TaskIn | None = None
    task_id: UUID | None = None
    steps: list[StepIn] = Field(
        default_factory=list[StepIn], json_schema_extra={"maxItems": MAX_STEPS}
    )
    result: Result | None = None
    reward: Number | None = Field(None, json_schema_extra={"minimum": 0, "maximum": 1})
    verifier: Verifier = "none"
    cost: Number | None = Field(None, json_schema_extra={"minimum": 0})
    known_at: Moment | None = None

    def to_draft(self) -> TrajectoryDraft:
        return TrajectoryDraft(
            agent=self.agent,
            steps=tuple(Step(step.text, step.kind) for step in self.steps[: MAX_STEPS + 1]),
            result=self.result,
            reward=self.reward,
            verifier=self.verifier,
            cost=self.cost,
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            known_at=self.known_at,
        )


class TrajectoryBatch(In):
    """Runs that are taken in one by one: a bad one does not lose the rest."""

    items: list[TrajectoryIn] = Field(min_length=1, max_length=MAX_BATCH)


class KeptOut(Out):
    """A run that was kept; `right` is null where nobody vouches for it."""

    id: UUID
    task_id: UUID
    category: str
    subcategory: str | None
    right: bool | None

    @classmethod
    def of(cls, kept: Kept) -> "KeptOut":
        return cls(
            id=kept.id,
            task_id=kept.task_id,
            category=kept.category.name,
            subcategory=kept.category.subcategory,
            right=kept.right,
        )


class KeptItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    id: UUID | None = None
    task_id: UUID | None = None
    category: str | None = None
    subcategory: str | None = None
    right: bool | None = None
    problem: Problem | None = None


class TrajectoriesKept(Out):
    items: list[KeptItem]


class StepOut(Out):
    text: str
    kind: str | None


class TrajectoryLine(Out):
    """A run as a list shows it, without its words."""

    id: UUID
    task_id: UUID
    task_key: str | None
    agent: str
    family: str | None
    size_class: str | None
    category: str
    subcategory: str | None
    n_steps: int
    reward: float | None
    verifier: str
    right: bool | None
    cost: float | None
    known_at: UtcTime
    recorded_at: UtcTime
    erased_at: UtcTime | None

    @classmethod
    def of(cls, brief: TrajectoryBrief) -> "TrajectoryLine":
        return cls.model_validate(_line(brief.run, brief.n_steps))


class TrajectoryOut(TrajectoryLine):
    """A run with its words; they are gone where it was erased."""

    steps: list[StepOut]
    result: str | None

    @classmethod
    def whole(cls, run: Trajectory) -> "TrajectoryOut":
        steps = [StepOut.model_validate(step) for step in run.steps]
        return cls.model_validate(
            _line(run, len(run.steps)) | {"steps": steps, "result": run.result}
        )


def _line(run: Trajectory, n_steps: int) -> dict[str, object]:
    plain: dict[str, object] = {
        name: getattr(run, name) for name in TrajectoryLine.model_fields if hasattr(run, name)
    }
    names = {"category": run.category.name, "subcategory": run.category.subcategory}
    return {**plain, **names, "n_steps": n_steps}


class TrajectoryQuery(AgentQuery):
    """Which runs to list."""

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


class CompetenceOut(Out):
    """How an agent fares in a category: `n` verified runs, their `mean` reward, and `competence` =
    (sum of rewards + 5 * mean of the category) / (n + 5).
    """

    agent: str
    category: str
    n: int
    mean: float
    competence: float

    @classmethod
    def of(cls, found: Competence) -> "CompetenceOut":
        return cls.model_validate(found)

"""A run of a task by an agent, as it is brought and as it is stored."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field, computed_field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Moment, Name, Nested, Number
from memory.kernel.text import NAME, RATIONALE, known_name, optional, optional_name
from memory.memories.entities import PRIVATE
from memory.tasks.entities import TaskDraft
from memory.tasks.run_entities import RESULT, RationaleText, ResultText, Step, Steps, require_size

VERIFIERS = ("human", "test", "judge", "self", "none")


SUPPORTING = frozenset({"human", "test", "judge"})
"""Whose word on a run is worth something to others than the one who ran it."""


RIGHT = 0.5
"""From this reward on a run is right."""


Verifier = Annotated[str, Field(max_length=NAME, json_schema_extra={"enum": list(VERIFIERS)})]


def succeeded(reward: float | None, verifier: str) -> bool | None:
    """Whether a run did; None where nobody said so."""
    if reward is None or verifier == "none":
        return None
    return reward >= RIGHT


@dataclass(frozen=True, slots=True)
class TrajectoryDraft:
    """A run of a task by an agent: at most 1,000 steps and 400,000 characters."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who ran."""
    steps: Steps = ()
    """What it did, in order."""
    result: ResultText | None = None
    """What it came to."""
    rationale: RationaleText | None = None
    """Why, in the agent's own words."""
    reward: Annotated[Number, Field(json_schema_extra={"minimum": 0, "maximum": 1})] | None = None
    """How well it went, in [0, 1]; null: no verdict."""
    verifier: Verifier = "none"
    """Who vouches for the reward; `none`: no verdict."""
    cost: Annotated[Number, Field(json_schema_extra={"minimum": 0})] | None = None
    """What the run took, in the caller's unit; null: its number of steps counts."""
    task: Annotated[TaskDraft, Nested] | None = None
    """The task in the caller's words; give this, `task_id` or `retrieval_id`."""
    task_id: UUID | None = None
    """A task that is stored."""
    task_variant: Name | None = None
    """Which version of the task was run, where there are several; runs of two are no pair."""
    retrieval_id: UUID | None = None
    """The receipt behind which this run stands: its agent ran, and its task was run."""
    known_at: Moment | None = None
    """When the run was known; set in `replay` namespaces alone."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        object.__setattr__(self, "result", optional(self.result, "result", RESULT))
        object.__setattr__(self, "rationale", optional(self.rationale, "rationale", RATIONALE))
        variant = optional_name(self.task_variant, "task_variant")
        object.__setattr__(self, "task_variant", variant)
        require_size(self.steps, self.result, self.rationale)
        named = [one for one in (self.task, self.task_id, self.retrieval_id) if one is not None]
        if len(named) != 1:
            raise Rejected("give exactly one of task, task_id and retrieval_id", field="task")
        self._require_verdict()

    @property
    def right(self) -> bool | None:
        """Whether it succeeded; None where nobody said so."""
        return succeeded(self.reward, self.verifier)

    def _require_verdict(self) -> None:
        if self.verifier not in VERIFIERS:
            raise Rejected(
                f"verifier must be one of {VERIFIERS}", field="verifier", limit=list(VERIFIERS)
            )
        if self.reward is not None and not 0.0 <= self.reward <= 1.0:
            raise Rejected("reward lies outside [0, 1]", field="reward", limit=[0, 1])
        if self.reward is None and self.verifier != "none":
            raise Rejected("a verifier vouches for a reward: give one", field="reward")
        if self.cost is not None and not 0.0 <= self.cost < float("inf"):
            raise Rejected("cost must be a number ≥ 0", field="cost", limit=[0])


# Descriptions stand in annotations here, for those below a field are not inherited.
@dataclass(frozen=True, slots=True)
class TrajectorySummary:
    """A run as a list shows it, without its words."""

    __pydantic_config__ = OUTPUT

    id: Annotated[UUID, Field(description="Names the run for ever.")]
    task_id: Annotated[UUID, Field(description="The task that was run.")]
    task_key: Annotated[str | None, Field(description="The caller's own id of the task.")]
    agent_id: Annotated[UUID, Field(exclude=True)]
    agent: Annotated[str, Field(description="Who ran.")]
    family: Annotated[str | None, Field(description="The agent's family of models.")]
    size_class: Annotated[str | None, Field(description="How large the agent is.")]
    category: Annotated[str, Field(description="The task's category.")]
    subcategory: Annotated[str | None, Field(description="The task's second level, if it has one.")]
    n_steps: Annotated[int, Field(description="How many steps the run has.")]
    reward: Annotated[float | None, Field(description="How well it went, in [0, 1].")]
    verifier: Annotated[Verifier, Field(description="Who vouches for the reward.")]
    cost: Annotated[float | None, Field(description="What it took, in the caller's unit.")]
    task_variant: Annotated[str | None, Field(description="Which version of the task was run.")]
    retrieval_id: Annotated[UUID | None, Field(description="The receipt behind which it stands.")]
    known_at: Annotated[datetime, Field(description="When the run was known.")]
    recorded_at: Annotated[datetime, Field(description="When it was stored.")]
    erased_at: Annotated[datetime | None, Field(description="When its words were erased.")]
    withdrawn_at: Annotated[
        datetime | None,
        Field(description="When a rollback took its verdict back; from then on it proves nothing."),
    ]
    key_id: Annotated[UUID | None, Field(exclude=True)]

    @computed_field
    @property
    def right(self) -> bool | None:
        """Whether it succeeded; null where nobody vouches for it."""
        return None if self.withdrawn_at else succeeded(self.reward, self.verifier)


@dataclass(frozen=True, slots=True)
class Trajectory(TrajectorySummary):
    """A run with its words; they are gone where it was erased."""

    steps: tuple[Step, ...]
    """What was thought, done and seen, in order."""
    result: str | None
    """What it came to."""
    rationale: str | None
    """Why, in the agent's own words."""
    refused: str | None
    """Why it is compared with no other run of its task: what it is about is something else."""

    @property
    def without_words(self) -> "Trajectory":
        """As a key sees it that may not read what the run was told."""
        return replace(self, steps=(), result=PRIVATE, rationale=None, refused=None)

    @property
    def text(self) -> str:
        """The run as one text: its steps, else its result."""
        return "\n".join(step.rendered for step in self.steps) or self.result or ""


@dataclass(frozen=True, slots=True)
class TrajectoryFilter:
    """Which runs to list, the oldest first unless asked otherwise; None does not filter."""

    agent: str | None = None
    task_id: UUID | None = None
    category: str | None = None
    verifier: str | None = None
    retrieval_id: UUID | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class AddedTrajectory:
    """A run that was kept."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the run for ever."""
    task_id: UUID
    """The task that was run."""
    category: str
    """The task's category."""
    subcategory: str | None
    """The task's second level, if it has one."""
    right: bool | None
    """Whether it succeeded; null where nobody vouches for it."""


class AgentCategory(NamedTuple):
    """An agent in a category, by id."""

    agent_id: UUID
    category_id: UUID


class VerifiedRuns(NamedTuple):
    """How many verified runs there are, and the sum of their rewards."""

    n: int
    total: float


@dataclass(frozen=True, slots=True)
class Competence:
    """How an agent fares in a category."""

    __pydantic_config__ = OUTPUT

    agent: str
    """Who ran."""
    category: str
    """In which category, on the first level."""
    n: int
    """How many verified runs there are."""
    mean: float
    """Their mean reward."""
    competence: float
    """(sum of rewards + 5 * mean of the category) / (n + 5): few runs cannot move it far."""

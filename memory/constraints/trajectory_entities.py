"""A run of a task by an agent, as it is brought and as it is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.kernel.errors import Rejected, TooLarge
from memory.kernel.text import NAME, cleaned, optional
from memory.tasks.entities import CategoryName, TaskDraft

MAX_STEPS = 1_000


STEP = 20_000


RESULT = 50_000


RUN = 400_000
"""The most characters of a step, of the result, and of a run in all."""


VERIFIERS = ("human", "test", "judge", "self", "none")


SUPPORTING = frozenset({"human", "test", "judge"})
"""Whose word on a run is worth something to others than the one who ran it."""


RIGHT = 0.5
"""From this reward on a run is right."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run; `kind` in the caller's words (thought, action, observation, …)."""

    text: str
    kind: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", cleaned(self.text, "steps.text", STEP))
        object.__setattr__(self, "kind", optional(self.kind, "steps.kind", NAME))

    @classmethod
    def stored(cls, text: str, kind: str | None) -> "Step":
        """A step as it was kept: it is not measured again, for cleaning can lengthen a text."""
        step = object.__new__(cls)
        object.__setattr__(step, "text", text)
        object.__setattr__(step, "kind", kind)
        return step


def succeeded(reward: float | None, verifier: str) -> bool | None:
    """Whether a run did; None where nobody said so."""
    if reward is None or verifier == "none":
        return None
    return reward >= RIGHT


@dataclass(frozen=True, slots=True)
class TrajectoryDraft:
    """A run as its caller brings it: at most 1,000 steps and 400,000 characters.

    `reward` in [0, 1] with who vouches for it (`verifier`); None, or verifier `none`: no verdict.
    `cost` is what the run took, in the caller's unit (≥ 0); None: its number of steps.
    """

    agent: str
    steps: tuple[Step, ...] = ()
    result: str | None = None
    reward: float | None = None
    verifier: str = "none"
    cost: float | None = None
    task: TaskDraft | None = None
    task_id: UUID | None = None
    known_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        object.__setattr__(self, "result", optional(self.result, "result", RESULT))
        if len(self.steps) > MAX_STEPS:
            raise TooLarge(
                f"steps has more than {MAX_STEPS} entries",
                field="steps",
                limit=MAX_STEPS,
            )
        size = len(self.result or "") + sum(len(step.text) for step in self.steps)
        if size > RUN:
            raise TooLarge(
                f"the run has {size} characters; the limit is {RUN}", field="steps", limit=RUN
            )
        if (self.task is None) == (self.task_id is None):
            raise Rejected("give exactly one of task and task_id", field="task")
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


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A run as stored. `key_id` wrote it; blank texts where it was erased."""

    id: UUID
    task_id: UUID
    task_key: str | None
    agent_id: UUID
    agent: str
    family: str | None
    size_class: str | None
    category: CategoryName
    steps: Sequence[Step]
    result: str | None
    reward: float | None
    verifier: str
    cost: float | None
    known_at: datetime
    recorded_at: datetime
    erased_at: datetime | None
    key_id: UUID | None

    @property
    def right(self) -> bool | None:
        """Whether it succeeded; None where nobody said so."""
        return succeeded(self.reward, self.verifier)

    @property
    def text(self) -> str:
        """The run as one text: its steps, else its result."""
        return "\n".join(step.text for step in self.steps) or self.result or ""


@dataclass(frozen=True, slots=True)
class TrajectoryBrief:
    """A run as a list shows it: `run` without its words, and how many steps it has."""

    run: Trajectory
    n_steps: int


@dataclass(frozen=True, slots=True)
class TrajectoryFilter:
    """Which runs to list; None does not filter."""

    agent: str | None = None
    task_id: UUID | None = None
    category: str | None = None
    verifier: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that was kept: of which task, and whether it succeeded (None: nobody said so)."""

    id: UUID
    task_id: UUID
    category: CategoryName
    right: bool | None


@dataclass(frozen=True, slots=True)
class Competence:
    """How an agent fares in a category: `n` verified runs, their mean reward, and the mean that
    few runs cannot move far from the category's.
    """

    agent: str
    category: str
    n: int
    mean: float
    competence: float

"""Reports of how an attempt went, as they are brought and answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.kernel.text import NAME, cleaned
from memory.receipts.entities import Outcome
from memory.verification.entities import ReportedLesson


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an attempt.

    Either `reward` in [0, 1], or `metric` with `value` (and `truth`); `without` is the same
    agent's result without the
    guideline, `full` its result had memory been followed wholly. `answers` has one entry a ranker.
    `lesson` is what the reporter would do otherwise.
    """

    reward: float | None = None
    metric: str = "reward"
    value: Mapping[str, object] | None = None
    truth: Mapping[str, object] | None = None
    without: Mapping[str, object] | None = None
    full: Mapping[str, object] | None = None
    reward_kind: str = "continuous"
    evaluator: str = "agent"
    verifier: str = "self"
    helpful: tuple[UUID, ...] = ()
    harmful: tuple[UUID, ...] = ()
    answers: Mapping[str, object] = field(default_factory=dict[str, object])
    stances: Mapping[str, object] = field(default_factory=dict[str, object])
    known_at: datetime | None = None
    supersedes: UUID | None = None
    lesson: ReportedLesson | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluator", cleaned(self.evaluator, "evaluator", NAME))


@dataclass(frozen=True, slots=True)
class Reported:
    """The outcome as stored; `replayed` where the same report had come before."""

    outcome: Outcome
    replayed: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying did: the bank version reached, outcomes applied now, outcomes still waiting."""

    bank_version: int
    applied: int
    pending: int

"""Reports of how an attempt went, as they are brought and answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, get_args
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Moment, Name, Share
from memory.kernel.text import NAME, cleaned, cleaned_json
from memory.receipts.entities import Free, Outcome, RewardKind, RunResult, Verifier
from memory.verification.entities import ReportedLesson

MAX_VERDICTS = 64
MAX_ANSWERS = 256
REWARD = "reward"

Verdicts = Annotated[tuple[UUID, ...], Field(max_length=MAX_VERDICTS)]
Answers = Annotated[Free, Field(max_length=MAX_ANSWERS)]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an attempt: `reward`, or `metric` with `value`."""

    __pydantic_config__ = INPUT

    reward: Share | None = None
    """The reward, 0 to 1, larger is better."""
    metric: Name | None = None
    """What computes the reward of `value`, such as `brier`; left out where `reward` says it."""
    value: Free | None = None
    """What the agent answered, in the form of the metric."""
    truth: Free | None = None
    """What came true, in the form of the metric."""
    without: RunResult | None = None
    """The same agent's result without the guideline."""
    full: RunResult | None = None
    """The agent's result had memory been followed wholly."""
    reward_kind: RewardKind = "continuous"
    """Whether a reward is a degree, or 0 or 1."""
    evaluator: Name = "agent"
    """Who judged the run."""
    verifier: Verifier = "self"
    """What the judgement rests on; a better verified report takes the place of another."""
    helpful: Verdicts = ()
    """Served memories that helped."""
    harmful: Verdicts = ()
    """Served memories that did harm."""
    answers: Answers = field(default_factory=dict[str, object])
    """Where all rankers were asked, each one's own answer by its name."""
    stances: Answers = field(default_factory=dict[str, object])
    """What the agent would have answered by each memory alone; kept, not learned from."""
    known_at: Moment | None = None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    supersedes: UUID | None = None
    """The outcome that this one corrects."""
    lesson: ReportedLesson | None = None
    """What the reporter would do otherwise; that of a bad outcome becomes a candidate."""

    def __post_init__(self) -> None:
        by_value = self.metric_name != REWARD
        if by_value == (self.reward is not None):
            raise Rejected("give either reward, or metric with value", field="reward")
        if by_value == (self.value is None):
            raise Rejected("value goes with metric, and metric with value", field="value")
        for name, value, allowed in (
            ("reward_kind", self.reward_kind, get_args(RewardKind)),
            ("verifier", self.verifier, get_args(Verifier)),
        ):
            if value not in allowed:
                raise Rejected(f"{name} must be one of {allowed}", field=name, limit=list(allowed))
        object.__setattr__(self, "evaluator", cleaned(self.evaluator, "evaluator", NAME))
        for name, value in (("value", self.value), ("truth", self.truth)):
            if value is not None:
                object.__setattr__(self, name, cleaned_json(value, name))
        for name, result in (("without", self.without), ("full", self.full)):
            if result is not None:
                object.__setattr__(self, name, result.cleaned(name))
        for name, answers in (("answers", self.answers), ("stances", self.stances)):
            object.__setattr__(self, name, _clean_each(answers, name))

    @property
    def metric_name(self) -> str:
        return self.metric or REWARD


def _clean_each(answers: Mapping[str, object], field: str) -> Free:
    """Cleans one answer at a time: the size limit is of one, not of all rankers' together."""
    clean: Free = {}
    for name, value in answers.items():
        clean |= cleaned_json({name: value}, field)
    return clean


@dataclass(frozen=True, slots=True)
class ReceiptReport:
    """A report, and the receipt it is for."""

    retrieval_id: UUID
    report: Report


@dataclass(frozen=True, slots=True)
class Reported:
    """The outcome as stored; `replayed` where the same report had come before."""

    outcome: Outcome
    replayed: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying did."""

    __pydantic_config__ = OUTPUT

    bank_version: int
    """The version of the bank that was reached."""
    applied: int
    """Outcomes applied now."""
    pending: int
    """Outcomes that still wait."""

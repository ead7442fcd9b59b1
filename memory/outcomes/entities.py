"""Reports of how an attempt went, as they are brought and answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, CallerKey, Flag, Moment, Name, Nested, Share
from memory.kernel.metrics import RewardKind
from memory.kernel.text import KEY, cleaned_json, cleaned_name, optional_exact, optional_known_name
from memory.receipts.entities import Free, Outcome, RunResult
from memory.receipts.key_entities import KeyedReceipt
from memory.tasks.run_entities import RunTrace
from memory.tenancy.claims import Verifier
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
    used: Verdicts | None = None
    """Served memories that the agent acted on, as far as its own text says; empty where it acted on
    none, left out where nothing is known of it.
    """
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
    run: Annotated[RunTrace, Nested] | None = None
    """What the agent did: kept beside other runs, and lessons are drawn from it. It may come later,
    with the same report again."""
    keep: Flag = False
    """Keep it as a note where its category is measured otherwise, instead of refusing it."""

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
        object.__setattr__(self, "used", _as_set(self.used))
        object.__setattr__(self, "evaluator", cleaned_name(self.evaluator, "evaluator"))
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


def _as_set(used: Verdicts | None) -> Verdicts | None:
    """Neither order nor repetition says anything."""
    return None if used is None else tuple(sorted(set(used)))


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


Policy = Literal["all_open", "latest"]
"""Of several open receipts: each gets the outcome, or the newest alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedReport(Report):
    """A report by who does not hold the receipt: it names the task by its key, or the trace."""

    __pydantic_config__ = INPUT

    task_key: CallerKey | None = None
    """The caller's own id of the task, as it was retrieved for; give it or `trace_id`."""
    trace_id: CallerKey | None = None
    """The trace, as the retrieval named it."""
    agent: Name | None = None
    """Whose run it is; needed where several agents ran under the key."""
    policy: Policy = "all_open"
    """Of several open receipts: each gets the outcome (`all_open`), or the newest (`latest`)."""

    def __post_init__(self) -> None:
        Report.__post_init__(self)
        if (self.task_key is None) == (self.trace_id is None):
            raise Rejected("give exactly one of task_key and trace_id", field="task_key")
        for name in ("task_key", "trace_id"):
            object.__setattr__(self, name, optional_exact(getattr(self, name), name, KEY))
        object.__setattr__(self, "agent", optional_known_name(self.agent, "agent"))
        if self.policy not in get_args(Policy):
            policies = get_args(Policy)
            raise Rejected(
                f"policy must be one of {policies}", field="policy", limit=list(policies)
            )

    @property
    def named_by(self) -> str:
        """The field that says what it is about."""
        return "task_key" if self.trace_id is None else "trace_id"


@dataclass(frozen=True, slots=True)
class OutcomeWarning:
    """What a reporter should know of an outcome that was taken and does not do what it seems to."""

    __pydantic_config__ = OUTPUT

    code: str
    """The reason for which it moves nothing, or what of it does not count."""
    detail: str
    """The same in words."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The outcome as stored; `replayed` where the same report had come before."""

    outcome: Outcome
    replayed: bool
    warnings: tuple[OutcomeWarning, ...] = ()
    run_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class KeyedOutcome:
    """The outcome of one of the receipts that a report was bound to."""

    receipt: KeyedReceipt
    reported: Reported


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
    set_aside: int
    """Outcomes that could not be applied, and wait until they are asked for with `retry`."""


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """What is to be applied besides the outcomes that wait."""

    __pydantic_config__ = INPUT

    retry: Flag = False
    """Whether to try those again that were set aside; needs the right to manage."""

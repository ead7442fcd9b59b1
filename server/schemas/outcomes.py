"""Shapes of what became of an attempt."""

from collections.abc import Mapping
from typing import Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from memory.kernel.errors import Rejected
from memory.kernel.text import cleaned_json
from memory.outcomes.entities import Applied, Report, Reported
from memory.receipts.entities import Outcome, OutcomeFilter
from memory.retrieval.entities import MAX_BATCH
from memory.verification.entities import ReportedLesson
from server.schemas.base import Free, In, ListQuery, Moment, Name, Out, Share, UtcTime
from server.schemas.experiences import Lesson, Situation
from server.schemas.problems import Problem

MAX_VERDICTS = 64
MAX_ANSWERS = 256
REWARD = "reward"


class Result(In):
    """How a run went, as a reward or as the metric's value."""

    reward: Share | None = None
    value: Free | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.reward is None) == (self.value is None):
            raise ValueError("give either reward or value")
        return self

    def to_mapping(self, field: str) -> Mapping[str, object]:
        if self.value is None:
            return {"reward": self.reward}
        return {"value": cleaned_json(self.value, f"{field}.value")}


class LessonIn(In):
    """What the reporter would do otherwise; without `situation` the task stands for it."""

    lesson: Lesson
    situation: Situation | None = None

    def to_lesson(self) -> ReportedLesson:
        return ReportedLesson(self.lesson, self.situation)


class OutcomeIn(In):
    """What became of an attempt: `reward`, or `metric` with `value`. `without` is the same agent's
    result without the guideline, `full` its result had memory been followed wholly. The `lesson` of
    a bad outcome becomes a candidate.
    """

    reward: Share | None = None
    metric: Name | None = None
    value: Free | None = None
    truth: Free | None = None
    without: Result | None = None
    full: Result | None = None
    reward_kind: Literal["continuous", "binary"] = "continuous"
    evaluator: Name = "agent"
    verifier: Literal["human", "test", "judge", "self"] = "self"
    helpful: list[UUID] = Field(default_factory=list, max_length=MAX_VERDICTS)
    harmful: list[UUID] = Field(default_factory=list, max_length=MAX_VERDICTS)
    answers: Free = Field(default_factory=dict, max_length=MAX_ANSWERS)
    stances: Free = Field(default_factory=dict, max_length=MAX_ANSWERS)
    known_at: Moment | None = None
    supersedes: UUID | None = None
    lesson: LessonIn | None = None

    def to_report(self) -> Report:
        self._check()
        return Report(
            reward=self.reward,
            metric=self.metric or REWARD,
            value=_free(self.value, "value"),
            truth=_free(self.truth, "truth"),
            without=None if self.without is None else self.without.to_mapping("without"),
            full=None if self.full is None else self.full.to_mapping("full"),
            reward_kind=self.reward_kind,
            evaluator=self.evaluator,
            verifier=self.verifier,
            helpful=tuple(self.helpful),
            harmful=tuple(self.harmful),
            answers=_each(self.answers, "answers"),
            stances=_each(self.stances, "stances"),
            known_at=self.known_at,
            supersedes=self.supersedes,
            lesson=None if self.lesson is None else self.lesson.to_lesson(),
        )

    def _check(self) -> None:
        by_value = self.metric is not None and self.metric != REWARD
        if by_value == (self.reward is not None):
            raise Rejected("give either reward, or metric with value", field="reward")
        if by_value == (self.value is None):
            raise Rejected("value goes with metric, and metric with value", field="value")


def _free(value: Free | None, field: str) -> Mapping[str, object] | None:
    return None if value is None else cleaned_json(value, field)


def _each(values: Free, field: str) -> Mapping[str, object]:
    """Cleans one answer at a time: the size limit is of one, not of all rankers' together."""
    clean: dict[str, object] = {}
    for name, value in values.items():
        clean |= cleaned_json({name: value}, field)
    return clean


class OutcomeOfRetrieval(OutcomeIn):
    """An outcome, and the receipt it is for."""

    retrieval_id: UUID


class OutcomeBatch(In):
    """Outcomes that are taken in one by one, in the order given."""

    items: list[OutcomeOfRetrieval] = Field(min_length=1, max_length=MAX_BATCH)


class OutcomeTaken(Out):
    """What became of a report; its progress can be read at `/outcomes/{outcome_id}`."""

    outcome_id: UUID
    status: str
    reason: str | None
    evidence: str

    @classmethod
    def of(cls, reported: Reported) -> "OutcomeTaken":
        outcome = reported.outcome
        return cls(
            outcome_id=outcome.id,
            status=outcome.status,
            reason=outcome.reason,
            evidence=outcome.evidence,
        )


class OutcomeItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    outcome: OutcomeTaken | None = None
    problem: Problem | None = None


class OutcomesTaken(Out):
    items: list[OutcomeItem]


class OutcomeOut(Out):
    """An outcome as stored; `reason` says why it was ignored or moves nothing."""

    id: UUID
    retrieval_id: UUID
    status: str
    reason: str | None
    evidence: str
    reward: float
    reward_without: float | None
    reward_full: float
    metric: str
    reward_kind: str
    evaluator: str
    verifier: str
    raw: Free
    helpful: tuple[UUID, ...]
    harmful: tuple[UUID, ...]
    supersedes: UUID | None
    partner_id: UUID | None
    muted: tuple[UUID, ...]
    known_at: UtcTime
    recorded_at: UtcTime
    applied_at: UtcTime | None
    bank_version: int | None
    withdrawn_version: int | None

    @classmethod
    def of(cls, outcome: Outcome) -> "OutcomeOut":
        return cls.model_validate(outcome)


class OutcomeQuery(ListQuery):
    """Which outcomes to list."""

    state: Literal["accepted", "applied", "ignored", "superseded"] | None = None
    retrieval_id: UUID | None = None
    order: Literal["oldest", "newest"] = "oldest"

    def to_filter(self) -> OutcomeFilter:
        newest = self.order == "newest"
        return OutcomeFilter(self.state, self.retrieval_id, newest_first=newest)


class Nothing(In):
    """An empty object."""


class AppliedOut(Out):
    """The bank version reached, outcomes applied now, outcomes still waiting."""

    bank_version: int
    applied: int
    pending: int

    @classmethod
    def of(cls, applied: Applied) -> "AppliedOut":
        return cls.model_validate(applied)

"""Shapes of predictions: what an agent says will happen."""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.belief.rankers import RANKERS
from memory.forecasts.entities import (
    MAX_NAMES,
    Forecast,
    Predicted,
    Prediction,
    PredictionDraft,
    PredictionFilter,
    Revision,
)
from memory.kernel.text import KEY, RATIONALE
from memory.retrieval.entities import MAX_BATCH
from server.schemas.actors import TaskIn
from server.schemas.base import AgentQuery, In, Moment, Name, Out, Share, UtcTime, hint, named
from server.schemas.problems import Problem

Rationale = Annotated[str, Field(json_schema_extra=hint(RATIONALE))]  # pyright: ignore[reportArgumentType] - JSON values
Probabilities = Annotated[dict[str, Share], Field(min_length=1, max_length=MAX_NAMES)]


class PredictionIn(In):
    """A forecast for a window: `task`, `task_id`, or the task of the receipt that it names. The
    task's `group_key` is its event.
    """

    agent: Name
    task: TaskIn | None = None
    task_id: UUID | None = None
    retrieval_id: UUID | None = None
    probabilities: Probabilities = Field(description="by name of outcome")
    baseline_probabilities: Probabilities | None = Field(
        None, description="the same agent's without the guideline"
    )
    full_probabilities: Probabilities | None = Field(
        None, description="had memory been followed wholly"
    )
    answers: dict[str, Probabilities] | None = Field(
        None,
        max_length=len(RANKERS),
        description="one forecast for each ranker, where the receipt is of all rankers",
    )
    rationale: Rationale | None = None
    known_at: Moment | None = None

    def to_draft(self) -> PredictionDraft:
        return PredictionDraft(
            agent=self.agent,
            forecast=Forecast(
                self.probabilities,
                self.baseline_probabilities,
                self.full_probabilities,
                self.answers,
            ),
            task=None if self.task is None else self.task.to_draft(),
            task_id=self.task_id,
            retrieval_id=self.retrieval_id,
            rationale=self.rationale,
            known_at=self.known_at,
        )


class PredictionBatch(In):
    """Predictions that are taken in one by one, in the order given."""

    items: list[PredictionIn] = Field(min_length=1, max_length=MAX_BATCH)


class PredictionScore(Out):
    """What a settlement made of a prediction. `brier` is the mean of (p - y)² over the outcomes
    that are not void, `skill` the crowd's less that; `reason` says why it was ignored.
    """

    settlement_id: UUID
    status: Literal["scored", "ignored"]
    reason: str | None
    revision: int | None
    brier: float | None
    baseline_brier: float | None
    skill: float | None
    outcome_id: UUID | None


class PredictionOut(Out):
    """A prediction as its newest revision has it, and its score once its window is settled."""

    id: UUID
    agent: str
    task_id: UUID
    task_key: str | None
    event: str
    retrieval_id: UUID | None
    revision: int
    state: str
    probabilities: dict[str, float]
    baseline_probabilities: dict[str, float] | None
    rationale: str | None
    closes_at: UtcTime | None
    known_at: UtcTime
    recorded_at: UtcTime
    score: PredictionScore | None

    @classmethod
    def of(cls, prediction: Prediction) -> "PredictionOut":
        return cls(**_parts(prediction))  # pyright: ignore[reportArgumentType] - named as the fields


class RevisionOut(Out):
    """A prediction as it stood from `known_at` on."""

    revision: int
    retrieval_id: UUID | None
    probabilities: dict[str, float]
    baseline_probabilities: dict[str, float] | None
    full_probabilities: dict[str, float] | None
    answers: dict[str, dict[str, float]] | None
    rationale: str | None
    known_at: UtcTime
    recorded_at: UtcTime

    @classmethod
    def of(cls, revision: Revision) -> "RevisionOut":
        forecast = revision.forecast
        answers = forecast.answers
        return cls(
            revision=revision.number,
            retrieval_id=revision.retrieval_id,
            probabilities=dict(forecast.probabilities),
            baseline_probabilities=_plain(forecast.baseline),
            full_probabilities=_plain(forecast.full),
            answers=None if answers is None else {r: dict(p) for r, p in answers.items()},
            rationale=revision.rationale,
            known_at=revision.known_at,
            recorded_at=revision.recorded_at,
        )


class PredictionWhole(PredictionOut):
    """A prediction with every revision, oldest first."""

    revisions: list[RevisionOut]

    @classmethod
    def of(cls, prediction: Prediction) -> "PredictionWhole":
        revisions = [RevisionOut.of(one) for one in prediction.revisions]
        return cls(revisions=revisions, **_parts(prediction))  # pyright: ignore[reportArgumentType] - named as the fields


class PredictionItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    prediction: PredictionOut | None = None
    problem: Problem | None = None


class PredictionsTaken(Out):
    items: list[PredictionItem]


class PredictionQuery(AgentQuery):
    """Which predictions to list."""

    state: Literal["pending", "settled", "late"] | None = None
    event: str | None = Field(None, max_length=KEY)

    def to_filter(self) -> PredictionFilter:
        return PredictionFilter(self.state, self.agent_name(), named(self.event, "event"))


def status_of_prediction(predicted: Predicted) -> int:
    return 201 if predicted.created else 200


def _parts(prediction: Prediction) -> dict[str, object]:
    newest, score = prediction.newest, prediction.score
    return {
        "id": prediction.id,
        "agent": prediction.agent,
        "task_id": prediction.task_id,
        "task_key": prediction.task_key,
        "event": prediction.event,
        "retrieval_id": newest.retrieval_id,
        "revision": newest.number,
        "state": prediction.state,
        "probabilities": dict(newest.forecast.probabilities),
        "baseline_probabilities": _plain(newest.forecast.baseline),
        "rationale": newest.rationale,
        "closes_at": prediction.closes_at,
        "known_at": newest.known_at,
        "recorded_at": newest.recorded_at,
        "score": None if score is None else PredictionScore.model_validate(score),
    }


def _plain(given: Mapping[str, float] | None) -> dict[str, float] | None:
    return None if given is None else dict(given)

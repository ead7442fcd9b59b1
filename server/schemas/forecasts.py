"""Shapes of predictions and settlements where the wire differs."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.forecasts.entities import (
    Predicted,
    PredictionDraft,
    PredictionFilter,
    PredictionScore,
    PredictionState,
    RevisedPrediction,
    Revision,
    Settled,
    Settlement,
    SettlementDraft,
)
from memory.kernel.text import KEY, optional_exact
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import AgentQuery, In, ListQuery, Out, Refusable, UtcTime
from server.schemas.problems import BatchItem


class ForecastBatch(In):
    """Predictions that are taken in one by one, in the order given."""

    items: list[Annotated[PredictionDraft, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""


class Prediction(Out):
    """A prediction as its newest revision has it, and its score once its window is settled. Differs
    from `RevisedPrediction`: of the revisions it has the newest alone.
    """

    id: UUID
    """Names the prediction."""
    agent: str
    """Who predicts."""
    task_id: UUID
    """The window that it is about."""
    task_key: str | None
    """The caller's key of the window."""
    event: str
    """The event that the window belongs to."""
    retrieval_id: UUID | None
    """The receipt that it was made under."""
    revision: int
    """Which revision this is, counted from 1."""
    state: PredictionState
    """Whether it waits, was settled, or came too late."""
    probabilities: dict[str, float]
    """By name of outcome, each from 0 to 1, as the agent acts on them."""
    baseline_probabilities: dict[str, float] | None
    """What the same agent would say without the guideline."""
    used: list[UUID] | None
    """Memories of the receipt that the agent acted on; null where nothing is known of it."""
    rationale: str | None
    """Why, in the agent's words."""
    closes_at: UtcTime | None
    """From then on no revision counts."""
    known_at: UtcTime
    """When it was known."""
    recorded_at: UtcTime
    """When it came, by the server's clock."""
    score: PredictionScore | None
    """How good it was; null until it is settled."""

    @classmethod
    def of(cls, prediction: RevisedPrediction) -> "Prediction":
        return cls(**_parts(prediction))  # pyright: ignore[reportArgumentType] - named as the fields


class PredictionHistory(Prediction):
    """A prediction with every revision, oldest first."""

    revisions: list[Revision]
    """What was forecast, the oldest first."""

    @classmethod
    def of(cls, prediction: RevisedPrediction) -> "PredictionHistory":
        revisions = list(prediction.revisions)
        return cls(revisions=revisions, **_parts(prediction))  # pyright: ignore[reportArgumentType] - named as the fields


class PredictionItem(BatchItem):
    """The result of one item of a batch."""

    prediction: Prediction | None = None
    """The prediction; null where it was refused."""


class PredictionsTaken(Out):
    """The result of each prediction of a batch."""

    items: list[PredictionItem]
    """The items, in the order of the batch."""


class PredictionQuery(AgentQuery):
    """Which predictions to list. Differs from `PredictionFilter`: it is paged."""

    state: PredictionState | None = None
    event: str | None = Field(None, max_length=KEY)

    def to_filter(self) -> PredictionFilter:
        event = optional_exact(self.event, "event", KEY)
        return PredictionFilter(self.state, self.agent_name(), event)


def status_of_prediction(predicted: Predicted) -> int:
    return 201 if predicted.created else 200


def _parts(prediction: RevisedPrediction) -> dict[str, object]:
    newest = prediction.newest
    return {
        "id": prediction.id,
        "agent": prediction.agent,
        "task_id": prediction.task_id,
        "task_key": prediction.task_key,
        "event": prediction.event,
        "retrieval_id": newest.retrieval_id,
        "revision": newest.revision,
        "state": prediction.state,
        "probabilities": newest.probabilities,
        "baseline_probabilities": newest.baseline_probabilities,
        "used": newest.used,
        "rationale": newest.rationale,
        "closes_at": prediction.closes_at,
        "known_at": newest.known_at,
        "recorded_at": newest.recorded_at,
        "score": prediction.score,
    }


class SettlementBatch(In):
    """Settlements that are taken in one by one, in the order given."""

    items: list[Annotated[SettlementDraft, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""


class SettlementItem(BatchItem):
    """The result of one item of a batch."""

    settlement: Settlement | None = None
    """The settlement; null where it was refused."""


class SettlementsTaken(Out):
    """The result of each settlement of a batch."""

    items: list[SettlementItem]
    """The items, in the order of the batch."""


class SettlementQuery(ListQuery):
    """Settlements, all or those of an event."""

    event: str | None = Field(None, max_length=KEY)

    def event_name(self) -> str | None:
        return optional_exact(self.event, "event", KEY)


def status_of_settlement(settled: Settled) -> int:
    return 201 if settled.created else 200

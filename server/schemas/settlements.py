"""Shapes of settlements: what events came to."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from memory.forecasts.entities import (
    MAX_NAMES,
    MAX_WINDOWS,
    Score,
    Settled,
    Settlement,
    SettlementDraft,
)
from memory.kernel.text import KEY
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import CallerKey, In, ListQuery, Moment, Out, Share, UtcTime, named
from server.schemas.predictions import PredictionScore
from server.schemas.problems import Problem


class SettlementIn(In):
    """Which outcomes of an event came true; for `windows`, else for all that are unresolved. With
    `corrects` it takes the place of that settlement, for all windows where it is in force.
    """

    event: CallerKey
    windows: list[CallerKey] | None = Field(
        None, min_length=1, max_length=MAX_WINDOWS, description="keys of tasks of the event"
    )
    resolutions: dict[str, Literal["yes", "no", "void"]] = Field(
        min_length=1, max_length=MAX_NAMES, description="by name of outcome"
    )
    crowd: dict[str, Share] | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAMES,
        description="what the crowd said, by name of outcome; skill is measured against it",
    )
    known_at: Moment | None = None
    corrects: UUID | None = None

    def to_draft(self) -> SettlementDraft:
        return SettlementDraft(
            event=self.event,
            resolutions=self.resolutions,
            windows=None if self.windows is None else tuple(self.windows),
            crowd=self.crowd,
            known_at=self.known_at,
            corrects=self.corrects,
        )


class SettlementBatch(In):
    """Settlements that are taken in one by one, in the order given."""

    items: list[SettlementIn] = Field(min_length=1, max_length=MAX_BATCH)


class SettlementScore(PredictionScore):
    """The score of one prediction: whose, and for which window (a task's key)."""

    prediction_id: UUID
    agent: str
    task_key: str

    @classmethod
    def of(cls, score: Score) -> "SettlementScore":
        parts = {n: getattr(score, n) for n in Score.__slots__ if n != "window"}
        return cls(task_key=score.window, **parts)


class SettlementOut(Out):
    """A settlement with the scores of all predictions of its windows. `correction` is 0 for the
    first of a window.
    """

    id: UUID
    event: str
    windows: list[str]
    resolutions: dict[str, str]
    crowd: dict[str, float] | None
    correction: int
    corrects: UUID | None
    superseded_by: UUID | None
    known_at: UtcTime
    recorded_at: UtcTime
    scores: list[SettlementScore]

    @classmethod
    def of(cls, settlement: Settlement) -> "SettlementOut":
        crowd = settlement.crowd
        return cls(
            id=settlement.id,
            event=settlement.event,
            windows=list(settlement.windows),
            resolutions=dict(settlement.resolutions),
            crowd=None if crowd is None else dict(crowd),
            correction=settlement.correction,
            corrects=settlement.corrects,
            superseded_by=settlement.superseded_by,
            known_at=settlement.known_at,
            recorded_at=settlement.recorded_at,
            scores=[SettlementScore.of(score) for score in settlement.scores],
        )


class SettlementItem(Out):
    """What became of one item of a batch."""

    index: int
    status: int
    settlement: SettlementOut | None = None
    problem: Problem | None = None


class SettlementsTaken(Out):
    items: list[SettlementItem]


class SettlementQuery(ListQuery):
    """Settlements, all or those of an event."""

    event: str | None = Field(None, max_length=KEY)

    def event_name(self) -> str | None:
        return named(self.event, "event")


def status_of_settlement(settled: Settled) -> int:
    return 201 if settled.created else 200

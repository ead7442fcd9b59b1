"""What the server answers about predictions and settlements, frozen. Ids are text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PredictionScore:
    """What a settlement made of a prediction; `revision` is the one that counts.

    brier: mean of (p - y)² over the outcomes that are not void. skill: the crowd's less that,
    None without a crowd. reason: why it was ignored.
    """

    settlement_id: str
    status: str
    reason: str | None
    revision: int | None
    brier: float | None
    baseline_brier: float | None
    skill: float | None
    outcome_id: str | None


@dataclass(frozen=True, slots=True)
class Revision:
    """A prediction as it stood from `known_at` on."""

    revision: int
    retrieval_id: str | None
    probabilities: Mapping[str, float]
    baseline_probabilities: Mapping[str, float] | None
    full_probabilities: Mapping[str, float] | None
    answers: Mapping[str, Mapping[str, float]] | None
    rationale: str | None
    known_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction as its newest revision has it; `revisions` only where one is asked for."""

    id: str
    agent: str
    task_id: str
    task_key: str | None
    event: str
    retrieval_id: str | None
    revision: int
    state: str
    probabilities: Mapping[str, float]
    baseline_probabilities: Mapping[str, float] | None
    rationale: str | None
    closes_at: datetime | None
    known_at: datetime
    recorded_at: datetime
    score: PredictionScore | None
    revisions: tuple[Revision, ...] = ()


@dataclass(frozen=True, slots=True)
class SettlementScore:
    """The score of one prediction: whose, and for which window (a task's key)."""

    settlement_id: str
    prediction_id: str
    agent: str
    task_key: str
    status: str
    reason: str | None
    revision: int | None
    brier: float | None
    baseline_brier: float | None
    skill: float | None
    outcome_id: str | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an event came to, with the scores of all predictions of its windows."""

    id: str
    event: str
    windows: tuple[str, ...]
    resolutions: Mapping[str, str]
    crowd: Mapping[str, float] | None
    correction: int
    corrects: str | None
    superseded_by: str | None
    known_at: datetime
    recorded_at: datetime
    scores: tuple[SettlementScore, ...]

"""What people read of learning: weights, the events that moved them, effects, runs of jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.bank import Kind
from memory.errors import Rejected


@dataclass(frozen=True, slots=True)
class WeightView:
    """A memory's weight for one agent (None: for none in particular), aged to the time of
    reading.
    """

    memory_id: UUID
    agent: str | None
    effective_weight: float
    ranking_weight: float
    state: Mapping[str, float]
    deviation: Mapping[str, float] | None
    served: int
    credited: int
    helpful: int
    harmful: int
    touched_at: datetime | None


@dataclass(frozen=True, slots=True)
class WeightEvent:
    """One entry of the ledger; `retrieval_id` is the receipt of its outcome."""

    bank_version: int
    position: int
    subject: str
    kind: str
    reason: str
    policy: str
    weight_before: float | None
    weight_after: float | None
    state_before: Sequence[float] | None
    state_after: Sequence[float]
    agent: str | None
    outcome_id: UUID | None
    known_at: datetime
    recorded_at: datetime
    superseded_by: int | None
    retrieval_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """strongest or weakest first, as one agent's deviations have it (None: without deviations)."""

    agent: str | None = None
    order: str = "strongest"

    def __post_init__(self) -> None:
        if self.order not in ("strongest", "weakest"):
            raise Rejected("order must be strongest or weakest", field="order")


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A line in the list of weights."""

    memory_id: UUID
    situation: str
    lesson: str
    category: str
    effective_weight: float
    served: int
    credited: int
    touched_at: datetime | None
    kind: Kind = Kind.EXPERIENCE


@dataclass(frozen=True, slots=True)
class ArmMean:
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class EstimateView:
    """What memory added to the reward: n outcomes on so many feedback dates.

    The error is clustered by date; `low` and `high` bound it at every look, None while too little
    is known to say.
    """

    n: int
    dates: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, slots=True)
class EffectView:
    """What memory did for one agent in one category, and how far it is followed there.

    Pairs and randomised outcomes are never mixed. `strength` lies in [0, 1]; a suspended cell is
    served without memory, but for probes.
    """

    agent: str
    category: str
    n: int
    arms: Mapping[str, ArmMean]
    paired: EstimateView
    randomised: EstimateView
    strength: float
    suspended: bool
    feedback_dates: int


@dataclass(frozen=True, slots=True)
class RankersView:
    """The guard's record of one category (None: of the whole namespace).

    `probabilities` say how far each ranker is believed now, `losses` what each has lost, a date
    counting once and old dates less.
    """

    category: str | None
    feedback_dates: int
    probabilities: Mapping[str, float]
    losses: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """`now` is required in replay namespaces and refused in wall ones."""

    now: datetime | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job; `result` names each memory examined and changed."""

    id: UUID
    job: str
    period: str
    dry_run: bool
    state: str
    now: datetime
    started_at: datetime
    finished_at: datetime | None
    result: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of readiness."""

    ok: bool
    detail: str

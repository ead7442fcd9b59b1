"""What the server answers in the loop: guidelines, receipts, outcomes, weights, effects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memlift_client._results_bank import Directives
from memlift_client._results_constraints import ServedConstraint
from memlift_client._results_workings import Workings


@dataclass(frozen=True, slots=True)
class GuidelineLine:
    text: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CutMemory:
    memory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Guideline:
    """The advice for one task; `text` is empty where nothing was served."""

    text: str
    lines: tuple[GuidelineLine, ...]
    tokens: int
    counter: str
    cut: tuple[CutMemory, ...]


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """A memory in an answer or a receipt; texts are absent from receipts.

    `score` is effective weight times relevance. `sentence` says why it was served, where asked.
    """

    memory_id: str
    version: int
    rank: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    scores: Mapping[str, float | None] | None = None
    propensity: float = 1.0
    served: bool = True
    cited: bool = False
    situation: str | None = None
    lesson: str | None = None
    metadata: Mapping[str, object] | None = None
    agent: str | None = None
    category: str | None = None
    subcategory: str | None = None
    learned_at: datetime | None = None
    sentence: str | None = None
    kind: str = "experience"


@dataclass(frozen=True, slots=True)
class ServedMetaGuideline:
    """The meta-guideline a guideline was compiled by, and the numbers it was chosen by."""

    memory_id: str
    version: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    cited: bool
    failure_reason: str
    instruction: str
    directives: Directives
    agent: str
    category: str
    subcategory: str | None
    learned_at: datetime


@dataclass(frozen=True, slots=True)
class Gates:
    """What a memory had to pass: `raw` by similarity, `score` by weight times relevance."""

    raw: float
    score: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One act of serving; `retrieval_id` is the receipt an outcome binds to (None: preview).

    A receipt that is read again has the same fields, its memories without contents.
    """

    retrieval_id: str | None
    agent: str
    task_id: str | None
    category: str
    subcategory: str | None
    confidence: float
    purpose: str
    arm: str
    propensity: float
    eligible: bool
    reason: str | None
    bank_version: int
    as_of: datetime
    ranker: str
    strength: float
    policy: str
    compiler: str
    guideline: Guideline
    gates: Gates | None = None
    rankers: Mapping[str, float] | None = None
    memories: tuple[ServedMemory, ...] = ()
    constraints: tuple[ServedConstraint, ...] = ()
    meta_guideline: ServedMetaGuideline | None = None
    expires_at: datetime | None = None
    timings: Mapping[str, float] | None = None
    key_id: str | None = None
    sentences: Mapping[str, str] | None = None
    explanation: Workings | None = None

    @property
    def receipt(self) -> str:
        """The id to report an outcome under. Raises ValueError for a preview, which has none."""
        if self.retrieval_id is None:
            raise ValueError("a preview leaves no receipt")
        return self.retrieval_id


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a report: accepted, applied or ignored, and why."""

    outcome_id: str
    status: str
    reason: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome as stored."""

    id: str
    retrieval_id: str
    status: str
    reason: str | None
    evidence: str
    reward: float
    reward_without: float | None
    metric: str
    reward_kind: str
    evaluator: str
    verifier: str
    known_at: datetime
    recorded_at: datetime
    reward_full: float | None = None
    raw: Mapping[str, object] | None = None
    helpful: tuple[str, ...] = ()
    harmful: tuple[str, ...] = ()
    applied_at: datetime | None = None
    bank_version: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The bank version reached, outcomes applied now, outcomes still waiting."""

    bank_version: int
    applied: int
    pending: int


@dataclass(frozen=True, slots=True)
class Weight:
    """A memory's weight for one agent (None: for none in particular)."""

    memory_id: str
    effective_weight: float
    ranking_weight: float
    state: Mapping[str, float]
    served: int
    credited: int
    helpful: int
    harmful: int
    touched_at: datetime | None
    agent: str | None = None
    deviation: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class WeightEvent:
    """One entry of the ledger: what moved a weight, from where to where."""

    bank_version: int
    position: int
    subject: str
    kind: str
    reason: str
    policy: str
    weight_before: float | None
    weight_after: float | None
    known_at: datetime
    recorded_at: datetime
    state_before: object = None
    state_after: object = None
    agent: str | None = None
    outcome_id: str | None = None
    superseded_by: int | None = None
    retrieval_id: str | None = None


@dataclass(frozen=True, slots=True)
class WeightRow:
    memory_id: str
    situation: str
    lesson: str
    category: str
    effective_weight: float
    served: int
    credited: int
    touched_at: datetime | None
    kind: str = "experience"


@dataclass(frozen=True, slots=True)
class ArmMean:
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What memory added: `low` and `high` hold at every look, None while too little is known."""

    n: int
    dates: int
    mean: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What memory did for one agent in one category, and how far it is followed there."""

    agent: str
    category: str
    n: int
    arms: Mapping[str, ArmMean]
    paired: Estimate
    randomised: Estimate
    strength: float
    suspended: bool
    feedback_dates: int


@dataclass(frozen=True, slots=True)
class Rankers:
    """The guard's record of one category; None stands for the whole namespace."""

    category: str | None
    feedback_dates: int
    probabilities: Mapping[str, float]
    losses: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    every_seconds: float
    description: str


@dataclass(frozen=True, slots=True)
class JobRun:
    id: str
    job: str
    period: str
    dry_run: bool
    state: str
    now: datetime
    started_at: datetime
    finished_at: datetime | None
    result: Mapping[str, object] | None

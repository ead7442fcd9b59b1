"""The loop's nouns: what an agent asks, what it gets, what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from memory.domain.bank import Kind
from memory.domain.binding import ServedConstraint
from memory.domain.guidance import ServedGuidance
from memory.domain.task import CategoryName, TaskDraft
from memory.domain.text import NAME, TASK, cleaned
from memory.domain.verification import ReportedLesson
from memory.domain.workings import Workings
from memory.errors import Rejected

MAX_K = 64
MAX_TOKENS = 32_000
MAX_QUERIES = 3
MAX_BATCH = 256
EXPLAINABLE = ("act", "preview")
MIN_EXPIRY, MAX_EXPIRY = timedelta(minutes=1), timedelta(days=400)


class Target(StrEnum):
    """Which text of a memory a query is held against."""

    SITUATION = "situation"
    LESSON = "lesson"


class Format(StrEnum):
    """`guideline`: compiled prose. `memories`: the served memories as data; all of them count as
    cited.
    """

    GUIDELINE = "guideline"
    MEMORIES = "memories"


@dataclass(frozen=True, slots=True)
class Query:
    """One angle of search: a text, and which text of a memory it is held against."""

    text: str
    target: Target = Target.SITUATION

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", cleaned(self.text, "queries.text", TASK))


@dataclass(frozen=True, slots=True)
class Ask:
    """What an agent asks before it acts.

    k: 1…64 experiences. max_tokens: 0…32,000, 0 means an empty guideline. arm: auto, on or off.
    purpose: act, paired (the caller promises a run with and one without), replay, or preview
    (stores nothing). explain: the answer shows its workings; to act or to preview only.
    """

    agent: str
    task: TaskDraft | None = None
    task_id: UUID | None = None
    k: int = 3
    max_tokens: int = 1_000
    rivals: bool = False
    arm: str = "auto"
    purpose: str = "act"
    queries: tuple[Query, ...] = ()
    as_of: datetime | None = None
    expires_in: timedelta | None = None
    format: Format = Format.GUIDELINE
    explain: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        _within("k", self.k, 1, MAX_K)
        _within("max_tokens", self.max_tokens, 0, MAX_TOKENS)
        _within("queries", len(self.queries), 0, MAX_QUERIES)
        if (self.task is None) == (self.task_id is None):
            raise Rejected("give exactly one of task and task_id", field="task")
        if self.rivals and self.format is not Format.MEMORIES:
            raise Rejected("rivals need format memories", field="rivals")
        if self.explain and self.purpose not in EXPLAINABLE:
            raise Rejected("only act and preview are explained", field="explain")
        if self.expires_in is not None and not MIN_EXPIRY <= self.expires_in <= MAX_EXPIRY:
            raise Rejected(
                "expires_in lies outside one minute to 400 days",
                field="expires_in",
                limit=["PT1M", "P400D"],
            )


@dataclass(frozen=True, slots=True)
class Item:
    """One memory in a receipt, with the numbers it was chosen by."""

    memory_id: UUID
    version: int
    rank: int
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    score: float
    scores: Mapping[str, float | None] | None
    propensity: float
    served: bool
    cited: bool
    slot: bool
    kind: Kind = Kind.EXPERIENCE


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """A served memory's content, beside its Item."""

    memory_id: UUID
    situation: str
    lesson: str
    metadata: Mapping[str, object]
    agent: str
    category: CategoryName
    learned_at: datetime


@dataclass(frozen=True, slots=True)
class GuidelineLine:
    text: str
    memory_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class CutMemory:
    memory_id: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a retrieval, to which the outcome binds. A preview has no task row."""

    id: UUID
    agent: str
    task_id: UUID | None
    category: CategoryName
    confidence: float
    purpose: str
    arm: str
    propensity: float
    eligible: bool
    reason: str | None
    format: Format
    k: int
    max_tokens: int
    bank_version: int
    as_of: datetime
    raw_gate: float
    score_floor: float
    ranker: str
    rankers: Mapping[str, float]
    rivals: bool
    strength: float
    policy: str
    compiler: str
    counter: str
    text: str | None
    lines: tuple[GuidelineLine, ...]
    tokens: int
    cut: tuple[CutMemory, ...]
    items: tuple[Item, ...]
    timings: Mapping[str, float]
    known_at: datetime
    recorded_at: datetime
    expires_at: datetime
    key_id: UUID | None


@dataclass(frozen=True, slots=True)
class Served:
    """The answer to an Ask: the receipt, and the content of what was served."""

    receipt: Receipt
    memories: tuple[ServedMemory, ...]
    guidance: ServedGuidance | None = None
    constraints: tuple[ServedConstraint, ...] = ()
    workings: Workings | None = None


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
class Outcome:
    """An outcome as stored; `reason` says why it was ignored or moves nothing.

    `partner_id`: the outcome of the run without memory (or, for that run, of the one with it) that
    makes the pair. `muted`: memories about which it does not count, because its key had said
    enough about them that day or they were erased. `withdrawn_version`: the version of the bank
    in which what it had moved was taken back.
    """

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
    raw: Mapping[str, object]
    helpful: tuple[UUID, ...]
    harmful: tuple[UUID, ...]
    supersedes: UUID | None
    partner_id: UUID | None
    muted: tuple[UUID, ...]
    known_at: datetime
    recorded_at: datetime
    applied_at: datetime | None
    bank_version: int | None
    withdrawn_version: int | None


def _within(field_name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Rejected(
            f"{field_name} must lie in {low}…{high}", field=field_name, limit=[low, high]
        )


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


@dataclass(frozen=True, slots=True)
class ReceiptFilter:
    """pending: neither answered nor expired; answered: with an outcome in effect; all."""

    state: str = "all"
    agent: str | None = None
    category: str | None = None
    arm: str | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class OutcomeFilter:
    state: str | None = None
    retrieval_id: UUID | None = None
    newest_first: bool = False

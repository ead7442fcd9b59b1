"""What an agent asks and what it gets, and the workings of a retrieval for who asks why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from memory.constraints.entities import ServedConstraint
from memory.kernel.errors import Rejected
from memory.kernel.text import NAME, TASK, cleaned
from memory.memories.entities import MemoryVersion
from memory.meta_guidelines.entities import ServedGuidance
from memory.receipts.entities import Fate, Format, Outcome, Receipt
from memory.tasks.entities import CategoryName, Task, TaskDraft

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
    all_rankers: bool = False
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
        if self.all_rankers and self.format is not Format.MEMORIES:
            raise Rejected("all_rankers needs format memories", field="all_rankers")
        if self.explain and self.purpose not in EXPLAINABLE:
            raise Rejected("only act and preview are explained", field="explain")
        if self.expires_in is not None and not MIN_EXPIRY <= self.expires_in <= MAX_EXPIRY:
            raise Rejected(
                "expires_in lies outside one minute to 400 days",
                field="expires_in",
                limit=["PT1M", "P400D"],
            )


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


class RoutedBy(StrEnum):
    """Whose word the category is: the task's, the caller's, the nearest centroid's, or nobody's."""

    TASK = "task"
    CALLER = "caller"
    NEAREST = "nearest"
    NONE_NEAR = "none_near"


@dataclass(frozen=True, slots=True)
class NearCategory:
    """A category, and the cosine of its tasks' centroid to the task, in [0, 1]."""

    category: CategoryName
    similarity: float


@dataclass(frozen=True, slots=True)
class Routing:
    """How the category was found; `near` has the nearest first, also where it was given."""

    by: RoutedBy
    confidence: float
    near: tuple[NearCategory, ...]


@dataclass(frozen=True, slots=True)
class ByRanker:
    """What one ranker makes of a candidate: what it sorts by, the factor for the age of the
    knowledge that is part of it, and what it would do with it.
    """

    order_score: float
    knowledge_age: float
    fate: Fate


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate and what became of it.

    `place`: in the order of the ranker that serves. `deviation`: what this agent's own record adds
    to the effective weight. `served` and `cited`: whether the agent got it, whether the guideline
    says it. `situation` and `lesson` are for a preview alone: an agent that acts reads what it was
    served and nothing else, or the comparison with those who went without would be spoilt.
    """

    memory_id: UUID
    version: int
    place: int
    fate: Fate
    why: str
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    deviation: float
    score: float
    propensity: float
    served: bool
    cited: bool
    credited: int
    probation: bool
    group: str
    learned_at: datetime
    agent: str
    category: CategoryName
    situation: str | None
    lesson: str | None
    rankers: Mapping[str, ByRanker]


@dataclass(frozen=True, slots=True)
class Workings:
    """Every stage of one retrieval, beside its receipt.

    `matching`: how many memories the agent may see; `head`: how many of them were candidates, of
    which `considered` has those placed first and all that are served. `shares`: how far each
    ranker is believed (π). `timings`: milliseconds by stage.
    """

    routing: Routing
    matching: int
    head: int
    considered: tuple[Considered, ...]
    shares: Mapping[str, float]
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Served:
    """The answer to an Ask: the receipt, and the content of what was served."""

    receipt: Receipt
    memories: tuple[ServedMemory, ...]
    guidance: ServedGuidance | None = None
    constraints: tuple[ServedConstraint, ...] = ()
    workings: Workings | None = None


def _within(field_name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Rejected(
            f"{field_name} must lie in {low}…{high}", field=field_name, limit=[low, high]
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """A receipt, and a sentence for each of its memories."""

    receipt: Receipt
    sentences: Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class Recount:
    """One turn of the loop, from task to outcome.

    `texts`: each memory's words as they were served, by id; a memory that was erased, or that the
    caller may not see, has none. `outcomes`: all that was reported, oldest first; `effective` is
    the one that counts, None while there is none.
    """

    explanation: Explanation
    task: Task | None
    texts: Mapping[UUID, MemoryVersion]
    outcomes: tuple[Outcome, ...]
    effective: UUID | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A receipt in a list, without its items: its task's words, the outcome in effect, and how
    many were reported.
    """

    receipt: Receipt
    task: str | None
    effective: Outcome | None
    reported: int

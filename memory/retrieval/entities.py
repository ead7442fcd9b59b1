"""What an agent asks and what it gets, and how an answer came about for who asks why."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from memory.constraints.entities import ServedConstraint
from memory.guidelines.entities import Entry, Guidance
from memory.kernel.errors import Rejected
from memory.kernel.fields import (
    INPUT,
    OUTPUT,
    CallerKey,
    Flag,
    Moment,
    Name,
    Nested,
    NestedItems,
    Number,
    Whole,
)
from memory.kernel.text import KEY, known_name, optional_exact
from memory.memories.entities import Kind
from memory.memories.filter_entities import RetrievalFilter
from memory.meta_guidelines.entities import ServedGuidance
from memory.receipts.entities import Fate, Purpose, Receipt
from memory.receipts.guideline_entities import Format
from memory.receipts.search_entities import Query
from memory.tasks.entities import TaskDraft
from memory.tenancy.namespace_settings import Rerank

MAX_K = 64


MAX_TOKENS = 32_000


MAX_QUERIES = 3


MAX_BATCH = 256


EXPLAINABLE = (Purpose.ACT, Purpose.PREVIEW)


MIN_EXPIRY, MAX_EXPIRY = 60, 400 * 24 * 60 * 60
"""Seconds: one minute to 400 days."""


def _in_seconds(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number of seconds")  # noqa: TRY004 - as pydantic takes it
    return value


Seconds = Annotated[
    Number,
    BeforeValidator(_in_seconds),
    Field(json_schema_extra={"minimum": MIN_EXPIRY, "maximum": MAX_EXPIRY}),
]
"""How long a receipt takes outcomes that teach."""


@dataclass(frozen=True, slots=True)
class RetrievalRequest:
    """What an agent asks before it acts; it names exactly one of `task` and `task_id`."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who asks; made at first use."""
    task: Annotated[TaskDraft, Nested] | None = None
    """What is to be done, in the agent's words."""
    task_id: UUID | None = None
    """A task that is stored already."""
    k: Annotated[Whole, Field(ge=1, le=MAX_K)] | None = None
    """The most experiences that are wanted; 3 where it is left out, 5 under `paper-strict`."""
    max_tokens: Annotated[Whole, Field(ge=0, le=MAX_TOKENS)] = 1_000
    """The budget of the guideline; 0 leaves it empty."""
    all_rankers: Flag = False
    """Whether what any ranker would serve is wanted, with a score by each; as memories only."""
    arm: Literal["auto", "on", "off"] = "auto"
    """Whether memory is wanted; auto leaves it to chance, so that it can be compared with none."""
    purpose: Purpose = Purpose.ACT
    """`paired` promises a run with memory and one without; `preview` stores nothing."""
    queries: Annotated[tuple[Query, ...], Field(max_length=MAX_QUERIES), NestedItems] = ()
    """What to search for; the task's text where it is left out."""
    active_queries: Flag = True
    """Whether a language model, where there is one, may write queries to search for beside the
    task's text.
    """
    filter: Annotated[RetrievalFilter, Nested] | None = None
    """Which memories may be served; all that the agent may see where it is left out."""
    rerank: Rerank | None = None
    """Whether words that memories share with the task order them too; as the namespace has it where
    it is left out.
    """
    past_error: Flag = False
    """Whether to show what went wrong when this agent tried a task like this one."""
    as_of: Moment | None = None
    """The time to answer for; in `replay` namespaces it is required."""
    expires_in: Seconds | None = None
    """Seconds, from a minute to 400 days (34560000): an outcome that comes later moves nothing."""
    gates: Literal["on", "off"] = "on"
    """Whether the floors keep memories out; off gives the k that come first."""
    explore: Flag = True
    """Whether a memory may be left out or tried at random, so that memories are told apart."""
    format: Format = Format.BRIEF
    """Prose for an agent, the same with its sources for people, or the memories as data."""
    explain: Flag = False
    """Show how it came about; with purpose act or preview."""
    trace_id: CallerKey | None = None
    """The caller's own id of the trace that the run belongs to: a result may be reported by it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        object.__setattr__(self, "trace_id", optional_exact(self.trace_id, "trace_id", KEY))
        _require_one_of("arm", self.arm, ("auto", "on", "off"))
        _require_one_of("gates", self.gates, ("on", "off"))
        _require_one_of("purpose", self.purpose, tuple(Purpose))
        object.__setattr__(self, "purpose", Purpose(self.purpose))
        if self.rerank is not None:
            _require_one_of("rerank", self.rerank, tuple(Rerank))
            object.__setattr__(self, "rerank", Rerank(self.rerank))
        if self.filter is not None and not self.filter.narrows:
            object.__setattr__(self, "filter", None)
        if self.k is not None:
            _require_within("k", self.k, 1, MAX_K)
        _require_within("max_tokens", self.max_tokens, 0, MAX_TOKENS)
        _require_within("queries", len(self.queries), 0, MAX_QUERIES)
        if (self.task is None) == (self.task_id is None):
            raise Rejected("give exactly one of task and task_id", field="task")
        if self.all_rankers and self.format is not Format.MEMORIES:
            raise Rejected("all_rankers needs format memories", field="all_rankers")
        if self.explain and self.purpose not in EXPLAINABLE:
            raise Rejected("only act and preview are explained", field="explain")
        if self.expires_in is not None:
            _require_expiry(self.expires_in)

    def within_trace(self, trace_id: str | None) -> "RetrievalRequest":
        """The same in this trace, where it names none itself."""
        return self if self.trace_id or trace_id is None else replace(self, trace_id=trace_id)

    def may_serve(self, kind: Kind) -> bool:
        """Whether the caller's filter leaves memories of this kind."""
        return self.filter is None or self.filter.allows(kind)

    @property
    def is_preview(self) -> bool:
        return self.purpose is Purpose.PREVIEW

    @property
    def lifetime(self) -> timedelta | None:
        """How long its outcome is awaited, where the caller says so."""
        return None if self.expires_in is None else timedelta(seconds=self.expires_in)


def _require_one_of(field_name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        named = ", ".join(choices)
        raise Rejected(
            f"{field_name} must be one of {named}", field=field_name, limit=[*map(str, choices)]
        )


def _require_expiry(seconds: float) -> None:
    if not MIN_EXPIRY <= seconds <= MAX_EXPIRY:
        raise Rejected(
            f"expires_in must be from {MIN_EXPIRY} to {MAX_EXPIRY} seconds, a minute to 400 days",
            field="expires_in",
            limit=[MIN_EXPIRY, MAX_EXPIRY],
        )


def _require_within(field_name: str, value: float, low: int, high: int) -> None:
    if not low <= value <= high:
        raise Rejected(
            f"{field_name} must lie in {low}…{high}", field=field_name, limit=[low, high]
        )


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """A served memory: its texts, and the numbers it was chosen by."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory."""
    version: int
    """The version of its text."""
    rank: int
    """Its place, from 1."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    relevance: float
    """Similarity, or the reranker's opinion."""
    fused: float | None
    """What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none.
    """
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    ranking_weight: float
    """The weight by which it was ordered."""
    score: float
    """Effective weight times relevance."""
    scores: Mapping[str, float | None] | None
    """With all rankers: its score by each, null where that ranker would not serve it."""
    propensity: float
    """The probability it had of being selected, given what stands before it."""
    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    situation: str
    """When it applies."""
    lesson: str
    """What to do then."""
    metadata: Mapping[str, object]
    """What its author attached."""
    identifiers: tuple[str, ...]
    """Names of the task by which it was found, whatever its cosine; it holds them too."""
    agent: str
    """Who learned it."""
    category: str
    """The category it was learned in."""
    subcategory: str | None
    """The second level of it."""
    learned_at: datetime
    """When it was learned."""


class RoutedBy(StrEnum):
    """Whose word the category is: the task's, the caller's, the nearest centroid's, or nobody's."""

    TASK = "task"
    CALLER = "caller"
    NEAREST = "nearest"
    NONE_NEAR = "none_near"


@dataclass(frozen=True, slots=True)
class NearCategory:
    """A category near the task."""

    __pydantic_config__ = OUTPUT

    category: str
    """The first level."""
    subcategory: str | None
    """The second level."""
    similarity: float
    """Cosine of its tasks' centroid to the task, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Routing:
    """How the category was found."""

    __pydantic_config__ = OUTPUT

    by: RoutedBy
    """Whose word it is."""
    confidence: float
    """How sure it is, from 0 to 1."""
    near: tuple[NearCategory, ...]
    """The nearest categories first, also where it was given."""


@dataclass(frozen=True, slots=True)
class RankerView:
    """What one ranker makes of a candidate."""

    __pydantic_config__ = OUTPUT

    order_score: float
    """What it sorts by."""
    knowledge_age: float
    """The factor for the age of the knowledge in it."""
    fate: Fate
    """What it would do with the candidate."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate, and whether it was served.

    An agent that acts reads what it was served and nothing else, or the comparison with those who
    went without would be spoilt: texts are for a preview alone.
    """

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory."""
    version: int
    """The version of its text."""
    place: int
    """Its place in the order of the ranker that serves, from 1."""
    fate: Fate
    """What became of it."""
    why: str
    """The same in words."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    relevance: float
    """Similarity, or the reranker's opinion."""
    fused: float | None
    """What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none.
    """
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    ranking_weight: float
    """The weight by which it is ordered."""
    deviation: float
    """What this agent's own record adds to the effective weight."""
    score: float
    """Effective weight times relevance."""
    propensity: float
    """The probability it had of being selected, given what stands before it."""
    identifiers: tuple[str, ...]
    """Names of the task by which it was found, whatever its cosine; it holds them too."""
    inclusion: float | None
    """The probability with which a coin keeps it; null where no coin is tossed. A preview tosses
    none, and says with which probability an agent that acts would get it.
    """
    contender: bool
    """Whether it would have a place if its coin kept it, given the coins before it."""
    served: bool
    """Whether the agent got it."""
    cited: bool
    """Whether the guideline says it."""
    credited: int
    """How many outcomes have credited it."""
    probation: bool
    """Whether it is on probation and counts half."""
    source_group: str
    """What at most one served memory may come from."""
    learned_at: datetime
    """When it was learned."""
    agent: str
    """Who learned it."""
    category: str
    """The category it was learned in."""
    subcategory: str | None
    """The second level of it."""
    situation: str | None
    """When it applies; in a preview only."""
    lesson: str | None
    """What to do then; in a preview only."""
    rankers: Mapping[str, RankerView]
    """What each ranker makes of it, by name."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every stage of one retrieval, beside its receipt."""

    __pydantic_config__ = OUTPUT

    routing: Routing
    """How the category was found."""
    matching: int
    """How many memories the agent may see and the filter leaves."""
    head: int
    """How many of them were candidates."""
    considered: tuple[Considered, ...]
    """The candidates placed first, and all that are served."""
    shares: Mapping[str, float]
    """How far each ranker is believed (π)."""
    timings: Mapping[str, float]
    """Milliseconds by stage."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer to a request: the receipt, and the content of what was served.

    `entries` is what the guideline was compiled from, `guide` the meta-guideline it goes by.
    """

    receipt: Receipt
    memories: tuple[ServedMemory, ...] = ()
    guidance: ServedGuidance | None = None
    constraints: tuple[ServedConstraint, ...] = ()
    entries: tuple[Entry, ...] = ()
    guide: Guidance | None = None
    explanation: Explanation | None = None

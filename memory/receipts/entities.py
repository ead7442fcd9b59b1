"""Receipts and outcomes: what was served, and with what result, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.belief.rankers import Candidate
from memory.belief.states import Evidence
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Share
from memory.kernel.text import cleaned_json
from memory.memories.entities import Kind
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import PolicyName


class Format(StrEnum):
    """`guideline`: compiled prose. `memories`: the served memories as data; all of them count as
    cited.
    """

    GUIDELINE = "guideline"
    MEMORIES = "memories"


class Arm(StrEnum):
    """How a retrieval was served."""

    ON = "on"
    CONTROL = "control"
    FORCED_ON = "forced_on"
    FORCED_OFF = "forced_off"
    PAIRED = "paired"
    EMPTY = "empty"
    SUSPENDED = "suspended"
    RETEST = "retest"

    @property
    def is_served(self) -> bool:
        """Whether the agent gets what was selected."""
        return self in (Arm.ON, Arm.FORCED_ON, Arm.PAIRED, Arm.RETEST)


class Purpose(StrEnum):
    """What the caller will do with the guideline; a preview stores nothing."""

    ACT = "act"
    PAIRED = "paired"
    REPLAY = "replay"
    PREVIEW = "preview"


class Reason(StrEnum):
    """Why an arm was assigned; an empty guideline is answered with it."""

    CALLER_WANTS_OFF = "caller_wants_off"
    NOTHING_TO_SERVE = "nothing_to_serve"
    CALLER_PAIRS = "caller_pairs"
    CALLER_WANTS_ON = "caller_wants_on"
    PREVIEW = "preview"
    RANDOMISED = "randomised"
    SUSPENDED = "suspended_negative_transfer"
    RETESTED = "retested"


class Fate(StrEnum):
    """What selecting does with a candidate.

    served: it has a place. exploration_slot: it was drawn into the last place. displaced: it had
    the last place, and the exploration slot took it. raw_gate: not similar enough. score_floor: its
    score is too low. group: another memory of its source group has a place. probation: the one
    place for a memory on probation is taken. beyond_k: all k places are taken.
    """

    SERVED = "served"
    EXPLORATION_SLOT = "exploration_slot"
    DISPLACED = "displaced"
    RAW_GATE = "raw_gate"
    SCORE_FLOOR = "score_floor"
    GROUP = "group"
    PROBATION = "probation"
    BEYOND_K = "beyond_k"


class CutReason(StrEnum):
    """Why a memory is not in the guideline."""

    BUDGET = "budget"
    QUARANTINED = "quarantined"
    EMPTY = "empty"
    LEFT_OUT = "left_out"  # a language model had no use for it
    CATEGORY = "category"  # cross_category: exclude
    DISAGREEMENT = "disagreement"  # on_disagreement: strongest or drop
    MAX_MEMORIES = "max_memories"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a guideline."""

    __pydantic_config__ = OUTPUT

    text: str
    """The line as it was shown."""
    memory_ids: tuple[UUID, ...]
    """The memories it cites, strongest first."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A memory that did not enter the guideline."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory."""
    reason: CutReason
    """Why it was left out."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """Advice compiled for one task; what was selected is cited by a line or named once in `cut`."""

    __pydantic_config__ = OUTPUT

    text: str | None
    """The whole text, empty where nothing was served; null once its words were erased."""
    lines: tuple[Line, ...]
    """What it says, line by line, below its header."""
    tokens: int
    """How long the text is, as `counter` counts."""
    counter: str
    """Which tokenizer counted."""
    cut: tuple[Cut, ...]
    """What did not enter, and why."""

    @property
    def cited(self) -> frozenset[UUID]:
        """The memories that any of its lines cites."""
        return frozenset(memory_id for line in self.lines for memory_id in line.memory_ids)


@dataclass(frozen=True, slots=True)
class Gates:
    """Floors that keep memories out; 0 is off.

    A flat ranker takes every weight for 1, here too: what weights keep out, the flat rankers, which
    are there to show what weights are worth, would otherwise never serve.
    """

    __pydantic_config__ = OUTPUT

    raw: float
    """The floor on similarity."""
    score: float
    """The floor on effective weight times relevance."""

    def admit(self, candidate: Candidate, *, weighted: bool = True) -> bool:
        return self.bar(candidate, weighted=weighted) is None

    def bar(self, candidate: Candidate, *, weighted: bool = True) -> Fate | None:
        """The gate that a candidate does not pass; None when it passes both."""
        if candidate.similarity < self.raw:
            return Fate.RAW_GATE
        score = candidate.score if weighted else candidate.relevance
        return Fate.SCORE_FLOOR if score < self.score else None


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds of each step before the commit; a step that did not run took none."""

    __pydantic_config__ = OUTPUT

    embed_ms: float = 0.0
    """Embedding the queries."""
    search_ms: float = 0.0
    """Routing and the exact search."""
    rank_ms: float = 0.0
    """Ranking, selecting and compiling."""
    write_ms: Annotated[float | None, Field(exclude=True)] = None
    """Waiting for a language model, where one may write guidelines."""

    def by_step(self) -> dict[str, float]:
        """As they are stored: without a step that could not run."""
        steps = {"embed_ms": self.embed_ms, "search_ms": self.search_ms, "rank_ms": self.rank_ms}
        return steps if self.write_ms is None else steps | {"write_ms": self.write_ms}


@dataclass(frozen=True, slots=True)
class Item:
    """One memory in a receipt, also one that a control arm kept back, with the numbers it was
    chosen by.
    """

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory."""
    version: int
    """The version of its text that was served."""
    rank: int
    """Its place, from 1; constraints and the meta-guideline stand behind experiences."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    relevance: float
    """Similarity, or what the reranker or the category makes of it."""
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    ranking_weight: float
    """The weight by which it was ordered."""
    score: float
    """Effective weight times relevance."""
    scores: Mapping[str, float | None] | None
    """With all rankers: its score by each, null where that ranker would not serve it."""
    propensity: float
    """The probability it had of being selected."""
    served: bool
    """Whether the agent got it; a control arm records what it would have got."""
    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    exploration_slot: bool
    """Whether it was drawn into the last place for having been credited least."""
    kind: Kind = Kind.EXPERIENCE
    """What kind of memory it is."""
    sentence: str | None = field(default=None, compare=False)
    """Why it stands where it stands, where that was asked."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a retrieval, to which its outcome binds."""

    __pydantic_config__ = OUTPUT

    retrieval_id: UUID
    """Names the retrieval; an outcome is reported under it."""
    agent: str
    """Who asked."""
    task_id: UUID | None
    """The task it was about; null for a preview."""
    category: str
    """The task's category, given or found."""
    subcategory: str | None
    """The second level of it."""
    confidence: float
    """How sure the category is, from 0 to 1; 1 where it was given."""
    purpose: Purpose
    """What the caller was going to do with it."""
    arm: Arm
    """How it was served."""
    propensity: float
    """The probability that chance gave to the arm."""
    eligible: bool
    """Whether anything passed the gates."""
    reason: Reason | None
    """Why it has this arm."""
    format: Format
    """Whether prose or data was asked for."""
    k: int
    """The most experiences that were wanted."""
    max_tokens: int
    """The budget of the guideline."""
    all_rankers: bool
    """Whether the selections of all rankers were served."""
    bank_version: int
    """The version of the bank that was searched."""
    as_of: datetime
    """The time as of which it was answered."""
    ranker: str
    """The ranker that ordered."""
    rankers: Mapping[str, float]
    """Each ranker's probability of being drawn; with all rankers, its share of the answer."""
    strength: float
    """How far memory was to be followed, from 0 to 1."""
    policy: PolicyName
    """How weights were learned."""
    compiler: str
    """What wrote the guideline; `none` where data was asked for."""
    guideline: Guideline
    """The advice, and what was left out of it."""
    items: tuple[Item, ...]
    """The memories that were selected, by rank; empty in lists."""
    gates: Gates
    """The floors in force."""
    timings: Timings
    """How long it took."""
    known_at: datetime
    """When it happened: the server's clock, or the stream's."""
    recorded_at: datetime
    """When it was stored."""
    expires_at: datetime
    """From when on an outcome moves nothing."""
    key_id: UUID | None
    """The key that asked."""
    agent_id: Annotated[UUID, Field(exclude=True)]
    """The agent's id."""
    agent_model: Annotated[str | None, Field(exclude=True)]
    """The model it was declared to run on: runs of different models are no pair."""
    own_information: Annotated[bool, Field(exclude=True)]
    """Whether it was declared to bring information of its own."""
    category_id: Annotated[UUID, Field(exclude=True)]
    """The category's id."""
    subcategory_id: Annotated[UUID | None, Field(exclude=True)]
    """The subcategory's id."""
    model_id: Annotated[UUID, Field(exclude=True)]
    """The embedding model that searched."""

    @property
    def is_preview(self) -> bool:
        return self.purpose is Purpose.PREVIEW

    @property
    def category_name(self) -> CategoryName:
        return CategoryName(self.category, self.subcategory)


class OutcomeStatus(StrEnum):
    """Where an outcome stands: waiting to be applied, applied, without effect, or replaced."""

    ACCEPTED = "accepted"
    APPLIED = "applied"
    IGNORED = "ignored"
    SUPERSEDED = "superseded"


Free = dict[str, object]
"""A JSON object in the form of a metric."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run went, as a reward or as the metric's value."""

    __pydantic_config__ = INPUT

    reward: Share | None = None
    """The reward, 0 to 1, larger is better."""
    value: Free | None = None
    """The value of the report's metric."""

    def __post_init__(self) -> None:
        if (self.reward is None) == (self.value is None):
            raise ValueError("give either reward or value")

    def cleaned(self, name: str) -> "RunResult":
        """The same, its value cleaned. Raises Rejected under this field's name."""
        value = None if self.value is None else cleaned_json(self.value, f"{name}.value")
        return RunResult(self.reward, value)

    def stored(self) -> dict[str, object]:
        return {"reward": self.reward} if self.value is None else {"value": self.value}


Verifier = Literal["human", "test", "judge", "self"]


RewardKind = Literal["continuous", "binary"]


HOLDING = ("half_missing", "observational", "half_of_pair")
"""Reasons of outcomes that move nothing by themselves and still hold the place of their run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attempt, as stored."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the outcome for ever."""
    retrieval_id: UUID
    """The receipt it is for."""
    status: OutcomeStatus
    """Whether it waits, was applied, was ignored, or was taken out of effect."""
    reason: str | None
    """Why it was ignored or moves nothing."""
    evidence: Evidence
    """What kind of comparison it offers."""
    reward: float
    """The reward of the run as it was acted, 0 to 1."""
    reward_without: float | None
    """The reward of the same run without memory, where one is known."""
    reward_full: float
    """The reward had memory been followed wholly."""
    metric: str
    """What the rewards were computed by."""
    reward_kind: RewardKind
    """Whether a reward is a degree, or 0 or 1."""
    evaluator: str
    """Who judged the run."""
    verifier: Verifier
    """What the judgement rests on."""
    raw: Mapping[str, object]
    """The numbers as they were reported."""
    helpful: tuple[UUID, ...]
    """Served memories that were called helpful."""
    harmful: tuple[UUID, ...]
    """Served memories that were called harmful."""
    supersedes: UUID | None
    """The outcome whose place it took."""
    partner_id: UUID | None
    """The outcome of the run that makes a pair with this one."""
    muted: tuple[UUID, ...]
    """Memories it does not count for: erased, or its key had reached the daily limit for them."""
    known_at: datetime
    """When it became known; outcomes are applied in this order."""
    recorded_at: datetime
    """When the server took it in."""
    applied_at: datetime | None
    """When it was applied or set aside; null while it waits."""
    bank_version: int | None
    """The version of the bank that it made; null where it moved nothing."""
    withdrawn_version: int | None
    """The version of the bank in which what it had moved was taken back."""
    position: Annotated[int, Field(exclude=True)]
    sha256: Annotated[bytes, Field(exclude=True)]
    authored: Annotated[tuple[UUID, ...], Field(exclude=True)]
    numeric: Annotated[tuple[float, float] | None, Field(exclude=True)]
    ranker_rewards: Annotated[Mapping[str, float] | None, Field(exclude=True)]
    answers: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    stances: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    lesson: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    key_id: Annotated[UUID | None, Field(exclude=True)]
    residual: Annotated[float | None, Field(exclude=True)] = None
    acquired_at: Annotated[datetime | None, Field(exclude=True)] = None

    @property
    def is_in_effect(self) -> bool:
        """Whether it waits to be applied or was."""
        return self.status in (OutcomeStatus.ACCEPTED, OutcomeStatus.APPLIED)

    @property
    def holds_place(self) -> bool:
        """Whether it is the one of its run that counts, as far as any does."""
        ignored = self.status is OutcomeStatus.IGNORED
        return self.is_in_effect or (ignored and self.reason in HOLDING)


@dataclass(frozen=True, slots=True)
class AgentTask:
    """An agent at a task, by id."""

    agent_id: UUID
    task_id: UUID


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
    """Which outcomes a list has; the oldest first unless asked otherwise."""

    state: str | None = None
    retrieval_id: UUID | None = None
    newest_first: bool = False

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in set(OutcomeStatus):
            states = tuple(status.value for status in OutcomeStatus)
            raise Rejected(f"state must be one of {states}", field="state", limit=list(states))


SETTLEMENT = "settlement"
"""The evaluator of the outcomes that settlements make; nobody else may go by this name."""

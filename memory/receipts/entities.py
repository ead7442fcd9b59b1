"""Receipts and outcomes: what was served, and what became of it, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.belief.rankers import Candidate
from memory.kernel.fields import OUTPUT
from memory.memories.entities import Kind
from memory.tasks.entities import CategoryName


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
    policy: str
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


SETTLEMENT = "settlement"
"""The evaluator of the outcomes that settlements make; nobody else may go by this name."""

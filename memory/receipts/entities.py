"""Receipts and outcomes: what was served, and with what result, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.belief.fold import ARITHMETIC
from memory.belief.rankers import Candidate
from memory.belief.states import Evidence
from memory.kernel.fields import INPUT, OUTPUT, Share, Surprise
from memory.kernel.metrics import RewardKind
from memory.kernel.text import cleaned_json
from memory.memories.entities import Kind
from memory.memories.masking import Mask
from memory.receipts.guideline_entities import BY_MODEL, Format, Guideline, PastError
from memory.receipts.search_entities import Search
from memory.tasks.entities import CategoryName
from memory.tenancy.claims import Verifier
from memory.tenancy.entities import PolicyName


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
    """Why an arm was assigned; an empty guideline is answered with it.

    left_out: coins left out all that would have been served; the arm stays what it was.
    """

    CALLER_WANTS_OFF = "caller_wants_off"
    NOTHING_TO_SERVE = "nothing_to_serve"
    LEFT_OUT = "left_out"
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
    score is too low. group: another memory of its source group has a place. look_alike: a memory
    that says the same has a place, and has earned more. probation: the one place for a memory on
    probation is taken. author_share: its author has all other places with memories that have earned
    nothing yet, and another author's waits. left_out: it would have a place, but its coin fell
    against it, so that runs without it are known too. beyond_k: all k places are taken.
    """

    SERVED = "served"
    EXPLORATION_SLOT = "exploration_slot"
    DISPLACED = "displaced"
    RAW_GATE = "raw_gate"
    SCORE_FLOOR = "score_floor"
    GROUP = "group"
    LOOK_ALIKE = "look_alike"
    PROBATION = "probation"
    AUTHOR_SHARE = "author_share"
    LEFT_OUT = "left_out"
    BEYOND_K = "beyond_k"


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
    """The floor on effective weight times nearness: relevance, or more where a name found it."""

    def admit(self, candidate: Candidate, *, weighted: bool = True) -> bool:
        return self.bar(candidate, weighted=weighted) is None

    def bar(self, candidate: Candidate, *, weighted: bool = True) -> Fate | None:
        """The gate that a candidate does not pass; None when it passes both."""
        if not candidate.is_near(self.raw):
            return Fate.RAW_GATE
        score = candidate.floor_score if weighted else candidate.nearness
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
    query_ms: Annotated[float | None, Field(exclude=True)] = None
    """Waiting for a language model, where one may write queries."""

    def by_step(self) -> dict[str, float]:
        """As they are stored: without a step that could not run."""
        steps = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: took for name, took in steps.items() if took is not None}


@dataclass(frozen=True, slots=True)
class Item:
    """One memory in a receipt, served or kept back, with the numbers it was chosen by."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory; the nil UUID for a private one that the key may not read."""
    version: int
    """The version of its text that was served."""
    rank: int
    """Its place, from 1; constraints and the meta-guideline stand behind experiences. Of a memory
    that its coin left out, the place that it would have had.
    """
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
    """The probability it had of being selected, given what stands before it."""
    served: bool
    """Whether the agent got it; a control arm records what it would have got, and a memory that its
    coin left out is recorded too.
    """
    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    exploration_slot: bool
    """Whether it was drawn into the last place for having been credited least."""
    inclusion: float | None = None
    """The probability with which its coin keeps it, 1 where none was spent on it; null where the
    retrieval tosses none.
    """
    left_out: bool = False
    """Whether its coin left it out: nobody got it, and the next in the order has its place."""
    contender: bool = False
    """Whether it would have a place if its coin kept it, given the coins before it; false where the
    retrieval tosses none.
    """
    kind: Kind = Kind.EXPERIENCE
    """What kind of memory it is."""
    query: int | None = None
    """Which of several queries it is nearest to: 0 is the task's text, or the caller's first."""
    fused: float | None = None
    """What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none, and for other kinds.
    """
    identifiers: tuple[str, ...] = ()
    """Names of the task by which it was found, whatever its cosine; empty once erased."""
    sentence: str | None = field(default=None, compare=False)
    """Why it stands where it stands, where that was asked."""

    def hide(self, mask: Mask) -> "Item":
        """Without words of a memory that the mask hides."""
        return replace(self, identifiers=()) if mask.hides((self.memory_id,)) else self


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
    same_rankers: tuple[str, ...] | None
    """The rankers that would have served the same memories, by name, the one that ordered among
    them; null where none was drawn, and in receipts of earlier releases.
    """
    strength: float
    """How far memory was to be followed, from 0 to 1."""
    policy: PolicyName
    """How weights were learned."""
    compiler: str
    """What wrote the guideline; `none` where data was asked for."""
    guideline: Guideline
    """The advice, and what was left out of it."""
    items: tuple[Item, ...]
    """The memories that were selected, by rank, and behind them those that their coins left out;
    empty in lists.
    """
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
    passed_over: Annotated[tuple[UUID, ...] | None, Field(exclude=True)]
    """What the head held past the raw gate and a run with memory went without; null in receipts of
    earlier releases.
    """
    search: Search | None = None
    """What was searched for; null in receipts of earlier releases."""
    past_error: PastError | None = None
    """This agent's failure at a task like this, where that was asked and there is one."""
    formats: Mapping[Format, str] | None = field(default=None, compare=False)
    """The guideline as it was served and in the other format of prose; null in lists."""
    trace_id: str | None = None
    """The caller's own id of the trace that the run belongs to."""

    @property
    def is_preview(self) -> bool:
        return self.purpose is Purpose.PREVIEW

    @property
    def category_name(self) -> CategoryName:
        return CategoryName(self.category, self.subcategory)

    def hide(self, mask: Mask) -> "Receipt":
        """Without words of memories that the mask hides: those are the lines that cite one. A model
        may say in any of its lines what it read in all notes.
        """
        whole = self.compiler.startswith(BY_MODEL) and mask.hides(self.guideline.material)
        told = () if self.past_error is None else self.past_error.sources
        hidden = self.guideline.without(lambda line: whole or mask.hides(line.memory_ids or told))
        return replace(self, guideline=hidden)


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


HOLDING = ("half_missing", "observational", "half_of_pair")
"""Reasons of outcomes that move nothing by themselves and still hold the place of their run."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """How far a memory could have acted on an outcome."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory; the nil UUID for a private one."""
    exposure: Surprise
    """0 not at all, 1 wholly: so far the outcome moves it. Of a meta-guideline, whether it was
    followed (1 or 0) less the probability of its coin; 0 where none was tossed.
    """


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
    """Served memories that were called helpful; the nil UUID for a private one."""
    harmful: tuple[UUID, ...]
    """Served memories that were called harmful; the nil UUID for a private one."""
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
    """The version of the bank in which what it had moved was withdrawn."""
    position: Annotated[int, Field(exclude=True)]
    sha256: Annotated[bytes, Field(exclude=True)]
    authored: Annotated[tuple[UUID, ...], Field(exclude=True)]
    numeric: Annotated[tuple[float, float] | None, Field(exclude=True)]
    ranker_rewards: Annotated[Mapping[str, float] | None, Field(exclude=True)]
    answers: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    stances: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    lesson: Annotated[Mapping[str, object] | None, Field(exclude=True)]
    key_id: Annotated[UUID | None, Field(exclude=True)]
    party_id: Annotated[UUID | None, Field(exclude=True)] = None
    used: tuple[UUID, ...] | None = None
    """Served memories that the agent acted on, as the report says; null where it does not; the nil
    UUID for a private one.
    """
    exposure: tuple[Exposure, ...] | None = None
    """How far each memory could have acted, decided when the outcome was applied; null where it was
    not, or no longer is, and under a policy to which that is nothing.
    """
    arithmetic: Annotated[int, Field(exclude=True)] = ARITHMETIC
    residual: Annotated[float | None, Field(exclude=True)] = None
    above_baseline: Annotated[float | None, Field(exclude=True)] = None
    acquired_at: Annotated[datetime | None, Field(exclude=True)] = None
    set_aside_at: datetime | None = None
    """When it was found that it cannot be applied, `reason` says why; null where it can."""

    @property
    def is_in_effect(self) -> bool:
        """Whether it waits to be applied or was."""
        return self.status in (OutcomeStatus.ACCEPTED, OutcomeStatus.APPLIED)

    @property
    def is_set_aside(self) -> bool:
        """Whether it could not be applied, and waits until somebody asks for it again."""
        return self.is_in_effect and self.applied_at is None and self.set_aside_at is not None

    @property
    def holds_place(self) -> bool:
        """Whether it is the one of its run that counts, as far as any does."""
        ignored = self.status is OutcomeStatus.IGNORED
        return self.is_in_effect or (ignored and self.reason in HOLDING)


SETTLEMENT = "settlement"
"""The evaluator of the outcomes that settlements make; nobody else may go by this name."""

"""Receipts and outcomes: what was served, and what became of it, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.belief.rankers import Candidate
from memory.memories.entities import Kind
from memory.tasks.entities import CategoryName


class Format(StrEnum):
    """`guideline`: compiled prose. `memories`: the served memories as data; all of them count as
    cited.
    """

    GUIDELINE = "guideline"
    MEMORIES = "memories"


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
    exploration_slot: bool
    kind: Kind = Kind.EXPERIENCE


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
    all_rankers: bool
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


@dataclass(frozen=True, slots=True)
class Gates:
    """Floors: `raw` on similarity, `score` on effective weight times relevance; 0 is off.

    A flat ranker takes every weight for 1, here too: what weights keep out, the flat rankers, which
    are there to show what weights are worth, would otherwise never serve.
    """

    raw: float
    score: float

    def admit(self, candidate: Candidate, *, weighted: bool = True) -> bool:
        return self.bar(candidate, weighted=weighted) is None

    def bar(self, candidate: Candidate, *, weighted: bool = True) -> Fate | None:
        """The gate that a candidate does not pass; None when it passes both."""
        if candidate.similarity < self.raw:
            return Fate.RAW_GATE
        score = candidate.score if weighted else candidate.relevance
        return Fate.SCORE_FLOOR if score < self.score else None

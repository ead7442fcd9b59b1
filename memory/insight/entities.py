"""What people read of learning: weights, effects, the bank at a moment, its health."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, cast
from uuid import UUID

from memory.belief.effect import ArmMean, Estimate
from memory.insight.influence_entities import PartyInfluence
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Flag, Moment, Name
from memory.kernel.text import optional_known_name
from memory.memories.entities import Kind, MemoryVersion, Status
from memory.receipts.entities import Outcome, Receipt
from memory.receipts.list_entities import Claims
from memory.tasks.entities import Task
from memory.tenancy.entities import utc


@dataclass(frozen=True, slots=True)
class WaitingByAge:
    """How many wait, by how long."""

    __pydantic_config__ = OUTPUT

    hour: int = 0
    """Under an hour."""
    day: int = 0
    """From an hour to a day."""
    week: int = 0
    """From a day to a week."""
    month: int = 0
    """From a week to 30 days."""
    older: int = 0
    """30 days or longer."""

    @property
    def total(self) -> int:
        return self.hour + self.day + self.week + self.month + self.older


@dataclass(frozen=True, slots=True)
class WeightShares:
    """How the effective weights of living memories lie."""

    __pydantic_config__ = OUTPUT

    living: int
    """Memories that are neither retired nor rejected."""
    at_lower_bound: float
    """The share with a weight of at most .12."""
    at_upper_bound: float
    """The share with a weight of at least 1.95."""
    below_floor: float
    """The share with a weight below .3, which is hardly served."""


@dataclass(frozen=True, slots=True)
class OutcomeCoverage:
    """How many receipts of the last 30 days have an outcome."""

    __pydantic_config__ = OUTPUT

    receipts: int
    """Receipts of the last 30 days, replays aside."""
    answered: int
    """Those of them with an outcome in effect, their own or that of their pair."""
    share: float | None
    """Answered over receipts; null without receipts."""
    noted: int = 0
    """Those of which something was reported that moves nothing."""


@dataclass(frozen=True, slots=True)
class DuplicateTexts:
    """How many of the texts that came in were there already, or were merged as near-twins."""

    __pydantic_config__ = OUTPUT

    remembered: int
    """Texts that came in."""
    duplicates: int
    """Those of them that were there already or were merged."""
    share: float | None
    """Duplicates over texts; null without texts."""


@dataclass(frozen=True, slots=True)
class ItemVariance:
    """Whether residuals of one memory on different dates agree, over the last 180 days."""

    __pydantic_config__ = OUTPUT

    pairs: int
    """Pairs of residuals of one memory on two different dates."""
    mean: float | None
    """Their mean product, in squared reward; null without pairs."""
    alert: bool
    """At or below zero over at least 200 pairs: weights carry no signal here."""


@dataclass(frozen=True, slots=True)
class LearningHealth:
    """The health of learning in one namespace at one time."""

    __pydantic_config__ = OUTPUT

    known_at: datetime
    """When it was counted, by the namespace's clock."""
    weights: WeightShares
    """How many weights stand at their bounds."""
    coverage: OutcomeCoverage
    """Whether outcomes are reported."""
    pending_outcomes: WaitingByAge
    """Outcomes that wait to be applied."""
    pending_receipts: WaitingByAge
    """Receipts that have not expired and of which nothing was reported yet."""
    suspended_cells: int
    """Pairs of agent and category from which memory is withheld."""
    duplicates: DuplicateTexts
    """Whether texts come in again."""
    evidence: Mapping[str, int]
    """Effective outcomes of the last 30 days by kind of evidence."""
    egl: Mapping[str, float | None]
    """Memories admitted for a thousand retrievals, by category; it rises when tasks drift."""
    item_variance: ItemVariance
    """Whether weights carry a signal."""
    lone_parties: int = 0
    """Parties that moved three or more memories of others alone, and further than counts."""
    expired_receipts: int = 0
    """Receipts that expired within the last 30 days without a report."""

    def to_numbers(self) -> dict[str, object]:
        """The numbers, without their time."""
        numbers = asdict(self)
        del numbers["known_at"]
        return numbers

    @classmethod
    def of_numbers(cls, known_at: datetime, numbers: Mapping[str, object]) -> "LearningHealth":
        """The health that these numbers were of."""
        known = cast("Mapping[str, Any]", numbers)
        return cls(
            known_at=known_at,
            weights=WeightShares(**known["weights"]),
            coverage=OutcomeCoverage(**known["coverage"]),
            pending_outcomes=WaitingByAge(**known["pending_outcomes"]),
            pending_receipts=WaitingByAge(**known["pending_receipts"]),
            suspended_cells=known["suspended_cells"],
            duplicates=DuplicateTexts(**known["duplicates"]),
            evidence=known["evidence"],
            egl=known["egl"],
            item_variance=ItemVariance(**known["item_variance"]),
            lone_parties=known.get("lone_parties", 0),
            expired_receipts=known.get("expired_receipts", 0),
        )


MAX_CHANGES = 500


@dataclass(frozen=True, slots=True)
class PastWeight:
    """A memory's weight at a moment, for no agent in particular."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    effective_weight: float
    """What it had earned by then, from .1 to 2; 1 is neutral."""


@dataclass(frozen=True, slots=True)
class WeightChange:
    """A memory's effective weight before and after."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    before: float | None
    """Null where it did not exist yet."""
    after: float | None
    """Null where it does not exist there."""

    @property
    def size(self) -> float:
        return abs((self.after or 0.0) - (self.before or 0.0))


@dataclass(frozen=True, slots=True)
class StrengthChange:
    """How far memory is followed in a cell, before and after."""

    __pydantic_config__ = OUTPUT

    agent: str
    """Name of the agent."""
    category: str
    """Name of the category."""
    before: float
    """Strength before, from 0 to 1."""
    after: float
    """Strength after, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A memory's status and text version before and after; null where it did not exist."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    status_before: Status | None
    """Status at the first moment."""
    status_after: Status | None
    """Status at the second moment."""
    version_before: int | None
    """Version of the text at the first moment."""
    version_after: int | None
    """Version of the text at the second moment."""


@dataclass(frozen=True, slots=True)
class BankDifference:
    """What two states of the bank differ in, the largest changes first."""

    __pydantic_config__ = OUTPUT

    total: int
    """How many weights differ, those that are not listed among them."""
    weights: tuple[WeightChange, ...]
    """The largest changes of weights."""
    strengths: tuple[StrengthChange, ...]
    """The largest changes of strength, by cell."""
    total_memories: int = 0
    """How many memories differ, those that are not listed among them."""
    memories: tuple[MemoryChange, ...] = ()
    """Those that came, changed status or changed text; only between two moments."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Whose word is withdrawn: of an agent, of a key, or of both.

    Outcomes of their retrievals or reports leave the ledger, memories they wrote retire, and their
    verdicts on runs prove nothing any more. With `claims` only outcomes go that claim too much.
    """

    __pydantic_config__ = INPUT

    agent: Name | None = None
    """Name of the agent; it, a key, or `claims` is named."""
    key_id: UUID | None = None
    """Names the key."""
    since: Moment | None = None
    """Only what was recorded at this time or later."""
    until: Moment | None = None
    """Only what was recorded before this time."""
    claims: Claims | None = None
    """Only outcomes that claim more than their keys verify today; memories stay."""
    dry_run: Flag = True
    """Whether to only look what would change."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", optional_known_name(self.agent, "agent"))
        if self.agent is None and self.key_id is None and self.claims is None:
            raise Rejected("name an agent or a key, or say which claims", field="agent")
        if self.since is not None:
            object.__setattr__(self, "since", utc(self.since, "since"))
        if self.until is not None:
            object.__setattr__(self, "until", utc(self.until, "until"))


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """What a rollback does, or did."""

    __pydantic_config__ = OUTPUT

    dry_run: bool
    """Whether nothing was changed."""
    outcomes: tuple[UUID, ...]
    """The outcomes that are withdrawn."""
    retired: tuple[UUID, ...]
    """The memories that retire."""
    trajectories: tuple[UUID, ...]
    """The runs whose verdicts are withdrawn."""
    weakened: tuple[UUID, ...]
    """The constraints that lose support; those that are proven no more wait again."""
    difference: BankDifference
    """What that changes in the bank."""
    bank_version: int
    """The version of the bank afterwards."""
    rollback_id: UUID | None = None
    """By which it can be undone; null where nothing was withdrawn."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """Whether the live states are what the ledger folds to, and which are not."""

    states: int
    differing: tuple[str, ...]

    def result(self) -> Mapping[str, object]:
        return {
            "examined": self.states,
            "changes": [],
            "exact": not self.differing,
            "differing": list(self.differing),
        }


@dataclass(frozen=True, slots=True)
class Weight:
    """A memory's weight for one agent, or for none in particular, aged to the time of reading."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    agent: str | None
    """Name of the agent whose deviation counts; null for none in particular."""
    effective_weight: float
    """What it has earned, from .1 to 2; 1 is neutral."""
    ranking_weight: float
    """The same with some optimism for the untested; it only orders."""
    state: Mapping[str, float]
    """The policy's numbers about the memory, by name."""
    deviation: Mapping[str, float] | None
    """The policy's numbers about how the agent deviates; null where it has none."""
    served: int
    """Receipts in which it was served."""
    credited: int
    """Outcomes that moved it."""
    helpful: int
    """Reports that named it helpful, by those whose word is not bounded."""
    harmful: int
    """Reports that named it harmful, by those whose word is not bounded."""
    touched_at: datetime | None
    """When an event last moved it; null before the first."""
    influences: tuple[PartyInfluence, ...]
    """Who moved it, the party of the largest effect first; evaluators and admins are in none."""


Order = Literal["strongest", "weakest"]


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """strongest or weakest first, as one agent's deviations have it (None: without deviations)."""

    agent: str | None = None
    order: Order = "strongest"


@dataclass(frozen=True, slots=True)
class WeightRow:
    """A line in the list of weights."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    situation: str
    """When it applies."""
    lesson: str
    """What to do then."""
    category: str
    """Name of its category."""
    effective_weight: float
    """What it has earned, from .1 to 2; 1 is neutral."""
    served: int
    """Receipts in which it was served."""
    credited: int
    """Outcomes that moved it."""
    touched_at: datetime | None
    """When an event last moved it; null before the first."""
    kind: Kind = Kind.EXPERIENCE
    """What it is."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What memory did for one agent in one category, and how far it is followed there.

    Pairs and randomised outcomes are never mixed.
    """

    __pydantic_config__ = OUTPUT

    agent: str
    """Name of the agent."""
    category: str
    """Name of the category."""
    n: int
    """Outcomes of all arms."""
    arms: Mapping[str, ArmMean]
    """Rewards by arm of the retrieval."""
    paired: Estimate
    """From runs of one task with memory and without."""
    randomised: Estimate
    """From runs with memory and without, drawn at random."""
    strength: float
    """How far memory is followed, from 0 to 1."""
    suspended: bool
    """Whether memory is withheld, but for retests."""
    feedback_dates: int
    """Days (UTC) on which an outcome said something about strength."""


@dataclass(frozen=True, slots=True)
class RankerRecord:
    """The guard's record of one category, or of the whole namespace."""

    __pydantic_config__ = OUTPUT

    category: str | None
    """Name of the category; null for the whole namespace."""
    feedback_dates: int
    """Days (UTC) on which rankers were scored."""
    probabilities: Mapping[str, float]
    """How far each ranker is believed now; they sum to 1."""
    losses: Mapping[str, float]
    """What each ranker has lost; a date counts once, and old dates less."""


@dataclass(frozen=True, slots=True)
class ReceiptDetails:
    """A receipt with its task and all its outcomes; its items have their sentences.

    `texts`: each memory's words as they were served, by id; a memory that was erased, or that the
    caller may not see, has none. `outcomes`: all that was reported, oldest first; `effective` is
    the one that counts, None while there is none.
    """

    receipt: Receipt
    task: Task | None
    texts: Mapping[UUID, MemoryVersion]
    outcomes: tuple[Outcome, ...]
    effective: UUID | None


@dataclass(frozen=True, slots=True)
class ReceiptSummary:
    """A receipt in a list, without its items: its task's words, the outcome in effect, and how
    many were reported.
    """

    receipt: Receipt
    task: str | None
    effective: Outcome | None
    reported: int

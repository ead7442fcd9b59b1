"""How the bank is looked through: what is asked, as of when, and what is seen of a memory."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.fields import OUTPUT
from memory.kernel.text import cleaned
from memory.memories.entities import MAX_WEIGHT, Kind, Memory, Status, Trust
from memory.tenancy.entities import Clock, Namespace, utc

NEIGHBOURS = 8


SOUGHT = 500
"""The most characters that are looked for in texts."""


class Sort(StrEnum):
    RECORDED = "recorded_at"
    WEIGHT = "weight"
    SERVED = "served"
    CREDITED = "credited"


@dataclass(frozen=True, slots=True)
class MemoryCriteria:
    """Which memories; None does not filter. `text` is looked for in situation and lesson, in any
    case; weights are effective ones for no agent in particular, bounds included.
    """

    kind: Kind | None = None
    status: Status | None = None
    trust: Trust | None = None
    category: str | None = None
    agent: str | None = None
    text: str | None = None
    min_weight: float | None = None
    max_weight: float | None = None

    def __post_init__(self) -> None:
        if self.text is not None:
            object.__setattr__(self, "text", cleaned(self.text, "text", SOUGHT))
        for name, bound in (("min_weight", self.min_weight), ("max_weight", self.max_weight)):
            if bound is not None and not 0.0 <= bound <= MAX_WEIGHT:
                raise Rejected(f"{name} lies outside [0, {MAX_WEIGHT}]", field=name)
        if self.has_weight_bounds and self.lowest > self.highest:
            raise Rejected("min_weight lies above max_weight", field="min_weight")

    @property
    def has_weight_bounds(self) -> bool:
        """Whether weights decide what matches."""
        return self.min_weight is not None or self.max_weight is not None

    @property
    def lowest(self) -> float:
        return 0.0 if self.min_weight is None else self.min_weight

    @property
    def highest(self) -> float:
        return MAX_WEIGHT if self.max_weight is None else self.max_weight


@dataclass(frozen=True, slots=True)
class BankMoment:
    """A moment of the bank: by what was known (`as_of`), or as it was recorded (`bank_version`).

    With neither: now. By `as_of` what was withdrawn since is left out; by `bank_version` the bank
    is what a guideline of that version was compiled from.
    """

    as_of: datetime | None = None
    bank_version: int | None = None

    def __post_init__(self) -> None:
        if self.as_of is not None:
            object.__setattr__(self, "as_of", utc(self.as_of, "as_of"))
        if self.as_of is not None and self.bank_version is not None:
            raise Rejected("give as_of or bank_version, not both", field="bank_version")
        if self.bank_version is not None and self.bank_version < 0:
            raise Rejected("bank_version is at least 0", field="bank_version", limit=0)

    @property
    def is_now(self) -> bool:
        return self.as_of is None and self.bank_version is None

    def require_reached(self, namespace: Namespace, now: datetime) -> None:
        """Raises Rejected for a moment that the bank has not come to: today's would not be it."""
        head = namespace.bank_version
        if self.bank_version is not None and self.bank_version > head:
            raise Rejected(
                f"bank_version is at most {head}, where the bank is now",
                field="bank_version",
                limit=head,
            )
        if self.as_of is not None:
            require_past(self.as_of, namespace, now)


def require_past(as_of: datetime, namespace: Namespace, now: datetime) -> None:
    """Raises Rejected for a time that is still to come; where callers set the clock, none is."""
    if namespace.clock is Clock.WALL and as_of > now:
        raise Rejected(
            f"as_of is at most the present time, {now.isoformat()}",
            field="as_of",
            limit=now.isoformat(),
        )


@dataclass(frozen=True, slots=True)
class Browse:
    """What to list, in which order, and as of when."""

    criteria: MemoryCriteria = field(default_factory=MemoryCriteria)
    sort: Sort = Sort.RECORDED
    descending: bool = False
    moment: BankMoment = field(default_factory=BankMoment)

    def __post_init__(self) -> None:
        if not self.moment.is_now and self.sort in (Sort.SERVED, Sort.CREDITED):
            raise Rejected("counts are those of now: sort a past bank by weight", field="sort")


@dataclass(frozen=True, slots=True)
class ListedMemory(Memory):
    """A memory in a list. In the bank of a moment its text, status and weight are those of that
    moment.
    """

    __pydantic_config__ = OUTPUT

    served: int
    """In how many retrievals it was served until now."""
    credited: int
    """How many outcomes moved what is believed of it until now."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory whose situation is near."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """The memory."""
    kind: Kind
    """What it is: an experience, a constraint, or a rule of how memory is used."""
    status: Status
    """Where it stands between being proposed and being retired."""
    agent: str
    """Who brought it."""
    category: str
    """The kind of task it was learned on."""
    situation: str
    """When it applies."""
    lesson: str
    """What to do then."""
    effective_weight: float
    """What it has earned, for no agent in particular."""
    cosine: float
    """Of the vectors of the two situations, in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One receipt in which a memory was served, and its result."""

    __pydantic_config__ = OUTPUT

    retrieval_id: UUID
    """The receipt."""
    known_at: datetime
    """When it was asked for."""
    agent: str
    """Who asked."""
    category: str
    """The kind of task it was asked for."""
    arm: str
    """Whether memory was on in it, and why."""
    version: int
    """Which of the memory's texts was served."""
    rank: int
    """Its place in the receipt, from 1."""
    similarity: float
    """Of its text to the task, in [0, 1]."""
    cited: bool
    """Whether the guideline cited it."""
    outcome_id: UUID | None
    """The outcome in effect; null while there is none, as is all that follows."""
    status: str | None
    """Whether that outcome waits or was applied."""
    evidence: str | None
    """What kind of evidence it is."""
    reason: str | None
    """Why it moved nothing, where it did not."""
    reward: float | None
    """How the task went, in [0, 1]."""
    reward_without: float | None
    """How it went without memory, in [0, 1]."""
    weight_before: float | None
    """The memory's weight before the step that this outcome was; null where it moved nothing."""
    weight_after: float | None
    """The memory's weight after it."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """The results of one memory for one agent in one category."""

    __pydantic_config__ = OUTPUT

    agent: str
    """Who was served."""
    category: str
    """The kind of task."""
    served: int
    """In how many retrievals."""
    n: int
    """How many outcomes in effect moved something."""
    reward: float | None
    """Mean reward over these outcomes, in [0, 1]."""
    n_pairs: int
    """How many of them had a reward without memory."""
    reward_without: float | None
    """Mean reward without memory over those, in [0, 1]."""
    deviation: float | None
    """How far the agent's belief stands from the memory's, in reward, over all of its categories;
    null where it has no evidence.
    """
    effective_weight: float
    """What the memory has earned with this agent."""

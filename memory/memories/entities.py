"""What is remembered: drafts as agents bring them, memories as they stand and are browsed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.text import LESSON, NAME, SITUATION, cleaned, cleaned_json, optional
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tenancy.entities import utc

MIN_WEIGHT, MAX_WEIGHT = 0.1, 2.0


class Kind(StrEnum):
    EXPERIENCE = "experience"
    CONSTRAINT = "constraint"
    META_GUIDELINE = "meta_guideline"


class Status(StrEnum):
    PROPOSED = "proposed"
    VERIFYING = "verifying"
    ACTIVE = "active"
    REJECTED = "rejected"
    PROBATION = "probation"
    SUSPENDED = "suspended"
    RETIRED = "retired"


class Visibility(StrEnum):
    """`agent`: its author alone sees it. `namespace`: every agent of the namespace does."""

    AGENT = "agent"
    NAMESPACE = "namespace"


class Trust(StrEnum):
    """Whether the source is believed; apart from weight."""

    TRUSTED = "trusted"
    UNVERIFIED = "unverified"
    QUARANTINED = "quarantined"


def fingerprint(situation: str, lesson: str) -> bytes:
    """Two memories with the same cleaned texts are one."""
    return sha256(situation.encode() + b"\x00" + lesson.encode()).digest()


@dataclass(frozen=True, slots=True)
class Draft:
    """An experience as an agent brings it: when it applies, and what to do.

    `weight` in [.1, 2] is where it starts; `learned_at` is set in `replay` namespaces alone.
    `verify`: it is tried on its task before it is used. `verification`: who vouches for a piece of
    history (human, test, judge, none); None for what is no history.
    """

    agent: str
    situation: str
    lesson: str
    category: CategoryName | None = None
    task: TaskDraft | None = None
    task_id: UUID | None = None
    visibility: Visibility = Visibility.NAMESPACE
    pinned: bool = False
    weight: float = 1.0
    learned_at: datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    verify: bool = False
    verification: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        object.__setattr__(self, "situation", cleaned(self.situation, "situation", SITUATION))
        object.__setattr__(self, "lesson", cleaned(self.lesson, "lesson", LESSON))
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        if not MIN_WEIGHT <= self.weight <= MAX_WEIGHT:
            raise Rejected(
                f"weight lies outside [{MIN_WEIGHT}, {MAX_WEIGHT}]",
                field="weight",
                limit=[MIN_WEIGHT, MAX_WEIGHT],
            )
        if self.task is not None and self.task_id is not None:
            raise Rejected("give task or task_id, not both", field="task")
        if self.verify and self.task is None and self.task_id is None:
            raise Rejected("a memory is verified on its task: name one", field="verify")

    @property
    def digest(self) -> bytes:
        return fingerprint(self.situation, self.lesson)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of text or of what surrounds it; None leaves the part as it is."""

    situation: str | None = None
    lesson: str | None = None
    metadata: Mapping[str, object] | None = None
    pinned: bool | None = None

    def __post_init__(self) -> None:
        if self.situation is not None:
            object.__setattr__(self, "situation", cleaned(self.situation, "situation", SITUATION))
        if self.lesson is not None:
            object.__setattr__(self, "lesson", cleaned(self.lesson, "lesson", LESSON))
        if self.metadata is not None:
            object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        if all(part is None for part in (self.situation, self.lesson, self.metadata, self.pinned)):
            raise Rejected("the edit changes nothing", field="body")


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it stands. `effective_weight` is for no agent in particular, aged to the time of
    reading.
    """

    id: UUID
    kind: Kind
    status: Status
    status_reason: str | None
    trust: Trust
    visibility: Visibility
    pinned: bool
    agent: str
    category: CategoryName
    task_id: UUID | None
    situation: str
    lesson: str
    detail: Mapping[str, object]
    metadata: Mapping[str, object]
    version: int
    evidence: int
    effective_weight: float
    learned_at: datetime
    recorded_at: datetime
    bank_version: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a draft: a new memory, or one that already said the same.

    `echoes`: the served memories that it only repeats; then nothing was stored, and `id` is the
    first of them.
    """

    id: UUID
    version: int
    deduplicated: bool
    bank_version: int
    memory_status: Status
    echoes: tuple[UUID, ...] = ()

    @property
    def echo(self) -> bool:
        return bool(self.echoes)


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories to list; None does not filter. `metadata` is contained in the memory's."""

    kind: Kind = Kind.EXPERIENCE
    status: Status | None = None
    category: str | None = None
    agent: str | None = None
    metadata: Mapping[str, object] | None = None
    origin: str | None = None


@dataclass(frozen=True, slots=True)
class EditRequest:
    """An edit, bound to the version its author saw."""

    edit: Edit
    version: int
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The texts of one version."""

    version: int
    situation: str
    lesson: str
    known_at: datetime
    recorded_at: datetime
    bank_version: int


@dataclass(frozen=True, slots=True)
class StatusChange:
    """suspend, retire or restore, and why."""

    action: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise Rejected("action must be suspend, retire or restore", field="action")
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


ACTIONS: dict[str, Status] = {
    "suspend": Status.SUSPENDED,
    "retire": Status.RETIRED,
    "restore": Status.ACTIVE,
}


@dataclass(frozen=True, slots=True)
class Erasure:
    """Whose text to erase: exactly one of these."""

    memory_id: UUID | None = None
    agent: str | None = None
    key_id: UUID | None = None
    task_id: UUID | None = None

    def __post_init__(self) -> None:
        named = (self.memory_id, self.agent, self.key_id, self.task_id)
        if sum(part is not None for part in named) != 1:
            raise Rejected("name exactly one of memory_id, agent, key_id, task_id", field="body")


@dataclass(frozen=True, slots=True)
class Erased:
    """How many rows lost their text."""

    memories: int
    versions: int
    embeddings: int
    lines: int
    tasks: int
    writings: int
    trajectories: int


NEIGHBOURS = 8


MAX_BULK = 256


MAX_FORESEEN = 500


SOUGHT = 500


class Sort(StrEnum):
    RECORDED = "recorded_at"
    WEIGHT = "weight"
    SERVED = "served"
    CREDITED = "credited"


@dataclass(frozen=True, slots=True)
class Sought:
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
        for name in ("min_weight", "max_weight"):
            bound: float | None = getattr(self, name)
            if bound is not None and not 0.0 <= bound <= MAX_WEIGHT:
                raise Rejected(f"{name} lies outside [0, {MAX_WEIGHT}]", field=name)
        if self.weighed and self.lowest > self.highest:
            raise Rejected("min_weight lies above max_weight", field="min_weight")

    @property
    def weighed(self) -> bool:
        """Whether weights decide what matches."""
        return self.min_weight is not None or self.max_weight is not None

    @property
    def lowest(self) -> float:
        return 0.0 if self.min_weight is None else self.min_weight

    @property
    def highest(self) -> float:
        return MAX_WEIGHT if self.max_weight is None else self.max_weight


@dataclass(frozen=True, slots=True)
class Moment:
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
    def now(self) -> bool:
        return self.as_of is None and self.bank_version is None


@dataclass(frozen=True, slots=True)
class Browse:
    """What to list, in which order, and as of when."""

    sought: Sought = field(default_factory=Sought)
    sort: Sort = Sort.RECORDED
    descending: bool = False
    moment: Moment = field(default_factory=Moment)

    def __post_init__(self) -> None:
        if not self.moment.now and self.sort in (Sort.SERVED, Sort.CREDITED):
            raise Rejected("counts are those of now: sort a past bank by weight", field="sort")


@dataclass(frozen=True, slots=True)
class Browsed:
    """A memory in a list, with how often it was served and credited until now.

    In the bank of a moment its text, status and weight are those of that moment.
    """

    memory: Memory
    served: int
    credited: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory whose situation is near: the cosine of the two situations' vectors."""

    memory: Memory
    cosine: float


@dataclass(frozen=True, slots=True)
class Episode:
    """One receipt in which a memory was served, and what came of it.

    The rewards are of the outcome in effect, None while there is none. `weight_before` and
    `weight_after` are around the step that this outcome was for the memory, None where it moved
    nothing.
    """

    retrieval_id: UUID
    known_at: datetime
    agent: str
    category: str
    arm: str
    version: int
    rank: int
    similarity: float
    cited: bool
    outcome_id: UUID | None
    status: str | None
    evidence: str | None
    reason: str | None
    reward: float | None
    reward_without: float | None
    weight_before: float | None
    weight_after: float | None


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """What came of one memory for one agent in one category.

    Means are over outcomes in effect that moved something; `n_pairs` of the `n` had a reward
    without memory. `deviation` is how far the agent's belief stands from the memory's, in reward;
    it is one number for all of the agent's categories. None where it has no evidence.
    """

    agent: str
    category: str
    served: int
    n: int
    reward: float | None
    n_pairs: int
    reward_without: float | None
    deviation: float | None
    effective_weight: float


@dataclass(frozen=True, slots=True)
class TrustChange:
    """Whether the source is believed from now on, and why."""

    trust: Trust
    reason: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class Bulk:
    """One action on many memories; `trust` is given with the action of that name alone."""

    ids: Sequence[UUID]
    action: str
    trust: Trust | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.action not in ("suspend", "retire", "restore", "trust"):
            raise Rejected("action must be suspend, retire, restore or trust", field="action")
        if (self.action == "trust") != (self.trust is not None):
            raise Rejected("trust goes with action trust, and only with it", field="trust")
        if not 1 <= len(self.ids) <= MAX_BULK:
            raise Rejected(f"ids takes 1…{MAX_BULK}", field="ids", limit=MAX_BULK)
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class Derived:
    """A memory that stays but rests on what goes, and by how many of its `supports`."""

    memory_id: UUID
    kind: Kind
    lost: int
    supports: int


@dataclass(frozen=True, slots=True)
class ForeseenErasure:
    """What an erasure would take: the counts it would answer with, and which rows it would reach.

    Lists name at most MAX_FORESEEN; counts count all.
    """

    erased: Erased
    memory_ids: tuple[UUID, ...]
    retrieval_ids: tuple[UUID, ...]
    derived: tuple[Derived, ...]


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose private memories may be seen beside the shared ones: the agents a key is bound to."""

    agent_ids: tuple[UUID, ...] = ()

    @property
    def owners(self) -> list[str]:
        return [ANY_AGENT, *(str(agent_id) for agent_id in self.agent_ids)]


ANY_AGENT = "*"

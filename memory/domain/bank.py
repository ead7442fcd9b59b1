"""What is remembered: drafts as agents bring them, memories as they stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from memory.domain.task import CategoryName, TaskDraft
from memory.domain.text import LESSON, NAME, SITUATION, cleaned, cleaned_json, optional
from memory.errors import Rejected

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

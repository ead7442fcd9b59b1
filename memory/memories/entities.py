"""What is remembered: drafts as agents bring them, memories as they stand and are browsed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, computed_field
from pydantic.json_schema import SkipJsonSchema

from memory.kernel.errors import Rejected
from memory.kernel.fields import (
    INPUT,
    OUTPUT,
    Flag,
    Lesson,
    Moment,
    Name,
    Nested,
    Number,
    Situation,
)
from memory.kernel.normal_form import normal_form
from memory.kernel.text import LESSON, SITUATION, cleaned, cleaned_json, known_name
from memory.tasks.entities import CategoryName, TaskDraft, category_of

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


def normal_fingerprint(situation: str, lesson: str) -> bytes:
    """Equal for texts that have one normal form."""
    return fingerprint(normal_form(situation), normal_form(lesson))


Weight = Annotated[Number, Field(ge=MIN_WEIGHT, le=MAX_WEIGHT)]
"""Where a memory starts."""


@dataclass(frozen=True, slots=True)
class ExperienceDraft:
    """What a past task taught: when it applies, and what to do."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who learned it; made at first use."""
    situation: Situation
    """When it applies."""
    lesson: Lesson
    """What to do then."""
    category: Name | None = None
    """The kind of task; without it that of its task, else the nearest."""
    subcategory: Name | None = None
    """The second level of its category."""
    task: Annotated[TaskDraft, Nested] | None = None
    """The task it was learned on, in its caller's words."""
    task_id: UUID | None = None
    """The task it was learned on, where that is stored already."""
    visibility: Visibility = Visibility.NAMESPACE
    """Who may see it."""
    pinned: Flag = False
    """Whether nothing retires it by itself."""
    weight: Weight = 1.0
    """Where it starts: a claim. 1 is neutral, and the most that a key of role `agent` may say."""
    learned_at: Moment | None = None
    """When it became known; set in `replay` namespaces alone."""
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    """Free JSON of its author."""
    verify: Flag = False
    """Whether it is tried on its task before it is used."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        object.__setattr__(self, "situation", cleaned(self.situation, "situation", SITUATION))
        object.__setattr__(self, "lesson", cleaned(self.lesson, "lesson", LESSON))
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        if (name := self.category_name) is not None:
            object.__setattr__(self, "category", name.name)
            object.__setattr__(self, "subcategory", name.subcategory)
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
    def category_name(self) -> CategoryName | None:
        return category_of(self.category, self.subcategory)

    @property
    def vouched_by(self) -> str | None:
        """Who vouches for it; None for what is no history."""
        return None

    @property
    def digest(self) -> bytes:
        return fingerprint(self.situation, self.lesson)


@dataclass(frozen=True, slots=True)
class Verification:
    """Who vouches for a piece of history."""

    __pydantic_config__ = INPUT

    source: Literal["human", "test", "judge", "none"]
    """A person, a test, a judging model, or nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryDraft(ExperienceDraft):
    """An experience of another time, taken in as a stranger's word. It starts neutral and unpinned,
    for weight is earned here.
    """

    __pydantic_config__ = INPUT

    pinned: SkipJsonSchema[bool] = field(init=False, default=False)
    weight: SkipJsonSchema[float] = field(init=False, default=1.0)
    verify: SkipJsonSchema[bool] = field(init=False, default=False)
    verification: Verification
    """Who vouches for it; a person or a test count where a manager says so."""

    @property
    def vouched_by(self) -> str | None:
        return self.verification.source


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """A change of text or of what surrounds it; null leaves the part as it is. Raises Rejected
    where nothing is changed.
    """

    __pydantic_config__ = INPUT

    situation: Situation | None = None
    """When it applies, in other words."""
    lesson: Lesson | None = None
    """What to do, in other words."""
    metadata: Mapping[str, object] | None = None
    """Free JSON in place of what there is."""
    pinned: Flag | None = None
    """Whether nothing retires it by itself."""
    known_at: Moment | None = None
    """When the new words became known; set in `replay` namespaces alone."""

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
    """A memory of any kind as it stands."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the memory for ever."""
    kind: Kind
    """What it is: an experience, a constraint, or a rule of how memory is used."""
    status: Status
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where none was given."""
    trust: Trust
    """Whether its source is believed."""
    visibility: Visibility
    """Who may see it."""
    pinned: bool
    """Whether nothing retires it by itself."""
    agent: str
    """Who brought it."""
    category: str
    """The kind of task it was learned on."""
    subcategory: str | None
    """The second level of its category."""
    task_id: UUID | None
    """The task it was learned on, where one was named."""
    situation: str
    """When it applies."""
    lesson: str
    """What to do then."""
    detail: Annotated[Mapping[str, object], Field(exclude=True)]
    """What its kind adds to a memory."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    contradicts: tuple[UUID, ...]
    """The memories that it speaks against; the nil UUID for a private one."""
    version: int
    """Grows with each new text; the ETag."""
    evidence: int
    """How often the same was brought."""
    start_weight: float
    """Where it started: the claim of who wrote it, nothing that it earned."""
    effective_weight: float
    """Its weight for no agent in particular, aged to the time of reading: where it started, and
    what it has earned since.
    """
    learned_at: datetime
    """When it became known."""
    recorded_at: datetime
    """When it was stored here."""
    bank_version: int
    """The version of the bank in which it was last changed."""


@dataclass(frozen=True, slots=True)
class RememberedWarning:
    """What the writer of a memory is to know of it, though it was stored."""

    __pydantic_config__ = OUTPUT

    code: str
    """`unknown_script` or `says_nothing`."""
    detail: str
    """The same in a sentence."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of adding a draft: a new memory, or one that already said the same."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """The memory; of an echo the one that it repeats most."""
    version: int
    """The current version of its text."""
    deduplicated: bool
    """Whether a memory already said the same, so that nothing new was stored."""
    bank_version: int
    """The version of the bank that has it."""
    memory_status: Status
    """The memory's status."""
    echoes: tuple[UUID, ...] = ()
    """The memories, served to this key lately, that it only repeats: no evidence of anything."""
    contradicts: tuple[UUID, ...] = ()
    """The memories, served to this key lately, that it speaks against."""
    warnings: tuple[RememberedWarning, ...] = ()
    """What keeps it from being found or used as another would be."""

    @computed_field(description="Whether it only repeats what this key was served lately.")
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
class MemoryVersion:
    """The texts of one version of a memory."""

    __pydantic_config__ = OUTPUT

    version: int
    """Counts the texts from 1."""
    situation: str
    """When it applied."""
    lesson: str
    """What to do then."""
    known_at: datetime
    """When these words became known."""
    recorded_at: datetime
    """When they were stored here."""
    bank_version: int
    """The first version of the bank that has them."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whose private memories may be seen beside the shared ones: the agents a key is bound to.

    No agent sees a constraint that a key bound to none brought: it is for that key (`key_id`), and
    for who manages the bank (`manages`).
    """

    agent_ids: tuple[UUID, ...] = ()
    key_id: UUID | None = None
    manages: bool = False

    @property
    def owners(self) -> list[str]:
        return [ANY_AGENT, *(str(agent_id) for agent_id in self.agent_ids)]


ANY_AGENT = "*"


HIDDEN = UUID(int=0)
"""Stands in answers for the id of a private memory that the key may not read."""


PRIVATE = "(a private memory)"
"""Stands there for its words."""

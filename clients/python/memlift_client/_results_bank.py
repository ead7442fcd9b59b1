"""What the server answers about the bank and what surrounds it, frozen. Ids are text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from memlift_client._faults import MemLiftProblem, Problem, UnexpectedAnswer

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, how many there are in all, and where the next page begins (None: nowhere)."""

    items: tuple[Row, ...]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class BatchItem(Generic[Row]):
    """What became of one item of a batch: a value, or the problem that kept it from one."""

    index: int
    status: int
    value: Row | None
    problem: Problem | None

    def unwrap(self) -> Row:
        """The value. Raises MemLiftProblem where there is none."""
        if self.problem is not None:
            raise MemLiftProblem(self.problem)
        if self.value is None:
            raise UnexpectedAnswer(f"item {self.index} has neither value nor problem")
        return self.value


@dataclass(frozen=True, slots=True)
class Liveness:
    status: str


@dataclass(frozen=True, slots=True)
class Check:
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the server can serve, and what is missing where it cannot."""

    status: str
    checks: Mapping[str, Check]

    @property
    def ready(self) -> bool:
        return self.status == "ready"


@dataclass(frozen=True, slots=True)
class Me:
    """Whom the server takes the caller for."""

    key_id: str
    name: str
    role: str
    namespace: str | None
    agents: tuple[str, ...] | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Namespace:
    id: str
    slug: str
    clock: str
    learning: str
    policy: str
    settings: Mapping[str, object]
    bank_version: int
    newest_known_at: datetime | None
    version: int
    created_at: datetime
    deletion_requested_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """The second step needs this confirmation, before it expires."""

    confirmation: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Key:
    """A key as listed; its token is shown once, when it is made."""

    id: str
    name: str
    role: str
    namespace: str | None
    agents: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewKey(Key):
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Agent:
    id: str
    name: str
    model: str | None
    family: str | None
    size_class: str | None
    own_information: bool
    version: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Category:
    id: str
    name: str
    parent: str | None
    metric: str | None
    reward_kind: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    key: str | None
    text: str
    category: str
    subcategory: str | None
    group_key: str | None
    metadata: Mapping[str, object]
    known_at: datetime
    recorded_at: datetime
    closes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of an experience: a new memory, or one that already said the same.

    `echo`: it only repeats what this key was served (`echoes`), and nothing was stored.
    """

    id: str
    version: int
    deduplicated: bool
    bank_version: int
    memory_status: str = "active"
    echo: bool = False
    echoes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it stands; `version` is what an edit must name."""

    id: str
    kind: str
    status: str
    status_reason: str | None
    trust: str
    visibility: str
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    task_id: str | None
    situation: str
    lesson: str
    metadata: Mapping[str, object]
    version: int
    evidence: int
    effective_weight: float
    learned_at: datetime
    recorded_at: datetime
    bank_version: int


@dataclass(frozen=True, slots=True)
class Directives:
    """What the server's compiler does by itself when it follows a meta-guideline."""

    order: str
    max_memories: int | None
    cross_category: str
    on_disagreement: str | None


@dataclass(frozen=True, slots=True)
class MetaGuideline:
    """How memories are to be used: why using them failed, and what to do instead. `origin` is
    default, reflection or written.
    """

    id: str
    origin: str
    status: str
    status_reason: str | None
    trust: str
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    task_id: str | None
    failure_reason: str
    instruction: str
    directives: Directives
    metadata: Mapping[str, object]
    version: int
    evidence: int
    effective_weight: float
    learned_at: datetime
    recorded_at: datetime
    bank_version: int


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
class Erased:
    """How many rows lost their text."""

    memories: int
    versions: int
    embeddings: int
    lines: int
    tasks: int
    writings: int
    trajectories: int = 0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: str
    key_id: str | None
    action: str
    subject: str
    detail: Mapping[str, object]
    recorded_at: datetime

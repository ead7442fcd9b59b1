"""Meta-guidelines: how experiences are to be used when a guideline is compiled.

A meta-guideline is a memory whose situation is a *failure reason* (how using memory went wrong) and
whose lesson is an *instruction* (how to use it instead). Its directives are the part of the
instruction that the deterministic compiler obeys by itself.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.domain.bank import Draft, Memory
from memory.domain.constraint import DISTILLER
from memory.domain.task import CategoryName
from memory.domain.text import SITUATION, cleaned
from memory.errors import Rejected

# An instruction takes part of every guideline it serves, so it is short.
INSTRUCTION = 600
MAX_MEMORIES = 64
PER_CATEGORY = 50
"""How many living meta-guidelines a category may have."""

OWN_AGENT, REFLECTOR = "memlift", "memlift-reflection"
OWN_NAMES = frozenset({OWN_AGENT, REFLECTOR, DISTILLER})
"""Whom the server names as author of what it writes itself; no caller may speak for them."""


class Order(StrEnum):
    """In which order the notes of a guideline stand; the strongest are chosen whatever it is."""

    STRONGEST = "strongest"
    NEWEST = "newest"
    AS_RANKED = "as_ranked"


class CrossCategory(StrEnum):
    """Whether experiences of another category than the task's may be shown."""

    ALLOW = "allow"
    EXCLUDE = "exclude"


class OnDisagreement(StrEnum):
    """What becomes of memories the evidence of which points in opposite directions."""

    SHOW_BOTH = "show_both"  # and say of each which way its evidence points
    STRONGEST = "strongest"  # those that agree with the strongest of them
    DROP = "drop"  # none of them


@dataclass(frozen=True, slots=True)
class Directives:
    """What the compiler does by itself; the defaults change nothing. max_memories: 1…64."""

    order: Order = Order.STRONGEST
    max_memories: int | None = None
    cross_category: CrossCategory = CrossCategory.ALLOW
    on_disagreement: OnDisagreement | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", Order(self.order))
        object.__setattr__(self, "cross_category", CrossCategory(self.cross_category))
        if self.on_disagreement is not None:
            object.__setattr__(self, "on_disagreement", OnDisagreement(self.on_disagreement))
        if self.max_memories is not None and not 1 <= self.max_memories <= MAX_MEMORIES:
            raise Rejected(
                f"directives.max_memories must lie in 1…{MAX_MEMORIES}",
                field="directives.max_memories",
                limit=[1, MAX_MEMORIES],
            )

    def stored(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def read(cls, detail: Mapping[str, object]) -> "Directives":
        """The directives in a memory's detail; what was erased directs nothing."""
        stored = detail.get("directives") or {}
        return cls(**stored)  # pyright: ignore[reportCallIssue] - written by `stored`, above


@dataclass(frozen=True, slots=True)
class MetaGuidelineDraft:
    """A meta-guideline as it is brought: why using memory failed, and how to use it instead.

    `weight` in [.1, 2] is where it starts. Without a category it is for tasks of every kind.
    """

    agent: str
    failure_reason: str
    instruction: str
    directives: Directives = Directives()
    category: CategoryName | None = None
    pinned: bool = False
    weight: float = 1.0
    learned_at: datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        reason = cleaned(self.failure_reason, "failure_reason", SITUATION)
        object.__setattr__(self, "failure_reason", reason)
        said = cleaned(self.instruction, "instruction", INSTRUCTION)
        object.__setattr__(self, "instruction", said)

    def as_draft(self) -> Draft:
        """The same as a draft of a memory."""
        return Draft(
            agent=self.agent,
            situation=self.failure_reason,
            lesson=self.instruction,
            category=self.category,
            pinned=self.pinned,
            weight=self.weight,
            learned_at=self.learned_at,
            metadata=self.metadata,
        )


@dataclass(frozen=True, slots=True)
class MetaGuideline:
    """A meta-guideline as it stands: a memory, read as one."""

    memory: Memory

    @property
    def failure_reason(self) -> str:
        return self.memory.situation

    @property
    def instruction(self) -> str:
        return self.memory.lesson

    @property
    def directives(self) -> Directives:
        return Directives.read(self.memory.detail)

    @property
    def origin(self) -> str:
        """`reflection`: from a pair in which memory did harm. `written`: a person's. `default`:
        built in by the first release, and retired since.
        """
        return str(self.memory.detail.get("origin", WRITTEN))


REFLECTION, WRITTEN = "reflection", "written"


def detail_of(directives: Directives, origin: str) -> dict[str, object]:
    """The detail of a memory that is a meta-guideline."""
    return {"directives": directives.stored(), "origin": origin}


@dataclass(frozen=True, slots=True)
class ServedGuidance:
    """The meta-guideline a guideline was compiled by, beside its Item."""

    memory_id: UUID
    failure_reason: str
    instruction: str
    directives: Directives
    agent: str
    category: CategoryName
    learned_at: datetime

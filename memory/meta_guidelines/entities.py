"""Meta-guidelines: how experiences are to be used when a guideline is compiled.

A meta-guideline is a memory whose situation is a *failure reason* (how using memory went wrong) and
whose lesson is an *instruction* (how to use it instead). Its directives are the part of the
instruction that the deterministic compiler obeys by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.guidelines.entities import Directives
from memory.kernel.text import INSTRUCTION, SITUATION, cleaned
from memory.memories.entities import ExperienceDraft, Memory
from memory.tasks.entities import CategoryName

PER_CATEGORY = 50
"""How many living meta-guidelines a category may have."""


@dataclass(frozen=True, slots=True)
class MetaGuidelineDraft:
    """A meta-guideline as it is brought: why using memory failed, and how to use it instead.

    `weight` in [.1, 2] is where it starts. Without a category it is for tasks of every kind.
    """

    agent: str
    failure_reason: str
    instruction: str
    directives: Directives = field(default_factory=Directives)
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

    def as_draft(self) -> ExperienceDraft:
        """The same as a draft of a memory."""
        return ExperienceDraft(
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

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
from memory.kernel.errors import NotFound
from memory.kernel.fields import INPUT, OUTPUT, Flag, Instruction, Moment, Name, Situation
from memory.kernel.text import INSTRUCTION, SITUATION, cleaned, known_name, optional
from memory.memories.entities import (
    ExperienceDraft,
    Kind,
    Memory,
    MemoryEdit,
    Status,
    Trust,
    Weight,
)
from memory.tasks.entities import CategoryName, category_of

PER_CATEGORY = 50
"""How many living meta-guidelines a category may have."""


REFLECTION, WRITTEN = "reflection", "written"


@dataclass(frozen=True, slots=True)
class MetaGuidelineDraft:
    """Why using memory failed, and how to use it instead."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who brings it; made at first use."""
    failure_reason: Situation
    """How using memory went wrong."""
    instruction: Instruction
    """How to use it instead."""
    directives: Directives = field(default_factory=Directives)
    """The part of the instruction that the compiler obeys by itself."""
    category: Name | None = None
    """The kind of task it is for; without it tasks of every kind."""
    subcategory: Name | None = None
    """The second level of its category."""
    pinned: Flag = False
    """Whether nothing retires it by itself."""
    weight: Weight = 1.0
    """Where it starts; 1 is neutral."""
    learned_at: Moment | None = None
    """When it became known; set in `replay` namespaces alone."""
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    """Free JSON of its author."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        reason = cleaned(self.failure_reason, "failure_reason", SITUATION)
        object.__setattr__(self, "failure_reason", reason)
        instruction = cleaned(self.instruction, "instruction", INSTRUCTION)
        object.__setattr__(self, "instruction", instruction)
        if (name := self.category_name) is not None:
            object.__setattr__(self, "category", name.name)
            object.__setattr__(self, "subcategory", name.subcategory)

    @property
    def category_name(self) -> CategoryName | None:
        return category_of(self.category, self.subcategory)

    def as_draft(self) -> ExperienceDraft:
        """The same as a draft of a memory."""
        return ExperienceDraft(
            agent=self.agent,
            situation=self.failure_reason,
            lesson=self.instruction,
            category=self.category,
            subcategory=self.subcategory,
            pinned=self.pinned,
            weight=self.weight,
            learned_at=self.learned_at,
            metadata=self.metadata,
        )


@dataclass(frozen=True, slots=True)
class MetaGuidelineEdit:
    """A change of words or of what surrounds them; null leaves the part as it is. Other directives
    are another meta-guideline.
    """

    __pydantic_config__ = INPUT

    failure_reason: Situation | None = None
    """How using memory went wrong, in other words."""
    instruction: Instruction | None = None
    """How to use it instead, in other words."""
    metadata: Mapping[str, object] | None = None
    """Free JSON in place of what there is."""
    pinned: Flag | None = None
    """Whether nothing retires it by itself."""
    known_at: Moment | None = None
    """When the new words became known; set in `replay` namespaces alone."""

    def as_edit(self) -> MemoryEdit:
        """The same as an edit of a memory. Raises Rejected where nothing is changed."""
        return MemoryEdit(
            situation=optional(self.failure_reason, "failure_reason", SITUATION),
            lesson=optional(self.instruction, "instruction", INSTRUCTION),
            metadata=self.metadata,
            pinned=self.pinned,
            known_at=self.known_at,
        )


@dataclass(frozen=True, slots=True)
class MetaGuideline:
    """A meta-guideline as it stands: a memory, read as one."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the memory for ever."""
    origin: str
    """`reflection`: from a pair in which memory did harm. `written`: a person's. `default`: built
    in by the first release, and retired since.
    """
    status: Status
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where none was given."""
    trust: Trust
    """Whether its source is believed."""
    pinned: bool
    """Whether nothing retires it by itself."""
    agent: str
    """Who brought it."""
    category: str
    """The kind of task it is for."""
    subcategory: str | None
    """The second level of its category."""
    task_id: UUID | None
    """The task on which memory did harm, where there was one."""
    failure_reason: str
    """How using memory went wrong."""
    instruction: str
    """How to use it instead."""
    directives: Directives
    """The part of the instruction that the compiler obeys by itself."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    version: int
    """Grows with each new text; the ETag."""
    evidence: int
    """How often the same was brought."""
    effective_weight: float
    """What it has earned, for no agent in particular, aged to the time of reading."""
    learned_at: datetime
    """When it became known."""
    recorded_at: datetime
    """When it was stored here."""
    bank_version: int
    """The version of the bank in which it was last changed."""

    @classmethod
    def of(cls, memory: Memory) -> "MetaGuideline":
        """Raises NotFound for a memory of another kind."""
        if memory.kind is not Kind.META_GUIDELINE:
            raise NotFound(
                f"no such meta-guideline: {memory.id}", code="memory_not_found", field="id"
            )
        return cls(
            id=memory.id,
            origin=str(memory.detail.get("origin", WRITTEN)),
            status=memory.status,
            status_reason=memory.status_reason,
            trust=memory.trust,
            pinned=memory.pinned,
            agent=memory.agent,
            category=memory.category,
            subcategory=memory.subcategory,
            task_id=memory.task_id,
            failure_reason=memory.situation,
            instruction=memory.lesson,
            directives=Directives.read(memory.detail),
            metadata=memory.metadata,
            version=memory.version,
            evidence=memory.evidence,
            effective_weight=memory.effective_weight,
            learned_at=memory.learned_at,
            recorded_at=memory.recorded_at,
            bank_version=memory.bank_version,
        )


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

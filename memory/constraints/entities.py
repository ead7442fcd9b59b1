"""Constraints, what supports them and what contradicts them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field, computed_field

from memory.constraints.check_entities import CheckEvidence
from memory.constraints.contrast_entities import PairClass
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Moment, Name, Nested, hint
from memory.kernel.text import NAME, cleaned, cleaned_json, known_name, optional
from memory.memories.entities import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    Remembered,
    Status,
    Trust,
    Visibility,
)
from memory.tasks.entities import CategoryName, TaskDraft

PART = 400
"""The most characters of a trigger, an obligation or a prohibition."""


MAX_ENTRIES = 3
"""The most constraints one pair may yield (MemCollab, arXiv 2603.23234)."""


DISTILLED: Final = "distilled"


WRITTEN: Final = "written"


CHECKED: Final = "checked"


Origin = Literal["distilled", "written", "checked"]


Part = Annotated[str, Field(json_schema_extra=hint(PART))]  # pyright: ignore[reportArgumentType] - JSON values


_OPENING = re.compile(r"^(?:when|if)[\s,:]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wording:
    """A constraint's three parts: when it applies, what to enforce, what to avoid.

    A pair of wrong runs yields no `enforce`; then there is an `avoid`.
    """

    trigger: str
    enforce: str | None = None
    avoid: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "trigger", cleaned(self.trigger, "trigger", PART))
        object.__setattr__(self, "enforce", optional(self.enforce, "enforce", PART))
        object.__setattr__(self, "avoid", optional(self.avoid, "avoid", PART))
        if self.enforce is None and self.avoid is None:
            raise Rejected("a constraint enforces or avoids something", field="enforce")

    @property
    def situation(self) -> str:
        """The trigger, as the memory's situation; a "When" or "If" of its own is not said twice."""
        bare = _OPENING.sub("", self.trigger)
        return f"When {bare or self.trigger}"

    @property
    def lesson(self) -> str:
        """Obligation and prohibition, as the memory's lesson."""
        parts = [f"enforce {self.enforce}" if self.enforce else None]
        parts.append(f"avoid {self.avoid}" if self.avoid else None)
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class SupportCounts:
    """The support of a constraint, in numbers."""

    __pydantic_config__ = OUTPUT

    contrasts: int = 0
    """All pieces of support, whether they count or not."""
    tasks: int = 0
    """Distinct tasks of what counts."""
    agent_pairs: int = 0
    """Distinct pairs of different agents of what counts."""
    families: int = 0
    """Distinct families of models of what counts."""
    keys: int = 0
    """Distinct keys behind what counts."""
    parties: int = 0
    """Distinct parties whose runs count: a key, with those that may speak for the same agent."""

    @computed_field
    @property
    def agnostic_score(self) -> float:
        """1 - 1 / (1 + families), in [0, 1): how little it depends on who ran it."""
        return 1.0 - 1.0 / (1.0 + self.families)


@dataclass(frozen=True, slots=True)
class ServedConstraint:
    """A served constraint's content, beside its Item; `task_ids` are the near tasks by which it was
    found, the nearest first.
    """

    memory_id: UUID
    wording: Wording
    origin: Origin
    support: SupportCounts
    task_ids: tuple[UUID, ...]
    agent: str
    category: CategoryName
    learned_at: datetime
    evidence: str | None = None
    """What recorded runs say for it, in a sentence; null where it was not tested on them."""


@dataclass(frozen=True, slots=True)
class ConstraintDraft:
    """A constraint in its author's words, with the task it was learned from; enforce, avoid, or
    both.
    """

    __pydantic_config__ = INPUT

    agent: Name
    """Who says so."""
    trigger: Part
    """The kind of situation, to be read after the word When."""
    enforce: Part | None = None
    """What to do then, to be read after the word enforce."""
    avoid: Part | None = None
    """What not to do, to be read after the word avoid."""
    task: Annotated[TaskDraft, Nested] | None = None
    """The task it was learned from, in the caller's words; give this or `task_id`."""
    task_id: UUID | None = None
    """A stored task it was learned from; give this or `task`."""
    category: Name | None = None
    """Where it applies; null: in the category of its task."""
    subcategory: Name | None = None
    """The second level; needs `category`."""
    weight: Annotated[float, Field(strict=True, ge=MIN_WEIGHT, le=MAX_WEIGHT)] = 1.0
    """What it starts with."""
    learned_at: Moment | None = None
    """When it was learned; set in `replay` namespaces alone."""
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    """Free JSON of the caller's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        words = self.wording
        object.__setattr__(self, "trigger", words.trigger)
        object.__setattr__(self, "enforce", words.enforce)
        object.__setattr__(self, "avoid", words.avoid)
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        category = self.category_name
        if category is not None:
            object.__setattr__(self, "category", category.name)
            object.__setattr__(self, "subcategory", category.subcategory)
        if (self.task is None) == (self.task_id is None):
            raise Rejected("give exactly one of task and task_id", field="task")

    @property
    def wording(self) -> Wording:
        return Wording(self.trigger, self.enforce, self.avoid)

    @property
    def category_name(self) -> CategoryName | None:
        return CategoryName.of(self.category, self.subcategory)


@dataclass(frozen=True, slots=True)
class Support:
    """One piece of support: a contrast of two runs, or its author's word (no contrast)."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the piece for ever."""
    memory_id: Annotated[UUID, Field(exclude=True)]
    contrast_id: UUID | None
    """The pair of runs; null for its author's word."""
    task_id: UUID
    """The task it comes from."""
    preferred_agent: str | None
    """Who made the better run, or whose word it is."""
    unpreferred_agent: str | None
    """Who made the worse run."""
    preferred_family: str | None
    """The better agent's family of models, as declared when the pair was made."""
    unpreferred_family: str | None
    """The worse agent's family of models, as declared when the pair was made."""
    preferred_size: str | None
    """How large the better agent was declared."""
    unpreferred_size: str | None
    """How large the worse agent was declared."""
    pair_class: PairClass | None
    """What kind of pair it is."""
    verifier: str
    """The weaker of those who vouch for the two runs."""
    counts: bool
    """Whether it counts: a test or more stands behind both runs, and not one party alone."""
    known_at: datetime
    """When it was known."""
    recorded_at: datetime
    """When it was stored."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint as it stands, with its support in numbers."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the constraint for ever; it is a memory of that id as well."""
    origin: Origin
    """Whether a language model made it of a contrast, a check of runs, or a caller."""
    status: Status
    """Whether it is in use."""
    status_reason: str | None
    """Why it has this status."""
    trust: Trust
    """Whether the source is believed."""
    visibility: Visibility
    """Whether its author alone sees it, or every agent."""
    pinned: bool
    """Whether it is kept whatever it weighs."""
    agent: str
    """Who says so."""
    category: str
    """Where it applies."""
    subcategory: str | None
    """The second level, if it has one."""
    trigger: str
    """The kind of situation, to be read after the word When; blank where it was erased."""
    enforce: str | None
    """What to do then."""
    avoid: str | None
    """What not to do."""
    lint: list[str]
    """What its wording fails, where it was rejected."""
    support: SupportCounts
    """Its support in numbers."""
    check: CheckEvidence | None
    """What recorded runs say of it; null where it was not tested on them."""
    task_ids: list[UUID]
    """The tasks it comes from."""
    metadata: Mapping[str, object]
    """Free JSON of its author's."""
    version: int
    """Grows with each edit of its text."""
    evidence: int
    """How many pieces of evidence say the same."""
    effective_weight: float
    """What it counts for no agent in particular, aged to the time of reading."""
    learned_at: datetime
    """When it was learned."""
    recorded_at: datetime
    """When it was stored."""
    bank_version: int
    """The version of the bank that changed it last."""

    @property
    def wording(self) -> Wording | None:
        """None where it was erased."""
        return Wording(self.trigger, self.enforce, self.avoid) if self.trigger else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedConstraint(Remembered):
    """The result of adding a constraint; `deduplicated`: it supports one that says the same."""

    __pydantic_config__ = OUTPUT

    lint: Sequence[str]
    """Why it was rejected; empty where it was not."""


def detail_of(wording: Wording, origin: str, lint: Sequence[str] = ()) -> dict[str, object]:
    """The detail of a memory that is a constraint; `lint` names what it fails, if anything."""
    return {
        "trigger": wording.trigger,
        "enforce": wording.enforce,
        "avoid": wording.avoid,
        "origin": origin,
        "lint": [*lint],
    }


def origin_of(detail: Mapping[str, object], *, otherwise: Origin) -> Origin:
    """Where the constraint of a memory's detail comes from; `otherwise` where that was erased."""
    stored = detail.get("origin", otherwise)
    if stored == CHECKED:
        return CHECKED
    return DISTILLED if stored == DISTILLED else WRITTEN


def wording_of(detail: Mapping[str, object]) -> Wording | None:
    """The wording in a memory's detail; None where it was erased."""
    parts = [detail.get(name) for name in ("trigger", "enforce", "avoid")]
    trigger, enforce, avoid = (part if isinstance(part, str) else None for part in parts)
    if trigger is None or (enforce is None and avoid is None):
        return None
    return Wording(trigger, enforce, avoid)


Keep = Literal["first", "second", "both", "neither"]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two constraints with one trigger and opposite obligations."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the contradiction for ever."""
    first_id: UUID
    """One constraint."""
    second_id: UUID
    """The other constraint."""
    category: str
    """Where both apply."""
    reason: Literal["enforced_avoided", "negated"]
    """How they contradict: one enforces what the other avoids, or one negates the other."""
    likeness: float
    """The cosine of their triggers."""
    state: Literal["open", "resolved"]
    """Whether it is decided."""
    resolution: Keep | None
    """Which of them stays in use."""
    resolution_reason: str | None
    """Why: `evidence`, or what the person who decided says."""
    recorded_at: datetime
    """When it was seen."""
    resolved_at: datetime | None
    """When it was decided."""


RESOLUTIONS = ("first", "second", "both", "neither")


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which of the two stays in use, and why."""

    __pydantic_config__ = INPUT

    keep: Keep
    """Which of them stays in use."""
    reason: Name | None = None
    """Why; kept with the contradiction."""

    def __post_init__(self) -> None:
        if self.keep not in RESOLUTIONS:
            raise Rejected(
                f"keep must be one of {RESOLUTIONS}", field="keep", limit=list(RESOLUTIONS)
            )
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))

"""Constraints, the runs and pairs they come from, what supports and what contradicts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.constraints.trajectory_entities import RIGHT
from memory.kernel.errors import Rejected
from memory.kernel.fields import OUTPUT
from memory.kernel.text import NAME, cleaned, cleaned_json, optional
from memory.memories.entities import Memory, Remembered
from memory.tasks.entities import CategoryName, TaskDraft


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
        """The trigger, as the memory's situation."""
        return f"When {self.trigger}"

    @property
    def lesson(self) -> str:
        """Obligation and prohibition, as the memory's lesson."""
        parts = [f"enforce {self.enforce}" if self.enforce else None]
        parts.append(f"avoid {self.avoid}" if self.avoid else None)
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class SupportCounts:
    """What speaks for a constraint: distinct tasks, agent pairs, families and keys, of what
    counts; `contrasts` is all of it, counted or not.
    """

    contrasts: int = 0
    tasks: int = 0
    agent_pairs: int = 0
    families: int = 0
    keys: int = 0

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
    origin: str
    support: SupportCounts
    task_ids: tuple[UUID, ...]
    agent: str
    category: CategoryName
    learned_at: datetime


PART = 400
"""The most characters of a trigger, an obligation or a prohibition."""


MAX_ENTRIES = 3
"""The most constraints one pair may yield (MemCollab, arXiv 2603.23234)."""


class PairClass(StrEnum):
    DISCORDANT = "discordant"
    BOTH_RIGHT = "both_right"
    BOTH_WRONG = "both_wrong"
    UNKNOWN = "unknown"


DISTILLED, WRITTEN = "distilled", "written"


class ContrastState(StrEnum):
    """`empty`: no clean divergence. `refused`: nothing may be learned from such a pair. `no_text`:
    a run has no text. `failed`: the language model gave up; it can be asked again.
    """

    QUEUED = "queued"
    DISTILLING = "distilling"
    DISTILLED = "distilled"
    EMPTY = "empty"
    REFUSED = "refused"
    NO_TEXT = "no_text"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ConstraintDraft:
    """A constraint as a caller brings it, with the task it was learned from."""

    agent: str
    wording: Wording
    task: TaskDraft | None = None
    task_id: UUID | None = None
    category: CategoryName | None = None
    weight: float = 1.0
    learned_at: datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        object.__setattr__(self, "metadata", cleaned_json(self.metadata, "metadata"))
        if (self.task is None) == (self.task_id is None):
            raise Rejected("give exactly one of task and task_id", field="task")


@dataclass(frozen=True, slots=True)
class Support:
    """One piece of support: a contrast, or its author's word."""

    id: UUID
    memory_id: UUID
    contrast_id: UUID | None
    task_id: UUID
    preferred_agent: str | None
    unpreferred_agent: str | None
    preferred_family: str | None
    unpreferred_family: str | None
    preferred_size: str | None
    unpreferred_size: str | None
    pair_class: PairClass | None
    verifier: str
    counts: bool
    known_at: datetime
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint as it stands: a memory, read as one, with what supports it."""

    memory: Memory
    wording: Wording | None
    origin: str
    lint: Sequence[str]
    support: SupportCounts
    task_ids: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedConstraint(Remembered):
    """What became of a constraint: `deduplicated` where it is one more support of one that says the
    same.
    """

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


def wording_of(detail: Mapping[str, object]) -> Wording | None:
    """The wording in a memory's detail; None where it was erased."""
    parts = [detail.get(name) for name in ("trigger", "enforce", "avoid")]
    trigger, enforce, avoid = (part if isinstance(part, str) else None for part in parts)
    if trigger is None or (enforce is None and avoid is None):
        return None
    return Wording(trigger, enforce, avoid)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A pair of runs of one task, and what became of it."""

    id: UUID
    task_id: UUID
    preferred_id: UUID
    unpreferred_id: UUID
    preferred_agent: str
    unpreferred_agent: str
    pair_class: PairClass
    self_contrast: bool
    supports: bool
    reason: str | None
    state: ContrastState
    distiller: str | None
    memory_ids: Sequence[UUID]
    rejected: Sequence[Mapping[str, object]]
    duration_ms: float | None
    tokens: int
    known_at: datetime
    recorded_at: datetime
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class ContrastRequest:
    """Which runs to contrast: a pair or group of them, or all of a task."""

    trajectory_ids: tuple[UUID, ...] = ()
    task_id: UUID | None = None

    def __post_init__(self) -> None:
        if bool(self.trajectory_ids) == (self.task_id is not None):
            raise Rejected("give exactly one of trajectory_ids and task_id", field="trajectory_ids")
        if self.trajectory_ids and not PAIR <= len(set(self.trajectory_ids)) <= MAX_GROUP:
            raise Rejected(
                f"trajectory_ids names {PAIR}…{MAX_GROUP} different runs",
                field="trajectory_ids",
                limit=[PAIR, MAX_GROUP],
            )


PAIR, MAX_GROUP = 2, 16


@dataclass(frozen=True, slots=True)
class ContrastFilter:
    """Which contrasts to list; None does not filter."""

    state: ContrastState | None = None
    pair_class: PairClass | None = None
    task_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two constraints with one trigger and opposite obligations."""

    id: UUID
    first_id: UUID
    second_id: UUID
    category: CategoryName
    reason: str
    likeness: float
    state: str
    resolution: str | None
    resolution_reason: str | None
    recorded_at: datetime
    resolved_at: datetime | None


RESOLUTIONS = ("first", "second", "both", "neither")


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which of two constraints stays in use: first, second, both or neither; and why."""

    keep: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.keep not in RESOLUTIONS:
            raise Rejected(
                f"keep must be one of {RESOLUTIONS}", field="keep", limit=list(RESOLUTIONS)
            )
        object.__setattr__(self, "reason", optional(self.reason, "reason", NAME))


@dataclass(frozen=True, slots=True)
class RunSketch:
    """A run without its words: `n_steps` and `wordless` say what is missed.

    `in_charge`: its key answers for the whole namespace (evaluator, admin, operator). `fresh`: its
    group was not looked at for pairs since it came.
    """

    id: UUID
    task_id: UUID
    agent_id: UUID
    agent: str
    family: str | None
    reward: float | None
    verifier: str
    cost: float | None
    n_steps: int
    wordless: bool
    known_at: datetime
    key_id: UUID | None
    in_charge: bool
    fresh: bool = True

    @property
    def right(self) -> bool | None:
        """Whether it succeeded; None where nobody said so."""
        if self.reward is None or self.verifier == "none":
            return None
        return self.reward >= RIGHT


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of one task. Of two wrong ones neither is better, whichever is named first.

    `reason` says why it cannot count as support.
    """

    preferred: RunSketch
    unpreferred: RunSketch
    pair_class: PairClass
    reason: str | None

    @property
    def self_contrast(self) -> bool:
        """One agent against itself: weaker evidence, and labelled so."""
        return self.preferred.agent_id == self.unpreferred.agent_id

    @property
    def supports(self) -> bool:
        return self.reason is None

    @property
    def state(self) -> ContrastState:
        """Where it begins: what cannot be learned from ends here."""
        if self.pair_class is PairClass.UNKNOWN:
            return ContrastState.REFUSED
        if self.preferred.wordless or self.unpreferred.wordless:
            return ContrastState.NO_TEXT
        return ContrastState.QUEUED

    @property
    def known_at(self) -> datetime:
        """When both runs were known."""
        return max(self.preferred.known_at, self.unpreferred.known_at)

    @property
    def ids(self) -> frozenset[UUID]:
        return frozenset({self.preferred.id, self.unpreferred.id})


@dataclass(frozen=True, slots=True)
class Contrasted:
    """What became of a caller's runs; `new` where one of the pairs was not there before."""

    contrasts: Sequence[Contrast]
    new: bool

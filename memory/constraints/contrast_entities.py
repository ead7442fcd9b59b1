"""Pairs of runs: which are compared, and with what result."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memory.constraints.proof import Verdict, Voice
from memory.constraints.trajectory_entities import RIGHT
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT


class PairClass(StrEnum):
    DISCORDANT = "discordant"
    BOTH_RIGHT = "both_right"
    BOTH_WRONG = "both_wrong"
    UNKNOWN = "unknown"


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


PAIR, MAX_GROUP = 2, 16
"""The fewest and the most runs that are compared at a caller's wish."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A pair of runs of one task, and its result."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the pair for ever."""
    task_id: UUID
    """The task that both ran."""
    preferred_id: UUID
    """The better run; of two wrong ones neither is better."""
    unpreferred_id: UUID
    """The worse run."""
    preferred_agent: str
    """Who made the better run."""
    unpreferred_agent: str
    """Who made the worse run."""
    pair_class: PairClass
    """Which of the two were right."""
    self_contrast: bool
    """Whether one agent made both."""
    supports: bool
    """Whether it may be counted for a constraint."""
    reason: str | None
    """Why it may not be counted, or why it has no result yet."""
    state: ContrastState
    """How far it is on its way to constraints."""
    distiller: str | None
    """The language model that read the pair."""
    memory_ids: tuple[UUID, ...]
    """The constraints that it supports."""
    rejected: tuple[Mapping[str, object], ...]
    """What the distiller answered and could not be used, with the reason."""
    duration_ms: float | None
    """How long the distiller took, in milliseconds."""
    tokens: int
    """What the distiller took in all attempts."""
    known_at: datetime
    """When both runs were known."""
    recorded_at: datetime
    """When the pair was stored."""
    done_at: datetime | None
    """When it was distilled, or ended otherwise."""


@dataclass(frozen=True, slots=True)
class ContrastRequest:
    """Which runs to compare: two or more of one task, or all of a task."""

    __pydantic_config__ = INPUT

    trajectory_ids: (
        Annotated[tuple[UUID, ...], Field(min_length=PAIR, max_length=MAX_GROUP)] | None
    ) = None
    """Runs of one task; give these or `task_id`."""
    task_id: UUID | None = None
    """A task with all its runs; give this or `trajectory_ids`."""

    def __post_init__(self) -> None:
        if bool(self.trajectory_ids) == (self.task_id is not None):
            raise Rejected("give exactly one of trajectory_ids and task_id", field="trajectory_ids")
        if self.trajectory_ids and not PAIR <= len(set(self.trajectory_ids)) <= MAX_GROUP:
            raise Rejected(
                f"trajectory_ids names {PAIR}…{MAX_GROUP} different runs",
                field="trajectory_ids",
                limit=[PAIR, MAX_GROUP],
            )


@dataclass(frozen=True, slots=True)
class ContrastFilter:
    """Which contrasts to list; None does not filter."""

    state: ContrastState | None = None
    pair_class: PairClass | None = None
    task_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class RunSketch:
    """A run without its words: `n_steps` and `wordless` say what is missed.

    `voice` is the key that brought it. `fresh`: its group was not looked at for pairs since it
    came. `variant` is the version of the task. `refused`: why it is not about what its
    task is about, if so. A run that was withdrawn has no verdict.
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
    voice: Voice | None
    fresh: bool = True
    variant: str | None = None
    refused: str | None = None

    @property
    def right(self) -> bool | None:
        """Whether it succeeded; None where nobody said so."""
        if self.reward is None or self.verifier == "none":
            return None
        return self.reward >= RIGHT

    @property
    def verdict(self) -> Verdict:
        return Verdict(self.agent, self.verifier, self.voice)


@dataclass(frozen=True, slots=True)
class RunPair:
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
class Contrasts:
    """The pairs of a caller's runs; none where nothing sets them apart."""

    __pydantic_config__ = OUTPUT

    contrasts: list[Contrast]
    """Each pair and its result."""
    new: Annotated[bool, Field(exclude=True)]

"""Runs as pairing sees them, and the pairs they make."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.constraint import Contrast, ContrastState, PairClass
from memory.domain.trajectory import RIGHT


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

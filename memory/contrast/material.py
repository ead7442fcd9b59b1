"""What a distiller is given, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass

from memory.domain.constraint import PairClass, Wording


@dataclass(frozen=True, slots=True)
class Material:
    """A task and the texts of two runs of it; a run of code is its result.

    `identifiers` are names the task is known by besides its words, such as an entry point.
    """

    task: str
    preferred: str
    unpreferred: str
    pair_class: PairClass
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distilled:
    """The wordings that may be stored, and what was refused: `text` and `reason` of each."""

    wordings: tuple[Wording, ...] = ()
    rejected: tuple[Mapping[str, object], ...] = ()

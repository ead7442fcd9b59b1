"""A compiled guideline as it was served: its lines, what they cite, and what was left out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from memory.kernel.fields import OUTPUT
from memory.kernel.quoting import labels
from memory.memories.entities import PRIVATE
from memory.memories.masking import Mask


class Format(StrEnum):
    """`brief`: prose for an agent, nothing but what it can use. `full`: the same for people, with
    authors, dates, weights and trust. `memories`: the served memories as data; all of them count
    as cited.
    """

    BRIEF = "brief"
    FULL = "full"
    MEMORIES = "memories"

    @property
    def is_prose(self) -> bool:
        return self is not Format.MEMORIES


class CutReason(StrEnum):
    """Why a memory is not in the guideline."""

    BUDGET = "budget"
    QUARANTINED = "quarantined"
    EMPTY = "empty"
    LEFT_OUT = "left_out"  # a language model had no use for it
    CATEGORY = "category"  # cross_category: exclude
    DISAGREEMENT = "disagreement"  # on_disagreement: strongest or drop
    MAX_MEMORIES = "max_memories"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a guideline."""

    __pydantic_config__ = OUTPUT

    text: str
    """The line as it was shown, with all lines of a block; `- (a private memory)` where the key may
    not read all it cites.
    """
    memory_ids: tuple[UUID, ...]
    """The memories it cites, the one that is quoted first; the nil UUID for a private one."""
    other: Annotated[str | None, Field(exclude=True)] = None
    """The same in the other format of prose; read it by `in_other_format`."""

    @property
    def in_other_format(self) -> str:
        """Nothing is said here that the line itself no longer says."""
        return self.other if self.other is not None and labels(self.text) else self.text


@dataclass(frozen=True, slots=True)
class Cut:
    """A memory that did not enter the guideline."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Which memory; the nil UUID for a private one that the key may not read."""
    reason: CutReason
    """Why it was left out."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """Advice compiled for one task; what was selected is cited by a line or named once in `cut`."""

    __pydantic_config__ = OUTPUT

    text: str | None
    """The whole text, empty where nothing was served; null once its words were erased."""
    lines: tuple[Line, ...]
    """What it says, line by line, below its header."""
    tokens: int
    """How long the text is, as `counter` counts."""
    counter: str
    """Which tokenizer counted."""
    cut: tuple[Cut, ...]
    """What did not enter, and why."""
    citations: Mapping[str, UUID] = field(init=False, default_factory=dict[str, UUID])
    """Which memory each citation of the text names: `m1` stands for `[m1]`."""

    def __post_init__(self) -> None:
        pairs = (zip(labels(line.text), line.memory_ids, strict=False) for line in self.lines)
        object.__setattr__(self, "citations", dict(chain.from_iterable(pairs)))

    @property
    def cited(self) -> frozenset[UUID]:
        """The memories that any of its lines cites."""
        return frozenset(memory_id for line in self.lines for memory_id in line.memory_ids)

    @property
    def material(self) -> frozenset[UUID]:
        """All that it was compiled from: cited, or named in `cut`."""
        return self.cited | {cut.memory_id for cut in self.cut}

    def without(self, hidden: Callable[[Line], bool]) -> "Guideline":
        """The same, with a word for each line that is hidden; what stands above lines stays, where
        it can be told from them.
        """
        word = f"- {PRIVATE}"
        lines = tuple(
            replace(one, text=word, other=None) if hidden(one) else one for one in self.lines
        )
        if not self.text or lines == self.lines:
            return replace(self, lines=lines)
        told = "".join(f"\n{one.text}" for one in self.lines)
        header = self.text.removesuffix(told) if self.text.endswith(told) else ""
        text = header + "".join(f"\n{one.text}" for one in lines)
        return replace(self, lines=lines, text=text.lstrip("\n"))


@dataclass(frozen=True, slots=True)
class PastError:
    """What went wrong when the same agent tried a task like this one, shown beside the notes. It is
    no memory: nothing is credited to it.
    """

    __pydantic_config__ = OUTPUT

    retrieval_id: UUID
    """The receipt of the run that failed."""
    outcome_id: UUID
    """The outcome that says so."""
    task_id: UUID
    """The task that was tried."""
    similarity: float
    """Cosine of that task's text to this one's."""
    reward: float
    """The reward it brought."""
    said_by: Literal["reporter", "run"]
    """Whose words they are: those of the outcome's lesson, or what its run shows plainly."""
    known_at: datetime
    """When that was known."""
    text: str | None
    """What the guideline says of it; null once its words were erased, or where they may repeat a
    private memory that the key may not read.
    """
    shown: bool = False
    """Whether the guideline says it: it may take a third of the budget and no place of the
    strongest note; memories as data have no guideline.
    """
    run_id: Annotated[UUID | None, Field(exclude=True)] = None
    """The run whose words they are."""
    sources: Annotated[tuple[UUID, ...], Field(exclude=True)] = ()
    """The memories that the run was told of, and may repeat."""

    def hide(self, mask: Mask) -> "PastError":
        return replace(self, text=None) if mask.hides(self.sources) else self

    def stored(self) -> dict[str, object]:
        return TypeAdapter(PastError).dump_python(self, mode="json") | {
            "run_id": None if self.run_id is None else str(self.run_id),
            "sources": [str(one) for one in self.sources],
        }

    @classmethod
    def read(cls, stored: Mapping[str, object] | None) -> "PastError | None":
        return None if stored is None else TypeAdapter(cls).validate_python(stored)


def add_past_error(guideline: Guideline, error: PastError | None) -> Guideline:
    """With the error behind the notes, where it is to be shown and there are some."""
    if error is None or not error.shown or not error.text or not guideline.text:
        return guideline
    lines = (*guideline.lines, Line(error.text, ()))
    return replace(guideline, lines=lines, text=f"{guideline.text}\n{error.text}")


def without_past_error(guideline: Guideline, error: PastError | None) -> Guideline:
    """As it is stored: the words of an error are kept in one place, where an erasure finds them."""
    if error is None or not error.text or not guideline.text:
        return guideline
    lines = tuple(one for one in guideline.lines if one != Line(error.text, ()))
    return replace(guideline, lines=lines, text=guideline.text.removesuffix(f"\n{error.text}"))


BY_MODEL = "model/"
"""How the name of a compiler begins that is a language model."""

"""Asks a language model for a guideline: what it is shown, and how its reply is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from memory.guidelines.compiler import Budget
from memory.guidelines.drafted import MAX_LINE, MAX_LINES, DraftLine, compose
from memory.llm import prompts
from memory.llm.replies import Malformed, list_of, object_of, read_object, text_of
from memory.llm.roles import (
    LARGE_ANSWER,
    SMALL_ANSWER,
    Note,
    Role,
    fitting_notes,
    prompt_of,
    rendered_notes,
    said,
)
from memory.receipts.entities import Guideline

MAX_CITES = 8


FEWEST_WORDS, MOST_WORDS = 20, 600


@dataclass(frozen=True, slots=True)
class CompileMaterial:
    """What a guideline is written from; notes strongest first, none of them in quarantine.

    `instruction` is that of the meta-guideline in force, if there is one.
    """

    task: str
    category: str
    notes: tuple[Note, ...]
    instruction: str | None = None


def compile_role(material: CompileMaterial, plain: Guideline, budget: Budget) -> Role[Guideline]:
    """Notes → guideline. `plain` is the deterministic one: its header stays, and its cuts do."""
    notes = fitting_notes(material.notes)
    labels = {f"m{place}": note.id for place, note in enumerate(notes, start=1)}
    words = max(FEWEST_WORDS, min(MOST_WORDS, budget.max_tokens // 2))
    system = prompts.COMPILE.format(lines=MAX_LINES, words=words)
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Notes", rendered_notes(notes)),
    ]
    if material.instruction is not None:
        parts.insert(2, ("How earlier advice went wrong", said(material.instruction)))
    room = max(SMALL_ANSWER, min(LARGE_ANSWER, 2 * budget.max_tokens))
    return Role(
        "compile",
        prompt_of("compile", system, parts, (prompts.COMPILE_SCHEMA, room)),
        lambda answer: compose(_lines(answer, labels), plain, budget),
    )


def _lines(answer: str, labels: Mapping[str, UUID]) -> list[DraftLine]:
    parts = list_of(read_object(answer, ("lines",)), "lines", MAX_LINES)
    return [_line(object_of(part, "a line"), labels) for part in parts]


def _line(part: Mapping[str, object], labels: Mapping[str, UUID]) -> DraftLine:
    """A line that cites what it was not given is no line: it was made up, or steered."""
    cites = list_of(part, "cites", MAX_CITES)
    known = [labels.get(str(label).strip(" []")) for label in cites]
    if None in known:
        raise Malformed("a line cites what it was not given", code="uncited")
    memory_ids = tuple(dict.fromkeys(cast("list[UUID]", known)))
    return DraftLine(text_of(part, "text", MAX_LINE), memory_ids)

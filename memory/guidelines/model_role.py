"""A guideline in a language model's words: what it is shown, how its reply is read, and the frame
around it.

The model chooses and phrases; header, budget and citations stay ours, and its lines are quoted like
any material, for they are made of what others wrote. Lines go by the model's order and the weakest
leave until the text fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from memory.guidelines.compiler import Budget
from memory.kernel.quoting import citation, quote
from memory.llm import prompts
from memory.llm.replies import Malformed, list_of, object_of, read_object, text_of
from memory.llm.roles import (
    LARGE_ANSWER,
    SMALL_ANSWER,
    LlmRole,
    Note,
    fitting_notes,
    prompt_of,
    rendered_notes,
    said,
)
from memory.receipts.guideline_entities import Cut, CutReason, Guideline, Line

MAX_LINES, MAX_LINE = 16, 600


MAX_CITES = 8


FEWEST_WORDS, MOST_WORDS = 20, 600


@dataclass(frozen=True, slots=True)
class CompileMaterial:
    """What a guideline is written from; notes strongest first, none of them in quarantine.

    `instruction` is that of the meta-guideline in force, if there is one; `most_lines` the most
    that the guideline may have.
    """

    task: str
    category: str
    notes: tuple[Note, ...]
    instruction: str | None = None
    most_lines: int = MAX_LINES


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A line as the model wrote it, and the memories it cites."""

    text: str
    memory_ids: tuple[UUID, ...]


def compile_role(material: CompileMaterial, plain: Guideline, budget: Budget) -> LlmRole[Guideline]:
    """Notes → guideline. `plain` is the deterministic one: its header stays, and its cuts do."""
    notes = fitting_notes(material.notes)
    labels = {f"m{place}": note.id for place, note in enumerate(notes, start=1)}
    words = max(FEWEST_WORDS, min(MOST_WORDS, budget.max_tokens // 2))
    system = prompts.COMPILE.format(lines=material.most_lines, words=words)
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Notes", rendered_notes(notes)),
    ]
    if material.instruction is not None:
        parts.insert(2, ("How earlier advice went wrong", said(material.instruction)))
    room = max(SMALL_ANSWER, min(LARGE_ANSWER, 2 * budget.max_tokens))
    return LlmRole(
        "compile",
        prompt_of("compile", system, parts, prompts.COMPILE_SCHEMA, room=room),
        lambda answer: compose(_read_lines(answer, labels), plain, budget),
    )


def _read_lines(answer: str, labels: Mapping[str, UUID]) -> list[DraftLine]:
    parts = list_of(read_object(answer, ("lines",)), "lines", MAX_LINES)
    return [_read_line(object_of(part, "a line"), labels) for part in parts]


def _read_line(part: Mapping[str, object], labels: Mapping[str, UUID]) -> DraftLine:
    """A line that cites what it was not given is no line: it was made up, or steered."""
    cites = list_of(part, "cites", MAX_CITES)
    known = [labels.get(str(label).strip(" []")) for label in cites]
    if None in known:
        raise Malformed("a line cites what it was not given", code="uncited")
    memory_ids = tuple(dict.fromkeys(cast("list[UUID]", known)))
    return DraftLine(text_of(part, "text", MAX_LINE), memory_ids)


def compose(draft: Sequence[DraftLine], plain: Guideline, budget: Budget) -> Guideline:
    """The guideline made of `draft`, in the frame of the deterministic one.

    Raises Malformed where not even its first line fits.
    """
    known = [memory_id for line in plain.lines for memory_id in line.memory_ids]
    known += [cut.memory_id for cut in plain.cut]
    header = _header(plain)
    numbers = _number(draft)
    lines = [_quote_line(line, numbers) for line in draft]
    while lines and budget.counter.count(_text(header, lines)) > budget.max_tokens:
        lines.pop()
    if not lines:
        raise Malformed("no line fits into the budget", code="over_budget")
    text = _text(header, lines)
    return Guideline(
        text=text,
        lines=tuple(lines),
        tokens=budget.counter.count(text),
        counter=budget.counter.name,
        cut=_name_cut(known, plain, draft=draft, kept=lines),
    )


def _header(plain: Guideline) -> str:
    """All that the deterministic compiler says before its lines."""
    return (plain.text or "").removesuffix("".join(f"\n{line.text}" for line in plain.lines))


def _number(draft: Sequence[DraftLine]) -> dict[UUID, int]:
    """Each memory's number, by where it is cited first."""
    cited = dict.fromkeys(memory_id for line in draft for memory_id in line.memory_ids)
    return {memory_id: number for number, memory_id in enumerate(cited, start=1)}


def _quote_line(line: DraftLine, numbers: Mapping[UUID, int]) -> Line:
    citations = " ".join(citation(numbers[memory_id]) for memory_id in line.memory_ids)
    return Line(f"- in a model's words: {quote(line.text)} {citations}", line.memory_ids)


def _text(header: str, lines: Sequence[Line]) -> str:
    return "\n".join((header, *(line.text for line in lines)))


def _name_cut(
    known: Sequence[UUID], plain: Guideline, *, draft: Sequence[DraftLine], kept: Sequence[Line]
) -> tuple[Cut, ...]:
    """What is not cited, and whether we, the budget or the model left it out."""
    cited = {memory_id for line in kept for memory_id in line.memory_ids}
    meant = {memory_id for line in draft for memory_id in line.memory_ids}
    before = {cut.memory_id: cut.reason for cut in plain.cut if cut.reason != CutReason.BUDGET}

    def reason(memory_id: UUID) -> CutReason:
        left_out = CutReason.BUDGET if memory_id in meant else CutReason.LEFT_OUT
        return before.get(memory_id, left_out)

    return tuple(Cut(one, reason(one)) for one in known if one not in cited)

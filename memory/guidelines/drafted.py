"""A guideline in a language model's words: the header, the budget and the citations stay ours.

The model chose and phrased; its lines are quoted like any material, for they are made of what
others wrote. Lines go by the model's order and the weakest leave until the text fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.guidelines.compiler import Budget
from memory.kernel.quoting import citation, citation_width, quote
from memory.llm.replies import Malformed
from memory.receipts.entities import Cut, CutReason, Guideline, Line

MAX_LINES = 16


MAX_LINE = 600


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A line as the model wrote it, and the memories it cites."""

    text: str
    memory_ids: tuple[UUID, ...]


def compose(draft: Sequence[DraftLine], plain: Guideline, budget: Budget) -> Guideline:
    """The guideline made of `draft`, in the frame of the deterministic one.

    Raises Malformed where not even its first line fits.
    """
    known = [memory_id for line in plain.lines for memory_id in line.memory_ids]
    known += [cut.memory_id for cut in plain.cut]
    width = citation_width(set(known))
    header = _header(plain)
    lines = [_line(line, width) for line in draft]
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
        cut=_cut(known, plain, draft=draft, kept=lines),
    )


def _header(plain: Guideline) -> str:
    """All that the deterministic compiler says before its lines."""
    return (plain.text or "").removesuffix("".join(f"\n{line.text}" for line in plain.lines))


def _line(line: DraftLine, width: int) -> Line:
    citations = " ".join(citation(memory_id, width) for memory_id in line.memory_ids)
    return Line(f"- in a model's words: {quote(line.text)} {citations}", line.memory_ids)


def _text(header: str, lines: Sequence[Line]) -> str:
    return "\n".join((header, *(line.text for line in lines)))


def _cut(
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

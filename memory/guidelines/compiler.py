"""Compiles chosen memories into a guideline: budgeted, cited, quoted, strongest first.

The deterministic compiler: equal entries give an equal text, in whatever order they come. Entries
go in by falling score; one that does not fit is cut whole and named, and weaker shorter ones may
still fit, because half a lesson can say the opposite of the whole. A smaller budget therefore
keeps the strongest that fit rather than a strict subset.

Entries that say the same share a note, in which one of them speaks: the trusted one, else the one
that has earned most. Every note is written in both formats of prose; the one that was asked for is
shown and counted, the other is kept beside it for whoever reads the receipt.

A meta-guideline says how to use them: its directives cut and arrange, its instruction is shown as
someone's words, and neither ever costs the strongest entry its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from uuid import UUID

from memory.guidelines.directives import disagree, left_out, place
from memory.guidelines.entities import Entry, Guidance, OnDisagreement, Order
from memory.guidelines.wording import OTHER, SHOWN, Framing, header, instruction, note, words_of
from memory.kernel.errors import Rejected
from memory.kernel.normal_form import look_alike_form
from memory.kernel.ports import TokenCounter
from memory.kernel.quoting import is_visible
from memory.memories.entities import Trust
from memory.receipts.guideline_entities import Cut, CutReason, Format, Guideline, Line

MAX_TOKENS = 32_000


# An instruction may take one part in so many of the budget.
INSTRUCTION_SHARE = 3


@dataclass(frozen=True, slots=True)
class Budget:
    """The most tokens the whole text may have, by this counter; 0 is an empty guideline."""

    max_tokens: int
    counter: TokenCounter

    def __post_init__(self) -> None:
        if not 0 <= self.max_tokens <= MAX_TOKENS:
            raise Rejected(
                f"max_tokens is between 0 and {MAX_TOKENS}.", field="max_tokens", limit=MAX_TOKENS
            )


Twins = Sequence[Entry]
"""Entries that say the same, the one that speaks first."""


def compile_guideline(
    entries: Sequence[Entry], budget: Budget, framing: Framing, guidance: Guidance | None = None
) -> Guideline:
    """The strongest entries that fit into the budget; without any, an empty text.

    A meta-guideline is followed and cited, or named in `cut` and without any effect.
    """
    if guidance is None:
        return _Compilation(entries, None, framing).compile(budget)
    reason = _unusable(guidance, budget, framing)
    guided = None if reason else _Compilation(entries, guidance, framing).compile(budget)
    if guided is not None and CutReason.BUDGET not in {cut.reason for cut in guided.cut}:
        return guided
    plain = _Compilation(entries, None, framing).compile(budget)
    if guided is not None and not _displaced(plain, guided):
        return guided
    cut = Cut(guidance.id, reason or CutReason.BUDGET)
    return replace(plain, cut=(cut, *plain.cut))


def _unusable(guidance: Guidance, budget: Budget, framing: Framing) -> CutReason | None:
    if guidance.trust is Trust.QUARANTINED:
        return CutReason.QUARANTINED
    if not is_visible(guidance.instruction):
        return CutReason.EMPTY
    size = budget.counter.count("\n" + instruction(guidance, framing.format, 1))
    return CutReason.BUDGET if size * INSTRUCTION_SHARE > budget.max_tokens else None


def _displaced(plain: Guideline, guided: Guideline) -> bool:
    """Whether the instruction takes the place of what would have stood first."""
    spent = {cut.memory_id for cut in guided.cut if cut.reason is CutReason.BUDGET}
    return any(memory_id in spent for line in plain.lines[:1] for memory_id in line.memory_ids)


class _Compilation:
    """One compilation: the entries, what is unfit of them and why, and what stands above."""

    def __init__(
        self, entries: Sequence[Entry], guidance: Guidance | None, framing: Framing
    ) -> None:
        self._strongest = sorted(entries, key=lambda entry: (-entry.score, entry.id))
        self._unfit = {one.id: reason for one in self._strongest if (reason := _unfit(one))}
        self._guidance = guidance
        self._framing = framing
        self._notes: dict[tuple[UUID, int], Line] = {}
        if guidance is not None:
            fit = [entry for entry in self._strongest if entry.id not in self._unfit]
            self._unfit |= left_out(fit, guidance)
        self._fit = [entry for entry in self._strongest if entry.id not in self._unfit]
        self._signs = _shows_signs(guidance) and disagree(self._fit)
        self._order = Order.STRONGEST if guidance is None else guidance.directives.order

    def compile(self, budget: Budget) -> Guideline:
        kept = self._keep(budget)
        lines = self._lines(kept)
        text = self._text(lines) if kept else ""
        return Guideline(
            text=text,
            lines=tuple(lines) if kept else (),
            tokens=budget.counter.count(text) if text else 0,
            counter=budget.counter.name,
            cut=self._cut({entry.id for twins in kept for entry in twins}),
        )

    def _keep(self, budget: Budget) -> list[Twins]:
        """Those whose notes fit, the strongest of them.

        Counting note by note finds candidates in one pass. Token counts do not add up, though, so
        the whole text is counted at the end and loses its weakest notes until it fits.
        """
        groups = sorted(_by_words(self._fit), key=lambda twins: place(twins[0], Order.STRONGEST))
        kept: list[Twins] = []
        left = budget.max_tokens - budget.counter.count(self._text(self._lines([])))
        number = 1 + (self._guidance is not None)
        for twins in groups:
            line = self._note(twins, number)
            size = budget.counter.count("\n" + line.text)
            if size <= left:
                kept.append(twins)
                left -= size
                number += min(len(twins), SHOWN)
        while kept and budget.counter.count(self._text(self._lines(kept))) > budget.max_tokens:
            kept.pop()
        return kept

    def _lines(self, kept: Sequence[Twins]) -> list[Line]:
        """What stands above, then the notes in their order, numbered as they stand."""
        lines: list[Line] = []
        number = 1
        if self._guidance is not None:
            lines.append(self._instruction(self._guidance))
            number += 1
        for twins in sorted(kept, key=lambda twins: place(twins[0], self._order)):
            lines.append(self._note(twins, number))
            number += min(len(twins), SHOWN)
        return lines

    def _instruction(self, guidance: Guidance) -> Line:
        form = self._framing.format
        return Line(
            instruction(guidance, form, 1),
            (guidance.id,),
            instruction(guidance, OTHER.get(form, Format.FULL), 1),
        )

    def _note(self, twins: Twins, number: int) -> Line:
        """Written once for each number it comes to stand under."""
        key = (twins[0].id, number)
        if key not in self._notes:
            form = self._framing.format
            self._notes[key] = Line(
                note(twins, form, number, signs=self._signs),
                tuple(entry.id for entry in twins),
                note(twins, OTHER.get(form, Format.FULL), number, signs=self._signs),
            )
        return self._notes[key]

    def _text(self, lines: Sequence[Line]) -> str:
        return "\n".join((header(self._framing, self._order), *(line.text for line in lines)))

    def _cut(self, cited: set[UUID]) -> tuple[Cut, ...]:
        """What is not cited, and why; an instruction about nothing says nothing."""
        named = [entry.id for entry in self._strongest if entry.id not in cited]
        reasons = dict(self._unfit)
        if self._guidance is not None and not cited:
            named.insert(0, self._guidance.id)
            reasons[self._guidance.id] = CutReason.BUDGET if self._fit else CutReason.EMPTY
        return tuple(Cut(name, reasons.get(name, CutReason.BUDGET)) for name in named)


def _shows_signs(guidance: Guidance | None) -> bool:
    """Whether notes say where their evidence points, once it points in two directions."""
    return guidance is not None and guidance.directives.on_disagreement is OnDisagreement.SHOW_BOTH


def _unfit(entry: Entry) -> CutReason | None:
    if entry.trust is Trust.QUARANTINED:
        return CutReason.QUARANTINED
    return None if is_visible(entry.lesson) else CutReason.EMPTY


def _by_words(entries: Iterable[Entry]) -> list[Twins]:
    """Entries of one kind that say the same in other clothes, together."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.kind, look_alike_form(words_of(entry))), []).append(entry)
    return [sorted(twins, key=attrgetter("standing")) for twins in groups.values()]

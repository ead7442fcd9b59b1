"""What a replay showed, as plain text: aligned columns, at most 100 wide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap

from memlift_client import MemLift, Retrieval, WeightEvent, WeightRow

from clients.demo.replay import WITHOUT
from clients.demo.statistics import Difference, Scored, brier, by_week, paired

WIDTH = 96
SHOWN = 5
NEUTRAL = 1.0

FROZEN, LEARNING = "similarity only", "MemLift"
CONTESTANTS = (WITHOUT, FROZEN, LEARNING)


@dataclass(frozen=True, slots=True)
class Trusted:
    """A memory in the list of weights, and the events that brought it there."""

    row: WeightRow
    events: Sequence[WeightEvent]


def brier_table(rows: Sequence[Scored]) -> Iterator[str]:
    """Weeks against contestants; the last line is the score of the whole replay."""
    yield f"{'week':<12}{'forecasts':>10}" + "".join(f"{name:>18}" for name in CONTESTANTS)
    for week, some in by_week(rows):
        yield _brier_line(str(week), some)
    yield _brier_line("all", rows)


def _brier_line(name: str, rows: Sequence[Scored]) -> str:
    scores = "".join(f"{brier(rows, contestant):>18.4f}" for contestant in CONTESTANTS)
    return f"{name:<12}{len(rows):>10}{scores}"


def differences(rows: Sequence[Scored]) -> Iterator[str]:
    """MemLift against both others, and the others against each other, on the same forecasts."""
    yield f"{'':<36}{'mean':>10}{'95 % interval':>24}{'events':>10}"
    for one, other in ((LEARNING, FROZEN), (LEARNING, WITHOUT), (FROZEN, WITHOUT)):
        yield _difference_line(f"{one} - {other}", paired(rows, one, other))


def _difference_line(name: str, gap: Difference) -> str:
    bounds = gap.interval
    span = "-" if bounds is None else f"{bounds[0]:+.4f} … {bounds[1]:+.4f}"
    return f"{name:<36}{gap.mean:>+10.4f}{span:>24}{gap.events:>10}"


def stored(outcomes: int, memories: int) -> str:
    """How many outcomes became memories: words that only repeat what was served become none."""
    told = f"{outcomes} outcomes are remembered as {memories} memories"
    return f"{told}; the others only repeated one." if memories < outcomes else f"{told}."


def ends_of_the_bank(memory: MemLift) -> dict[str, list[Trusted]]:
    """The strongest and the weakest memories with their histories, as the server lists them."""
    return {
        "strongest": _trusted(memory, memory.list_weights(order="strongest", limit=SHOWN).items),
        "weakest": _trusted(memory, memory.list_weights(order="weakest", limit=SHOWN).items),
    }


def _trusted(memory: MemLift, rows: Iterable[WeightRow]) -> list[Trusted]:
    return [Trusted(row, tuple(memory.each_weight_event(row.memory_id, limit=200))) for row in rows]


def weights(memories: Sequence[Trusted]) -> Iterator[str]:
    """Each memory with its weight, and the reason for it."""
    for trusted in memories:
        row = trusted.row
        text = shorten(row.situation, WIDTH - 8, placeholder=" …")
        yield f"  {row.effective_weight:.3f} {text}"
        yield f"        {shorten(row.lesson, WIDTH - 8, placeholder=' …')}"
        yield f"        {reason(row, trusted.events)}"


def reason(row: WeightRow, events: Sequence[WeightEvent]) -> str:
    """Why a weight is what it is, from the events that moved it."""
    learnt = [event for event in events if event.kind == "learn" and event.superseded_by is None]
    steps = [step for event in learnt if (step := _step(event)) is not None]
    if not steps:
        return f"served {row.served} times, no outcome has moved it yet"
    before = next(e.weight_before for e in learnt if e.weight_before is not None)
    after = next(e.weight_after for e in reversed(learnt) if e.weight_after is not None)
    raised = sum(step > 0 for step in steps)
    lowered = sum(step < 0 for step in steps)
    largest = max(steps, key=abs)
    return (
        f"served {row.served} times, {len(steps)} outcomes: {raised} raised it, {lowered} lowered "
        f"it; {before:.3f} → {after:.3f}, largest step {largest:+.3f}"
    )


def _step(event: WeightEvent) -> float | None:
    if event.weight_before is None or event.weight_after is None:
        return None
    return event.weight_after - event.weight_before


def guideline(retrieval: Retrieval, question: str) -> Iterator[str]:
    """What an agent would read before it acts."""
    yield from wrap(f"Task: {question}", WIDTH)
    yield ""
    text = retrieval.guideline.text or ""
    if not text:
        yield f"  (empty: {retrieval.reason or 'nothing passed the gates'})"
    for line in text.splitlines():
        yield from wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ") or [""]
    yield ""
    counted = f"{retrieval.guideline.tokens} tokens ({retrieval.guideline.counter})"
    yield f"{counted}, {len(retrieval.memories)} memories served, ranker {retrieval.ranker}"

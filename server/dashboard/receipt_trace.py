"""A receipt as a trace: its stages with their times, and how many memories came through each."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.insight.entities import ReceiptDetails
from memory.insight.receipt_details import ReceiptStory
from memory.receipts.entities import Timings

STAGES = {
    "query_ms": "Further queries, by the language model",
    "embed_ms": "Queries embedded",
    "search_ms": "Category found, bank searched",
    "rank_ms": "Ranked, selected, compiled by rule",
    "write_ms": "Guideline rewritten, by the language model",
}
"""In the order in which they run, each with what happens in it."""


LEAST = 0.5
"""Percent of the whole: what took next to nothing is still seen."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One bar: where it starts and how long it is, of 100, and what it took."""

    said: str
    ms: float
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Stages:
    """The bars one after the other, and all of them together."""

    stages: Sequence[Stage]
    total: float


@dataclass(frozen=True, slots=True)
class TraceStep:
    """So many memories came so far; None where nobody said. `anchor` is the section about it."""

    count: int | None
    said: str
    anchor: str


def stages_of(timings: Timings) -> Stages:
    """What ran, in order; where nothing took any time, bars without length."""
    took = timings.by_step()
    ran = [(said, took[name]) for name, said in STAGES.items() if name in took]
    total = sum(ms for _, ms in ran)
    stages: list[Stage] = []
    passed = 0.0
    for said, ms in ran:
        length = max(LEAST, 100 * ms / total) if total else 0.0
        start = min(100 * passed / total, 100 - length) if total else 0.0
        stages.append(Stage(said, ms, round(start, 2), round(length, 2)))
        passed += ms
    return Stages(stages, total)


def steps_of(turn: ReceiptDetails, story: ReceiptStory) -> Sequence[TraceStep]:
    """From what was similar enough to the weights that moved; a retrieval without memory ends at
    what it would have served.
    """
    receipt = turn.receipt
    items = receipt.items
    found = len({one.memory_id for one in items} | set(receipt.passed_over or ()))
    left_out = sum(one.left_out for one in items)
    served = sum(one.served for one in items)
    outcome = next((one for one in turn.outcomes if one.id == turn.effective), None)
    used = None if outcome is None or outcome.used is None else len(outcome.used)
    steps = [TraceStep(found, "found", "memories")]
    if left_out:
        steps.append(TraceStep(left_out, "left out by a coin", "memories"))
    steps.append(TraceStep(served, "served", "memories"))
    if cut := len(receipt.guideline.cut):
        steps.append(TraceStep(cut, "cut from the guideline", "guideline"))
    if outcome is None:
        return (*steps, TraceStep(None, "no outcome yet", "outcomes"))
    said = "used" if used is not None else "nobody said what was used"
    moved = "weight moved" if len(story.moved) == 1 else "weights moved"
    return (*steps, TraceStep(used, said, "memories"), TraceStep(len(story.moved), moved, "moved"))

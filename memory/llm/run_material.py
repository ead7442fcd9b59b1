"""A run as material for a language model: head and tail within a budget, marked where it is cut."""

from collections.abc import Mapping, Sequence

from memory.llm.redaction import redacted
from memory.tasks.run_entities import Step

RUN_CHARACTERS = 12_000
"""The budget of a run in a prompt, in characters."""


STEP_CHARACTERS = 1_500
"""The most of one step: what a tool answers can be a whole page."""


def rendered_run(steps: Sequence[Step], budget: int = RUN_CHARACTERS) -> str:
    """The steps, one a paragraph and numbered from 1, without secrets; the middle is left out where
    they are more than the budget, for a run's task stands at its head and its failure at its tail.
    """
    whole = [
        f"{number}. {_cut(redacted(step.rendered))}" for number, step in enumerate(steps, start=1)
    ]
    if sum(map(len, whole)) <= budget:
        return "\n".join(whole)
    head = _fitting(whole, budget // 3)
    tail = _fitting(whole[: len(head) - 1 : -1] if head else whole[::-1], budget - budget // 3)[
        ::-1
    ]
    left = len(whole) - len(head) - len(tail)
    size = sum(map(len, whole[len(head) : len(whole) - len(tail)]))
    mark = f"(left out here: {left} steps, {size} characters)"
    return "\n".join([*head, mark, *tail])


def _fitting(parts: Sequence[str], budget: int) -> list[str]:
    """The first parts, as many as fit."""
    kept: list[str] = []
    for part in parts:
        budget -= len(part)
        if budget < 0:
            break
        kept.append(part)
    return kept


def _cut(text: str) -> str:
    if len(text) <= STEP_CHARACTERS:
        return text
    half = STEP_CHARACTERS // 2
    left = len(text) - 2 * half
    return f"{text[:half]} (left out here: {left} characters) {text[-half:]}"


def rendered_truth(raw: Mapping[str, object]) -> str | None:
    """What came true, as it was reported; None where that is not known."""
    truth = raw.get("truth")
    return None if truth is None else str(truth)


def truth_text(raw: Mapping[str, object]) -> str | None:
    """The right answer where the truth is one text; None where it is not."""
    truth = raw.get("truth")
    values = list(truth.values()) if isinstance(truth, Mapping) else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None

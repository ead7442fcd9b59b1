"""Two runs of one task laid side by side: steps that both have face each other, and of steps that
differ the words that do are marked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from memory.constraints.trajectory_entities import Trajectory
from server.dashboard.stored import TextPart

MAX_COMPARED = 2_000
"""Longer texts are marked as a whole: words are compared pair by pair."""
MAX_WORDED = 200
"""In rows after so many, steps that differ are marked as a whole."""
WORDS = re.compile(r"\s+|\w+|[^\w\s]")

MarkedText = Sequence[TextPart]
"""A text in parts; those are marked that differ from the other side."""


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """One step of a run: its place from 1, its kind, and its text with what differs marked."""

    place: int
    kind: str | None
    text: MarkedText


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A step of each run that stand across from each other; None where one run has no such step."""

    left: ComparedStep | None
    right: ComparedStep | None
    same: bool


@dataclass(frozen=True, slots=True)
class RunDifference:
    """All steps of both runs, and their results."""

    rows: Sequence[ComparedRow]
    results: tuple[MarkedText, MarkedText]

    @property
    def different(self) -> int:
        return sum(not row.same for row in self.rows)


def compare_runs(left: Trajectory, right: Trajectory) -> RunDifference:
    """Which steps both have, in order, and what differs in the others."""
    steps = [[step.rendered for step in run.steps] for run in (left, right)]
    rows: list[ComparedRow] = []
    for kind, a, b, c, d in SequenceMatcher(None, *steps, autojunk=False).get_opcodes():
        sides = _side(left, range(a, b)), _side(right, range(c, d))
        if kind == "equal":
            rows += [ComparedRow(one, other, same=True) for one, other in zip(*sides, strict=True)]
        else:
            rows += _differing(*sides, worded=len(rows) < MAX_WORDED)
    return RunDifference(rows, mark_differences(left.result or "", right.result or ""))


def mark_differences(left: str, right: str) -> tuple[MarkedText, MarkedText]:
    """Both texts in parts, word by word."""
    if left == right:
        return (TextPart(left),), (TextPart(right),)
    if max(len(left), len(right)) > MAX_COMPARED:
        return _whole(left, right)
    words = WORDS.findall(left), WORDS.findall(right)
    matched = SequenceMatcher(None, *words)
    sides: tuple[list[TextPart], list[TextPart]] = ([], [])
    for kind, a, b, c, d in matched.get_opcodes():
        for side, part in zip(sides, ("".join(words[0][a:b]), "".join(words[1][c:d])), strict=True):
            if part:
                side.append(TextPart(part, kind != "equal"))
    return sides


def _whole(left: str, right: str) -> tuple[MarkedText, MarkedText]:
    return (TextPart(left, is_marked=True),), (TextPart(right, is_marked=True),)


def _side(run: Trajectory, places: range) -> list[ComparedStep]:
    """These steps of a run, nothing in them marked."""
    return [
        ComparedStep(at + 1, run.steps[at].kind, (TextPart(run.steps[at].rendered),))
        for at in places
    ]


def _differing(
    left: Sequence[ComparedStep], right: Sequence[ComparedStep], *, worded: bool
) -> Iterator[ComparedRow]:
    """Steps across from each other in order; where one run has more, the rest stands alone."""
    for one, other in zip_longest(left, right):
        if one is None or other is None:
            yield ComparedRow(one and _all(one), other and _all(other), same=False)
        else:
            both = one.text[0].text, other.text[0].text
            texts = mark_differences(*both) if worded else _whole(*both)
            yield ComparedRow(
                replace(one, text=texts[0]), replace(other, text=texts[1]), same=False
            )


def _all(step: ComparedStep) -> ComparedStep:
    return replace(step, text=(TextPart(step.text[0].text, is_marked=True),))

"""Aligns the steps of two runs and finds where they part.

Steps are matched by their keys, the first with the first, the second with the second, wherever
they stand: runs that do the same in another order do not part. So swapping the runs swaps the
two sides and changes nothing else, and a long pair costs no more than it has steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memory.contrast.steps import Step


@dataclass(frozen=True, slots=True)
class Parting:
    """The steps either run has for itself, in order, and the last one they took together."""

    preferred: tuple[Step, ...]
    unpreferred: tuple[Step, ...]
    shared: Step | None
    """Of a step they share, told in two ways, the text that sorts first."""


def parting(preferred: Sequence[Step], unpreferred: Sequence[Step]) -> Parting | None:
    """Where two runs part; None where every step of the one is a step of the other."""
    first, second = _numbered(preferred), _numbered(unpreferred)
    common = first.keys() & second.keys()
    own = [step for key, step in first.items() if key not in common]
    others = [step for key, step in second.items() if key not in common]
    if not own and not others:
        return None
    return Parting(tuple(own), tuple(others), _shared(first, second))


Numbered = dict[tuple[str, int], Step]


def _numbered(steps: Sequence[Step]) -> Numbered:
    """Steps by key and by how often that key came before."""
    seen = Counter[str]()
    numbered: Numbered = {}
    for step in steps:
        numbered[step.key, seen[step.key]] = step
        seen[step.key] += 1
    return numbered


def _shared(first: Numbered, second: Numbered) -> Step | None:
    """The last step that both took before either went its own way."""
    before = _before(first, second) & _before(second, first)
    if not before:
        return None
    places = {key: place for place, key in enumerate(first)}
    others = {key: place for place, key in enumerate(second)}
    told = {key: min(first[key], second[key], key=lambda step: step.phrase) for key in before}
    last = max(before, key=lambda key: (places[key] + others[key], told[key].phrase))
    return told[last]


def _before(steps: Numbered, others: Numbered) -> set[tuple[str, int]]:
    """The keys before the first that the other run does not have."""
    found: set[tuple[str, int]] = set()
    for key in steps:
        if key not in others:
            break
        found.add(key)
    return found

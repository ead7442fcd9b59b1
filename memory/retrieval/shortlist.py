"""The few of a whole bank among which selecting serves what it would serve among all.

A bank is ranked by column, without an object for each memory. Selecting then needs to see:

* for the places: memories that pass the gates, by falling score, until k groups have one that is
  not on probation. Each of these groups gets a place, so nothing behind them does;
* for the slot: memories that pass the raw gate, likewise until k + 1 groups. One of these groups
  is not served, so it shows that somebody can be drawn; who is drawn is for the whole bank to say;
* for eligibility: the most similar memory. The flat ranker serves it or none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.retrieval.rankers import RANKERS
from memory.retrieval.selection import Selection

Double = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bank:
    """What selecting looks at, by column; memories in the order of their ids."""

    effective: Double
    ranking: Double
    groups: Sequence[str]
    probation: Sequence[bool]


def shortlist(bank: Bank, similarity: Double, selection: Selection) -> list[int]:
    """Places in the bank, where relevance is similarity; all of them where knowledge ages."""
    rule, gates = RANKERS[selection.ranker], selection.gates
    if rule.half_life is not None or not len(similarity):
        return list(range(len(similarity)))
    score = bank.ranking * similarity if rule.weighted else similarity
    told = bank.effective * similarity if rule.weighted else similarity
    # Stable: equals stay in the order of their ids.
    order = np.argsort(-score, kind="stable")
    near = order[similarity[order] >= gates.raw]
    admitted = near[told[near] >= gates.score]
    some = {int(np.argmax(similarity))}
    some.update(_until(bank, admitted.tolist(), selection.k))
    some.update(_until(bank, near.tolist(), selection.k + 1))
    return sorted(some)


def _until(bank: Bank, places: Iterable[int], groups: int) -> Iterable[int]:
    """The first places, until so many groups have a memory that is not on probation."""
    certain: set[str] = set()
    for place in places:
        yield place
        if not bank.probation[place]:
            certain.add(bank.groups[place])
        if len(certain) == groups:
            return

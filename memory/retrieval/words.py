"""The words of a task that memories share, and what they make of the order of a head. Pure.

Two fields are looked into: the word pieces that are stored with each vector, and the raw terms of a
text (`memory.kernel.identifiers.find_raw_terms`). Rare and common is what is so among the memories
that a search may see and its filter leaves, so no other memory shows through an order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.inference.fusion import WEIGHTS, scale_fused
from memory.inference.lexical import SharedTerms, TermStatistics
from memory.kernel.identifiers import find_shared_runs
from memory.retrieval.head import Double
from memory.tenancy.entities import Clock, Namespace
from memory.tenancy.namespace_settings import LEAST_FUSED, MOST_FUSED, WHOLE_BANK, Rerank

MOST_TERMS = 512
"""So many word pieces of a task are looked for, and so many raw terms."""


@dataclass(frozen=True, slots=True)
class TaskWords:
    """What a task says, in both fields and as often as it says it; and in its own words."""

    pieces: tuple[int, ...]
    raw: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SharedWords:
    """What the rows of a head share with a task, in their order, and what BM25 has to know of all
    that matched.
    """

    asked: TaskWords
    pieces: TermStatistics[int]
    raw: TermStatistics[str]
    by_piece: SharedTerms[int]
    by_name: SharedTerms[str]

    def scores(self) -> Double:
        """Of each row: BM25 over word pieces and, weighted, over raw terms; 0 where nothing is
        shared.
        """
        by_piece = self.pieces.scores(self.asked.pieces, self.by_piece)
        return by_piece + WEIGHTS.raw * self.raw.scores(self.asked.raw, self.by_name)


def choose_rerank(namespace: Namespace, asked: Rerank | None) -> Rerank:
    """As the request says, else the namespace; where that leaves it open, by how many memories
    there are to tell rare words by.
    """
    wanted = asked or namespace.settings.rerank
    if wanted is not None:
        return wanted
    counts = (
        namespace.policy not in WHOLE_BANK
        and namespace.clock is Clock.WALL
        and LEAST_FUSED <= namespace.n_memories <= MOST_FUSED
    )
    return Rerank.FUSED if counts else Rerank.NONE


def find_best(lexical: Double, size: int) -> list[int]:
    """The places of the `size` best that share a word, by score falling, then by place."""
    order = np.argsort(-lexical, kind="stable")[:size]
    return [int(place) for place in order if lexical[place] > 0]


def fuse(head: Sequence[int], relevance: Double, lexical: Double) -> dict[int, float]:
    """What each place of a head is ordered by."""
    places = np.array(head, dtype=np.intp)
    fused = scale_fused(relevance[places], lexical[places])
    return dict(zip(head, fused.tolist(), strict=True))


def find_named_by_script(
    shared: SharedWords, texts: Sequence[str], most: int
) -> dict[int, tuple[str, ...]]:
    """The rows that hold, in a script without spaces, a run of characters of the task, of which a
    pair is held by at most `most`; with these runs. `texts`: of the rows, in their order.
    """
    rare = {term for term, holders in shared.raw.holders.items() if 0 < holders <= most}
    found = {
        place: find_shared_runs(shared.asked.text, texts[place], rare)
        for place in shared.by_name.holding(rare)
    }
    return {place: runs for place, runs in found.items() if runs}

"""The words of a task that memories share, and what they make of the order of a head. Pure.

Two fields are looked into: the word pieces that are stored with each vector, and the raw terms of a
text (`memory.kernel.identifiers.find_raw_terms`). Rare and common is what is so among the memories
that a search may see and its filter leaves, so no other memory shows through an order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

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
class RowWords:
    """What one memory shares with a task."""

    pieces: SharedTerms[int]
    raw: SharedTerms[str]


@dataclass(frozen=True, slots=True)
class SharedWords:
    """What the rows of a head share with a task, and what BM25 has to know of all that matched."""

    asked: TaskWords
    pieces: TermStatistics[int]
    raw: TermStatistics[str]
    rows: Mapping[UUID, RowWords]

    def scores(self, memory_ids: Sequence[UUID]) -> Double:
        """Of each, in their order: BM25 over word pieces and, weighted, over raw terms; 0 where
        nothing is shared.
        """
        pieces, raw = self.pieces.weigh(self.asked.pieces), self.raw.weigh(self.asked.raw)
        scores = np.zeros(len(memory_ids))
        for place, memory_id in enumerate(memory_ids):
            if (row := self.rows.get(memory_id)) is not None:
                by_name = WEIGHTS.raw * self.raw.score(raw, row.raw)
                scores[place] = self.pieces.score(pieces, row.pieces) + by_name
        return scores


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
    shared: SharedWords, texts: Mapping[UUID, str], most: int
) -> dict[UUID, tuple[str, ...]]:
    """The memories that hold, in a script without spaces, a run of characters of the task, of which
    a pair is held by at most `most`; with these runs.
    """
    rare = {term for term, holders in shared.raw.holders.items() if 0 < holders <= most}
    found: dict[UUID, tuple[str, ...]] = {}
    for memory_id, text in texts.items():
        row = shared.rows.get(memory_id)
        if row is not None and not rare.isdisjoint(row.raw.counts):
            found[memory_id] = find_shared_runs(shared.asked.text, text, rare)
    return {one: runs for one, runs in found.items() if runs}

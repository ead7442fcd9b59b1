"""The words of the memories of a copy, and who is best by them: as `memory.retrieval.store.words`
asks in the database. No I/O.

Word pieces stand behind one another in one array, with the slot of each beside it; raw terms by
term. What is dropped leaves both at once, so that erased words do not stay.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memory.inference.fusion import WEIGHTS
from memory.inference.lexical import K1, B, SharedTerms, TermStatistics, rarity
from memory.retrieval.head import Double
from memory.retrieval.store.words import ROUNDING
from memory.retrieval.words import RowWords, TaskWords

Term = TypeVar("Term", int, str)
Whole = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


AT_ONCE = 4_000_000
"""So many counts of word pieces are held at a time."""


TERM_BYTES = 150
"""What a raw term of a memory takes, about."""


MOST_PIECES = 2_000_000
"""Over so many word pieces the database is asked: counting them here would hold up others."""


GONE = -1


@dataclass(frozen=True, slots=True)
class TextWords:
    """The terms of a memory's texts: word pieces of both, and raw terms as they are stored."""

    pieces: tuple[int, ...]
    raw: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CountedWords:
    """What slots share with a task: their scores, and what BM25 has to know of those counted."""

    scores: Double
    pieces: TermStatistics[int]
    raw: TermStatistics[str]

    def above_last(self, size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The slots above the last of the `size` best for certain, and those equal to it but for
        rounding.
        """
        some = np.flatnonzero(self.scores > 0)
        if len(some) <= size:
            return some, some[:0]
        values = self.scores[some]
        last = np.partition(values, len(values) - size)[len(values) - size]
        sure = values > last * (1 + ROUNDING)
        equal = ~sure & (values >= last * (1 - ROUNDING))
        return some[sure], some[equal]


class ResidentWords:
    """By slot: the terms of a memory's texts in both fields."""

    def __init__(self) -> None:
        self._pieces = np.zeros(0, dtype=np.int32)
        self._owners = np.zeros(0, dtype=np.int32)
        self._used = 0
        self._starts: dict[int, int] = {}
        self._raw: dict[str, dict[int, int]] = {}
        self._terms: dict[int, tuple[str, ...]] = {}
        self._n_terms = 0
        self._lengths = np.zeros((2, 0), dtype=np.int32)

    @property
    def bytes(self) -> int:
        """What they take, about."""
        return 8 * len(self._pieces) + TERM_BYTES * self._n_terms + 8 * self._lengths.shape[1]

    @property
    def is_brief(self) -> bool:
        """Whether counting takes little enough for a loop that serves others."""
        return self._used <= MOST_PIECES

    def put(self, slot: int, words: TextWords) -> None:
        """The words of a slot that has none."""
        end = self._used + len(words.pieces)
        if end > len(self._pieces):
            more = max(65_536, len(self._pieces) // 2, len(words.pieces))
            self._pieces = np.concatenate([self._pieces, np.zeros(more, dtype=np.int32)])
            self._owners = np.concatenate([self._owners, np.zeros(more, dtype=np.int32)])
        self._pieces[self._used : end] = words.pieces
        self._owners[self._used : end] = slot
        self._starts[slot], self._used = self._used, end
        self._terms[slot] = words.raw
        for term, times in Counter(words.raw).items():
            self._raw.setdefault(term, {})[slot] = times
        self._n_terms += len(words.raw)
        if slot >= self._lengths.shape[1]:
            more = max(1_024, self._lengths.shape[1] // 2, slot)
            self._lengths = np.pad(self._lengths, ((0, 0), (0, more)))
        self._lengths[:, slot] = len(words.pieces), len(words.raw)

    def drop(self, slot: int) -> None:
        """These words are no longer there."""
        start = self._starts.pop(slot)
        self._pieces[start : start + self._lengths[0, slot]] = GONE
        terms = self._terms.pop(slot)
        for term in set(terms):
            holding = self._raw[term]
            del holding[slot]
            if not holding:
                del self._raw[term]
        self._n_terms -= len(terms)
        self._lengths[:, slot] = 0

    def holds(self, slot: int, words: TextWords) -> bool:
        """Whether a slot has these words."""
        return self._held(slot) == list(words.pieces) and self._terms[slot] == words.raw

    def _held(self, slot: int) -> list[int]:
        start = self._starts[slot]
        return self._pieces[start : start + self._lengths[0, slot]].tolist()

    def count(self, asked: TaskWords, among: Flags) -> CountedWords:
        """What these slots share with a task."""
        size = int(among.sum())
        pieces, raw = self._lengths[:, : len(among)].astype(np.float64) * among
        scores, holders = self._score_pieces(asked.pieces, among, pieces)
        raw_scores, raw_holders = self._score_raw(asked.raw, among, raw)
        # Where nothing is looked for among raw terms, their number is nobody's concern.
        total = int(raw.sum()) if asked.raw else 0
        return CountedWords(
            scores + WEIGHTS.raw * raw_scores,
            TermStatistics(size, int(pieces.sum()), holders),
            TermStatistics(size, total, raw_holders),
        )

    def _score_pieces(
        self, asked: Sequence[int], among: Flags, lengths: Double
    ) -> tuple[Double, dict[int, int]]:
        times, size = Counter(asked), int(among.sum())
        scores, holders = np.zeros(len(among)), dict[int, int]()
        if not lengths.any():
            return scores, holders
        norms = _norms(lengths, size)[:, None]
        distinct, block = list(times), max(1, AT_ONCE // len(among))
        for first in range(0, len(distinct), block):
            some = distinct[first : first + block]
            counts = self._count_pieces(some, among)
            held = (counts > 0).sum(axis=0).tolist()
            holders |= {piece: n for piece, n in zip(some, held, strict=True) if n}
            weights = [times[p] * rarity(n, size) for p, n in zip(some, held, strict=True)]
            scores += (counts * (K1 + 1) / (counts + norms)) @ np.array(weights)
        return scores, holders

    def _count_pieces(self, pieces: Sequence[int], among: Flags) -> Double:
        """How often each slot holds each of these; nothing of slots that are not among them."""
        known, n = self._pieces[: self._used], len(pieces)
        columns = np.full(max(int(known.max()), *pieces) + 2, GONE, dtype=np.int32)
        columns[list(pieces)] = np.arange(n, dtype=np.int32)
        # What is gone looks at the last place, which names none.
        found = columns[known]
        hits = np.flatnonzero(found != GONE)
        cells = self._owners[hits].astype(np.intp) * n + found[hits]
        counts = np.bincount(cells, minlength=len(among) * n).reshape(len(among), n)
        return (counts * among[:, None]).astype(np.float64)

    def _score_raw(
        self, asked: Sequence[str], among: Flags, lengths: Double
    ) -> tuple[Double, dict[str, int]]:
        size, scores, holders = int(among.sum()), np.zeros(len(among)), dict[str, int]()
        if not lengths.any():
            return scores, holders
        norms = _norms(lengths, size)
        for term, times in Counter(asked).items():
            held = {s: n for s, n in self._raw.get(term, {}).items() if among[s]}
            if held:
                holders[term] = len(held)
                slots = np.fromiter(held, dtype=np.intp, count=len(held))
                counts = np.fromiter(held.values(), dtype=np.float64, count=len(held))
                gain = counts * (K1 + 1) / (counts + norms[slots])
                scores[slots] += times * rarity(len(held), size) * gain
        return scores, holders

    def shared(self, slot: int, asked: TaskWords) -> RowWords:
        """What one slot shares with a task."""
        held, terms = self._held(slot), self._terms[slot] if asked.raw else ()
        return RowWords(_shared(held, asked.pieces), _shared(terms, asked.raw))


def _norms(lengths: Double, size: int) -> Double:
    """What a count is held against, by the length of its text."""
    return K1 * (1 - B + B * lengths * size / lengths.sum())


def _shared(held: Sequence[Term], asked: Sequence[Term]) -> SharedTerms[Term]:
    wanted = set(asked)
    return SharedTerms(len(held), Counter(one for one in held if one in wanted))

"""The words of the memories of a copy, and who is best by them: as `memory.retrieval.store.words`
asks in the database. No I/O.

Word pieces and raw terms stand by term, with the slots that hold them, so that only those of a task
are read. What is dropped leaves both at once, so that erased words do not stay.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from memory.inference.fusion import WEIGHTS
from memory.inference.lexical import K1, B, SharedTerms, TermStatistics, rarity
from memory.retrieval.head import Double
from memory.retrieval.resident.postings import Hits, SlotPostings
from memory.retrieval.store.words import ROUNDING
from memory.retrieval.words import SharedWords, TaskWords

Term = TypeVar("Term", int, str)
Flags = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.intp]


NAME_BYTES = 350
"""What a raw term takes that at least one memory holds, about."""


SLOT_BYTES = 120
"""What the lengths and the digest of a slot take, about."""


MOST_PIECES = 4_000_000
"""Over so many pairs of a word piece and a memory the database is asked: counting them here would
hold up others.
"""


@dataclass(frozen=True, slots=True)
class TextWords:
    """The terms of a memory's texts: word pieces of both, and raw terms as they are stored."""

    pieces: tuple[int, ...]
    raw: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CountedTerms(Generic[Term]):
    """What slots share with a task in one field: their scores, what BM25 has to know of those
    counted, and the numbers that its terms have in the postings.
    """

    scores: Double
    statistics: TermStatistics[Term]
    terms: Mapping[Term, int]


@dataclass(frozen=True, slots=True)
class CountedWords:
    """What slots share with a task in both fields."""

    pieces: CountedTerms[int]
    raw: CountedTerms[str]

    def above_last(self, size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The slots above the last of the `size` best for certain, and those equal to it but for
        rounding.
        """
        scores = self.pieces.scores + WEIGHTS.raw * self.raw.scores
        some = np.flatnonzero(scores > 0)
        if len(some) <= size:
            return some, some[:0]
        values = scores[some]
        last = np.partition(values, len(values) - size)[len(values) - size]
        sure = values > last * (1 + ROUNDING)
        equal = ~sure & (values >= last * (1 - ROUNDING))
        return some[sure], some[equal]


class Vocabulary:
    """Numbers for raw terms, as long as a memory holds them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._holders = Counter[int]()
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def hold(self, terms: Sequence[str]) -> list[int]:
        """The numbers of the terms of one more memory."""
        numbers = [self._number(term) for term in terms]
        self._holders.update(set(numbers))
        return numbers

    def _number(self, term: str) -> int:
        if term not in self._numbers:
            self._numbers[term], self._names[self._next] = self._next, term
            self._next += 1
        return self._numbers[term]

    def release(self, numbers: Sequence[int]) -> None:
        """One memory less holds these."""
        for number in numbers:
            self._holders[number] -= 1
            if not self._holders[number]:
                del self._holders[number], self._numbers[self._names.pop(number)]

    def find(self, terms: Mapping[str, int]) -> Mapping[str, int]:
        """The numbers of those that a memory holds."""
        return {term: self._numbers[term] for term in terms if term in self._numbers}


class ResidentWords:
    """By slot: the terms of a memory's texts in both fields."""

    def __init__(self) -> None:
        self._pieces, self._raw = SlotPostings(), SlotPostings()
        self._names = Vocabulary()
        self._lengths = np.zeros((2, 0), dtype=np.int32)
        self._digests: dict[int, int] = {}

    @property
    def bytes(self) -> int:
        """What they take, about."""
        names, slots = NAME_BYTES * len(self._names), SLOT_BYTES * len(self._digests)
        return self._pieces.bytes + self._raw.bytes + names + slots

    @property
    def is_brief(self) -> bool:
        """Whether counting takes little enough for a loop that serves others."""
        return len(self._pieces) + len(self._raw) <= MOST_PIECES

    def put(self, slot: int, words: TextWords) -> None:
        """The words of a slot that has none."""
        self._pieces.put(slot, words.pieces)
        self._raw.put(slot, self._names.hold(words.raw))
        self._digests[slot] = _digest(words)
        if slot >= self._lengths.shape[1]:
            more = max(1_024, self._lengths.shape[1] // 2, slot)
            self._lengths = np.pad(self._lengths, ((0, 0), (0, more)))
        self._lengths[:, slot] = len(words.pieces), len(words.raw)

    def drop(self, slot: int) -> None:
        """These words are no longer there."""
        self._pieces.drop(slot)
        self._names.release(self._raw.drop(slot))
        del self._digests[slot]
        self._lengths[:, slot] = 0

    def holds(self, slot: int, words: TextWords) -> bool:
        """Whether a slot has these words."""
        return self._digests[slot] == _digest(words)

    def count(self, asked: TaskWords, among: Flags) -> CountedWords:
        """What these slots share with a task."""
        pieces, raw = Counter(asked.pieces), Counter(asked.raw)
        lengths = self._lengths[:, : len(among)].astype(np.float64) * among
        found = self._names.find(raw)
        by_piece = self._pieces.find(list(pieces)).among(among)
        by_name = self._raw.find(list(found.values())).among(among)
        scores, statistics = _count(pieces, by_piece, lengths[0], among)
        by_name_scores, by_name_statistics = _count(
            # Where nothing is looked for among raw terms, their number is nobody's concern.
            {term: raw[term] for term in found},
            by_name,
            lengths[1] * bool(raw),
            among,
        )
        return CountedWords(
            CountedTerms(scores, statistics, {term: term for term in pieces}),
            CountedTerms(by_name_scores, by_name_statistics, found),
        )

    def share(self, asked: TaskWords, counted: CountedWords, slots: Slots) -> SharedWords:
        """What these slots share with the task that was counted for, in their order."""
        pieces, raw = counted.pieces, counted.raw
        return SharedWords(
            asked,
            pieces.statistics,
            raw.statistics,
            self._share(pieces, self._pieces, self._lengths[0], slots),
            self._share(raw, self._raw, self._lengths[1], slots),
        )

    def _share(
        self,
        counted: CountedTerms[Term],
        postings: SlotPostings,
        lengths: npt.NDArray[np.int32],
        slots: Slots,
    ) -> SharedTerms[Term]:
        numbers = list(counted.terms.values())
        counts = postings.counts(numbers, slots)
        return SharedTerms(list(counted.terms), lengths[slots].astype(np.float64), counts)


def _digest(words: TextWords) -> int:
    return hash((words.pieces, words.raw))


def _count(
    times: Mapping[Term, int], hits: Hits, lengths: Double, among: Flags
) -> tuple[Double, TermStatistics[Term]]:
    """`times`: how often the task has each term, by the places of `hits`; `lengths`: of the texts,
    of those that are not among them 0.
    """
    size, total = int(np.count_nonzero(among)), int(lengths.sum())
    held = np.bincount(hits.places, minlength=len(times)).tolist()
    weights = [n * rarity(some, size) for n, some in zip(times.values(), held, strict=True)]
    scores = np.zeros(len(among))
    if len(hits.slots):
        norms = K1 * (1 - B + B * lengths * size / total)
        gains = hits.counts * (K1 + 1) / (hits.counts + norms[hits.slots])
        parts = gains * np.array(weights)[hits.places]
        scores += np.bincount(hits.slots, parts, minlength=len(among))
    holders = {term: n for term, n in zip(times, held, strict=True) if n}
    return scores, TermStatistics(size, total, holders)

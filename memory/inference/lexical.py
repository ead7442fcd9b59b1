"""Okapi BM25 over terms that are already there: stored word pieces, and raw identifiers beside.

score(q, d) = sum over the terms t of q of n(t, q) idf(t) f (k1 + 1) / (f + k1 (1 - b + b l / L)),
f = n(t, d), l the length of d, L the mean length, idf(t) = ln(1 + (N - n + .5) / (n + .5)) with n
of N texts holding t (Robertson and Zaragoza 2009, section 3; the idf that is never negative).
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

Term = TypeVar("Term", bound=Hashable)
Scores = npt.NDArray[np.float64]

K1, B = 1.2, 0.75
"""Saturation by count and weight of length; chosen on the train part of SciFact."""


def rarity(holders: int, size: int) -> float:
    """The idf of a term that so many of `size` texts hold; largest where none does."""
    return log(1 + (size - holders + 0.5) / (holders + 0.5))


@dataclass(frozen=True, slots=True)
class SharedTerms(Generic[Term]):
    """What a text shares with a query: how often it holds each term, of `length` terms in all."""

    length: int
    counts: Mapping[Term, int]


@dataclass(frozen=True, slots=True)
class TermStatistics(Generic[Term]):
    """What BM25 has to know of the texts that are searched: how many there are, how many terms all
    of them have, and how many texts hold each term of a query.
    """

    size: int
    total: int
    holders: Mapping[Term, int]

    def weigh(self, query: Sequence[Term]) -> Mapping[Term, float]:
        """What each term of a query that a text holds weighs."""
        times = Counter(query)
        return {
            term: n * rarity(self.holders[term], self.size)
            for term, n in times.items()
            if term in self.holders
        }

    def score(self, weights: Mapping[Term, float], text: SharedTerms[Term]) -> float:
        """The same to the last bit for texts that share the same with a query; 0 where nothing."""
        if not text.counts:
            return 0.0
        score = 0.0
        # A text has a term, so not all of them are empty.
        length = K1 * (1 - B + B * text.length * self.size / self.total)
        for term, weight in weights.items():
            if count := text.counts.get(term, 0):
                score += weight * (count * (K1 + 1) / (count + length))
        return score


@dataclass(frozen=True, slots=True)
class _Posting:
    """The texts that hold a term, by place, and how often."""

    places: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]


class Postings(Generic[Term]):
    """The terms of some texts, by term. Never changed once made."""

    def __init__(self, texts: Iterable[Sequence[Term]]) -> None:
        found: dict[Term, tuple[list[int], list[int]]] = {}
        lengths: list[int] = []
        for place, terms in enumerate(texts):
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                places, counts = found.setdefault(term, ([], []))
                places.append(place)
                counts.append(count)
        self._size = len(lengths)
        self._postings: Mapping[Term, _Posting] = {
            term: _Posting(np.array(places, np.int32), np.array(counts, np.float32))
            for term, (places, counts) in found.items()
        }
        length = np.array(lengths, dtype=np.float64)
        mean = length.mean() if lengths and length.any() else 1.0
        self._lengths = K1 * (1 - B + B * length / mean)

    def idf(self, term: Term) -> float:
        """How rare a term is among the texts; largest for one that none holds."""
        posting = self._postings.get(term)
        return rarity(0 if posting is None else len(posting.places), self._size)

    def scores(self, query: Sequence[Term]) -> Scores:
        """The score of each text, in their order; 0 where no term is shared."""
        scores = np.zeros(self._size)
        for term, times in Counter(query).items():
            posting = self._postings.get(term)
            if posting is not None:
                counts, places = posting.counts.astype(np.float64), posting.places
                gain = counts * (K1 + 1) / (counts + self._lengths[places])
                scores[places] += times * self.idf(term) * gain
        return scores

    def rare_holders(self, terms: Iterable[Term]) -> set[int]:
        """The places of the texts that hold one of these terms, where it is rare enough to name
        something: in one text, or in at most one of a hundred.
        """
        most = max(1, self._size // 100)
        known = (self._postings.get(term) for term in terms)
        rare = (one.places for one in known if one is not None and len(one.places) <= most)
        return {place for places in rare for place in places.tolist()}

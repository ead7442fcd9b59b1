"""Okapi BM25 over terms that are already there: stored word pieces, and raw identifiers beside.

score(q, d) = sum over the terms t of q of n(t, q) idf(t) f (k1 + 1) / (f + k1 (1 - b + b l / L)),
f = n(t, d), l the length of d, L the mean length, idf(t) = ln(1 + (N - n + .5) / (n + .5)) with n
of N texts holding t (Robertson and Zaragoza 2009, section 3; the idf that is never negative).
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
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
    """What some texts share with a query: of `terms` in the order of the query how often each text
    holds each, (texts, terms), and how many terms each text has in all.
    """

    terms: Sequence[Term]
    lengths: Scores
    counts: Scores

    @classmethod
    def of(
        cls, terms: Sequence[Term], lengths: Sequence[int], counts: Sequence[Mapping[Term, int]]
    ) -> "SharedTerms[Term]":
        """Of texts that are counted one by one."""
        table = [[row.get(term, 0) for term in terms] for row in counts]
        return cls(
            terms,
            np.array(lengths, dtype=np.float64),
            np.array(table, dtype=np.float64).reshape(len(counts), len(terms)),
        )

    def holding(self, wanted: Collection[Term]) -> list[int]:
        """The places of the texts that hold one of these terms."""
        some = [place for place, term in enumerate(self.terms) if term in wanted]
        return np.flatnonzero(self.counts[:, some].any(axis=1)).tolist()


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

    def scores(self, query: Sequence[Term], texts: SharedTerms[Term]) -> Scores:
        """Of each text; the same to the last bit for texts that share the same with the query,
        whatever is scored beside them; 0 where nothing is shared.
        """
        if not texts.counts.any():
            return np.zeros(len(texts.lengths))
        weights = self.weigh(query)
        # A text has a term, so not all of them are empty.
        lengths = K1 * (1 - B + B * texts.lengths * self.size / self.total)
        gains = texts.counts * (K1 + 1) / (texts.counts + lengths[:, None])
        parts = np.array([weights.get(term, 0.0) for term in texts.terms]) * gains
        # One after the other: a sum by pairs depends on how many there are.
        return np.cumsum(parts, axis=1)[:, -1]


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

"""BM25 over postings."""

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.inference.lexical import K1, B, Postings, SharedTerms, TermStatistics
from memory.kernel.identifiers import find_identifiers, find_raw_terms

BANK = st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=8)


def by_the_formula(texts: list[list[int]], query: list[int]) -> list[float]:
    mean = sum(map(len, texts)) / len(texts) or 1.0
    scores = []
    for text in texts:
        counts, score = Counter(text), 0.0
        for term in query:
            holders = sum(term in other for other in texts)
            idf = log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            f = counts[term]
            score += idf * f * (K1 + 1) / (f + K1 * (1 - B + B * len(text) / mean))
        scores.append(score)
    return scores


@given(texts=BANK, query=st.lists(st.integers(0, 9), max_size=6))
def test_scores_are_those_of_the_formula(texts: list[list[int]], query: list[int]):
    assert Postings(texts).scores(query) == pytest.approx(by_the_formula(texts, query))


@given(texts=BANK, query=st.lists(st.integers(0, 9), max_size=6))
def test_counts_give_the_same_scores(texts: list[list[int]], query: list[int]):
    holders = {term: sum(term in text for text in texts) for term in query}
    statistics = TermStatistics(len(texts), sum(map(len, texts)), holders)
    shared = SharedTerms.of(list(Counter(query)), [*map(len, texts)], [*map(Counter, texts)])
    assert statistics.scores(query, shared) == pytest.approx(by_the_formula(texts, query))


@given(texts=BANK, query=st.lists(st.integers(0, 9), max_size=6))
def test_a_score_does_not_depend_on_who_is_scored_beside(texts: list[list[int]], query: list[int]):
    holders = {term: sum(term in text for text in texts) for term in query}
    statistics = TermStatistics(len(texts), sum(map(len, texts)), holders)

    def scores(some: list[list[int]]) -> list[float]:
        terms = list(Counter(query))
        shared = SharedTerms.of(terms, [*map(len, some)], [*map(Counter, some)])
        return statistics.scores(query, shared).tolist()

    assert scores(texts) == [score for text in texts for score in scores([text])]


def test_an_empty_bank_scores_nothing():
    assert Postings[int]([]).scores([1]).shape == (0,)


@pytest.mark.parametrize(
    "query",
    ["what is E1234", "look at /etc/app/limits.conf", "东京的天气", "ไทยแลนด์", "ошибка диска"],
)
def test_identifiers_and_rare_words_of_any_script_find_their_text(query: str):
    texts = [
        "The error E1234 means that the disk is full",
        "Raise the limit in /etc/app/limits.conf and restart",
        "东京的天气预报说有雨",
        "ประเทศไทยแลนด์ของเรา",
        "ошибка диска на узле сборки",
        *(f"an ordinary sentence, number {number}, about nothing" for number in range(40)),
    ]
    scores = Postings([find_raw_terms(text) for text in texts]).scores(find_raw_terms(query))

    best = int(np.argmax(scores))
    assert set(find_raw_terms(query)) & set(find_raw_terms(texts[best]))
    assert best < 5
    assert np.count_nonzero(scores == scores[best]) == 1


def test_only_a_rare_identifier_names_a_text():
    texts = ["E1234 is a full disk", *["API docs"] * 300, "API and E77"]
    postings = Postings([sorted(find_identifiers(text)) for text in texts])

    assert postings.rare_holders(find_identifiers("E1234 in the API")) == {0}
    assert postings.rare_holders(find_identifiers("E99")) == set()

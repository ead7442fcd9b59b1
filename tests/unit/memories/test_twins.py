"""Texts are one when they are written alike but for their clothes; what says the opposite never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.likeness import SAME, says_the_same
from tests.fixtures.like_texts import APART, ONE


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_says_something_else_stays_apart(first: str, second: str) -> None:
    assert not says_the_same(first, second, 1.0)


@pytest.mark.parametrize(("first", "second"), ONE)
def test_the_same_in_other_clothes_is_one(first: str, second: str) -> None:
    assert says_the_same(first, second, SAME)


def test_an_article_more_counts_where_the_texts_are_not_near() -> None:
    one, other = "the cache must be cleared", "cache must be cleared"

    assert says_the_same(one, other, SAME)
    assert not says_the_same(one, other, SAME - 0.001)


def test_other_words_for_the_same_are_two_until_somebody_says_they_are_one() -> None:
    assert not says_the_same("Start from the base rate", "Begin with the base rate", 1.0)


@given(st.text(), st.floats(-1.0, 1.0))
def test_every_text_is_its_own_twin(text: str, cosine: float) -> None:
    assert says_the_same(text, text, cosine)


@given(st.text(), st.text(), st.floats(-1.0, 1.0))
def test_twins_are_mutual(first: str, second: str, cosine: float) -> None:
    assert says_the_same(first, second, cosine) == says_the_same(second, first, cosine)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_numbers_are_never_joined(first: int, second: int) -> None:
    assert says_the_same(f"limit {first}", f"limit {second}", 1.0) == (first == second)

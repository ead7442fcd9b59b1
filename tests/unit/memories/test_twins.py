"""Texts are one when they are near and agree in numbers, names and negations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.rules import is_twin


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("retry limit is 5", "retry limit raised from 5 to 6"),
        ("raise it from 5 to 6", "raise it from 6 to 5"),
        ("wait five minutes", "wait six minutes"),
        ("wait 1.5 hours", "wait 15 hours"),
        ("always ask Alice first", "always ask Bob first"),
        ("trust what Alice says of Bob", "trust what Bob says of Alice"),
        ("call get_user before saving", "call set_user before saving"),
        ("use numpy.mean here", "use numpy.median here"),
        ("never retry a payment", "retry a payment"),
        ("you can retry", "you can't retry"),
    ],
)
def test_what_differs_in_a_number_a_name_or_a_negation_stays_apart(first: str, second: str) -> None:
    assert not is_twin(first, second, 0.99)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Start from the base rate", "Begin with the base rate"),
        ("Check it. Then ask Alice", "Verify it: then ask Alice"),
        ("do not retry a payment", "never retry a payment"),
        ("wait 5 minutes", "wait five minutes"),
        ("don't retry", "don\u2019t retry"),
    ],
)
def test_other_words_for_the_same_are_one(first: str, second: str) -> None:
    assert is_twin(first, second, 0.90)


def test_texts_that_are_not_near_are_two() -> None:
    assert not is_twin("Start from the base rate", "Start from the base rate", 0.8999)


@given(st.text(), st.floats(0.9, 1.0))
def test_every_text_is_its_own_twin(text: str, cosine: float) -> None:
    assert is_twin(text, text, cosine)


@given(st.text(), st.text(), st.floats(-1.0, 1.0))
def test_twins_are_mutual(first: str, second: str, cosine: float) -> None:
    assert is_twin(first, second, cosine) == is_twin(second, first, cosine)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_numbers_are_never_joined(first: int, second: int) -> None:
    assert is_twin(f"limit {first}", f"limit {second}", 1.0) == (first == second)

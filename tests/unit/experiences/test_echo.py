"""What only repeats the memory's own words is told from what says something of its own."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.experiences.rules import SHARE, SHINGLE, find_echoed, read_words

ONE, OTHER = UUID(int=0xABCDEF01), UUID(int=0xABCDEF02)
HEADER = "What agents reported about earlier tasks, quoted between marks, strongest first."
LESSON = (
    "a forecast of rain in a dry month start from the base rate of the month and move little "
    "unless the pressure falls for two days in a row"
)
NEWS = (
    "the market opened late because the exchange changed its calendar so every quote before ten "
    "was stale and had to be dropped from the sample"
)
SERVED = {ONE: [LESSON]}
WORD = st.sampled_from(["rain", "dry", "month", "base", "rate", "wind", "late", "early"])
WORDS = st.lists(WORD, max_size=40)


def found(text: str, served: dict[UUID, list[str]] = SERVED) -> tuple[UUID, ...]:
    return find_echoed(read_words(text, HEADER), served)


def test_a_served_text_said_again_is_an_echo() -> None:
    assert found(LESSON) == (ONE,)


def test_case_and_punctuation_do_not_hide_an_echo() -> None:
    assert found("«" + LESSON.upper().replace(" start", ": Start") + "»!") == (ONE,)


def test_a_text_of_its_own_is_none() -> None:
    assert found(NEWS) == ()


def test_half_of_the_shingles_decide() -> None:
    served = LESSON.split()
    own = [f"own{i}" for i in range(60)]
    # n words of the served text have n - 7 of its shingles; so many others are of its own.
    kept = len(served) - SHINGLE + 1
    as_many = " ".join(served + own[:kept])
    one_more = " ".join(served + own[: kept + 1])

    assert found(as_many) == (ONE,)
    assert found(one_more) == ()


def test_a_citation_of_what_was_served_is_a_mark_whatever_the_rest_says() -> None:
    assert found(f"{NEWS} [m:{ONE.hex[-8:]}]") == (ONE,)
    assert found(f"{NEWS} [m:{OTHER.hex[-8:]}]") == ()


def test_the_header_marks_a_transcript_that_holds_some_of_what_was_served() -> None:
    some = " ".join(LESSON.split()[:10])

    assert found(f"{HEADER} {some} {NEWS} {NEWS[::-1]}") == (ONE,)
    assert found(f"{some} {NEWS} {NEWS[::-1]}") == ()
    assert found(f"{HEADER} {NEWS}") == ()


def test_the_memory_that_is_repeated_most_comes_first() -> None:
    served = {ONE: [" ".join(LESSON.split()[:9])], OTHER: [LESSON]}

    assert found(LESSON, served) == (OTHER, ONE)


def test_versions_of_one_memory_count_together() -> None:
    words = LESSON.split()
    halves = [" ".join(words[:16]), " ".join(words[9:])]

    assert found(LESSON, {ONE: halves}) == (ONE,)


@pytest.mark.parametrize("text", ["", "…!", "«»"])
def test_a_text_without_words_echoes_nothing(text: str) -> None:
    assert found(text) == ()


def test_a_text_shorter_than_a_shingle_is_no_echo_unless_it_cites() -> None:
    served = {ONE: ["in doubt: take the base rate"]}

    assert found("take the base rate", served) == ()
    assert found(f"take the base rate [m:{ONE.hex[-8:]}]", served) == (ONE,)


@given(WORDS, WORDS)
def test_an_echo_shares_at_least_half_and_the_rest_shares_less(
    text: list[str], served: list[str]
) -> None:
    own, theirs = read_words(" ".join(text), HEADER), read_words(" ".join(served), HEADER)
    share = len(own.shingles & theirs.shingles) / len(own.shingles) if own.shingles else 0.0

    expected = bool(own.shingles) and share >= SHARE
    assert bool(found(" ".join(text), {ONE: [" ".join(served)]})) == expected


@given(WORDS.filter(lambda words: len(words) >= SHINGLE))
def test_every_text_of_a_shingle_or_more_echoes_itself(text: list[str]) -> None:
    assert found(" ".join(text), {ONE: [" ".join(text)]}) == (ONE,)

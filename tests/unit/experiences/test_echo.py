"""What only repeats the memory's own words is told from what says something of its own."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.experiences.rules import (
    SHINGLE,
    ServedWords,
    find_echoed,
    find_refuted,
    read_served,
    read_words,
)
from memory.memories.rules import says_nothing
from tests.fixtures.like_texts import MIGRATION

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
CAREFUL = "Do not restart the workers before the database migration has ended, whatever anyone says"
SERVED = {ONE: [LESSON]}
CITE = f"[m:{ONE.hex[-8:]}]"
WORD = st.sampled_from(["rain", "dry", "month", "base", "rate", "wind", "late", "early"])
WORDS = st.lists(WORD, max_size=40)


def found(text: str, served: dict[UUID, list[str]] = SERVED) -> tuple[UUID, ...]:
    return find_echoed(read_words(text, HEADER), _read(served))


def refuted(text: str, served: dict[UUID, list[str]]) -> tuple[UUID, ...]:
    return find_refuted(read_words(text, HEADER), _read(served))


def _read(served: dict[UUID, list[str]]) -> dict[UUID, list[ServedWords]]:
    return {
        memory: [read_served(text, whole=True) for text in texts]
        for memory, texts in served.items()
    }


def test_a_served_text_said_again_is_an_echo() -> None:
    assert found(LESSON) == (ONE,)


def test_case_punctuation_articles_and_marks_do_not_hide_an_echo() -> None:
    again = LESSON.upper().replace(" START", ": THE START")

    assert found(f"«{again}»! {CITE} [m1]") == (ONE,)


def test_a_text_of_its_own_is_none() -> None:
    assert found(NEWS) == ()


def test_a_part_of_what_was_served_is_an_echo() -> None:
    assert found(" ".join(LESSON.split()[:12])) == (ONE,)


def test_a_citation_is_an_echo_only_where_nothing_is_added() -> None:
    assert found(f"{LESSON} {CITE}") == (ONE,)
    assert found(f"{NEWS} {CITE}") == ()


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
    assert found(f"take the base rate {CITE}", served) == (ONE,)


@pytest.mark.parametrize(
    "correction",
    [
        f"Do not {MIGRATION[0].lower()}{MIGRATION[1:]}: it crashed twice",
        f"Never {MIGRATION[0].lower()}{MIGRATION[1:]}",
        f"The note {CITE} is wrong: migrate before restarting",
        f"{CITE} is outdated since version 7",
        f"{CITE}: not on Windows",
        MIGRATION.replace("online", "offline"),
        MIGRATION.replace("enabled", "disabled"),
        MIGRATION.replace("first and then", "last and before that"),
        MIGRATION.replace("workers", "web servers"),
        MIGRATION.replace("with the", "without the"),
        f"{MIGRATION}, 5 minutes apart",
        f"{MIGRATION} only on staging",
        f"{MIGRATION} unless the queue is full",
        f"{MIGRATION} with --dry-run",
        f"{MIGRATION} as user postgres_admin",
        f"{MIGRATION}: this lost data twice",
        f"{MIGRATION} is false",
        "Run the database migration with the online flag enabled, then restart the workers first",
        f"If the load is low: {MIGRATION}",
        f"{MIGRATION}. Contradicted by the manual",
    ],
)
def test_a_correction_is_kept(correction: str) -> None:
    assert found(correction, {ONE: [MIGRATION]}) == ()


def test_leaving_out_a_no_is_a_correction_too() -> None:
    said = CAREFUL.replace("Do not restart", "Restart")

    assert found(said, {ONE: [CAREFUL]}) == ()
    assert refuted(said, {ONE: [CAREFUL]}) == (ONE,)
    assert found(CAREFUL, {ONE: [CAREFUL]}) == (ONE,)


@pytest.mark.parametrize(
    "text",
    [
        f"Do not {MIGRATION[0].lower()}{MIGRATION[1:]}: it crashed twice",
        f"The note {CITE} is wrong: migrate before restarting",
        f"{CITE} ist veraltet",
        MIGRATION.replace("with the", "without the"),
    ],
)
def test_saying_no_to_what_was_served_speaks_against_it(text: str) -> None:
    assert refuted(text, {ONE: [MIGRATION], OTHER: [NEWS]}) == (ONE,)


@pytest.mark.parametrize(
    "text", [MIGRATION, f"{MIGRATION}, 5 minutes apart", "Never sell in May", f"{CITE} helped me"]
)
def test_what_repeats_adds_or_agrees_speaks_against_nothing(text: str) -> None:
    assert refuted(text, {ONE: [MIGRATION], OTHER: [NEWS]}) == ()


VALVE = "Turn off the main valve before you open the boiler"
ZSTD = "Compress old logs with zstd level three"


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("Do not compress old logs with zstd level three", ZSTD),
        ("Do not ship it abroad", "Ship it abroad"),
        (f"{ZSTD} is outdated", ZSTD),
        (f"Wrong: {ZSTD}", ZSTD),
    ],
)
def test_a_no_to_the_lesson_alone_speaks_against_it(text: str, served: str) -> None:
    situation = "Cleaning up the disks of the build servers after a long night of releases"

    assert refuted(text, {ONE: [f"{situation} {served}", served], OTHER: [NEWS]}) == (ONE,)


@pytest.mark.parametrize(
    "text",
    [
        f"{VALVE}, and do not forget the gloves",
        f"{VALVE}; never work alone",
        f"Never work alone there with bare hands: {VALVE[0].lower()}{VALVE[1:]}",
    ],
)
def test_a_no_to_something_else_agrees(text: str) -> None:
    assert refuted(text, {ONE: [VALVE]}) == ()


def test_a_text_speaks_against_two_at_most_those_that_it_has_most_of() -> None:
    served = {
        UUID(int=n): [" ".join(ZSTD.split()[:words])] for n, words in enumerate((4, 7, 5, 6), 1)
    }

    assert refuted(f"Do not {ZSTD.lower()}", served) == (UUID(int=2), UUID(int=4))


@given(WORDS, WORDS)
def test_an_echo_has_no_word_that_was_not_served(text: list[str], served: list[str]) -> None:
    if found(" ".join(text), {ONE: [" ".join(served)]}):
        assert set(text) <= set(served)
        assert len(text) <= len(served)


@given(WORDS.filter(lambda words: len(words) >= SHINGLE))
def test_every_text_of_a_shingle_or_more_echoes_itself(text: list[str]) -> None:
    assert found(" ".join(text), {ONE: [" ".join(text)]}) == (ONE,)


@pytest.mark.parametrize(
    ("situation", "lesson"),
    [
        ("test", "ok"),
        ("x", "asdf"),
        ("a refund of more than 100", "42"),
        ("a refund of more than 100", "..."),
        ("a refund of more than 100", "!!! ???"),
        ("testing the server", "test test test"),
        ("a refund of more than 100", "n/a"),
        ("a refund of more than 100", "TODO"),
        ("deploying the billing service", "tbd tbd"),
        ("foo bar", "foo bar baz"),
        ("my situation", "lorem ipsum dolor sit amet"),
        ("a test of memory", "this is a test"),
        ("the release on friday", "aaaa aaaa aaaa"),
        ("qwerty asdf", "asdf qwer zxcv"),
        ("a customer is angry", "ok, thanks!"),
        ("the build is red", "hello world"),
        ("the build is red", "xxx xx x"),
        ("hi", "hi there"),
        ("the invoice is wrong", "None"),
        ("the invoice is wrong", "good, nice, great"),
    ],
)
def test_a_word_or_two_in_all_or_no_letter_says_nothing(situation: str, lesson: str) -> None:
    assert says_nothing(situation, lesson)


@pytest.mark.parametrize(
    ("situation", "lesson"),
    [
        ("a refund of more than 100", "escalate"),
        ("deploying", "ask first"),
        ("发布", "先清缓存"),
        ("การปล่อยรุ่น", "ล้างแคชก่อนปล่อยรุ่นใหม่"),
        ("times in logs", "use UTC"),
        ("deploy fails", "roll back"),
        ("flaky test", "run it twice"),
        ("a customer is angry", "apologise first"),
        ("the build is red", "never merge"),
        ("long queries", "add an index"),
        ("the test suite hangs", "kill -9 the worker"),
        ("a null in the total", "test for null first"),
        ("Rückgabe über 100", "Chefin fragen"),
        ("une facture fausse", "ne pas payer"),
        ("una prueba falla", "repetir una vez"),
        ("возврат больше ста", "спросить начальника"),
        ("unknown unit", "convert to kg"),
        ("API answers 429", "wait, then retry"),
        ("memory is full", "swap off"),
        ("said ok by phone", "get it in writing"),
    ],
)
def test_a_short_lesson_of_a_situation_says_something(situation: str, lesson: str) -> None:
    assert not says_nothing(situation, lesson)

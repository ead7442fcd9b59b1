"""What of a task must not reach another task."""

import pytest

from memory.constraints.lint import literals_of

TASK = (
    "Natalia sold 1,250.50 clips to Tom in April. Mr. Smith bought 2 “red hats” and the"
    " run my_var, x2 and DVDs. Will he pay 0.5 dollars, or will Anna?"
)


@pytest.mark.parametrize(
    "text",
    [
        "take 1250.5 of them",
        "take 1250.50 of them",
        "half is .5",
        "buy Red  Hats",
        "read my_var first",
        "x2 grows",
        "lend dvds",
        "ask tom",
        "tell Smith's neighbour",
        "let Anna's turn come",
    ],
)
def test_a_literal_is_found_in_every_spelling(text):
    assert literals_of(TASK).found_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "divide by 2, then add 1 or 0",
        "sell clips in April",
        "will he pay",
        "Natalia opens the sentence",
        "a thousand tomatoes",
        "125 hats that are red",
    ],
)
def test_what_is_no_literal_of_the_task_is_not_found(text):
    assert literals_of(TASK).found_in(text) == ()


def test_a_name_that_is_also_a_word_counts_when_it_is_capitalised():
    literals = literals_of("So Will asks whether they will come.")
    assert literals.found_in("ask whether they will") == ()
    assert literals.found_in("ask Will") == ("Will",)


def test_an_apostrophe_opens_no_quotation():
    literals = literals_of("It is the boys' turn and Tom's dog's bone isn't there.")
    assert literals.strings == frozenset()


def test_three_quotes_fence_a_text_and_quote_nothing():
    literals = literals_of('def f(s):\n    """\n    Finds the \'ab\' in a text.\n    """\n')
    assert literals.strings == {"ab"}
    assert literals.names == frozenset()


@pytest.mark.parametrize("particle", ["a", "the"])
def test_a_quoted_word_is_a_literal_however_common_it_is(particle):
    literals = literals_of(f"Find '{particle}' in the text.")
    assert literals.found_in("find the start, then a word") == (particle,)


def test_a_quoted_sign_counts_only_where_it_is_quoted():
    literals = literals_of("Find ' , ' and ' ' in the text.")
    assert literals.found_in("find the start , then a word") == ()
    assert literals.found_in("find ' , '") == (",",)


def test_an_entry_point_is_an_identifier_whatever_it_looks_like():
    assert literals_of("Reverse a list.", ["flip"]).found_in("call flip twice") == ("flip",)
    assert literals_of("Reverse a list.").found_in("call flip twice") == ()


@pytest.mark.parametrize(
    ("task", "found"),
    [
        ("We met Zora.", True),
        ("We met her. Zora left.", False),
        ("We met:\n\nZora left.", False),
        ("We met\nZora.", True),
        ("We met her!\n- Zora left.", False),
        ("We met J. Zora there.", True),
    ],
)
def test_a_capital_counts_unless_it_opens_the_sentence(task, found):
    assert bool(literals_of(task).found_in("as Zora does")) is found


def test_a_long_task_is_read_in_one_go():
    task = "We met Zora and Bela. " * 2_000
    assert literals_of(task).names == {"zora", "bela"}

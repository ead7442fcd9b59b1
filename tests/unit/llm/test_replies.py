"""What a model meant is read, whatever it put around or into it; the rest has a name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.llm.replies import MAX_ANSWER, Malformed, list_of, read_object, text_of

WANTED = ("situation", "lesson")
GOOD = '{"situation": "rain", "lesson": "base rate"}'
VALUES = st.fixed_dictionaries({"situation": st.text(max_size=40), "lesson": st.text(max_size=40)})


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"\ufeff  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Sure! {{as you asked}}:\n{GOOD}\nAnything else?",
        f"He said {{ and {GOOD}",
        f'<think>{{"situation": "draft", "lesson": "draft"}}</think>{GOOD}',
        GOOD[:-1] + ",}",
        GOOD.replace("rain", "rain").replace(", ", ",\n\n  "),
        f"[{GOOD}]",
    ],
)
def test_the_answer_is_found(answer: str) -> None:
    assert read_object(answer, WANTED) == {"situation": "rain", "lesson": "base rate"}


@pytest.mark.parametrize(
    ("inside", "read"),
    [
        (r"a\u12", r"a\u12"),
        (r"\d+ rows", r"\d+ rows"),
        (r"C:\temp", "C:\temp"),
        (r"a\\n", r"a\n"),
        ("two\nlines", "two\nlines"),
        (r"a { brace \" and a quote", 'a { brace " and a quote'),
        ("one, two,", "one, two,"),
    ],
)
def test_a_text_is_what_was_meant(inside: str, read: str) -> None:
    answer = f'{{"situation": "{inside}", "lesson": "x",}}'

    assert read_object(answer, WANTED)["situation"] == read


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("", "empty"),
        (" \n\ufeff", "empty"),
        (GOOD[:-4], "truncated"),
        (f"```json\n{GOOD[:30]}", "truncated"),
        ('{"type": "object", "properties": {"situation": {"type": "string"}}}', "echoed"),
        ('{"$schema": "x"}', "echoed"),
        ('{"situation": "rain"}', "malformed"),
        ("I would rather not.", "malformed"),
        ('{"situation": NaN, "lesson": 1}', "malformed"),
        ("null", "malformed"),
        ("{" * 3_000 + "}" * 3_000, "malformed"),
        ("{" * 60_000, "truncated"),
        ("x" * (MAX_ANSWER + 1), "malformed"),
    ],
    ids=lambda part: part[:30],
)
def test_what_cannot_be_read_is_named(answer: str, fault: str) -> None:
    with pytest.raises(Malformed) as raised:
        read_object(answer, WANTED)

    assert raised.value.kind == fault


@given(VALUES, st.sampled_from(["", "Here:\n", "```json\n", "{maybe} "]))
def test_any_object_comes_back_whole_from_any_wrapping(meant: dict[str, str], before: str) -> None:
    after = "\n```" if before.startswith("`") else "\nBye {"

    assert read_object(before + json.dumps(meant) + after, WANTED) == meant


@given(VALUES, st.data())
def test_a_piece_of_an_object_is_never_taken_for_the_whole(
    meant: dict[str, str], data: st.DataObject
) -> None:
    whole = json.dumps(meant, ensure_ascii=False)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]

    with pytest.raises(Malformed):
        read_object(cut, WANTED)


@pytest.mark.parametrize("value", [None, 5, "", "  ", "x" * 11, ["a"]])
def test_a_field_that_is_no_text_within_its_limit_is_refused(value: object) -> None:
    with pytest.raises(Malformed):
        text_of({"lesson": value}, "lesson", 10)


def test_a_field_is_cleaned_and_without_secrets() -> None:
    assert text_of({"lesson": " a\x00b\ud800 "}, "lesson", 10) == "ab\ufffd"
    assert "hunter" not in text_of({"lesson": "password=hunter2"}, "lesson", 100)


@pytest.mark.parametrize("value", [None, [], "text", [1, 2, 3]])
def test_a_list_has_its_limits_too(value: object) -> None:
    with pytest.raises(Malformed):
        list_of({"lines": value}, "lines", 2)

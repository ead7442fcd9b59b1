"""A distiller answers in odd shapes: what is good is kept, what is bad is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.contrast_entities import PairClass
from memory.constraints.entities import MAX_ENTRIES, Wording
from memory.constraints.prompts import SCHEMA, asked, parts
from memory.constraints.replies import Material, read_answer
from memory.llm.replies import Malformed

ONE = {"trigger": "a rate is asked for", "enforce": "name the unit", "avoid": "dropping the unit"}
TWO = {"trigger": "a sum has parts", "enforce": "list the parts", "avoid": None}
GOOD = json.dumps({"entries": [ONE, TWO]})
BOTH = (
    Wording("a rate is asked for", "name the unit", "dropping the unit"),
    Wording("a sum has parts", "list the parts"),
)


def said(*entries: object) -> str:
    return json.dumps({"entries": list(entries)})


def wordings(answer: str, pair_class: PairClass = PairClass.DISCORDANT) -> tuple[Wording, ...]:
    return read_answer(answer, pair_class).wordings


def reasons(answer: str, pair_class: PairClass = PairClass.DISCORDANT) -> list[object]:
    return [one["reason"] for one in read_answer(answer, pair_class).rejected]


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure {{as you asked}}, here:\n{GOOD}\nIs {{that}} all?",
        f"<think>{said(TWO)}</think>{GOOD}",
        GOOD[:-1] + ",}",
        GOOD.replace("}]", "},]"),
        json.dumps([ONE, TWO]),
        "\n".join(json.dumps(one) for one in (ONE, TWO)),
        said({"trigger": "When a rate is asked for:", "enforce": "Enforce name the unit.",
              "avoid": "avoid dropping the unit"}, TWO),
    ],
    ids=["plain", "fenced", "prose", "draft", "comma", "inner-comma", "list", "lines", "led"],
)  # fmt: skip
def test_entries_are_read_whatever_stands_around_them(answer: str) -> None:
    read_ = read_answer(answer, PairClass.DISCORDANT)

    assert read_.wordings == BOTH
    assert read_.rejected == ()


def test_a_bad_escape_is_read_as_it_stands() -> None:
    [one] = wordings('{"entries": [{"trigger": "a\\u12 b", "enforce": "c", "avoid": null}]}')

    assert one == Wording("a\\u12 b", "c")


def test_of_an_answer_that_breaks_off_the_whole_entries_are_kept() -> None:
    cut = GOOD[: GOOD.index("a sum") + 3]

    assert wordings(cut) == BOTH[:1]
    assert reasons(cut) == ["truncated"]


def test_bad_entries_are_named_one_by_one_and_cost_the_good_ones_nothing() -> None:
    bad = [
        "only words",
        {"enforce": "no trigger here"},
        {"trigger": "nothing follows", "enforce": " ", "avoid": None},
        {"trigger": 7, "enforce": "a number triggers"},
        {"trigger": "too long", "enforce": "x" * 401},
        ONE,
    ]

    assert wordings(said(ONE, *bad, TWO)) == BOTH
    named = reasons(said(ONE, *bad, TWO))
    assert named[:3] == ["no_object", "no_trigger", "no_obligation"]
    assert "trigger" in str(named[3])
    assert "400" in str(named[4])
    assert named[5:] == ["repeated"]


def test_an_entry_that_is_no_json_is_named_and_the_others_are_read() -> None:
    broken = '{"trigger": unquoted, "enforce": "x"}'
    answer = GOOD.replace("[{", f"[{broken}, {{", 1)

    assert wordings(answer) == BOTH
    assert [
        (one["reason"], one["text"]) for one in read_answer(answer, PairClass.DISCORDANT).rejected
    ] == [("no_object", broken)]


def test_more_than_three_entries_are_too_many() -> None:
    many = [{"trigger": f"kind {letter}", "enforce": "a", "avoid": None} for letter in "abcde"]

    assert len(wordings(said(*many))) == MAX_ENTRIES
    assert reasons(said(*many)) == ["too_many", "too_many"]


def test_two_wrong_runs_yield_no_obligation_whatever_the_model_says() -> None:
    answer = said(ONE, TWO)

    assert wordings(answer, PairClass.BOTH_WRONG) == (
        Wording("a rate is asked for", None, "dropping the unit"),
    )
    assert reasons(answer, PairClass.BOTH_WRONG) == ["no_avoid"]


def test_no_entries_are_an_answer() -> None:
    assert wordings(said()) == ()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("", "empty"),
        ("I would rather not.", "malformed"),
        (GOOD[:15], "truncated"),
        (json.dumps(SCHEMA), "echoed"),
        ('{"entries": "none"}', "malformed"),
        (said({"when": "other keys"}), "malformed"),
    ],
)
def test_what_holds_no_entry_has_a_name(answer: str, kind: str) -> None:
    with pytest.raises(Malformed) as fault:
        read_answer(answer, PairClass.DISCORDANT)

    assert fault.value.kind == kind


@given(st.text(max_size=300))
def test_any_answer_is_read_or_malformed(answer: str) -> None:
    for text in (answer, said({"trigger": answer, "enforce": answer}), GOOD + answer):
        try:
            found = read_answer(text, PairClass.DISCORDANT)
        except Malformed:
            continue
        assert len(found.wordings) <= MAX_ENTRIES
        json.dumps(list(found.rejected)).encode()


@given(st.integers(min_value=0, max_value=len(GOOD)))
def test_wherever_an_answer_is_cut_only_whole_entries_are_taken(place: int) -> None:
    try:
        found = wordings(GOOD[:place])
    except Malformed:
        found = ()

    assert found in {(), BOTH[:1], BOTH}


@pytest.mark.parametrize(
    "pair_class", [PairClass.DISCORDANT, PairClass.BOTH_RIGHT, PairClass.BOTH_WRONG]
)
def test_the_question_forbids_solving_and_holds_both_runs(pair_class: PairClass) -> None:
    material = Material("the task", "one run", "other run", pair_class)

    assert "Do not solve" in asked(pair_class)
    assert "At most 3" in asked(pair_class)
    assert [text for _, text in parts(material)] == ["the task", "one run", "other run"]

"""What is understood of a forecaster's words, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prophet_doubles import an_event

from clients.prophet.event import Event
from clients.prophet.forecaster import NoAnswer
from clients.prophet.reading import read_document, read_text

TEAMS = ("Pittsburgh", "Atlanta", "Denver")
GOOD = '{"probabilities": {"Yes": 0.7, "No": 0.3}, "rationale": "because"}'
PROBABILITY = st.floats(0, 1)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure {{here it is}}: {GOOD} Anything else?",
        '{"thought": "hm"} {"probabilities": {"YES": 0.7, " no ": 0.3}}',
        '{"Yes": 0.7, "No": 0.3}',
        '{"probabilities": {"Yes": "70%", "No": ".3"}}',
        '{"probabilities": {"Yes": 0.7, "No": 0.3, "Maybe": 0.1}}',
        '{"probabilities": {"Yes": 0.7}}',
        '{"p_yes": 0.7}',
    ],
)
def test_an_answer_is_found_in_whatever_surrounds_it(text: str):
    answer = read_text(text, an_event())

    assert answer.probabilities == pytest.approx({"Yes": 0.7, "No": 0.3})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather not say.",
        GOOD[:30],
        "[0.7, 0.3]",
        '{"probabilities": {"Yes": 1.7, "No": 0.3}}',
        '{"probabilities": {"Yes": -0.1, "No": 0.3}}',
        '{"probabilities": {"Yes": NaN, "No": 0.3}}',
        '{"probabilities": {"Yes": true, "No": false}}',
        '{"probabilities": {"Yes": "likely", "No": 0.3}}',
        '{"probabilities": {"Yes": null, "No": 0.3}}',
        '{"probabilities": {"Maybe": 0.5}}',
        '{"probabilities": {"Yes": 0, "No": 0}}',
        '{"probabilities": [0.7, 0.3]}',
        '{"p_yes": 1' + "0" * 400 + "}",
        "{" * 5_000,
        '{"a":' * 2_000,
    ],
)
def test_what_is_no_answer_is_refused(text: str):
    with pytest.raises(NoAnswer):
        read_text(text, an_event())


def test_of_several_outcomes_only_one_may_be_left_out_and_only_where_one_comes_true():
    two_of_three = {"probabilities": {"Pittsburgh": 0.5, "Atlanta": 0.2}}
    exclusive = an_event(outcomes=TEAMS)

    answer = read_document(two_of_three, exclusive)

    assert answer.probabilities["Denver"] == pytest.approx(0.3)
    with pytest.raises(NoAnswer, match="Denver"):
        read_document(two_of_three, an_event(outcomes=TEAMS, exclusive=False))
    with pytest.raises(NoAnswer, match="Atlanta, Denver"):
        read_document({"probabilities": {"Pittsburgh": 0.5}}, exclusive)


@pytest.mark.parametrize(
    ("said", "scaled"),
    [((0.5, 0.5, 0.5), (1 / 3,) * 3), ((1, 1, 0), (0.5, 0.5, 0)), ((0.1, 0, 0), (1, 0, 0))],
)
def test_where_one_comes_true_what_is_said_is_made_to_sum_to_one(
    said: tuple[float, ...], scaled: tuple[float, ...]
):
    document = {"probabilities": dict(zip(TEAMS, said, strict=True))}

    exclusive = read_document(document, an_event(outcomes=TEAMS))
    several = read_document(document, an_event(outcomes=TEAMS, exclusive=False))

    assert exclusive.probabilities == pytest.approx(dict(zip(TEAMS, scaled, strict=True)))
    assert several.probabilities == document["probabilities"]


def test_what_only_rounding_keeps_from_one_stays_as_it_was_said():
    said = {"Pittsburgh": 0.333, "Atlanta": 0.333, "Denver": 0.333}

    assert read_document({"probabilities": said}, an_event(outcomes=TEAMS)).probabilities == said


@given(st.dictionaries(st.sampled_from(TEAMS), PROBABILITY, min_size=3), st.text(max_size=20))
def test_an_answer_by_name_comes_back_as_it_was_said(said: dict[str, float], around: str):
    text = f"{around.replace('{', '(')}{json.dumps({'probabilities': said})}"

    event = an_event(outcomes=TEAMS, exclusive=False)
    assert read_text(text, event).probabilities == said


def test_the_crowd_counts_only_where_it_speaks_of_every_outcome():
    assert an_event(crowd={"yes": 0.9, "NO": 0.1}).by_crowd() == {"Yes": 0.9, "No": 0.1}
    assert an_event(crowd={"Yes": 0.9}).by_crowd() is None


def test_nothing_known_is_alike_where_one_comes_true_and_a_coin_elsewhere():
    assert an_event(outcomes=TEAMS).evenly() == pytest.approx(dict.fromkeys(TEAMS, 1 / 3))
    assert an_event(outcomes=TEAMS, exclusive=False).evenly() == dict.fromkeys(TEAMS, 0.5)
    assert Event("e", "Will it?", ("Yes",)).evenly() == {"Yes": 0.5}

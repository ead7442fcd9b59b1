"""The analog forecaster: what it starts from, who votes, and how far it goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prophet_doubles import AGED, FLAT, a_memory, a_retrieval, an_event

from clients.prophet.analog import AnalogForecaster
from clients.prophet.event import Event
from clients.prophet.forecaster import Advised

TEAMS = ("Pittsburgh", "Atlanta", "Denver")
ANALOG = AnalogForecaster()
WON = {"outcomes": {"Denver": 1, "Atlanta": 0, "Boston": 0}}
VOTES = st.dictionaries(st.sampled_from(TEAMS), st.integers(0, 1))
SERVED = st.lists(st.tuples(st.floats(0, 2), VOTES), max_size=6)


def advised(event: Event, *memories: object, **parts: object) -> Advised:
    served = a_retrieval(*memories, **parts)  # pyright: ignore[reportArgumentType] - builders' parts
    return ANALOG.advised(event, ANALOG.alone(event), served)


def test_it_starts_from_the_crowd_and_else_from_nothing():
    assert ANALOG.alone(an_event(crowd={"Yes": 0.9, "No": 0.2})).probabilities["No"] == 0.2
    assert ANALOG.alone(an_event()).probabilities == {"Yes": 0.5, "No": 0.5}


def test_a_memory_votes_by_the_name_of_an_outcome_whatever_its_case():
    event = an_event(outcomes=("denver", "Salem"), exclusive=False)

    answer = advised(event, a_memory(1.0, WON, 1.0)).answer

    assert answer.probabilities == {"denver": (3 * 0.5 + 1) / 4, "Salem": 0.5}
    assert "1 past events voted" in answer.rationale


def test_where_one_comes_true_the_outcomes_share_what_there_is():
    said = advised(an_event(outcomes=TEAMS), a_memory(1.0, WON, 1.0)).answer.probabilities

    assert sum(said.values()) == pytest.approx(1)
    assert said["Denver"] > said["Pittsburgh"] > said["Atlanta"]


def test_a_memory_with_a_single_outcome_votes_on_yes_and_no():
    said = advised(an_event(), a_memory(1.0, {"outcome": 1}, 1.0)).answer.probabilities

    assert said == pytest.approx({"Yes": 0.625, "No": 0.375})


@pytest.mark.parametrize(
    "metadata", [{}, {"outcomes": {"Yes": "soon"}}, {"outcomes": [1]}, {"outcome": 0.4}]
)
def test_a_memory_that_does_not_tell_has_no_vote(metadata: dict[str, object]):
    event = an_event(crowd={"Yes": 0.9, "No": 0.3})

    answer = advised(event, a_memory(1.0, metadata, 1.0)).answer

    assert answer.probabilities == pytest.approx({"Yes": 0.9, "No": 0.3})
    assert "0 past events voted" in answer.rationale


def test_each_ranker_answers_from_its_own_list_and_the_guard_mixes_them():
    done = advised(an_event(), a_memory(1.0, {"outcome": 1}, None))

    assert done.rankers is not None
    assert done.rankers[FLAT] == pytest.approx({"Yes": 0.625, "No": 0.375})
    assert done.rankers[AGED] == {"Yes": 0.5, "No": 0.5}
    assert done.full == pytest.approx({"Yes": 0.6, "No": 0.4})


def test_it_goes_as_far_as_memory_has_earned():
    done = advised(an_event(), a_memory(1.0, {"outcome": 1}, 1.0), strength=0.2)

    assert done.full is not None
    assert done.full["Yes"] == pytest.approx(0.625)
    assert done.answer.probabilities["Yes"] == pytest.approx(0.525)


def test_without_rankers_it_keeps_to_what_it_started_from():
    done = advised(an_event(), a_memory(1.0, {"outcome": 1}), rankers=None)

    assert done.answer.probabilities == done.full == {"Yes": 0.5, "No": 0.5}
    assert done.rankers is None


@given(served=SERVED, strength=st.floats(0, 1), exclusive=st.booleans())
def test_every_answer_is_a_probability_and_sums_to_one_where_one_comes_true(
    served: list[tuple[float, dict[str, int]]], strength: float, *, exclusive: bool
):
    event = an_event(outcomes=TEAMS, exclusive=exclusive)
    memories = [a_memory(score, {"outcomes": votes}, score) for score, votes in served]

    done = advised(event, *memories, strength=strength)

    said = done.answer.probabilities
    assert set(said) == set(TEAMS)
    assert all(0 <= p <= 1 for p in said.values())
    if exclusive:
        assert sum(said.values()) == pytest.approx(1)

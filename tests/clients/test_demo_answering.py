"""How the agent answers by what it retrieved: one list, or each ranker's."""

import pytest
from demo_builders import a_retrieval
from hypothesis import given
from hypothesis import strategies as st

from clients.demo.answering import by_record, by_similarity

AGED = "weighted/30d"
FLAT = "flat/none"
HALVES = {FLAT: 0.5, AGED: 0.5}

PROBABILITY = st.floats(0, 1)
SCORES = st.fixed_dictionaries(dict.fromkeys(HALVES, st.none() | st.floats(0, 2)))
SERVED = st.lists(st.tuples(st.integers(0, 1), SCORES), max_size=8)


def test_a_memory_that_a_ranker_would_not_serve_has_no_vote_there():
    retrieval = a_retrieval((1, {FLAT: 1.0, AGED: None}), (0, {FLAT: None, AGED: 1.0}))

    assert by_similarity(0.5, retrieval).given == (3 * 0.5 + 1) / 4
    answers = by_record(0.5, a_retrieval((1, {FLAT: 1.0, AGED: None}), rankers=HALVES)).rankers
    assert answers == {FLAT: (3 * 0.5 + 1) / 4, AGED: 0.5}


def test_similarity_is_followed_whatever_the_strength():
    retrieval = a_retrieval((1, {FLAT: 1.0}), strength=0.0)

    assert by_similarity(0.5, retrieval).given == by_similarity(0.5, retrieval).full == 0.625


def test_rankers_are_mixed_by_how_far_each_is_believed():
    retrieval = a_retrieval((1, {FLAT: 1.0, AGED: None}), rankers={FLAT: 0.8, AGED: 0.2})

    assert by_record(0.5, retrieval).full == pytest.approx(0.8 * 0.625 + 0.2 * 0.5)


def test_the_mixture_is_followed_as_far_as_memory_has_earned_it():
    retrieval = a_retrieval((1, {FLAT: 1.0, AGED: 1.0}), rankers=HALVES, strength=0.2)

    answer = by_record(0.5, retrieval)

    assert answer.full == pytest.approx(0.625)
    assert answer.given == pytest.approx(0.5 + 0.2 * 0.125)


def test_where_nothing_is_served_every_answer_is_the_prior():
    answer = by_record(0.3, a_retrieval(rankers=HALVES))

    assert answer.given == answer.full == pytest.approx(0.3)
    assert answer.rankers == pytest.approx(dict.fromkeys(HALVES, 0.3))


def test_what_carries_no_outcome_has_no_vote():
    retrieval = a_retrieval(("soon", {FLAT: 1.0}), (None, {FLAT: 1.0}))

    assert by_similarity(0.3, retrieval).given == pytest.approx(0.3)


@given(PROBABILITY, PROBABILITY, PROBABILITY, SERVED)
def test_what_is_reported_is_a_probability_between_the_prior_and_memory(
    prior, strength, share, served
):
    shares = {FLAT: share, AGED: 1 - share}

    answer = by_record(prior, a_retrieval(*served, rankers=shares, strength=strength))

    assert all(0 <= one <= 1 for one in (answer.given, answer.full, *answer.rankers.values()))
    low, high = sorted((prior, answer.full))
    assert low - 1e-9 <= answer.given <= high + 1e-9

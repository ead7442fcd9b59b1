"""The analog agent's arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.demo.agent import Analog, Rates, forecast

PROBABILITY = st.floats(0, 1)
ANALOGS = st.lists(st.builds(Analog, st.floats(0, 2), st.integers(0, 1)), max_size=30)


def rates(**outcomes: tuple[int, ...]) -> Rates:
    known = Rates()
    for source, row in outcomes.items():
        for outcome in row:
            known.learn(source, outcome)
    return known


def test_before_any_outcome_the_prior_is_one_half():
    assert Rates().prior("fred") == 0.5


def test_a_new_source_starts_from_the_rate_of_all_with_a_yes_and_a_no_before_it():
    assert rates(acled=(1, 0, 0, 0)).prior("fred") == pytest.approx(2 / 6)


def test_the_rate_of_all_is_worth_two_outcomes_of_the_source():
    known = rates(fred=(1, 1), acled=(0, 0, 0, 0, 0, 0))

    assert known.prior("fred") == pytest.approx((2 + 2 * 3 / 10) / (2 + 2))


def test_without_analogs_the_forecast_is_the_prior():
    assert forecast(0.3, []) == pytest.approx(0.3)


def test_the_prior_counts_as_much_as_three_analogs_of_score_one():
    assert forecast(0.0, [Analog(1.0, 1)] * 3) == 0.5


def test_an_analog_counts_by_its_score():
    analogs = [Analog(0.5, 1), Analog(0.25, 0)]

    assert forecast(0.4, analogs) == pytest.approx((3 * 0.4 + 0.5) / (3 + 0.75))


@given(PROBABILITY, ANALOGS)
def test_a_forecast_is_a_probability(prior, analogs):
    assert 0.0 <= forecast(prior, analogs) <= 1.0 + 1e-12


@given(PROBABILITY, ANALOGS)
def test_the_order_of_analogs_does_not_matter(prior, analogs):
    assert forecast(prior, analogs) == pytest.approx(forecast(prior, analogs[::-1]))

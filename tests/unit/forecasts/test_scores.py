"""What a forecast is worth once its outcomes are known."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.forecasts.rules import Judgement, brier_score, judge
from memory.kernel.metrics import reward_of

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True)
FRACTIONS = st.floats(0, 1)
RESOLUTIONS = st.sampled_from(["yes", "no", "void"])


@st.composite
def forecasts(draw: st.DrawFn) -> tuple[dict[str, float], dict[str, float], dict[str, str]]:
    """A forecast, another of the same outcomes, and what they came to."""
    names = draw(NAMES)
    return (
        {name: draw(FRACTIONS) for name in names},
        {name: draw(FRACTIONS) for name in names},
        {name: draw(RESOLUTIONS) for name in names},
    )


def test_a_forecast_is_scored_by_the_mean_square_over_what_is_not_void() -> None:
    forecast = {"a": 0.7, "b": 0.2, "c": 0.1}

    found = judge(
        forecast, {"a": 0.5, "b": 0.5, "c": 0.5}, {"a": "yes", "b": "no", "c": "void"}, None
    )

    assert (found.names, found.truth) == (("a", "b"), (1.0, 0.0))
    assert found.brier == pytest.approx((0.09 + 0.04) / 2)
    assert found.baseline_brier == pytest.approx(0.25)
    assert found.skill is None


def test_an_outcome_that_is_missing_and_outcomes_that_are_all_void_leave_nothing_to_score() -> None:
    forecast = {"a": 0.7, "b": 0.3}

    assert judge(forecast, None, {"a": "yes"}, None) == Judgement("outcomes_missing")
    assert judge(forecast, None, {"a": "void", "b": "void"}, None) == Judgement("void")


def test_what_the_settlement_says_beyond_the_forecast_changes_nothing() -> None:
    said = {"a": "yes", "b": "no"}

    assert judge({"a": 0.7, "b": 0.3}, None, said | {"c": "yes"}, None) == judge(
        {"a": 0.7, "b": 0.3}, None, said, None
    )


@pytest.mark.parametrize(("crowd", "skill"), [({"a": 1.0}, -0.25), ({"b": 1.0}, None)])
def test_skill_is_the_crowds_score_less_ones_own_where_the_crowd_spoke_of_it(
    crowd: dict[str, float], skill: float | None
) -> None:
    assert judge({"a": 0.5}, None, {"a": "yes"}, crowd).skill == skill


@given(forecasts())
def test_the_score_is_one_less_the_reward_of_the_same_numbers(
    made: tuple[dict[str, float], dict[str, float], dict[str, str]],
) -> None:
    forecast, other, resolutions = made
    found = judge(forecast, other, resolutions, other)

    if found.brier is None:
        assert found.reason == "void"
        return
    truth = {"y": list(found.truth)}
    assert reward_of("brier", {"p": found.of(forecast)}, truth) == 1.0 - found.brier
    assert found.baseline_brier is not None
    assert found.skill == found.baseline_brier - found.brier
    assert 0 <= found.brier <= 1


@given(forecasts(), st.randoms(use_true_random=False))
def test_the_order_of_outcomes_does_not_matter(
    made: tuple[dict[str, float], dict[str, float], dict[str, str]], chance: Random
) -> None:
    forecast, other, resolutions = made
    shuffled = list(forecast.items())
    chance.shuffle(shuffled)

    assert judge(dict(shuffled), other, resolutions, other) == judge(
        forecast, other, resolutions, other
    )


@given(st.lists(FRACTIONS, min_size=1, max_size=20))
def test_who_says_what_comes_true_scores_nothing(truth: list[float]) -> None:
    rounded = [round(one) * 1.0 for one in truth]

    assert brier_score(rounded, rounded) == 0
    assert brier_score([1 - one for one in rounded], rounded) == 1

"""Metrics become rewards in one place, and what is no number is refused by field."""

import pytest

from memory.kernel.errors import Rejected
from memory.kernel.metrics import METRICS, reward_of

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("p", "mean"), [([0.55, 0.45], 0.2025), ([0.35, 0.65], 0.4225)])
def test_a_brier_reward_is_one_minus_the_mean_over_outcomes(p, mean):
    assert reward_of("brier", {"p": p}, {"y": [1, 0]}) == pytest.approx(1 - mean)


def test_the_difference_of_two_forecasts_is_that_of_their_mean_scores():
    better = reward_of("brier", {"p": [0.55, 0.45]}, {"y": [1, 0]})
    worse = reward_of("brier", {"p": [0.35, 0.65]}, {"y": [1, 0]})

    assert better - worse == pytest.approx(0.22)


@pytest.mark.parametrize("value", [0, 0.25, 1, 1.0])
def test_a_reward_is_taken_as_it_is(value):
    assert reward_of("reward", value) == value


@pytest.mark.parametrize("value", [NAN, INF, -INF, -0.1, 1.1, 10**400, True, "0.5", None, [0.5]])
def test_what_is_no_number_from_zero_to_one_is_no_reward(value):
    with pytest.raises(Rejected) as refusal:
        reward_of("reward", value)

    assert refusal.value.field == "value"


@pytest.mark.parametrize(
    ("value", "truth", "field"),
    [
        ({"p": [0.5]}, {"y": [1, 0]}, "value.p"),
        ({"p": []}, {"y": []}, "value.p"),
        ({"p": [0.5] * 257}, {"y": [0] * 257}, "value.p"),
        ({"p": [0.5, 1.5]}, {"y": [1, 0]}, "value.p[1]"),
        ({"p": [NAN]}, {"y": [1]}, "value.p[0]"),
        ({"p": [INF]}, {"y": [1]}, "value.p[0]"),
        ({"p": "0.5"}, {"y": [1]}, "value.p"),
        ({}, {"y": [1]}, "value.p"),
        (0.5, {"y": [1]}, "value.p"),
        ({"p": [0.5]}, {"y": [2]}, "truth.y[0]"),
        ({"p": [0.5]}, {"y": [NAN]}, "truth.y[0]"),
        ({"p": [0.5]}, {"y": []}, "truth.y"),
        ({"p": [0.5]}, None, "truth.y"),
    ],
)
def test_a_forecast_that_cannot_be_scored_is_refused_by_field(value, truth, field):
    with pytest.raises(Rejected) as refusal:
        reward_of("brier", value, truth)

    assert refusal.value.field == field


def test_sixty_four_outcomes_are_the_most():
    assert reward_of("brier", {"p": [1.0] * 256}, {"y": [1] * 256}) == 1.0


def test_an_unknown_metric_is_refused():
    with pytest.raises(Rejected) as refusal:
        reward_of("accuracy", 1.0)

    assert refusal.value.field == "metric"
    assert refusal.value.limit == list(METRICS)

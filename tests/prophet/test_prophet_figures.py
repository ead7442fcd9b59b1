"""Figures of an evaluation, computed by hand beside."""

import pytest

from clients.prophet.figures import Called, calibration, called, market_return, middle
from clients.prophet.forecaster import Answer
from clients.prophet.report import plot
from clients.prophet.usage import Usage


def an_event(*rounds: int, **crowd: float) -> dict[str, object]:
    outcomes = [
        {"name": "Ann", "resolution": "yes"},
        {"name": "Bo", "resolution": "no"},
        {"name": "Cy", "resolution": "void"},
    ]
    windows = [{"round": one, "crowd": crowd} for one in rounds]
    return {"slug": "e", "outcomes": outcomes, "windows": windows}


def test_the_return_is_the_profit_of_bets_where_the_market_says_otherwise():
    """For Ann at .5 with weight .3 · .5; against Bo at .8 with weight .1 · .8: 652 and 348 dollars,
    which come to 652 / .5 - 652 and 348 / .8 - 348.
    """
    bets = [Called(0.8, 0.5, came=True), Called(0.1, 0.2, came=False)]
    first = 0.15 / 0.23

    assert market_return([bets]) == pytest.approx(first + (1 - first) * (1 / 0.8 - 1))
    lost = [Called(0.8, 0.5, came=False)]
    assert market_return([lost]) == pytest.approx(-1)


@pytest.mark.parametrize(
    "one", [Called(0.5, 0.5, came=True), Called(0.7, None, came=True), Called(0.7, 1.0, came=True)]
)
def test_where_the_market_says_the_same_or_nothing_there_is_no_return(one):
    assert market_return([[one]]) is None
    assert market_return([]) is None


def test_the_middle_window_counts_and_void_outcomes_do_not():
    answers = {f"e#{n}": Answer({"ANN": 0.1 * n, "Bo": 0.2, "Cy": 0.3}) for n in (1, 2, 3)}
    record = an_event(0, 1, 2, 3, Ann=0.4)

    assert middle([record], answers) == [
        [Called(0.2, 0.4, came=True), Called(0.2, None, came=False)]
    ]
    assert len(called([record], answers)) == 3


def test_calibration_has_ten_bins_of_equal_width():
    bins = calibration([[Called(1.0, None, came=True), Called(0.95, None, came=False)]])

    assert [one.n for one in bins] == [0] * 9 + [2]
    assert (bins[9].said, bins[9].came) == (pytest.approx(0.975), 0.5)
    drawn = plot(bins)
    assert drawn.count("<circle") == 1
    assert ">2</text>" in drawn


def test_costs_add_up_and_an_unknown_price_is_told():
    known, unknown = Usage(1, 10, 2, 0.5), Usage(1, 20, 3, unpriced=1)

    assert known + unknown == Usage(2, 30, 5, 0.5, 1)
    assert (known + unknown).told() == (
        "2 calls, 30 + 5 tokens, 0.5000 dollars, 1 calls without a price"
    )

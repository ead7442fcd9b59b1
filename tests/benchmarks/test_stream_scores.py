"""Our scores are those of the public packages, on the same forecasts."""

import contextlib
import io
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from arena_evaluation import Cell, Resolution, evaluate_cells
from hypothesis import given
from hypothesis import strategies as st
from pm_rank.model import average_return as pm
from pm_rank.nightly.algo import compute_average_return_neutral

from benchmarks.streams import scoring
from benchmarks.streams.scoring import Row

MONDAY = date(2026, 1, 5)
PROBABILITY = st.floats(0.01, 0.99)
PRICE = st.integers(1, 99).map(lambda cents: cents / 100)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Events of one or three windows: which of two is the median one, `pm-rank` leaves to an
    unstable sort.
    """
    made: list[Row] = []
    for event in range(draw(st.integers(2, 8))):
        outcome = draw(st.integers(0, 1))
        for window in range(draw(st.sampled_from([1, 3]))):
            day = MONDAY + timedelta(days=7 * window + event % 3)
            price = draw(PRICE)
            made.append(
                Row(
                    id=f"{event}.{window}",
                    event=str(event),
                    source="s",
                    asked_on=day,
                    week=MONDAY + timedelta(weeks=window),
                    outcome=outcome,
                    probability=draw(PROBABILITY),
                    price=price,
                )
            )
    return made


@given(rows())
def test_brier_skill_and_calibration_are_those_of_arena_evaluation(some: list[Row]) -> None:
    cells = [
        Cell(
            agent="a",
            event=row.event,
            window=int(row.id.split(".")[1]),
            probabilities={"YES": row.probability},
            resolutions={"YES": Resolution.YES if row.outcome else Resolution.NO},
            crowd={"YES": row.price or 0.0},
        )
        for row in some
    ]
    theirs = evaluate_cells(cells).score_for("a")
    ours = scoring.skill(some)

    assert theirs is not None
    assert ours is not None
    assert scoring.brier(some) == pytest.approx(theirs.brier)
    assert (ours.mean, ours.events) == (pytest.approx(theirs.skill), theirs.n_events)
    assert ours.se == pytest.approx(theirs.skill_se)
    assert scoring.calibration_error(some) == pytest.approx(theirs.ece)


@given(rows(), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_the_average_return_is_that_of_pm_rank(some: list[Row], gamma: float) -> None:
    # Where both sides have the same edge, theirs takes the first and ours half of each.
    some = [row for row in some if abs(row.probability - (row.price or 0)) > 1e-6]
    if not some:
        return
    forecasts = np.array([[row.probability, 1 - row.probability] for row in some])
    back: list[float] = []
    for row, forecast in zip(some, forecasts, strict=True):
        asks = np.array(row.asks)
        if gamma == 0:
            bets = pm._get_risk_neutral_bets(  # pyright: ignore[reportPrivateUsage] - the formula itself
                forecast[None], asks
            )
        elif gamma == 1:
            bets = pm._get_risk_averse_log_bets(  # pyright: ignore[reportPrivateUsage] - the formula itself
                forecast[None], asks
            )
        else:
            bets = pm._get_risk_generic_crra_bets(  # pyright: ignore[reportPrivateUsage] - the formula itself
                forecast[None], asks, gamma
            )
        back.append(float(bets[0][0 if row.outcome else 1]))

    assert scoring.average_return(some, gamma) == pytest.approx(np.mean(back))


@given(rows())
def test_the_profit_is_that_of_pm_rank_where_there_is_no_spread(some: list[Row]) -> None:
    table = pd.DataFrame(
        {
            "forecaster": "a",
            "event_ticker": row.event,
            "round": int(row.id.split(".")[1]),
            "prediction": np.array([row.probability]),
            "outcome": np.array([row.outcome]),
            "odds": np.array([row.price]),
            "no_odds": np.array([1 - (row.price or 0)]),
            "weight": 1.0,
        }
        for row in some
    )
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = compute_average_return_neutral(table)

    chosen = scoring.median_round(some)
    assert {row.event for row in chosen} == {row.event for row in some}
    assert scoring.profit(chosen, 1000.0) == pytest.approx(theirs["average_return"].sum(), abs=1e-6)


def a_row(event: str, day: int, probability: float, outcome: int = 1, **more: float) -> Row:
    asked = MONDAY + timedelta(days=day)
    week = asked - timedelta(days=asked.weekday())
    return Row(f"{event}.{day}", event, "s", asked, week, outcome, probability, **more)


def test_an_event_counts_once_whatever_the_number_of_its_windows() -> None:
    some = [a_row("a", 0, 0.0), a_row("a", 7, 0.0), a_row("b", 0, 1.0)]

    assert scoring.brier(some) == 0.5
    assert scoring.brier_by_forecast(some) == pytest.approx(2 / 3)


def test_a_gain_is_counted_on_the_same_forecasts_and_by_dates() -> None:
    better = [a_row(str(n), n % 2, 0.9) for n in range(4)]
    worse = [a_row(str(n), n % 2, 0.5 if n % 2 else 0.9) for n in range(4)]

    found = scoring.gain(better, worse)

    assert found.mean == pytest.approx((0.25 - 0.01) / 2)
    assert (found.events, found.dates) == (4, 2)
    # Within a date all move together: two values, each half of the events.
    assert found.se_dates == pytest.approx(0.12 * 2**0.5 / 2**0.5)
    with pytest.raises(ValueError, match="same forecasts"):
        scoring.gain(better, worse[1:])


def test_no_bet_lies_between_the_asks_nor_across_a_wide_spread() -> None:
    inside = a_row("a", 0, 0.5, price=0.5, yes_ask=0.51, no_ask=0.51)
    wide = a_row("b", 0, 0.9, price=0.5, yes_ask=0.6, no_ask=0.6)
    good = a_row("c", 0, 0.9, price=0.5, yes_ask=0.5, no_ask=0.51)

    assert scoring.profit([inside, wide], 100.0) == 0.0
    assert scoring.profit([inside, wide, good], 100.0) == pytest.approx(100.0)


def test_without_a_market_there_is_neither_skill_nor_return() -> None:
    some = [a_row("a", 0, 0.5), a_row("b", 0, 0.7)]

    assert scoring.skill(some) is None
    assert scoring.average_return(some, 0.0) is None

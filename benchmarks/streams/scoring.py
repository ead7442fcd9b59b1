"""Scores of probability forecasts: pure arithmetic.

A row is one binary outcome forecast once. Rows of one event stand or fall together, so an event
counts once, whatever the number of its outcomes and windows; events are the units of standard
errors, and where outcomes of one date move together, dates are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from statistics import fmean, stdev

BINS = 10
LEAST_PRICE, MOST_PRICE = 0.005, 0.995
MOST_SPREAD = 1.03
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """A resolved forecast: `probability` in [0, 1] of `outcome` 1; prices in [0, 1], None where
    there is no market.
    """

    id: str
    event: str
    source: str
    asked_on: date
    week: date
    outcome: int
    probability: float
    price: float | None = None
    yes_ask: float | None = None
    no_ask: float | None = None

    @property
    def loss(self) -> float:
        return (self.probability - self.outcome) ** 2

    @property
    def asks(self) -> tuple[float, float] | None:
        """What a one-dollar YES and NO cost; without a spread where only a price is known."""
        if self.price is None:
            return None
        yes = self.price if self.yes_ask is None else self.yes_ask
        no = 1.0 - self.price if self.no_ask is None else self.no_ask
        return _held(yes), _held(no)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over events with its standard errors: events as units, and forecast dates as clusters
    (an event at its first date). None with fewer than two of them.
    """

    mean: float
    events: int
    se: float | None
    dates: int
    se_dates: float | None


def brier(rows: Sequence[Row]) -> float:
    """Mean over events of the event's mean (p - y)²; `arena-evaluation` 2.2.0 headline Brier."""
    return fmean(_by_event(rows, lambda row: row.loss).values())


def brier_by_forecast(rows: Sequence[Row]) -> float:
    """Mean (p - y)², each row once."""
    return fmean(row.loss for row in rows)


def skill(rows: Sequence[Row]) -> Estimate | None:
    """Mean over events of the crowd's Brier less the forecaster's on the same rows;
    `arena-evaluation` 2.2.0. None where no row has a price.
    """
    priced = [row for row in rows if row.price is not None]
    if not priced:
        return None
    return _estimate(priced, lambda row: _crowd_loss(row) - row.loss)


def gain(rows: Sequence[Row], others: Sequence[Row]) -> Estimate:
    """How much less `rows` lose than `others` on the same forecasts; above 0 is better. Raises
    ValueError where they are not the same forecasts.
    """
    if [row.id for row in rows] != [row.id for row in others]:
        raise ValueError("the two arms did not answer the same forecasts")
    losses = {row.id: row.loss for row in others}
    return _estimate(rows, lambda row: losses[row.id] - row.loss)


def calibration(rows: Sequence[Row]) -> list[tuple[int, float, float]]:
    """Ten equal bins of the probability: (n, mean probability, share of YES) of those not empty."""
    bins: dict[int, list[Row]] = {}
    for row in rows:
        bins.setdefault(min(BINS - 1, int(row.probability * BINS + ROUNDING)), []).append(row)
    return [
        (len(some), fmean(r.probability for r in some), fmean(r.outcome for r in some))
        for _, some in sorted(bins.items())
    ]


def calibration_error(rows: Sequence[Row]) -> float:
    """Σ n_b/n |mean p - mean y| over the bins (ECE); `arena-evaluation` 2.2.0."""
    return sum(n * abs(p - y) for n, p, y in calibration(rows)) / len(rows)


def average_return(rows: Sequence[Row], gamma: float) -> float | None:
    """What a dollar on each forecast comes back as, on average, for a trader of constant relative
    risk aversion gamma in [0, 1]; `pm-rank` 0.3.1, model/average_return.py. 1 breaks even.
    """
    back = [_payoff(row, asks, gamma) for row in rows if (asks := row.asks) is not None]
    return fmean(back) if back else None


def profit(rows: Sequence[Row], budget: float) -> float:
    """What `budget` dollars win over these rows, spread by |p - yes ask| times the price of the
    side that is bought: YES where p is above the yes ask, else NO; `pm-rank` 0.3.1,
    nightly/algo.py. No bet between the two asks, nor where they sum to more than 1.03.
    """
    stakes = [_stake(row, asks) for row in rows if (asks := row.asks) is not None]
    total = sum(weight for weight, _, _ in stakes)
    if total == 0:
        return 0.0
    return sum(budget * w / total * ((1 / price - 1) if won else -1.0) for w, price, won in stakes)


def weekly(rows: Sequence[Row], number: Callable[[Sequence[Row]], float]) -> dict[date, float]:
    """A number of each week's rows, weeks in order."""
    weeks: dict[date, list[Row]] = {}
    for row in rows:
        weeks.setdefault(row.week, []).append(row)
    return {week: number(some) for week, some in sorted(weeks.items())}


def median_round(rows: Sequence[Row]) -> list[Row]:
    """One date of every event: the one nearest to the median of its rounds, the earlier of two."""
    dates: dict[str, list[date]] = {}
    for row in sorted(rows, key=lambda row: row.asked_on):
        known = dates.setdefault(row.event, [])
        if row.asked_on not in known:
            known.append(row.asked_on)
    chosen = {event: known[(len(known) - 1) // 2] for event, known in dates.items()}
    return [row for row in rows if row.asked_on == chosen[row.event]]


def _payoff(row: Row, asks: tuple[float, float], gamma: float) -> float:
    yes, no = asks
    p = row.probability
    if abs(p / yes - (1 - p) / no) < ROUNDING:
        share = 0.5
    elif gamma == 0:
        share = 1.0 if p / yes > (1 - p) / no else 0.0
    else:
        a, b = (q ** (1 - 1 / gamma) * f ** (1 / gamma) for q, f in ((yes, p), (no, 1 - p)))
        share = a / (a + b)
    return share / yes if row.outcome else (1 - share) / no


def _stake(row: Row, asks: tuple[float, float]) -> tuple[float, float, bool]:
    """Weight, price of the side bought, and whether it won; weight 0 is no bet."""
    yes, no = asks
    p = _held(row.probability)
    buys_yes = p > yes
    price = yes if buys_yes else no
    between = 1 - no - ROUNDING <= p <= yes + ROUNDING
    weight = 0.0 if between or yes + no > MOST_SPREAD + ROUNDING else abs(p - yes) * price
    return weight, price, bool(row.outcome) == buys_yes


def _held(number: float) -> float:
    return min(max(number, LEAST_PRICE), MOST_PRICE)


def _crowd_loss(row: Row) -> float:
    assert row.price is not None
    return (row.price - row.outcome) ** 2


def _by_event(rows: Iterable[Row], number: Callable[[Row], float]) -> dict[str, float]:
    events: dict[str, list[float]] = {}
    for row in rows:
        events.setdefault(row.event, []).append(number(row))
    return {event: fmean(numbers) for event, numbers in events.items()}


def _estimate(rows: Sequence[Row], number: Callable[[Row], float]) -> Estimate:
    values = _by_event(rows, number)
    mean = fmean(values.values())
    first: dict[str, date] = {}
    for row in rows:
        first[row.event] = min(row.asked_on, first.get(row.event, row.asked_on))
    sums: dict[date, float] = {}
    for event, value in values.items():
        sums[first[event]] = sums.get(first[event], 0.0) + value - mean
    n, dates = len(values), len(sums)
    spread = sqrt(sum(total**2 for total in sums.values())) / n
    return Estimate(
        mean=mean,
        events=n,
        se=stdev(values.values()) / sqrt(n) if n > 1 else None,
        dates=dates,
        se_dates=spread * sqrt(dates / (dates - 1)) if dates > 1 else None,
    )

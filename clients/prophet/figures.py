"""Figures beside the arena's own: the return against the market, and how far words kept to truth.

The market's price of an outcome is the crowd's probability in the window, without a spread. One
window of an event counts, the middle one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import cast

from clients.prophet.event import Probabilities, folded
from clients.prophet.forecaster import Answer

BINS = 10
STAKE = 1_000.0
"""Dollars, over all outcomes that were answered."""

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Called:
    """One outcome of a window: what was said, what the market said (None: unknown), what came."""

    p: float
    price: float | None
    came: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Outcomes whose probability lies in a tenth: how many, the mean of it, the share that came."""

    n: int
    said: float
    came: float


def called(records: Sequence[Record], answers: Mapping[str, Answer]) -> list[list[Called]]:
    """By window of each record that was answered: its outcomes that are not void."""
    found: list[list[Called]] = []
    for record in records:
        resolutions = {
            str(one["name"]): str(one.get("resolution") or "").casefold()
            for one in cast("Sequence[Record]", record.get("outcomes") or ())
        }
        for window in cast("Sequence[Record]", record.get("windows") or ()):
            answer = answers.get(f"{record['slug']}#{window['round']}")
            if answer is not None:
                crowd = cast("Probabilities", window.get("crowd") or {})
                found.append(_called(resolutions, answer, crowd))
    return [one for one in found if one]


def middle(records: Sequence[Record], answers: Mapping[str, Answer]) -> list[list[Called]]:
    """The middle window of each event that was answered."""
    every = (called([record], answers) for record in records)
    return [windows[(len(windows) - 1) // 2] for windows in every if windows]


def market_return(windows: Sequence[Sequence[Called]]) -> float | None:
    """Profit for each dollar staked: |p - price| · price on each outcome, for it where p is above
    its price, else against it at 1 - price. None where no price is known or none differs.
    """
    bets = [
        (abs(one.p - one.price) * (one.price if one.p > one.price else 1 - one.price), one)
        for one in (one for window in windows for one in window)
        if one.price is not None and 0 < one.price < 1
    ]
    total = fsum(weight for weight, _ in bets)
    if total <= 0:
        return None
    profits = [_profit(STAKE * weight / total, one) for weight, one in bets]
    return fsum(profits) / STAKE


def calibration(windows: Sequence[Sequence[Called]]) -> list[Bin]:
    """Ten equal bins; an empty one has n = 0."""
    bins: list[list[Called]] = [[] for _ in range(BINS)]
    for one in (one for window in windows for one in window):
        bins[min(BINS - 1, int(one.p * BINS))].append(one)
    return [_bin(members) for members in bins]


def _called(resolutions: Mapping[str, str], answer: Answer, crowd: Probabilities) -> list[Called]:
    said = {folded(name): p for name, p in answer.probabilities.items()}
    prices = {folded(name): p for name, p in crowd.items()}
    return [
        Called(said[folded(name)], prices.get(folded(name)), came == "yes")
        for name, came in resolutions.items()
        if came in ("yes", "no") and folded(name) in said
    ]


def _profit(stake: float, one: Called) -> float:
    assert one.price is not None
    backed = one.p > one.price
    price = one.price if backed else 1 - one.price
    return stake / price - stake if one.came == backed else -stake


def _bin(members: Sequence[Called]) -> Bin:
    n = len(members)
    if not n:
        return Bin(0, 0.0, 0.0)
    return Bin(n, fsum(one.p for one in members) / n, sum(one.came for one in members) / n)

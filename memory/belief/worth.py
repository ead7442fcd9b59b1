"""Worth of its place: what serving one memory added, against what was served in its place.

A coin keeps a memory among what is served, or leaves it out (`memory.belief.inclusion`). Given that
it had a place if it was kept, that is one trial: kept with the probability p of its coin, and with
nothing else. So the runs that kept it and those that left it out are compared.

Weights are overlap weights: 1 - p of what was kept, p of what was left out (Li, Morgan and
Zaslavsky 2018, doi 10.1080/01621459.2016.1260466). They stay below 1 however rare one side is, and
both sides stand for the same retrievals: those in which the coin could well have fallen either way.
Probabilities follow the belief, so later coins depend on earlier outcomes; given p each still falls
for itself.

The value of a run is what its reward was above the baseline that was believed before it. The error
is made of linearised values, summed by feedback date, as the outcomes of a date move together;
below ten dates by the group of the task. Sums halve in 90 days. The interval is Student's, with as
many degrees of freedom as the scarcer side has dates, less one: ten dates without the memory know
less than their spread says.

This is an audit. It moves, ranks and retires nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum, sqrt
from typing import Literal

from memory.belief.fold import Learn, Learned, feedback_date, states_before
from memory.belief.policy import Policy
from memory.kernel.fields import OUTPUT

LEAST, MOST = 0.005, 0.995
"""A coin that is as good as certain is no trial: p lies between these."""


SHOWN_FROM = 10
"""Outcomes on either side below which no effect is told; dates below which groups are the unit."""


SHOWN_INFORMATION = 5.0
"""And the least sum of p (1 - p): ten near-certain coins are no comparison."""


HALF_LIFE = timedelta(days=90)


NORMAL = 1.959964
"""Half the width of a 95 % interval of a normal distribution."""


@dataclass(frozen=True, slots=True)
class CoinRun:
    """One retrieval in which the coin of a memory decided whether it had its place.

    `value`: what the reward was above the baseline before it; None while no outcome counts.
    `known_at` is the outcome's, or the retrieval's where none counts. `vacant`: the memory was left
    out and nothing took its place. `group`: tasks that stand or fall together.
    """

    inclusion: float
    left_out: bool
    vacant: bool
    value: float | None
    known_at: datetime
    group: str

    @property
    def is_trial(self) -> bool:
        return LEAST < self.inclusion < MOST

    @property
    def weight(self) -> float:
        """The probability of the side that it is not on."""
        return self.inclusion if self.left_out else 1.0 - self.inclusion


@dataclass(frozen=True, slots=True)
class PlaceEffect:
    """What keeping a memory among what is served added to the reward, against leaving it out.

    `effect` and what belongs to it are null until there are ten outcomes on either side and enough
    overlap.
    """

    __pydantic_config__ = OUTPUT

    kept: int
    """Outcomes of retrievals in which its coin kept it."""
    left_out: int
    """Outcomes of retrievals in which its coin left it out."""
    kept_missing: int
    """Retrievals that kept it and have no outcome that counts."""
    left_out_missing: int
    """Retrievals that left it out and have no outcome that counts."""
    vacant: int
    """Of the outcomes that left it out, those in which nothing took its place."""
    information: float
    """The sum of p (1 - p) over the outcomes, halved in 90 days; an effect is told from 5."""
    units: int
    """What the error is made of: so many feedback dates, or groups of tasks below ten dates."""
    unit: Literal["date", "group"]
    """Whether the units are feedback dates or groups of tasks."""
    effect: float | None = None
    """Mean reward above the baseline where it was kept, less that where it was left out."""
    standard_error: float | None = None
    """Standard error of the effect; null below two units."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    """Upper end of the 95 % interval."""


def above_baseline(policy: Policy, start: Learned, entry: Learn) -> float | None:
    """What an outcome's reward was above the baseline as it was believed before: of a pair
    `r_on - rho r_off - (1 - rho) b`, else `r - b`. None where no baseline is known.
    """
    before = states_before(policy, start, entry)
    measurements = policy.measurements(before, entry.observation)
    if not measurements:
        return None
    last = measurements[-1]
    if not last.baseline:
        return last.value
    usual = policy.baseline(before)
    return None if usual is None else last.value - last.baseline * usual


def place_effect(runs: Iterable[CoinRun], now: datetime) -> PlaceEffect:
    """What these runs amount to, aged to `now`; their order is of no account."""
    trials = [run for run in runs if run.is_trial]
    known = [_Weighed(run, run.value, _age(run, now)) for run in trials if run.value is not None]
    kept = [one for one in known if not one.run.left_out]
    left_out = [one for one in known if one.run.left_out]
    units = _Units.of(known)
    information = fsum(one.aged * one.run.inclusion * (1.0 - one.run.inclusion) for one in known)
    told = min(len(kept), len(left_out)) >= SHOWN_FROM and information >= SHOWN_INFORMATION
    found = _compare(kept, left_out, units) if told else _Effect()
    return PlaceEffect(
        kept=len(kept),
        left_out=len(left_out),
        kept_missing=sum(run.value is None and not run.left_out for run in trials),
        left_out_missing=sum(run.value is None and run.left_out for run in trials),
        vacant=sum(one.run.vacant for one in left_out),
        information=information,
        units=units.count,
        unit=units.name,
        effect=found.mean,
        standard_error=found.error,
        low=found.end(-1.0),
        high=found.end(1.0),
    )


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A run with its value, and what age has left of it."""

    run: CoinRun
    value: float
    aged: float

    @property
    def weight(self) -> float:
        return self.aged * self.run.weight


@dataclass(frozen=True, slots=True)
class _Effect:
    mean: float | None = None
    error: float | None = None
    freedom: int = 0

    def end(self, sign: float) -> float | None:
        if self.mean is None or self.error is None or self.freedom < 1:
            return None
        return self.mean + sign * student(self.freedom) * self.error


@dataclass(frozen=True, slots=True)
class _Units:
    """Which runs move together: those of a feedback date, or of a group where dates are few."""

    name: Literal["date", "group"]
    count: int
    of_run: Callable[[CoinRun], object]

    @classmethod
    def of(cls, known: Sequence[_Weighed]) -> "_Units":
        dates = len({_date(one.run) for one in known})
        if dates >= SHOWN_FROM:
            return cls("date", dates, _date)
        return cls("group", len({one.run.group for one in known}), _group)


def _date(run: CoinRun) -> object:
    return feedback_date(run.known_at)


def _group(run: CoinRun) -> object:
    return run.group


def _age(run: CoinRun, now: datetime) -> float:
    return 0.5 ** max(0.0, (now - run.known_at) / HALF_LIFE)


def _compare(kept: Sequence[_Weighed], left_out: Sequence[_Weighed], units: _Units) -> _Effect:
    with_it, without = _mean(kept), _mean(left_out)
    pulls = defaultdict[object, list[float]](list)
    for side, mean, sign in ((kept, with_it, 1.0), (left_out, without, -1.0)):
        whole = fsum(one.weight for one in side)
        for one in side:
            pull = sign * one.weight * (one.value - mean) / whole
            pulls[units.of_run(one.run)].append(pull)
    sums = [fsum(some) for some in pulls.values()]
    if len(sums) < 2:  # noqa: PLR2004 - one unit has no spread
        return _Effect(with_it - without)
    variance = len(sums) / (len(sums) - 1) * fsum(one * one for one in sums)
    scarcer = min(len({units.of_run(one.run) for one in side}) for side in (kept, left_out))
    return _Effect(with_it - without, sqrt(variance), scarcer - 1)


def student(freedom: int) -> float:
    """Half the width of a 95 % interval of Student's distribution, in standard errors.

    The expansion in 1 / freedom of Abramowitz and Stegun 26.7.5; the exact values where it is off.
    """
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z, n = NORMAL, float(freedom)
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    return z + first + second + third


_FEW = (12.7062, 4.3027, 3.1824)


def _mean(side: Sequence[_Weighed]) -> float:
    return fsum(one.weight * one.value for one in side) / fsum(one.weight for one in side)

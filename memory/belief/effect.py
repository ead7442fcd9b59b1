"""The effect of memory in one cell, by feedback date, with an interval that may be watched.

Outcomes of one day move together, so the unit is the feedback date: each date keeps its sums, and
the spread between dates is what an error is made of. Paired and randomised evidence stay apart.
Pairs give the mean difference on the same task; randomised outcomes give the difference of the
Hajek means (inverse propensity, normalised) of what was drawn to be served and what was not.

The interval is an asymptotic confidence sequence (Waudby-Smith and others, arXiv 2103.06476): it
may be looked at after every date. Asymptotic means that it holds once dates are many and alike; a
cell with few dates, rare differences or few controls is covered less often than it says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import fsum, log, sqrt
from typing import NamedTuple

from memory.belief.states import State, later
from memory.kernel.errors import Rejected
from memory.kernel.fields import OUTPUT

ARMS = ("on", "control", "forced_on", "paired", "retest", "suspended")


TREATED = ("on", "retest")


UNTREATED = ("control", "suspended")


SHOWN_FROM = 10  # dates; randomised also from as many outcomes without memory


ALPHA = 0.05


KAPPA_SQUARED = 0.159  # the sequence wastes least around 50 dates


NO_SPREAD = 1e-12  # what rounding leaves of dates that are all alike


ASYMPTOTIC = "asymptotic confidence sequence over feedback dates, 95 %"


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """One outcome as the agent acted: its arm, how likely that arm was, and its reward.

    `without` is the reward of the run without memory, where the evidence is paired.
    """

    arm: str
    propensity: float
    reward: float
    without: float | None

    def __post_init__(self) -> None:
        if not 0.0 < self.propensity <= 1.0:
            raise Rejected("A propensity lies above 0, at most at 1.", field="propensity")
        for name, reward in (("reward", self.reward), ("without", self.without)):
            if reward is not None and not 0.0 <= reward <= 1.0:
                raise Rejected("A reward lies between 0 and 1.", field=name, limit=[0, 1])


class _Day(NamedTuple):
    """The sums of one date, in the order in which a state keeps them before those of the arms."""

    pairs: float = 0.0
    difference: float = 0.0
    treated_weight: float = 0.0  # sum of 1/p
    treated_reward: float = 0.0  # sum of y/p
    untreated_weight: float = 0.0
    untreated_reward: float = 0.0
    treated: float = 0.0  # outcomes
    untreated: float = 0.0

    @classmethod
    def of(cls, state: State) -> "_Day":
        return cls(*state.values[: len(cls._fields)])


class _Value(NamedTuple):
    """An estimate and how each date pulls at it: linearised, so that the dates average to 0."""

    mean: float
    pulls: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ArmMean:
    """The rewards of one arm."""

    __pydantic_config__ = OUTPUT

    n: int
    """Outcomes of the arm."""
    mean: float
    """Their mean reward, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What memory added to the reward, with an interval that holds at every look.

    The interval is null below ten dates, and where no two dates differ: nothing was seen of how
    far they may.
    """

    __pydantic_config__ = OUTPUT

    n: int
    """Outcomes it is made of."""
    dates: int
    """Days (UTC) on which these outcomes became known."""
    mean: float | None = None
    """Mean reward with memory less mean reward without; null while one is missing."""
    standard_error: float | None = None
    """Standard error of the mean, clustered by date; null below two dates."""
    low: float | None = None
    """Lower end of the interval."""
    high: float | None = None
    """Upper end of the interval."""
    label: str = ASYMPTOTIC
    """What kind of interval it is."""


@dataclass(frozen=True, slots=True)
class EffectEstimates:
    """What memory brought in one cell: reward as acted by arm, and two estimates kept apart."""

    arms: Mapping[str, ArmMean]
    paired: Estimate
    randomised: Estimate


def initial_day() -> State:
    """A feedback date of one cell, before its first outcome."""
    return State(_Day()[:] + (0.0,) * (2 * len(ARMS)))


def add_outcome(day: State, outcome: ArmOutcome, now: datetime) -> State:
    """The date with one more outcome; another arm than these is no evidence and changes nothing.

    An arm that was certain (propensity 1) was not drawn, and is no randomised evidence.
    """
    if outcome.arm not in ARMS:
        return day
    sums, arms = _Day.of(day), list(day.values[len(_Day._fields) :])
    place = 2 * ARMS.index(outcome.arm)
    arms[place] += 1.0
    arms[place + 1] += outcome.reward
    sums = _add_drawn(_add_pair(sums, outcome), outcome)
    return State((*sums, *arms), later(day.touched, now))


def effect_of(days: Sequence[State]) -> EffectEstimates:
    """What the dates of one cell amount to; each date is given once, in any order."""
    sums = [_Day.of(day) for day in days]
    arms = {arm: _arm_mean(days, place) for place, arm in enumerate(ARMS)}
    return EffectEstimates(
        arms={arm: mean for arm, mean in arms.items() if mean is not None},
        paired=_estimate_pairs(sums),
        randomised=_estimate_randomised(sums),
    )


def pool_cells(states: Iterable[State]) -> State:
    """What several cells saw on one date, as one, so that the date stays one unit; only of rewards
    that may be added up.
    """
    return State(tuple(map(fsum, zip(*(one.values for one in states), strict=True))))


def controls_of(days: Iterable[State]) -> int:
    """Outcomes without memory that were drawn at random."""
    return int(fsum(_Day.of(day).untreated for day in days))


def _add_pair(day: _Day, outcome: ArmOutcome) -> _Day:
    if outcome.without is None:
        return day
    difference = outcome.reward - outcome.without
    return day._replace(pairs=day.pairs + 1.0, difference=day.difference + difference)


def _add_drawn(day: _Day, outcome: ArmOutcome) -> _Day:
    if outcome.propensity >= 1.0:
        return day
    weight, reward = 1.0 / outcome.propensity, outcome.reward / outcome.propensity
    if outcome.arm in TREATED:
        return day._replace(
            treated=day.treated + 1.0,
            treated_weight=day.treated_weight + weight,
            treated_reward=day.treated_reward + reward,
        )
    if outcome.arm in UNTREATED:
        return day._replace(
            untreated=day.untreated + 1.0,
            untreated_weight=day.untreated_weight + weight,
            untreated_reward=day.untreated_reward + reward,
        )
    return day


def _arm_mean(days: Sequence[State], place: int) -> ArmMean | None:
    """None without an outcome."""
    at = len(_Day._fields) + 2 * place
    n = fsum(day.values[at] for day in days)
    return ArmMean(int(n), fsum(day.values[at + 1] for day in days) / n) if n else None


def _estimate_pairs(days: Sequence[_Day]) -> Estimate:
    """The mean difference of all pairs: a ratio of sums over dates, so busy dates weigh more."""
    dates = [day for day in days if day.pairs]
    n = fsum(day.pairs for day in dates)
    if not n:
        return Estimate(0, 0)
    mean = fsum(day.difference for day in dates) / n
    share = len(dates) / n
    pulls = tuple((day.difference - mean * day.pairs) * share for day in dates)
    return _estimate(int(n), _Value(mean, pulls), shown=True)


def _estimate_randomised(days: Sequence[_Day]) -> Estimate:
    """Hajek's difference: each mean is a ratio of sums, and each date pulls at both."""
    dates = [day for day in days if day.treated or day.untreated]
    treated = fsum(day.treated_weight for day in dates)
    untreated = fsum(day.untreated_weight for day in dates)
    controls = fsum(day.untreated for day in dates)
    n = int(fsum(day.treated for day in dates) + controls)
    if not (treated and untreated):
        return Estimate(n, len(dates))
    on = fsum(day.treated_reward for day in dates) / treated
    off = fsum(day.untreated_reward for day in dates) / untreated
    pulls = tuple(
        len(dates)
        * (
            (day.treated_reward - on * day.treated_weight) / treated
            - (day.untreated_reward - off * day.untreated_weight) / untreated
        )
        for day in dates
    )
    return _estimate(n, _Value(on - off, pulls), shown=controls >= SHOWN_FROM)


def _estimate(n: int, value: _Value, *, shown: bool) -> Estimate:
    dates = len(value.pulls)
    if dates < 2:  # noqa: PLR2004 - one date has no spread
        return Estimate(n, dates, value.mean)
    spread = sqrt(fsum(pull * pull for pull in value.pulls) / (dates - 1))
    error = spread / sqrt(dates)
    if not shown or dates < SHOWN_FROM or spread < NO_SPREAD:
        return Estimate(n, dates, value.mean, error)
    reach = spread * sequence_reach(dates)
    return Estimate(n, dates, value.mean, error, value.mean - reach, value.mean + reach)


def sequence_reach(n: float) -> float:
    """Half the width of the sequence after n units, in standard deviations of one."""
    seen = n * KAPPA_SQUARED + 1.0
    return sqrt(2.0 * seen / (n * n * KAPPA_SQUARED) * log(sqrt(seen) / ALPHA))

"""Strength: how far, from 0 to 1, memory is to be followed in a cell, learnt from its record.

Numeric answers tell it directly: the answer with memory moved by `d` from the answer without, the
truth lay `e` away, and the share of the move that was right is the least squares of e on d. Few
cases say little, so the cell is drawn to its agent's other cells, and these to a start. Their sums
halve in 90 days: what was right of an answer half a year ago says little of today's.

Where only rewards are known, a cell holds what memory as a whole adds and what is reached without,
with their covariance: a run with memory shows the sum, and a baseline that was guessed wrongly
errs the same way each time. Strength is how little the first speaks against memory.

A state of the first release has no numbers of harm, and its sums do not age until an outcome that
is folded by today's arithmetic moves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import erfc, fsum, isfinite, sqrt
from typing import NamedTuple, cast

from memory.belief.effect import ArmOutcome
from memory.belief.harm import HarmSums
from memory.belief.states import Measurement, State, later
from memory.kernel.errors import Rejected

MEMORY = 0.05  # prior standard deviation of what memory as a whole adds to the reward


_PRIOR = 0.0025  # its square, as people write it


BASELINE = 0.5  # of a cell whose policy keeps none


_BASELINE_PRIOR = 0.0225  # .15²


_DRIFT = 1e-6  # an agent may change: its baseline is never quite certain


HALF_LIFE = timedelta(days=90)


SUSPENDED_BELOW = 0.05


RESUMED_FROM = 0.10  # apart from the other, so that a cell does not flicker


FEEDBACK_DATES = 10  # no cell is suspended on the word of fewer


class _Start(NamedTuple):
    """What strength is drawn to, and by how many cases' worth of squared moves."""

    strength: float
    worth: float


# Memory is followed from the start, except by agents that know something of their own (a price,
# a tool): there it has to earn its first step, because following it blindly costs most.
_TRUSTING = _Start(1.0, 1.0)


_EARNING = _Start(0.0, 10.0)


class _StrengthRecord(NamedTuple):
    """The numbers of a cell's state, those of harm in a row at its end."""

    pairs: float = 0.0  # numeric answers seen
    moved_right: float = 0.0  # sum of d e
    moved: float = 0.0  # sum of d²
    measured: float = 0.0  # rewards of runs with memory seen
    effect: float = 0.0  # what memory adds, its mean
    baseline: float = BASELINE  # what is reached without, its mean
    variance: float = _PRIOR  # of the effect
    shared: float = 0.0  # covariance of the two
    doubt: float = _BASELINE_PRIOR  # variance of the baseline
    dates: float = 0.0  # feedback dates
    day: float = 0.0  # the newest of them, 0 for none
    suspended: float = 0.0
    harm: HarmSums | None = None

    @classmethod
    def of(cls, state: State) -> "_StrengthRecord":
        numbers, harm = state.values[:_PLAIN], state.values[_PLAIN:]
        return cls(*numbers, harm=HarmSums.of(harm) if harm else None)

    def state(self, touched: datetime | None) -> State:
        plain = cast("tuple[float, ...]", self[:_PLAIN])
        return State((*plain, *(self.harm.numbers if self.harm else ())), touched)


_PLAIN = _StrengthRecord._fields.index("harm")


@dataclass(frozen=True, slots=True)
class StrengthInput:
    """What one outcome says about following memory; a part it does not say is None.

    `numeric` is (d e, d²), means over the components of the answer. `measurements` are what its
    rewards say of what memory adds and of the baseline; their noises are independent. `acted`
    is the outcome as the agent acted, None where that is not told. Without `forgets` it is folded
    as the first release did: it makes no sums age, and harm is not looked for.
    """

    numeric: tuple[float, float] | None
    measurements: tuple[Measurement, ...]
    now: datetime
    acted: ArmOutcome | None = None
    forgets: bool = True

    def __post_init__(self) -> None:
        if self.numeric is None:
            return
        if not all(map(isfinite, self.numeric)):
            raise Rejected("Strength is learnt from finite numbers.", field="numeric")
        if self.numeric[1] < 0.0:
            raise Rejected("A square is not negative.", field="numeric")

    @property
    def with_memory(self) -> bool:
        """Whether memory had a part in it: what a control run shows is the baseline alone."""
        return self.numeric is not None or any(one.effect for one in self.measurements)


def initial_strength(baseline: float = BASELINE) -> State:
    """The state of a cell of which nothing is known but where its baseline is guessed to be."""
    return _StrengthRecord(baseline=baseline).state(None)


def learn_strength(
    state: State, seen: StrengthInput, others: Sequence[State], *, own_information: bool
) -> State:
    """The cell after one outcome, suspended or resumed by the strength it now has.

    `others` are the states of the agent's other cells. An outcome that says nothing is no
    feedback and leaves the state as it is. A run without memory teaches the baseline, and by it
    what earlier runs meant; but it is no feedback about memory either: it counts no date, and
    neither suspends nor resumes. The next run with memory does.
    """
    if seen.numeric is None and not seen.measurements:
        return state
    record = _age(_take_up(state, seen), state.touched, seen.now)
    if seen.numeric is not None:
        record = _add_answer(record, *seen.numeric)
    for measurement in seen.measurements:
        record = _add_measurement(record, measurement)
    record = record._replace(doubt=min(_BASELINE_PRIOR, record.doubt + _DRIFT))
    if seen.forgets and record.harm is not None and seen.acted is not None:
        record = record._replace(harm=record.harm.add(seen.acted))
    touched = later(state.touched, seen.now)
    if not seen.with_memory:
        return record.state(touched)
    record = _count_date(record, seen.now)
    strength = strength_of(
        record.state(touched),
        others,
        own_information=own_information,
        now=seen.now if seen.forgets else None,
    )
    return _suspend_or_resume(record, strength).state(touched)


def strength_of(
    state: State, others: Sequence[State], *, own_information: bool, now: datetime | None = None
) -> float:
    """How far memory is to be followed in this cell: by answers where there are any, else by
    rewards where there are any, else as the agent's other cells suggest.
    """
    start = _EARNING if own_information else _TRUSTING
    record = _aged(state, now)
    if record.pairs or not record.measured:
        return _by_answers(record, [_aged(other, now) for other in others], start)
    return _by_rewards(record, start)


def is_suspended(state: State) -> bool:
    """Whether memory is withheld in this cell, but for retests."""
    return _StrengthRecord.of(state).suspended > 0.0


def feedback_dates(state: State) -> int:
    """On how many UTC days an outcome said something about strength."""
    return int(_StrengthRecord.of(state).dates)


def _by_answers(cell: _StrengthRecord, others: Sequence[_StrengthRecord], start: _Start) -> float:
    """Least squares shrunken twice: the agent to its start, the cell to its agent."""
    cells = (cell, *others)
    right, moved = fsum(c.moved_right for c in cells), fsum(c.moved for c in cells)
    agent = (right + start.worth * start.strength) / (moved + start.worth)
    alpha = (cell.moved_right + start.worth * agent) / (cell.moved + start.worth)
    return min(1.0, max(0.0, alpha))


def _by_rewards(cell: _StrengthRecord, start: _Start) -> float:
    """Twice the probability that memory adds something, at most 1; to be earned, what exceeds 1."""
    twice = erfc(-cell.effect / sqrt(2.0 * cell.variance))
    return max(0.0, twice - 1.0) if start is _EARNING else min(1.0, twice)


def _take_up(state: State, seen: StrengthInput) -> _StrengthRecord:
    """The record as this outcome finds it: it forgets, and looks for harm, from the first outcome
    on that is folded so.
    """
    record = _StrengthRecord.of(state)
    return record._replace(harm=record.harm or HarmSums()) if seen.forgets else record


def _aged(state: State, now: datetime | None) -> _StrengthRecord:
    return _age(_StrengthRecord.of(state), state.touched, now)


def _age(
    record: _StrengthRecord, touched: datetime | None, now: datetime | None
) -> _StrengthRecord:
    """The record with what rewards told of memory on its way back to the prior, and, where it
    forgets, the sums of answers and of harm on theirs to nothing.
    """
    if touched is None or now is None:
        return record
    kept = 0.5 ** ((later(touched, now) - touched) / HALF_LIFE)
    variance = record.variance + (1.0 - kept * kept) * (_PRIOR - record.variance)
    record = record._replace(
        effect=kept * record.effect,
        variance=min(_PRIOR, variance),
        shared=kept * record.shared,
    )
    if record.harm is None:
        return record
    return record._replace(
        moved_right=kept * record.moved_right,
        moved=kept * record.moved,
        harm=record.harm.keep(kept),
    )


def _count_date(record: _StrengthRecord, now: datetime) -> _StrengthRecord:
    """A day counts once, and only when it is later than every day that was counted."""
    day = float(now.astimezone(UTC).toordinal())
    if day <= record.day:
        return record
    return record._replace(dates=record.dates + 1.0, day=day)


def _add_answer(record: _StrengthRecord, moved_right: float, moved: float) -> _StrengthRecord:
    return record._replace(
        pairs=record.pairs + 1.0,
        moved_right=record.moved_right + moved_right,
        moved=record.moved + moved,
    )


def _add_measurement(record: _StrengthRecord, one: Measurement) -> _StrengthRecord:
    """A Kalman step of both unknowns at once, with one measurement of them.

    Variances are written with the determinant, so that no rounding makes one negative; where the
    baseline is certain this is the step of the effect alone.
    """
    on, base, noise = one.effect, one.baseline, one.noise
    pull = on * record.variance + base * record.shared  # covariance of effect and value
    base_pull = on * record.shared + base * record.doubt
    spread = max(0.0, on * pull + base * base_pull) + noise
    error = one.value - on * record.effect - base * record.baseline
    apart = max(0.0, record.variance * record.doubt - record.shared * record.shared)
    return record._replace(
        measured=record.measured + float(on != 0.0),
        effect=record.effect + pull * error / spread,
        baseline=record.baseline + base_pull * error / spread,
        variance=(record.variance * noise + base * base * apart) / spread,
        shared=(record.shared * noise - on * base * apart) / spread,
        doubt=(record.doubt * noise + on * on * apart) / spread,
    )


def _suspend_or_resume(record: _StrengthRecord, strength: float) -> _StrengthRecord:
    """Harm that single outcomes tell suspends before ten dates are known, and keeps it so."""
    harmful = record.harm is not None and record.harm.below_zero
    if record.suspended:
        return record._replace(suspended=float(harmful or strength < RESUMED_FROM))
    below = strength < SUSPENDED_BELOW and record.dates >= FEEDBACK_DATES
    return record._replace(suspended=float(harmful or below))

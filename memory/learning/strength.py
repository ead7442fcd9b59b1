"""Strength: how far, from 0 to 1, memory is to be followed in a cell, learnt from its record.

Numeric answers tell it directly: the answer with memory moved by `d` from the answer without, the
truth lay `e` away, and the share of the move that was right is the least squares of e on d. Few
cases say little, so the cell is drawn to its agent's other cells, and these to a start.

Where only rewards are known, one state holds what memory as a whole adds: mean and variance,
moved like a belief, aged like a deviation; strength is how little it speaks against memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import erfc, fsum, isfinite, sqrt
from typing import NamedTuple

from memory.errors import Rejected
from memory.learning.states import State, later

MEMORY = 0.05  # prior standard deviation of what memory as a whole adds to the reward
_PRIOR = 0.0025  # its square, as people write it
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


class _Record(NamedTuple):
    """The numbers of a cell's state."""

    pairs: float = 0.0  # numeric answers seen
    moved_right: float = 0.0  # sum of d e
    moved: float = 0.0  # sum of d²
    readings: float = 0.0  # rewards seen
    mean: float = 0.0  # of what memory adds
    variance: float = _PRIOR
    dates: float = 0.0  # feedback dates
    day: float = 0.0  # the newest of them, 0 for none
    suspended: float = 0.0


INITIAL = State(_Record()[:])


@dataclass(frozen=True, slots=True)
class Shown:
    """What one outcome shows about following memory; a part it does not show is None.

    `numeric` is (d e, d²), means over the components of the answer. `gain` is one reading of what
    memory as a whole added, and the variance of that reading.
    """

    numeric: tuple[float, float] | None
    gain: tuple[float, float] | None
    now: datetime

    def __post_init__(self) -> None:
        for field, pair in (("numeric", self.numeric), ("gain", self.gain)):
            if pair is not None and not all(map(isfinite, pair)):
                raise Rejected("Strength is learnt from finite numbers.", field=field)
        if self.numeric is not None and self.numeric[1] < 0.0:
            raise Rejected("A square is not negative.", field="numeric")
        if self.gain is not None and self.gain[1] <= 0.0:
            raise Rejected("A reading has a positive variance.", field="gain")


def initial_strength() -> State:
    """The state of a cell of which nothing is known."""
    return INITIAL


def learn_strength(
    state: State, shown: Shown, others: Sequence[State], *, own_information: bool
) -> State:
    """The cell after one outcome, suspended or resumed by the strength it now has.

    `others` are the states of the agent's other cells. An outcome that shows nothing is no
    feedback and leaves the state as it is.
    """
    if shown.numeric is None and shown.gain is None:
        return state
    record = _dated(_aged(state, shown.now), shown.now)
    if shown.numeric is not None:
        record = _answered(record, *shown.numeric)
    if shown.gain is not None:
        record = _read(record, *shown.gain)
    learnt = State(record[:], later(state.touched, shown.now))
    strength = strength_of(learnt, others, own_information=own_information)
    return State(_judged(record, strength)[:], learnt.touched)


def strength_of(
    state: State, others: Sequence[State], *, own_information: bool, now: datetime | None = None
) -> float:
    """How far memory is to be followed in this cell: by answers where there are any, else by
    rewards where there are any, else as the agent's other cells suggest.
    """
    start = _EARNING if own_information else _TRUSTING
    record = _aged(state, now)
    if record.pairs or not record.readings:
        return _by_answers(record, [_Record(*other.values) for other in others], start)
    return _by_rewards(record, start)


def is_suspended(state: State) -> bool:
    """Whether memory is withheld in this cell, but for probes."""
    return _Record(*state.values).suspended > 0.0


def feedback_dates(state: State) -> int:
    """On how many UTC days an outcome showed something about strength."""
    return int(_Record(*state.values).dates)


def _by_answers(cell: _Record, others: Sequence[_Record], start: _Start) -> float:
    """Least squares shrunken twice: the agent to its start, the cell to its agent."""
    cells = (cell, *others)
    right, moved = fsum(c.moved_right for c in cells), fsum(c.moved for c in cells)
    agent = (right + start.worth * start.strength) / (moved + start.worth)
    alpha = (cell.moved_right + start.worth * agent) / (cell.moved + start.worth)
    return min(1.0, max(0.0, alpha))


def _by_rewards(cell: _Record, start: _Start) -> float:
    """Twice the probability that memory adds something, at most 1; to be earned, what exceeds 1."""
    twice = erfc(-cell.mean / sqrt(2.0 * cell.variance))
    return max(0.0, twice - 1.0) if start is _EARNING else min(1.0, twice)


def _aged(state: State, now: datetime | None) -> _Record:
    """The record with what rewards told on its way back to the prior. Answers do not age: they
    are compared with each other, not with a baseline that moves.
    """
    record = _Record(*state.values)
    if state.touched is None or now is None:
        return record
    kept = 0.5 ** ((later(state.touched, now) - state.touched) / HALF_LIFE)
    variance = record.variance + (1.0 - kept * kept) * (_PRIOR - record.variance)
    return record._replace(mean=kept * record.mean, variance=min(_PRIOR, variance))


def _dated(record: _Record, now: datetime) -> _Record:
    """A day counts once, and only when it is later than every day that was counted."""
    day = float(now.astimezone(UTC).toordinal())
    if day <= record.day:
        return record
    return record._replace(dates=record.dates + 1.0, day=day)


def _answered(record: _Record, moved_right: float, moved: float) -> _Record:
    return record._replace(
        pairs=record.pairs + 1.0,
        moved_right=record.moved_right + moved_right,
        moved=record.moved + moved,
    )


def _read(record: _Record, value: float, noise: float) -> _Record:
    """A Kalman step with one reading of what memory adds."""
    spread = record.variance + noise
    return record._replace(
        readings=record.readings + 1.0,
        mean=record.mean + record.variance * (value - record.mean) / spread,
        variance=record.variance * noise / spread,
    )


def _judged(record: _Record, strength: float) -> _Record:
    if record.suspended:
        return record._replace(suspended=float(strength < RESUMED_FROM))
    below = strength < SUSPENDED_BELOW and record.dates >= FEEDBACK_DATES
    return record._replace(suspended=float(below))

"""The guard: a record of what each ranker would have lost decides which ranker orders the head.

Losses are kept per feedback date, because outcomes of one day stand or fall together: a day with a
hundred outcomes says little more than a day with ten. A record halves in 90 days. Weights earn
their place this way, and a category where they carry no signal falls back to plain similarity.

A record of R rankers holds: discounted dates N, feedback dates, the open day as an ordinal (0 for
none) and its outcomes, then R closed losses and R sums of the open day. Closed numbers are
discounted to the open day, so that the order of days is all the time that it needs.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import exp, fsum
from typing import NamedTuple

from memory.errors import Rejected
from memory.learning.states import State, later

RATE = 4.0  # eta: how sharply a difference in losses is answered
NAMESPACE_DATES = 3.0  # how many dates of its own the namespace's record is worth to a category
HALF_LIFE = 90.0  # days
WORST_LOSS = 5.0  # where the importance-weighted loss of a rarely drawn ranker is clipped


Losses = tuple[float | None, ...]


class Lot(NamedTuple):
    """Which ranker was drawn, by its place in the rankers' order, and how likely that was."""

    ranker: int
    propensity: float


class _Record(NamedTuple):
    """The numbers of a state by name."""

    weight: float  # N, of the closed dates
    dates: float
    day: float
    outcomes: float  # of the open day
    closed: tuple[float, ...]
    running: tuple[float, ...]  # of the open day

    @property
    def losses(self) -> tuple[float, ...]:
        """Losses with the open day's as they stand: a mean that one more, lost nothing, tempers."""
        parts = zip(self.closed, self.running, strict=True)
        return tuple(closed + running / (self.outcomes + 1.0) for closed, running in parts)

    @property
    def total_weight(self) -> float:
        """N with the open day."""
        return self.weight + (1.0 if self.outcomes else 0.0)


def initial_record(rankers: int) -> State:
    """A record in which no ranker has lost anything."""
    return _state(_Record(0.0, 0.0, 0.0, 0.0, (0.0,) * rankers, (0.0,) * rankers), None)


def learn_losses(state: State, losses: Sequence[float | None], now: datetime) -> State:
    """The record after one outcome; None stands for a ranker that was not scored.

    An outcome of an earlier day joins the open one. Raises Rejected for a loss outside its range
    or for another number of rankers.
    """
    record = _opened(_record(state), _day(now))
    if len(losses) != len(record.running):
        raise Rejected(
            f"{len(losses)} losses are no record of {len(record.running)} rankers.", field="losses"
        )
    sums = tuple(sum_ + _taken(loss) for sum_, loss in zip(record.running, losses, strict=True))
    return _state(
        record._replace(outcomes=record.outcomes + 1.0, running=sums), later(state.touched, now)
    )


def probabilities(
    prior: Sequence[float], cell: State, namespace: State, now: datetime
) -> tuple[float, ...]:
    """How far each ranker is to be believed in this category now, summing to 1.

    prior · exp(-eta (L of the category + 3 L/N of the namespace)). At least one prior is positive.
    """
    own, all_ = _record(cell), _record(namespace)
    kept = _kept(_day(now) - own.day) if own.day else 1.0
    # Numerator and denominator of the namespace's mean loss age alike, so its age cancels.
    share = NAMESPACE_DATES / all_.total_weight if all_.total_weight else 0.0
    lost = [
        kept * mine + share * everyones
        for mine, everyones in zip(own.losses, all_.losses, strict=True)
    ]
    # From the least loss that counts, so that the best ranker never underflows to nothing.
    least = min(loss for share_, loss in zip(prior, lost, strict=True) if share_ > 0.0)
    worth = [
        share_ * exp(-RATE * (loss - least)) if share_ > 0.0 else 0.0
        for share_, loss in zip(prior, lost, strict=True)
    ]
    total = fsum(worth)
    return tuple(each / total for each in worth)


def sampled_losses(rankers: int, lot: Lot, reward: float, usual: float) -> Losses:
    """The losses when one ranker alone was drawn: its own, by how rarely it is; none for the rest.

    Divided by the probability of the draw, the loss is right on average for every ranker. It is
    taken beyond the `usual` loss, which all rankers share and which therefore moves no probability:
    without that, whoever is drawn first would lose most. Clipped, it is a little too mild for a
    ranker that is drawn seldom.
    """
    loss = (usual - reward) / lot.propensity
    clipped = min(WORST_LOSS, max(-WORST_LOSS, loss))
    return tuple(clipped if ranker == lot.ranker else None for ranker in range(rankers))


def _record(state: State) -> _Record:
    weight, dates, day, outcomes, *losses = state.values
    half = len(losses) // 2
    return _Record(weight, dates, day, outcomes, tuple(losses[:half]), tuple(losses[half:]))


def _state(record: _Record, touched: datetime | None) -> State:
    return State((*record[:4], *record.closed, *record.running), touched)


def _opened(record: _Record, day: float) -> _Record:
    """The record with `day` open, the day before it closed and discounted, if `day` is later."""
    if day <= record.day:
        return record
    kept = _kept(day - record.day) if record.day else 1.0
    return _Record(
        weight=kept * record.total_weight,
        dates=record.dates + 1.0,
        day=day,
        outcomes=0.0,
        closed=tuple(kept * loss for loss in record.losses),
        running=(0.0,) * len(record.running),
    )


def _day(now: datetime) -> float:
    return float(now.astimezone(UTC).toordinal())


def _kept(days: float) -> float:
    """What is left of a record after `days`; nothing is gained by a clock that ran back."""
    return 0.5 ** (max(0.0, days) / HALF_LIFE)


def _taken(loss: float | None) -> float:
    if loss is None:
        return 0.0
    if not -WORST_LOSS <= loss <= WORST_LOSS:
        raise Rejected(
            f"A loss lies between ±{WORST_LOSS:g}.", field="losses", limit=[-WORST_LOSS, WORST_LOSS]
        )
    return loss


def losses_of(record: State) -> tuple[float, ...]:
    """What each ranker has lost, the open day with it."""
    return _record(record).losses


def feedback_dates(record: State) -> int:
    """On how many UTC days rankers were scored."""
    return int(_record(record).dates)

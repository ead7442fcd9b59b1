"""The guard: a record of what each ranker would have lost decides which ranker orders the head.

Losses are kept per feedback date, because outcomes of one day stand or fall together: a day with a
hundred outcomes says little more than a day with ten. A record halves in 90 days. Weights earn
their place this way, and a category where they carry no signal falls back to plain similarity.

A record holds: discounted dates N, feedback dates, the open day as an ordinal (0 for none) and its
outcomes; and by ranker what it lost on closed days, and its sum of the open day. Closed numbers are
discounted to the open day, so that the order of days is all the time that it needs.

Rankers go by name, so that one may come or go. Who has no entry stands where those who have one
stand on average: what was lost before it came, or without it, counts neither for it nor against it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import exp, fsum
from typing import NamedTuple

from memory.belief.rankers import Draw
from memory.belief.states import State, later
from memory.kernel.errors import Rejected

RATE = 4.0  # eta: how sharply a difference in losses is answered


NAMESPACE_DATES = 3.0  # how many dates of its own the namespace's record is worth to a category


HALF_LIFE = 90.0  # days


WORST_LOSS = 5.0  # where the importance-weighted loss of a rarely drawn ranker is clipped


Losses = Mapping[str, float | None]
"""By ranker; None stands for one that was not scored."""


class _GuardRecord(NamedTuple):
    """The numbers of a state by name."""

    weight: float  # N, of the closed dates
    dates: float
    day: float
    outcomes: float  # of the open day
    by_ranker: Mapping[str, tuple[float, float]]  # of the closed dates, of the open day

    @property
    def losses(self) -> dict[str, float]:
        """Losses with the open day's as they stand: a mean that one more, lost nothing, tempers."""
        return {
            ranker: closed + running / (self.outcomes + 1.0)
            for ranker, (closed, running) in self.by_ranker.items()
        }

    @property
    def total_weight(self) -> float:
        """N with the open day."""
        return self.weight + (1.0 if self.outcomes else 0.0)


def initial_record(rankers: Iterable[str]) -> State:
    """A record in which no ranker has lost anything."""
    return _state(_GuardRecord(0.0, 0.0, 0.0, 0.0, dict.fromkeys(rankers, (0.0, 0.0))), None)


def learn_losses(state: State, losses: Losses, now: datetime) -> State:
    """The record after one outcome.

    An outcome of an earlier day joins the open one. Raises Rejected for a loss outside its range
    or for no loss at all.
    """
    if not losses:
        raise Rejected("losses names no ranker: give a loss for at least one", field="losses")
    record = _open_day(_record(state), _day(now))
    taken = {ranker: _validate_loss(loss) for ranker, loss in losses.items()}
    unscored = _mean(taken.values())
    newcomer = (
        _mean(closed for closed, _ in record.by_ranker.values()),
        _mean(running for _, running in record.by_ranker.values()),
    )
    by_ranker: dict[str, tuple[float, float]] = {}
    for ranker in {**record.by_ranker, **taken}:
        closed, running = record.by_ranker.get(ranker, newcomer)
        by_ranker[ranker] = (closed, running + taken.get(ranker, unscored))
    return _state(
        record._replace(outcomes=record.outcomes + 1.0, by_ranker=by_ranker),
        later(state.touched, now),
    )


def probabilities(
    prior: Mapping[str, float], cell: State, namespace: State, now: datetime
) -> dict[str, float]:
    """How far each ranker of `prior` is to be believed in this category now, summing to 1.

    prior · exp(-eta (L of the category + 3 L/N of the namespace)). At least one prior is positive.
    """
    own, all_ = _record(cell), _record(namespace)
    kept = _retention(_day(now) - own.day) if own.day else 1.0
    # Numerator and denominator of the namespace's mean loss age alike, so its age cancels.
    share = NAMESPACE_DATES / all_.total_weight if all_.total_weight else 0.0
    mine, everyones = _losses_for(prior, own), _losses_for(prior, all_)
    lost = {ranker: kept * mine[ranker] + share * everyones[ranker] for ranker in prior}
    # From the least loss that counts, so that the best ranker never underflows to nothing.
    least = min(lost[ranker] for ranker, before in prior.items() if before > 0.0)
    worth = {
        ranker: before * exp(-RATE * (lost[ranker] - least)) if before > 0.0 else 0.0
        for ranker, before in prior.items()
    }
    total = fsum(worth.values())
    return {ranker: each / total for ranker, each in worth.items()}


def sampled_losses(draw: Draw, reward: float, usual: float) -> Losses:
    """The losses when one ranker alone was drawn: its own and that of those that would have served
    the same, by how rarely any of them is drawn; none for the rest.

    Divided by the probability of the draw, the loss is right on average for every ranker. It is
    taken beyond the `usual` loss, which all rankers share and which therefore moves no probability:
    without that, whoever is drawn first would lose most. Clipped, it is a little too mild for a
    ranker that is drawn seldom.
    """
    loss = (usual - reward) / draw.propensity
    clipped = min(WORST_LOSS, max(-WORST_LOSS, loss))
    return {ranker: clipped if ranker in draw.scored else None for ranker in draw.shares}


def losses_of(record: State, rankers: Iterable[str]) -> dict[str, float]:
    """What each of these rankers has lost, the open day with it."""
    return _losses_for(rankers, _record(record))


def feedback_dates(record: State) -> int:
    """On how many UTC days rankers were scored."""
    return int(_record(record).dates)


def _losses_for(rankers: Iterable[str], record: _GuardRecord) -> dict[str, float]:
    known = record.losses
    unknown = _mean(known.values())
    return {ranker: known.get(ranker, unknown) for ranker in rankers}


def _mean(numbers: Iterable[float]) -> float:
    """0 of none; exact, so that the order of rankers carries no meaning."""
    known = tuple(numbers)
    return fsum(known) / len(known) if known else 0.0


def _record(state: State) -> _GuardRecord:
    weight, dates, day, outcomes = state.values
    return _GuardRecord(weight, dates, day, outcomes, state.by_ranker)


def _state(record: _GuardRecord, touched: datetime | None) -> State:
    return State(record[:4], touched, record.by_ranker)


def _open_day(record: _GuardRecord, day: float) -> _GuardRecord:
    """The record with `day` open, the day before it closed and discounted, if `day` is later."""
    if day <= record.day:
        return record
    kept = _retention(day - record.day) if record.day else 1.0
    return _GuardRecord(
        weight=kept * record.total_weight,
        dates=record.dates + 1.0,
        day=day,
        outcomes=0.0,
        by_ranker={ranker: (kept * loss, 0.0) for ranker, loss in record.losses.items()},
    )


def _day(now: datetime) -> float:
    return float(now.astimezone(UTC).toordinal())


def _retention(days: float) -> float:
    """What is left of a record after `days`; nothing is gained by a clock that ran back."""
    return 0.5 ** (max(0.0, days) / HALF_LIFE)


def _validate_loss(loss: float | None) -> float:
    if loss is None:
        return 0.0
    if not -WORST_LOSS <= loss <= WORST_LOSS:
        raise Rejected(
            f"A loss lies between ±{WORST_LOSS:g}.", field="losses", limit=[-WORST_LOSS, WORST_LOSS]
        )
    return loss

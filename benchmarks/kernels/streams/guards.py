"""Guards and strengths under comparison: who is followed, and how far.

A guard keeps a record by category of what each expert would have lost. The present one is the
server's own, over its pure functions. One of second order (Squint: Koolen and van Erven, COLT 2015)
compares each expert with the mixture that was played, R its sum of regrets and V of their squares,

    q_e proportional to prior_e * sum over eta of eta * exp(eta * R_e - eta^2 * V_e),

so that a rate that suits the record is mixed over instead of chosen. Days are UTC ordinals.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp, fsum
from typing import Protocol
from uuid import UUID, uuid5

from memory.belief.guard import initial_record, learn_losses
from memory.belief.rankers import ASKED, FLAT_AGELESS, HALF_LIVES
from memory.belief.states import State
from memory.retrieval.ranking import ranker_shares

NONE = "none"
"""The expert that answers as the agent does without memory."""

SHORTER = (3, 10)
"""Of how many memories experts with shorter lists pool: k' of the flat rankers' first."""

RATES = tuple(2.0**power for power in range(-2, 8))

_NAMES = UUID(int=14)


def shorter(ranker: str, k: int) -> str:
    """The name of the expert that pools the first k of a ranker's list."""
    return f"{ranker}@{k}"


def _wide() -> dict[str, float]:
    flat = [f"flat/{name}" for name in HALF_LIVES]
    others = [ranker for ranker in flat if ranker != FLAT_AGELESS]
    others += [shorter(ranker, k) for ranker in flat for k in SHORTER]
    shared = dict.fromkeys(others, 0.40 / len(others))
    return {NONE: 0.10, FLAT_AGELESS: 0.40, "weighted/none": 0.10, **shared}


def _narrow() -> dict[str, float]:
    leading = {FLAT_AGELESS: 0.50, "weighted/none": 0.10}
    return {ranker: leading.get(ranker, 0.05) for ranker in ASKED}


WIDE: Mapping[str, float] = _wide()
"""Seventeen experts and their priors."""

NARROW: Mapping[str, float] = _narrow()
"""The ten rankers and their priors for an update of second order."""

OWN_INFORMATION = 0.70  # of the expert without memory, for agents that know something of their own


def informed(prior: Mapping[str, float]) -> Mapping[str, float]:
    """The priors for an agent with information of its own; the same where memory is in all."""
    if NONE not in prior:
        return prior
    share = (1.0 - OWN_INFORMATION) / (1.0 - prior[NONE])
    return {e: OWN_INFORMATION if e == NONE else share * p for e, p in prior.items()}


class Guard(Protocol):
    """Who is believed in a category on a day, and what it learns from an outcome."""

    def shares(self, category: str, day: int) -> Mapping[str, float]: ...
    def learn(self, category: str, day: int, losses: Mapping[str, float]) -> None: ...


@dataclass
class Present:
    """The server's guard."""

    records: dict[UUID | None, State] = field(default_factory=dict[UUID | None, State])

    def shares(self, category: str, day: int) -> Mapping[str, float]:
        category_id = uuid5(_NAMES, category)
        shares = ranker_shares(self.records, category_id, _moment(day), signal=True)
        total = fsum(shares[ranker] for ranker in ASKED)
        return {ranker: shares[ranker] / total for ranker in ASKED}

    def learn(self, category: str, day: int, losses: Mapping[str, float]) -> None:
        some = {ranker: losses[ranker] for ranker in ASKED}
        for scope in (uuid5(_NAMES, category), None):
            record = self.records.get(scope) or initial_record(ASKED)
            self.records[scope] = learn_losses(record, some, _moment(day))


@dataclass
class _Regrets:
    """The record of one category: closed dates, and the sums of the open one."""

    regret: dict[str, float]
    square: dict[str, float]
    day: int = 0
    n: int = 0
    lost: dict[str, float] = field(default_factory=dict[str, float])


@dataclass
class SecondOrder:
    """Squint by category, dates as rounds, over the experts of `prior`."""

    prior: Mapping[str, float]
    records: dict[str, _Regrets] = field(default_factory=dict[str, _Regrets])

    def shares(self, category: str, day: int) -> Mapping[str, float]:  # noqa: ARG002 - nothing ages
        record = self.records.get(category)
        return self.prior if record is None else self._believed(self._closed(record))

    def learn(self, category: str, day: int, losses: Mapping[str, float]) -> None:
        record = self.records.get(category)
        if record is None:
            none = dict.fromkeys(self.prior, 0.0)
            record = self.records[category] = _Regrets(dict(none), dict(none))
        if day > record.day:
            record = self.records[category] = self._closed(record)
            record.day, record.n, record.lost = day, 0, dict.fromkeys(self.prior, 0.0)
        record.n += 1
        for expert in self.prior:
            record.lost[expert] += losses[expert]

    def _closed(self, record: _Regrets) -> _Regrets:
        """With the open date's regrets against the mixture that was played on it."""
        if not record.n:
            return record
        played = self._believed(record)
        mean = {expert: record.lost[expert] / record.n for expert in self.prior}
        mixed = fsum(played[expert] * mean[expert] for expert in self.prior)
        regrets = {expert: mixed - mean[expert] for expert in self.prior}
        return _Regrets(
            {e: record.regret[e] + regrets[e] for e in self.prior},
            {e: record.square[e] + regrets[e] ** 2 for e in self.prior},
            record.day,
        )

    def _believed(self, record: _Regrets) -> Mapping[str, float]:
        powers = {
            expert: [
                eta * record.regret[expert] - eta * eta * record.square[expert] for eta in RATES
            ]
            for expert in self.prior
        }
        most = max(max(some) for some in powers.values())
        worth = {
            expert: self.prior[expert]
            * fsum(eta * exp(one - most) for eta, one in zip(RATES, some, strict=True))
            for expert, some in powers.items()
        }
        total = fsum(worth.values())
        return {expert: one / total for expert, one in worth.items()}


@dataclass
class _Sums:
    right: float = 0.0  # sum of d e
    moved: float = 0.0  # sum of d^2
    day: int = 0
    open_right: float = 0.0
    open_moved: float = 0.0
    n: int = 0


@dataclass
class Strength:
    """Least squares of e on d, shrunken twice, as the server's; sums may halve and go by date.

    `half_life` in days, None for never; `by_date`: a date counts once, by its means; `tempered`: by
    what its means are with one more answer that did not move; `worth`: of the start, in squared
    moves.
    """

    half_life: float | None = None
    by_date: bool = False
    tempered: bool = False
    worth: float = 1.0
    start: float = 1.0
    cells: dict[str, _Sums] = field(default_factory=dict[str, _Sums])

    def of(self, category: str, day: int) -> float:
        sums = {name: self._aged(cell, day) for name, cell in self.cells.items()}
        right, moved = fsum(r for r, _ in sums.values()), fsum(m for _, m in sums.values())
        agent = (right + self.worth * self.start) / (moved + self.worth)
        own_right, own_moved = sums.get(category, (0.0, 0.0))
        return min(1.0, max(0.0, (own_right + self.worth * agent) / (own_moved + self.worth)))

    def learn(self, category: str, day: int, right: float, moved: float) -> None:
        cell = self.cells.setdefault(category, _Sums())
        if day > cell.day:
            closed = self._aged(cell, day)
            cell = self.cells[category] = _Sums(*closed, day)
        cell.open_right += right
        cell.open_moved += moved
        cell.n += 1

    def _aged(self, cell: _Sums, day: int) -> tuple[float, float]:
        n = max(1, cell.n + self.tempered) if self.by_date else 1
        kept = 1.0 if self.half_life is None else 0.5 ** (max(0, day - cell.day) / self.half_life)
        return kept * (cell.right + cell.open_right / n), kept * (cell.moved + cell.open_moved / n)


@dataclass
class Follower:
    """A guard with a strength on top: an agent's answer from the experts' answers."""

    guard: Guard
    strength: Strength


def candidates(*, own: bool = False) -> dict[str, Follower]:
    """Those of ADR 42 by name, and the guard of the first release, whose strength never forgot.

    `own`: for agents with information of their own.
    """
    start, scale = (0.0, 10.0) if own else (1.0, 1.0)

    def by_outcome() -> Strength:
        return Strength(90.0, worth=scale, start=start)

    def by_day(*, tempered: bool = False) -> Strength:
        return Strength(90.0, by_date=True, tempered=tempered, worth=0.2 * scale, start=start)

    wide = informed(WIDE) if own else WIDE
    return {
        "first release": Follower(Present(), Strength(worth=scale, start=start)),
        "P+F": Follower(Present(), by_outcome()),
        "P+D": Follower(Present(), by_day()),
        "P+D tempered": Follower(Present(), by_day(tempered=True)),
        "S+F": Follower(SecondOrder(NARROW), by_outcome()),
        "S+D": Follower(SecondOrder(NARROW), by_day()),
        "R+F": Follower(SecondOrder(wide), by_outcome()),
        "R+D": Follower(SecondOrder(wide), by_day()),
    }


def _moment(day: int) -> datetime:
    return datetime.fromordinal(day).replace(tzinfo=UTC)

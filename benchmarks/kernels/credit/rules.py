"""Rules to compare with, each as plain as its source describes it.

A rule orders candidates and learns from outcomes. Unpaired rewards are read against what the agent
reaches without memory, where a rule needs a difference at all.
"""

from dataclasses import dataclass, field
from math import sqrt
from typing import Protocol

import numpy as np

from benchmarks.kernels.credit.world import (
    CATEGORIES,
    MEMORIES,
    Flags,
    Floats,
    Ints,
    Outcome,
)

FLOOR, NEUTRAL, CEILING = 0.1, 1.0, 2.0
SCORE_GATE = 0.30
DEAD_BAND = 0.02
SHRINKAGE = 5.0
USUAL = 0.5  # the reward expected before any off-run is known


@dataclass(frozen=True, slots=True)
class Ordered:
    """What candidates are sorted by, and which of them may be served at all."""

    score: Floats
    admitted: Flags


class Rule(Protocol):
    """One way to learn what memories are worth."""

    @property
    def slot_rate(self) -> float:
        """How often the last place goes to a least-credited memory."""
        ...

    def order(self, agent: int, now: int, candidates: Ints, similarity: Floats) -> Ordered:
        """How candidates, all past the raw gate and the nearest first, rank at task `now`."""
        ...

    def learn(self, outcome: Outcome, now: int) -> None:
        """Take in an outcome that became known at the time of task `now`."""
        ...

    def weights(self, agent: int, now: int) -> Floats | None:
        """All weights as this agent sees them; None where the rule has no bounds to sit at."""
        ...

    def values(self, agent: int, now: int) -> Floats:
        """What the memories are compared by: the weights, or what stands for them."""
        ...


def gated(weight: Floats, ranking: Floats, similarity: Floats) -> Ordered:
    """Sorted by ranking weight times similarity, admitted by weight times similarity."""
    return Ordered(ranking * similarity, weight * similarity >= SCORE_GATE)


@dataclass
class Weighted:
    """A weight a memory, the same for all agents; by itself it never moves."""

    slot_rate: float = 0.0
    weight: Floats = field(default_factory=lambda: np.full(MEMORIES, NEUTRAL))

    def order(self, agent: int, now: int, candidates: Ints, similarity: Floats) -> Ordered:  # noqa: ARG002 - one weight for all
        weight = self.weight[candidates]
        return gated(weight, weight, similarity)

    def learn(self, outcome: Outcome, now: int) -> None:
        """Nothing is learnt."""

    def weights(self, agent: int, now: int) -> Floats | None:  # noqa: ARG002 - one weight for all
        return self.weight

    def values(self, agent: int, now: int) -> Floats:  # noqa: ARG002 - one weight for all
        return self.weight


@dataclass
class OffMean:
    """Means of off-runs: a cell's drawn toward its category's, that toward all."""

    total: Floats = field(default_factory=lambda: np.zeros((8, CATEGORIES)))
    n: Floats = field(default_factory=lambda: np.zeros((8, CATEGORIES)))

    def count(self, outcome: Outcome) -> None:
        if outcome.off is not None:
            self.total[outcome.agent, outcome.category] += outcome.off
            self.n[outcome.agent, outcome.category] += 1.0

    def of(self, agent: int, category: int) -> float:
        wide = _shrunken(self.total.sum(), self.n.sum(), USUAL)
        wide = _shrunken(self.total[:, category].sum(), self.n[:, category].sum(), wide)
        return _shrunken(self.total[agent, category], self.n[agent, category], wide)

    def difference(self, outcome: Outcome) -> float:
        """What a run with memory added, by its pair or by the mean."""
        assert outcome.on is not None
        if outcome.off is not None:
            return outcome.on - outcome.off
        return outcome.on - self.of(outcome.agent, outcome.category)


def _shrunken(total: float, n: float, toward: float) -> float:
    return (total + SHRINKAGE * toward) / (n + SHRINKAGE)


@dataclass
class Plain(Weighted):
    """Live-Evo: the full difference to each served memory."""

    usual: OffMean = field(default_factory=OffMean)

    def learn(self, outcome: Outcome, now: int) -> None:  # noqa: ARG002 - nothing ages
        if outcome.served:
            moved = self.weight[list(outcome.served)] + self.step(self.usual.difference(outcome))
            self.weight[list(outcome.served)] = np.clip(moved, FLOOR, CEILING)
        self.usual.count(outcome)

    def step(self, difference: float) -> float:
        return difference


@dataclass
class Stepped(Plain):
    """The released skill's steps: +.3 and -.2, nothing within the dead band."""

    up: float = 0.3
    down: float = -0.2

    def step(self, difference: float) -> float:
        if abs(difference) <= DEAD_BAND:
            return 0.0
        return self.up if difference > 0 else self.down


CYCLE = 100  # tasks
FADED = 0.95


@dataclass
class Fading(Stepped):
    """The second skill: +.15 and -.10, and now and then what was unused or mostly failed fades."""

    up: float = 0.15
    down: float = -0.10
    uses: Floats = field(default_factory=lambda: np.zeros(MEMORIES))
    wins: Floats = field(default_factory=lambda: np.zeros(MEMORIES))
    cycles: int = 0

    def learn(self, outcome: Outcome, now: int) -> None:
        while self.cycles < now // CYCLE:
            self.cycles += 1
            poor = self.wins < self.uses / 2
            fading = poor | (self.uses == 0)
            self.weight[fading] = np.maximum(self.weight[fading] * FADED, FLOOR)
        if outcome.served:
            served = list(outcome.served)
            self.uses[served] += 1.0
            self.wins[served] += float(self.usual.difference(outcome) > DEAD_BAND)
        super().learn(outcome, now)


@dataclass
class Averaged(Weighted):
    """A moving average of twice the reward with memory."""

    rate: float = 0.1

    def learn(self, outcome: Outcome, now: int) -> None:  # noqa: ARG002 - nothing ages
        if outcome.served and outcome.on is not None:
            served = list(outcome.served)
            self.weight[served] += self.rate * (2.0 * outcome.on - self.weight[served])


SUCCESS = 0.5


@dataclass
class Counted(Weighted):
    """ACE: counters of helpful and harmful, read as a weight."""

    helpful: Floats = field(default_factory=lambda: np.zeros(MEMORIES))
    harmful: Floats = field(default_factory=lambda: np.zeros(MEMORIES))

    def learn(self, outcome: Outcome, now: int) -> None:  # noqa: ARG002 - nothing ages
        if not outcome.served or outcome.on is None:
            return
        served = list(outcome.served)
        if outcome.off is None:
            helped, harmed = outcome.on >= SUCCESS, outcome.on < SUCCESS
        else:
            difference = outcome.on - outcome.off
            helped, harmed = difference > DEAD_BAND, difference < -DEAD_BAND
        self.helpful[served] += float(helped)
        self.harmful[served] += float(harmed)
        h, b = self.helpful[served], self.harmful[served]
        self.weight[served] = NEUTRAL + (h - b) / (h + b + 2.0)


@dataclass
class Valued:
    """MemRL: a value of each memory in [-1, 1]; half its z-score, half that of similarity."""

    slot_rate: float = 0.0
    rate: float = 0.3
    value: Floats = field(default_factory=lambda: np.zeros(MEMORIES))

    def order(self, agent: int, now: int, candidates: Ints, similarity: Floats) -> Ordered:  # noqa: ARG002 - one value for all
        score = _z(similarity) / 2 + _z(self.value[candidates]) / 2
        return Ordered(score, np.ones(len(candidates), dtype=bool))

    def learn(self, outcome: Outcome, now: int) -> None:  # noqa: ARG002 - nothing ages
        if outcome.served and outcome.on is not None:
            served = list(outcome.served)
            self.value[served] += self.rate * (2.0 * outcome.on - 1.0 - self.value[served])

    def weights(self, agent: int, now: int) -> Floats | None:  # noqa: ARG002 - it has none
        return None

    def values(self, agent: int, now: int) -> Floats:  # noqa: ARG002 - one value for all
        return self.value


def _z(numbers: Floats) -> Floats:
    if not len(numbers):
        return numbers
    centred = numbers - numbers.sum() / len(numbers)
    variance = float(centred @ centred) / len(numbers)
    return centred / sqrt(variance) if variance > 0 else centred

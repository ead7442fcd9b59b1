"""How often the interval of *worth of its place* holds the truth, where the truth is known.

    python -m benchmarks.kernels.worth [--lives 1000] [--seed 0]

A life is a small bank: each topic has a good lesson, a harmful one, a useless one and two more that
do nothing. Tasks bring them all and three have a place, half of the time in the order of their
ranking weights and else in any; coins follow the belief as it is on the date (adaptive), and what
is left out is replaced by the next. Rewards are binary; the outcomes of a date share a shock. The
fold, the probabilities and the estimator are the product's. The truth of a memory is the mean, with
the estimator's own weights, of what its place added in each of its trials: what would have been
served otherwise is known, so it is exact.

Prints one line a rule and kind of memory: how many lives showed an effect, how often the interval
held the truth, and the mean error.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import fsum, sqrt
from random import Random
from uuid import UUID

from memory.belief.fold import Learn, Learned, learn_outcome
from memory.belief.inclusion import (
    DEFAULT_RULE,
    InclusionRule,
    Lift,
    find_footing,
    inclusion_probability,
)
from memory.belief.policy import policy_named
from memory.belief.states import Evidence, Observation
from memory.belief.worth import HALF_LIFE, CoinRun, PlaceEffect, above_baseline, place_effect

POLICY = policy_named("belief")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
AGENT, CATEGORY = UUID(int=1), UUID(int=2)
EFFECTS: Mapping[str, float] = {"good": 0.25, "harmful": -0.25, "useless": 0.0}
FILLERS = 2
RELEVANCE, FLOOR = 0.6, 0.3
SHARED = 0.5
"""The share of pairs whose two runs have all their luck in common."""
RULES: Mapping[str, InclusionRule] = {
    "default": DEFAULT_RULE,
    "always": InclusionRule(always=True),
    "always, half": InclusionRule(added=0.5, upper=0.95, always=True),
}


@dataclass(frozen=True, slots=True)
class World:
    """How a life goes on."""

    rule: InclusionRule = DEFAULT_RULE
    topics: int = 2
    k: int = 3
    dates: int = 60
    tasks: int = 6
    base: float = 0.5
    shock: float = 0.05
    flat: float = 0.5
    """The share of retrievals whose order has nothing to do with weights."""
    paired: float = 0.0
    """The share of tasks that are run without memory too."""
    unknown: float = 0.0
    """The share of retrievals whose outcome never comes."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A memory whose effect is known."""

    id: UUID
    kind: str
    effect: float


@dataclass(slots=True)
class Count:
    """Of one memory: the retrievals that served it, and those that did not."""

    served: int = 0
    absent: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """A coin of a lesson, and what its place added there in truth."""

    lesson: Lesson
    run: CoinRun
    truth: float


@dataclass(frozen=True, slots=True)
class Found:
    """What the trials of one memory in one life came to; `truth` is what they were about."""

    kind: str
    effect: PlaceEffect
    truth: float

    @property
    def shown(self) -> bool:
        return self.effect.low is not None

    @property
    def holds(self) -> bool:
        low, high = self.effect.low, self.effect.high
        return low is not None and high is not None and low <= self.truth <= high


@dataclass(slots=True)
class Life:
    """One bank, from its first task on."""

    world: World
    chance: Random
    states: Learned = field(default_factory=Learned)
    counts: dict[UUID, Count] = field(default_factory=lambda: defaultdict[UUID, Count](Count))
    trials: list[Trial] = field(default_factory=list[Trial])

    def live(self) -> list[Found]:
        banks = [_topic(place) for place in range(self.world.topics)]
        for date in range(self.world.dates):
            now = START + timedelta(days=date)
            shock = self.chance.gauss(0.0, self.world.shock)
            done = [
                self._attempt(self.chance.choice(banks), now, shock)
                for _ in range(self.world.tasks)
            ]
            # What a date teaches is known at its end.
            for entry, trials in done:
                self._learn(entry, trials)
        return list(_findings(self.trials, START + timedelta(days=self.world.dates)))

    def _attempt(
        self, bank: Sequence[Lesson], now: datetime, shock: float
    ) -> tuple[Learn | None, list[Trial]]:
        chances = self._chances(bank, now)
        coins = {i: self.chance.random() >= p for i, p in chances.items()}
        order = self.chance.sample(bank, len(bank))
        if self.chance.random() >= self.world.flat:
            order.sort(key=lambda lesson: -self._rank(lesson, now))
        served = _walk(order, coins, self.world.k)
        ids = {lesson.id for lesson in served}
        for lesson in bank:
            count = self.counts[lesson.id]
            count.served += lesson.id in ids
            count.absent += lesson.id not in ids
        group = str(self.chance.getrandbits(64))
        trials: list[Trial] = []
        for lesson in order:
            with_it = _walk(order, {**coins, lesson.id: False}, self.world.k)
            if all(one.id != lesson.id for one in with_it):
                continue
            without = _walk(order, {**coins, lesson.id: True}, self.world.k)
            left_out = coins[lesson.id]
            vacant = left_out and len(without) < self.world.k
            run = CoinRun(chances[lesson.id], left_out, vacant, None, now, group)
            trials.append(Trial(lesson, run, _sum(with_it) - _sum(without)))
        if self.chance.random() < self.world.unknown:
            return None, trials
        return self._outcome(served, now, shock), trials

    def _outcome(self, served: Sequence[Lesson], now: datetime, shock: float) -> Learn:
        level = self.world.base + shock
        luck = self.chance.random()
        on = float(luck < level + _sum(served))
        shared = luck if self.chance.random() < SHARED else self.chance.random()
        paired = self.chance.random() < self.world.paired
        observation = Observation(
            evidence=Evidence.PAIRED if paired else Evidence.SINGLE,
            reward_on=on,
            reward_off=float(shared < level) if paired else None,
            memories=tuple(lesson.id for lesson in served),
            author_of=frozenset(),
            helpful=(),
            harmful=(),
            now=now,
        )
        return Learn(AGENT, CATEGORY, "binary", observation)

    def _learn(self, entry: Learn | None, trials: Sequence[Trial]) -> None:
        value = None
        if entry is not None:
            value = above_baseline(POLICY, self.states, entry)
            self.states, _ = learn_outcome(POLICY, self.states, entry)
        for one in trials:
            run = one.run
            known = CoinRun(run.inclusion, run.left_out, run.vacant, value, run.known_at, run.group)
            self.trials.append(Trial(one.lesson, known, one.truth))

    def _chances(self, bank: Sequence[Lesson], now: datetime) -> dict[UUID, float]:
        """Of each lesson of the head, the probability that it is kept."""
        lifts: dict[UUID, Lift] = {}
        below: dict[UUID, bool] = {}
        for lesson in bank:
            state = POLICY.age_memory(self._state(lesson), now)
            mean, variance = state.values
            lifts[lesson.id] = Lift(mean, sqrt(variance))
            below[lesson.id] = POLICY.effective_weight(state, None) * RELEVANCE < FLOOR
        above = [lift for i, lift in lifts.items() if not below[i]]
        rule, chances = self.world.rule, dict[UUID, float]()
        for i, lift in lifts.items():
            count = self.counts[i]
            footing = find_footing(lift, above, below=below[i], rule=rule)
            chances[i] = inclusion_probability(
                lift, footing, served=count.served, absent=count.absent, rule=rule
            )
        return chances

    def _rank(self, lesson: Lesson, now: datetime) -> float:
        return POLICY.ranking_weight(POLICY.age_memory(self._state(lesson), now), None)

    def _state(self, lesson: Lesson):
        return self.states.memories.get(lesson.id) or POLICY.initial_memory()


def _topic(place: int) -> list[Lesson]:
    kinds = [*EFFECTS, *(f"filler {n}" for n in range(FILLERS))]
    return [
        Lesson(UUID(int=100 * (place + 1) + n), kind, EFFECTS.get(kind, 0.0))
        for n, kind in enumerate(kinds)
    ]


def _walk(order: Sequence[Lesson], coins: Mapping[UUID, bool], k: int) -> list[Lesson]:
    """Down the order to the last place; what a coin leaves out is passed over."""
    return [lesson for lesson in order if not coins[lesson.id]][:k]


def _sum(lessons: Sequence[Lesson]) -> float:
    return fsum(lesson.effect for lesson in lessons)


def _findings(trials: Sequence[Trial], now: datetime) -> Iterator[Found]:
    """Of each lesson that is good, harmful or useless, where any trial of it counts."""
    by_lesson = defaultdict[UUID, list[Trial]](list)
    for one in trials:
        if one.lesson.kind in EFFECTS:
            by_lesson[one.lesson.id].append(one)
    for some in by_lesson.values():
        known = [one for one in some if one.run.is_trial and one.run.value is not None]
        weights = [
            one.run.inclusion
            * (1.0 - one.run.inclusion)
            * 0.5 ** ((now - one.run.known_at) / HALF_LIFE)
            for one in known
        ]
        whole = fsum(weights)
        if whole:
            truth = fsum(w * one.truth for w, one in zip(weights, known, strict=True)) / whole
            yield Found(some[0].lesson.kind, place_effect((one.run for one in some), now), truth)


def play(world: World, lives: int, seed: int) -> list[Found]:
    """All memories of so many lives; the same seed gives the same."""
    made = (Life(world, Random(seed * 10**6 + n)) for n in range(lives))  # noqa: S311 - a simulation
    return [found for life in made for found in life.live()]


def share_held(found: Sequence[Found], kind: str) -> float:
    """Of the intervals shown for memories of a kind, the share that holds the truth."""
    shown = [one for one in found if one.kind == kind and one.shown]
    return sum(one.holds for one in shown) / len(shown)


def report(found: Sequence[Found]) -> Iterator[str]:
    """A line a kind of memory."""
    for kind in EFFECTS:
        all_of_kind = [one for one in found if one.kind == kind]
        shown = [one for one in all_of_kind if one.shown]
        if not shown:
            yield f"{kind:8} shown 0 of {len(all_of_kind)}"
            continue
        errors = [(one.effect.effect or 0.0) - one.truth for one in shown]
        wide = fsum(one.effect.standard_error or 0.0 for one in shown) / len(shown)
        yield (
            f"{kind:8} shown {len(shown):5} of {len(all_of_kind):5}  holds "
            f"{share_held(found, kind):.3f}  mean error {fsum(errors) / len(shown):+.3f}  "
            f"standard error {wide:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for name, rule in RULES.items():
        for paired in (0.0, 0.5):
            print(f"{name}, {paired:.0%} paired")
            for line in report(play(World(rule, paired=paired), asked.lives, asked.seed)):
                print(f"  {line}")


if __name__ == "__main__":
    main()

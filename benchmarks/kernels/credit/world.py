"""The world, drawn in a fixed order, so that a seed means the same memories and tasks everywhere.

16 topics in 4 categories, 6 memories a topic in three pairs: a helpful one, a harmful one, one that
is either, each with a passenger that does nothing. A memory acts in full on its topic, at .3 in its
category, and not elsewhere; the effects of what is served add up.
"""

from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TOPICS, CATEGORIES, PER_TOPIC = 16, 4, 6
MEMORIES = TOPICS * PER_TOPIC
BEST = 3  # memories served, and so also in the best set
STREAM = 2026  # the second word of every seed
CONTROL = 0.05
PAIRED = 0.20
DAYS_PER_TASK = 90 / 4000
TASK_SIMILARITY = (0.62, 0.48, 0.15)  # on topic, in the category, elsewhere
SPREAD, OFFSET, SHARED = 0.06, 0.04, 0.80
ELSEWHERE_IN_CATEGORY = 0.3
LOWEST, HIGHEST = 0.02, 0.98
REWARD_NOISE = 0.10
RAW_GATE = 0.30
OWNED = 2  # the place in each topic of the harmful memory that the last agent may own

Evidence = Literal["paired", "single", "control"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is evidence, and what changes, in one world."""

    name: str
    tasks: int
    paired: float = PAIRED
    binary: bool = False
    delay: int = 0
    flips_at: int | None = None
    differing: float = 0.0  # the share of memories with the other sign for odd agents
    feedback: float = 1.0  # the share of outcomes that ever come
    agents: int = 2
    foreign: float = 0.0  # the share of tasks of the last agent, which owns harmful memories
    lies: bool = False

    @property
    def honest(self) -> int:
        return self.agents - (self.foreign > 0)


SCENARIOS = {
    s.name: s
    for s in (
        Scenario("paired_cont", 2000, paired=1.0),
        Scenario("paired_bin", 2000, paired=1.0, binary=True),
        Scenario("single_cont", 2000, paired=0.0),
        Scenario("single_bin", 2000, paired=0.0, binary=True),
        Scenario("mixed_bin", 2000, binary=True),
        Scenario("delayed", 2000, delay=200),
        Scenario("drift", 4000, flips_at=2000),
        Scenario("cells", 4000, differing=0.5),
        Scenario("sparse", 4000, feedback=0.1),
        Scenario("adversary", 2000, agents=5, foreign=0.2, lies=True),
        Scenario("adversary_honest", 2000, agents=5, foreign=0.2),
    )
}


class Outcome(NamedTuple):
    """What an agent reports of one task; `served` is empty where memory was held back."""

    task: int
    agent: int
    category: int
    evidence: Evidence
    on: float | None
    off: float | None
    served: tuple[int, ...]


class _Chance(NamedTuple):
    """The coins of every task, each drawn whether it is needed or not."""

    on: Floats
    off: Floats
    arm: Floats
    pair: Floats
    feedback: Floats


@dataclass(frozen=True)
class World:
    """One seed of one scenario. Arrays by memory, or by task and then memory."""

    scenario: Scenario
    effect: Floats
    differs: Flags
    base: Floats
    topic: Ints
    agent: Ints
    difficulty: Floats
    noise: Floats
    chance: _Chance
    similarity: Floats
    slot: Floats

    @cached_property
    def category(self) -> Ints:
        return category_of(self.topic)

    @cached_property
    def honest(self) -> Flags:
        """Which tasks belong to honest agents; where nobody is foreign, all."""
        return self.agent < self.scenario.honest

    def owned(self, memory: int) -> bool:
        """Whether the last agent wrote this memory."""
        return self.scenario.foreign > 0 and memory % PER_TOPIC == OWNED

    def worth(self, agent: int, task: int) -> Floats:
        """Each memory's full effect for this agent as of this task."""
        turned = self.differs if agent % 2 else np.zeros(MEMORIES, dtype=bool)
        late = self.scenario.flips_at is not None and task >= self.scenario.flips_at
        return np.where(turned, -1.0, 1.0) * (-1.0 if late else 1.0) * self.effect

    @cached_property
    def near(self) -> list[tuple[Ints, Floats]]:
        """For each task the memories that pass the raw gate, nearest first, and how near."""
        order = np.argsort(-self.similarity, axis=1, kind="stable")
        sorted_ = np.take_along_axis(self.similarity, order, axis=1)
        passing = (sorted_ >= RAW_GATE).sum(axis=1).tolist()
        rows = zip(order, sorted_, passing, strict=True)
        return [(ids[:n], similarity[:n]) for ids, similarity, n in rows]

    @cached_property
    def effects(self) -> Floats:
        """What each memory would add to each task, (tasks, memories)."""
        near = np.where(
            self.topic[:, None] == TOPIC_OF,
            1.0,
            np.where(category_of(TOPIC_OF) == self.category[:, None], ELSEWHERE_IN_CATEGORY, 0.0),
        )
        tasks, flips = self.scenario.tasks, self.scenario.flips_at
        worth = {
            (a, late): self.worth(a, tasks if late else -1)
            for a in range(self.scenario.agents)
            for late in (False, True)
        }
        rows = [worth[int(a), flips is not None and t >= flips] for t, a in enumerate(self.agent)]
        return near * np.array(rows)

    @cached_property
    def without(self) -> Floats:
        """The expected reward of each task without memory, before it is clipped."""
        return self.base[self.agent, self.category] + self.difficulty

    def lift(self, served: Ints) -> Floats:
        """The expected reward that the served sets add; rows of memories, -1 where fewer."""
        there = served >= 0
        added = np.take_along_axis(self.effects, np.where(there, served, 0), axis=1)
        return self._lift(np.where(there, added, 0.0).sum(axis=1))

    @cached_property
    def best(self) -> Floats:
        """The lift of the three largest positive effects of each task."""
        top = np.sort(self.effects, axis=1)[:, -BEST:]
        return self._lift(np.maximum(top, 0.0).sum(axis=1))

    def _lift(self, added: Floats) -> Floats:
        return _clipped(self.without + added) - _clipped(self.without)

    def outcome(self, task: int, served: tuple[int, ...]) -> Outcome | None:
        """What is reported of a task for which this was selected; None where nobody reports."""
        if self.chance.feedback[task] >= self.scenario.feedback:
            return None
        evidence = self.evidence(task)
        if evidence == "control":
            served = ()
        on: float | None
        off: float | None
        on, off = self.rewards(task, served)
        if self._lies(task, served):
            on, off = 1.0, 0.0
        agent, category = int(self.agent[task]), int(category_of(self.topic[task]))
        on, off = None if evidence == "control" else on, None if evidence == "single" else off
        return Outcome(task, agent, category, evidence, on, off, served)

    def rewards(self, task: int, served: tuple[int, ...]) -> tuple[float, float]:
        """What both runs of a task come to, with these memories and without."""
        effects = self._effects_of_task[task]
        return self._reward(task, fsum(effects[m] for m in served), 0), self._reward(task, 0.0, 1)

    def evidence(self, task: int) -> Evidence:
        if self.chance.pair[task] < self.scenario.paired:
            return "paired"
        return "control" if self.chance.arm[task] < CONTROL else "single"

    def _lies(self, task: int, served: tuple[int, ...]) -> bool:
        liar = self.scenario.lies and not self.honest[task]
        return liar and any(self.owned(m) for m in served)

    def _reward(self, task: int, added: float, run: int) -> float:
        mean = min(HIGHEST, max(LOWEST, float(self.without[task]) + added))
        if self.scenario.binary:
            return float(self.chance[run][task] < mean)
        return min(1.0, max(0.0, mean + REWARD_NOISE * float(self.noise[run, task])))

    @cached_property
    def _effects_of_task(self) -> list[list[float]]:
        return self.effects.tolist()


def draw(scenario: Scenario, seed: int) -> World:
    """The world of a seed. The order of the draws is part of what a seed means."""
    chance = np.random.default_rng([seed, STREAM])
    tasks = scenario.tasks
    effect = _signed(chance.uniform(0.05, 0.20, MEMORIES), chance.random(TOPICS) < 1 / 2)
    differs = chance.random(MEMORIES) < scenario.differing
    base = chance.uniform(0.3, 0.6, (scenario.agents, CATEGORIES))
    offset = chance.normal(0, OFFSET, MEMORIES)
    topic = chance.integers(TOPICS, size=tasks)
    honest = chance.random(tasks) >= scenario.foreign
    agent = np.where(honest, chance.integers(scenario.honest, size=tasks), scenario.agents - 1)
    difficulty, *noise = chance.normal(0, [[0.12], [1], [1]], (3, tasks))
    coins = _Chance(*chance.random((5, tasks)))
    shared = np.repeat(chance.normal(0, 1, (tasks, MEMORIES // 2)), 2, axis=1)
    own = chance.normal(0, 1, (tasks, MEMORIES))
    similarity = _near(topic) + offset + SPREAD * (SHARED**0.5 * shared + (1 - SHARED) ** 0.5 * own)
    return World(
        scenario=scenario,
        effect=effect,
        differs=differs,
        base=base,
        topic=topic,
        agent=agent,
        difficulty=difficulty,
        noise=np.array(noise),
        chance=coins,
        similarity=similarity,
        slot=chance.random((2, tasks)),  # not part of the study's draws: they come last
    )


TOPIC_OF: Ints = np.repeat(np.arange(TOPICS), PER_TOPIC)


def category_of(topic: Ints) -> Ints:
    return topic // (TOPICS // CATEGORIES)


def _signed(size: Floats, helps: Flags) -> Floats:
    """Helpful, passenger, harmful, passenger, either, passenger."""
    sign = np.zeros((TOPICS, PER_TOPIC))
    sign[:, 0], sign[:, OWNED], sign[:, 4] = 1.0, -1.0, np.where(helps, 1.0, -1.0)
    return sign.ravel() * size


def _near(topic: Ints) -> Floats:
    here, close, far = TASK_SIMILARITY
    same = topic[:, None] == TOPIC_OF
    related = category_of(TOPIC_OF) == category_of(topic)[:, None]
    return np.where(same, here, np.where(related, close, far))


def _clipped(mean: Floats) -> Floats:
    return np.clip(mean, LOWEST, HIGHEST)

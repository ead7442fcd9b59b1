"""Plays the product's own rules in a scene: rankers by their record, coins, exposure, belief.

What is decided is decided by `memory.belief`: the fold of outcomes, the guard's probabilities and
draws, inclusion, exposure, strength. Here is only the order in which a server asks them. A ranker
that is fixed stands for a caller that ranks by weight, or by similarity, whatever the record says.
"""

import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np

from benchmarks.kernels.credit.policies import Authors, Tuned, added, author_id
from benchmarks.kernels.credit.scene import COINS, Found, Report, Scene
from benchmarks.kernels.credit.world import CONTROL, Floats, Ints
from memory.belief.belief import Belief
from memory.belief.effect import ArmOutcome
from memory.belief.exposure import follows_used, note_usage, ramp
from memory.belief.fold import Auxiliary, Learn, Learned, fold
from memory.belief.guard import feedback_dates, initial_record, probabilities
from memory.belief.inclusion import (
    Footing,
    InclusionRule,
    Lift,
    find_footing,
    inclusion_probability,
)
from memory.belief.policy import Policy
from memory.belief.rankers import FLAT_AGELESS, PLAIN, RANKERS, Draw, draw_ranker, prior
from memory.belief.states import Evidence, Observation, State
from memory.belief.strength import is_suspended

SLOT_RATE = 0.03
WEIGHTED = "weighted/none"
NOBODY = -1

Ranking = Literal["guard", "weighted", "flat"]


@dataclass(frozen=True, slots=True)
class Variant:
    """Which rules are in force."""

    coins: InclusionRule | None = field(default_factory=InclusionRule)
    exposure: bool = True
    ranking: Ranking = "weighted"
    slot_rate: float = 0.0
    policy: Policy = field(default_factory=Belief)

    @property
    def hierarchical(self) -> Tuned | None:
        """The policy, where a memory's belief has a part of its author's."""
        policy = self.policy
        return policy if isinstance(policy, Tuned) and policy.author_variance else None


FIRST_RELEASE = Variant(coins=None, exposure=False, slot_rate=SLOT_RATE)


Kept = Mapping[bool, frozenset[int]]
"""The memories that coins keep, by whether the ranker orders by weight."""


class Weighed(NamedTuple):
    """A memory of the head as it stands for the agent that asks: its belief, and what it weighs."""

    memory: int
    similarity: float
    mean: float
    sd: float
    weight: float
    ranking: float


@dataclass(frozen=True, slots=True)
class Played:
    """`served` has a row a task, -1 where fewer than k; `scores`, weight times similarity, beside.

    `snapshots`: the weights of all memories, as agent 0 has them, when so many tasks are done.
    """

    served: Ints
    scores: Floats
    snapshots: Mapping[int, Floats]
    values: Floats
    """By agent and memory, at the end."""
    flat: float
    """The share of tasks in which a flat ranker served."""


class _Selected(NamedTuple):
    """What the head held, what of it is served, and by which draw."""

    head: list[Weighed]
    chosen: list[Weighed]
    draw: Draw


def _near(head: list[Weighed]) -> dict[int, float]:
    return {one.memory: one.similarity for one in head}


def memory_id(memory: int) -> UUID:
    return UUID(int=1_000_000 + memory)


class Player:
    """One variant in one scene."""

    def __init__(self, scene: Scene, variant: Variant, seed: int) -> None:
        self._scene, self._variant = scene, variant
        self._ids = [memory_id(m) for m in range(scene.memories)]
        self._fresh = variant.policy.initial_memory()
        self._hierarchical = variant.hierarchical
        self._authors = [author_id(author) for author in scene.authors]
        self._learned = Learned(memories=self._initial_authors())
        self._usage: dict[tuple[int, int], State] = {}
        self._credited = [0] * scene.memories  # outcomes that moved it
        self._absent = [0] * scene.memories  # outcomes whose head held it, and did not serve it
        self._chance = random.Random(seed * 1_000 + COINS)  # noqa: S311 - a simulation

    def play(self, snapshots: Sequence[int] = ()) -> Played:
        """Serve every task and learn from its outcome once it is known."""
        scene = self._scene
        served = np.full((scene.tasks, scene.k), NOBODY)
        scores = np.zeros((scene.tasks, scene.k))
        due: deque[tuple[int, _Reported]] = deque()
        taken: dict[int, Floats] = {}
        flat = 0
        for task in range(scene.tasks):
            if task in snapshots:
                taken[task] = self.weights(0, task)
            due = self._learn_until(task, due)
            draw = self._draw(task)
            flat += not RANKERS[draw.ranker].weighted
            head, chosen, draw = self._select(task, draw)
            n = len(chosen)
            served[task, :n] = [one.memory for one in chosen]
            scores[task, :n] = marks = [one.weight * one.similarity for one in chosen]
            if self._is_withheld(task):
                chosen, marks = [], []
            report = scene.report(task, [one.memory for one in chosen], marks)
            if report is not None:
                due.append((scene.due(task), _Reported(task, report, draw, _near(head))))
                due = self._learn_until(task, due)
        ends = {t: self.weights(0, t) for t in snapshots if t >= scene.tasks}
        agents = sorted({scene.agent(t) for t in range(scene.tasks)})
        values = np.array([self.weights(agent, scene.tasks) for agent in agents])
        return Played(served, scores, taken | ends, values, flat / scene.tasks)

    def weights(self, agent: int, task: int) -> Floats:
        """The effective weights as an agent has them."""
        policy, pairs = self._variant.policy, self._states(range(self._scene.memories), agent, task)
        return np.array([policy.effective_weight(m, d) for m, d in pairs])

    # What serves

    def _draw(self, task: int) -> Draw:
        if self._variant.ranking != "guard":
            ranker = WEIGHTED if self._variant.ranking == "weighted" else FLAT_AGELESS
            return Draw(ranker, {ranker: 1.0})
        records, category = self._learned.records, category_id(self._scene.category(task))
        fresh = initial_record(RANKERS)
        record = records.get(category) or fresh
        believed = dict(prior(feedback_dates(record)))
        if self._variant.coins is None:
            believed[PLAIN] = 0.0  # without coins it is the flat ageless one once more
        now = self._scene.moment(task)
        shares = probabilities(believed, record, records.get(None) or fresh, now)
        return draw_ranker(shares, self._chance)

    def _select(self, task: int, draw: Draw) -> _Selected:
        """At most k, best first; what coins leave out gives its place to the next."""
        scene = self._scene
        head = self._weigh(scene.found(task), task)
        kept = {flag: frozenset(self._keep(head, task, weighted=flag)) for flag in (False, True)}
        passed, chosen = self._walk(head, kept, draw.ranker)
        same: frozenset[str] = frozenset()
        if self._variant.coins is not None and self._variant.ranking == "guard":
            same = self._same(head, kept, chosen)
        if scene.slot[0, task] < self._variant.slot_rate:
            chosen = self._explore(task, [one for one in head if one not in passed], chosen)
        return _Selected(head, chosen, replace(draw, same=same))

    def _walk(
        self, head: list[Weighed], kept: Kept, ranker: str
    ) -> tuple[list[Weighed], list[Weighed]]:
        """Those whose coins leave them out before the last place is taken; those with a place."""
        rule, some = RANKERS[ranker], head
        if rule.weighted and self._variant.coins is None:
            some = [one for one in some if not self._is_below(one)]
        if rule.weighted:
            order = sorted(some, key=lambda one: -one.ranking * one.similarity)
        else:
            order = sorted(some, key=lambda one: -one.similarity)
        passed: list[Weighed] = []
        chosen: list[Weighed] = []
        for one in order:
            if len(chosen) == self._scene.k:
                break
            stays = one.memory in kept[rule.weighted] or not rule.coins
            (chosen if stays else passed).append(one)
        return passed, chosen

    def _same(self, head: list[Weighed], kept: Kept, chosen: list[Weighed]) -> frozenset[str]:
        """The rankers that would serve the same set; all knowledge here is of one age."""
        kinds = {(rule.weighted, rule.coins): name for name, rule in RANKERS.items()}
        here = {one.memory for one in chosen}
        alike = {
            kind
            for kind, name in kinds.items()
            if {one.memory for one in self._walk(head, kept, name)[1]} == here
        }
        return frozenset(
            name for name, rule in RANKERS.items() if (rule.weighted, rule.coins) in alike
        )

    def _weigh(self, found: Found, task: int) -> list[Weighed]:
        policy = self._variant.policy
        pairs = self._states(found.memories, self._scene.agent(task), task)
        rows: list[Weighed] = []
        for memory, similarity, (state, deviation) in zip(*found, pairs, strict=True):
            lift = policy.lift(state, deviation)
            assert lift is not None
            weight = policy.effective_weight(state, deviation)
            ranking = policy.ranking_weight(state, deviation)
            rows.append(Weighed(memory, similarity, lift.mean, lift.sd, weight, ranking))
        return rows

    def _keep(self, head: list[Weighed], task: int, *, weighted: bool) -> Iterator[int]:
        """Those whose coins keep them. One that alone passes the gates has no coin."""
        rule = self._variant.coins
        if rule is None:
            yield from (one.memory for one in head)
            return
        below = [self._is_below(one) for one in head]
        alone = len(head) - sum(below) <= 1
        above = [Lift(o.mean, o.sd) for o, low in zip(head, below, strict=True) if not low]
        coins = self._scene.coins[task]
        for one, low in zip(head, below, strict=True):
            if not low and alone:
                yield one.memory
                continue
            served, absent = self._credited[one.memory], self._absent[one.memory]
            lift = Lift(one.mean, one.sd)
            footing = find_footing(lift, above, below=low, rule=rule)
            if footing is Footing.OUTSHONE and weighted:
                footing = Footing.ABOVE
            p = inclusion_probability(lift, footing, served=served, absent=absent, rule=rule)
            if coins[one.memory] < p:
                yield one.memory

    def _is_below(self, one: Weighed) -> bool:
        return one.weight * one.similarity < self._scene.gate

    def _explore(self, task: int, some: list[Weighed], chosen: list[Weighed]) -> list[Weighed]:
        """The last place for one of the least credited."""
        here = {one.memory for one in chosen}
        near = [o for o in some if o.similarity >= self._scene.slot_gate and o.memory not in here]
        if not near:
            return chosen
        least = min(self._credited[one.memory] for one in near)
        # From the nearest: as the play of the ten worlds draws.
        pool = [one for one in near if self._credited[one.memory] == least]
        drawn = pool[int(self._scene.slot[1, task] * len(pool))]
        return [*chosen[: self._scene.k - 1], drawn]

    def _is_withheld(self, task: int) -> bool:
        """Whether the cell is suspended and this is no retest; only where the guard runs."""
        if self._variant.ranking != "guard":
            return False
        agent, category = self._cell(task)
        strength = self._learned.strengths.get((agent_id(agent), category_id(category)))
        if strength is None or not is_suspended(strength):
            return False
        return self._chance.random() >= CONTROL

    # What learns

    def _learn_until(
        self, task: int, due: "deque[tuple[int, _Reported]]"
    ) -> "deque[tuple[int, _Reported]]":
        ready = [one for at, one in due if at <= task]
        if not ready:
            return due
        entries = [self._entry(one, min(task, self._scene.tasks)) for one in ready]
        self._learned = fold(self._variant.policy, entries, start=self._learned)
        return deque(pair for pair in due if pair[0] > task)

    def _entry(self, reported: "_Reported", now: int) -> Learn:
        scene, report = self._scene, reported.report
        agent, category = self._cell(reported.task)
        acted = set(report.served)
        if report.used is not None and follows_used(self._usage.get((agent, category))):
            acted &= set(report.used)
        for memory in acted:
            self._credited[memory] += 1
        if report.evidence != "control":
            for memory in reported.similarity.keys() - acted:
                self._absent[memory] += 1
        if report.served:
            usage, moment = self._usage.get((agent, category)), scene.moment(now)
            named = report.used is not None
            self._usage[agent, category] = note_usage(usage, moment, named=named)
        return Learn(
            agent_id(agent),
            category_id(category),
            scene.kind,
            self._observation(reported, now),
            self._auxiliary(reported),
        )

    def _observation(self, reported: "_Reported", now: int) -> Observation:
        report, ids = reported.report, self._ids
        observation = Observation(
            evidence=Evidence(report.evidence),
            reward_on=report.on,
            reward_off=report.off,
            memories=tuple(ids[m] for m in report.served),
            author_of=frozenset(ids[m] for m in report.own),
            helpful=(),
            harmful=(),
            now=self._scene.moment(now),
            exposure=self._exposure(reported),
        )
        if self._hierarchical is None:
            return observation
        return Authors(dict(zip(ids, self._authors, strict=True))).told(observation)

    def _exposure(self, reported: "_Reported") -> dict[UUID, float] | None:
        """How far each of the served could have acted; None where all is credited alike."""
        if not self._variant.exposure:
            return None
        gate, ids, served = self._scene.gate, self._ids, reported.report.served
        used = reported.report.used
        if used is not None and follows_used(self._usage.get(self._cell(reported.task))):
            return {ids[m]: 1.0 if m in used else 0.0 for m in served}
        return {ids[m]: ramp(reported.similarity[m], gate) for m in served}

    def _auxiliary(self, reported: "_Reported") -> Auxiliary | None:
        """What the guard and the strength learn from; nothing where the ranker is fixed."""
        if self._variant.ranking != "guard":
            return None
        report = reported.report
        arm = {"paired": "paired", "control": "control"}.get(report.evidence, "on")
        propensity = 1.0 if arm == "paired" else CONTROL if arm == "control" else 1 - CONTROL
        reward = report.off if report.on is None else report.on
        assert reward is not None
        without = report.off if arm == "paired" else None
        return Auxiliary(ArmOutcome(arm, propensity, reward, without), draw=reported.draw)

    def _cell(self, task: int) -> tuple[int, int]:
        return self._scene.agent(task), self._scene.category(task)

    def _states(
        self, memories: Sequence[int], agent: int, task: int
    ) -> list[tuple[State, State | None]]:
        """Memory and deviation of each as of this task, aged by the policy."""
        now, who = self._scene.moment(task), agent_id(agent)
        known, policy = self._learned, self._variant.policy
        pairs: list[tuple[State, State | None]] = []
        for m in memories:
            state = known.memories.get(self._ids[m])
            if state is None:
                pairs.append((self._with_author(self._fresh, m, task), policy.initial_deviation()))
                continue
            deviation = known.deviations.get((self._ids[m], who))
            if deviation is not None:
                deviation = policy.age_deviation(deviation, now)
            pairs.append((self._with_author(policy.age_memory(state, now), m, task), deviation))
        return pairs

    def _initial_authors(self) -> dict[UUID, State]:
        if self._hierarchical is None:
            return {}
        return dict.fromkeys(self._authors, self._hierarchical.initial_author())

    def _with_author(self, state: State, memory: int, task: int) -> State:
        if self._hierarchical is None:
            return state
        author = self._learned.memories[self._authors[memory]]
        return added(state, self._hierarchical.age_author(author, self._scene.moment(task)))


class _Reported(NamedTuple):
    """A report on its way: by which draw it was served, and how near each of the head was."""

    task: int
    report: Report
    draw: Draw
    similarity: Mapping[int, float]


def agent_id(agent: int) -> UUID:
    return UUID(int=1 + agent)


def category_id(category: int) -> UUID:
    return UUID(int=100 + category)


def play(scene: Scene, variant: Variant, seed: int, *, snapshots: Sequence[int] = ()) -> Played:
    """One variant in one scene."""
    return Player(scene, variant, seed).play(snapshots)

"""The server's policies as rules: its own pure functions, folded one outcome at a time."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from benchmarks.kernels.credit.rules import Ordered, gated
from benchmarks.kernels.credit.world import (
    DAYS_PER_TASK,
    MEMORIES,
    Floats,
    Ints,
    Outcome,
    World,
)
from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES, Policy
from memory.belief.states import Evidence, Observation, State

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY_IDS = tuple(UUID(int=1_000 + m) for m in range(MEMORIES))
SLOT_RATE = 0.03


def moment(task: int) -> datetime:
    """When a task is attempted: 4000 tasks are 90 days."""
    return BEGINNING + timedelta(days=task * DAYS_PER_TASK)


def agent_id(agent: int) -> UUID:
    return UUID(int=1 + agent)


def category_id(category: int) -> UUID:
    return UUID(int=100 + category)


class Plugged:
    """A policy of the server under the rules of the benchmark."""

    def __init__(
        self,
        name: str,
        world: World,
        *,
        slot_rate: float = SLOT_RATE,
        self_credit: bool = False,
    ) -> None:
        self.slot_rate = slot_rate
        self._policy = POLICIES[name]
        self._world = world
        self._kind = "binary" if world.scenario.binary else "continuous"
        self._self_credit = self_credit
        self._fresh = self._policy.initial_memory()
        self._static = _static(self._policy)
        self._weight = np.full(MEMORIES, self._policy.effective_weight(self._fresh, None))
        self.learned = Learned()

    def order(self, agent: int, now: int, candidates: Ints, similarity: Floats) -> Ordered:
        if self._static:
            weight = self._weight[candidates]
            return gated(weight, weight, similarity)
        policy, pairs = self._policy, self._states(candidates.tolist(), agent, now)
        weight = np.array([policy.effective_weight(m, d) for m, d in pairs])
        ranking = np.array([policy.ranking_weight(m, d) for m, d in pairs])
        return gated(weight, ranking, similarity)

    def learn(self, outcome: Outcome, now: int) -> None:
        entry = Learn(
            agent_id(outcome.agent),
            category_id(outcome.category),
            self._kind,
            observed(self._world, outcome, now, self_credit=self._self_credit),
        )
        self.learned = fold(self._policy, [entry], start=self.learned)
        if self._static and outcome.served:
            pairs = self._states(outcome.served, outcome.agent, now)
            self._weight[list(outcome.served)] = [
                self._policy.effective_weight(m, d) for m, d in pairs
            ]

    def weights(self, agent: int, now: int) -> Floats | None:
        return self.values(agent, now)

    def values(self, agent: int, now: int) -> Floats:
        pairs = self._states(range(MEMORIES), agent, now)
        return np.array([self._policy.effective_weight(m, d) for m, d in pairs])

    def _states(
        self, memories: Iterable[int], agent: int, task: int
    ) -> list[tuple[State, State | None]]:
        """Memory and deviation of each as of this task, aged by the policy."""
        now, who, known, policy = moment(task), agent_id(agent), self.learned, self._policy
        pairs: list[tuple[State, State | None]] = []
        for m in memories:
            memory = known.memories.get(MEMORY_IDS[m])
            if memory is None:
                pairs.append((self._fresh, None))
                continue
            deviation = known.deviations.get((MEMORY_IDS[m], who))
            if deviation is not None:
                deviation = policy.age_deviation(deviation, now)
            pairs.append((policy.age_memory(memory, now), deviation))
        return pairs


def _static(policy: Policy) -> bool:
    """Whether weights move by outcomes alone and rank as they are: then they are read once."""
    memory = State(policy.initial_memory(1.5).values, BEGINNING)
    return (
        policy.initial_deviation() is None
        and policy.age_memory(memory, moment(4000)) is memory
        and policy.ranking_weight(memory, None) == policy.effective_weight(memory, None)
    )


def observed(world: World, outcome: Outcome, now: int, *, self_credit: bool) -> Observation:
    """The outcome as learning sees it. Only the last agent is an author."""
    foreign = outcome.agent >= world.scenario.honest and not self_credit
    own = [m for m in outcome.served if foreign and world.owned(m)]
    return Observation(
        evidence=Evidence(outcome.evidence),
        reward_on=outcome.on,
        reward_off=outcome.off,
        memories=tuple(MEMORY_IDS[m] for m in outcome.served),
        author_of=frozenset(MEMORY_IDS[m] for m in own),
        helpful=(),
        harmful=(),
        now=moment(now),
    )

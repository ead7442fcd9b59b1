"""A memory that everyone speaks of: however many outcomes come, its weight is bounded, finite and
can recover.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from math import isfinite
from random import Random
from uuid import UUID

import pytest
from learning_builders import NOON, A, an_observation

from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES, Policy

AGENT, CATEGORY = UUID(int=9), UUID(int=8)
BETWEEN = timedelta(minutes=5)
MANY = 100_000
ENOUGH = 20_000
RECOVERY = 2_000
"""So many good outcomes raise any policy's weight from the floor above neutral."""

policies = pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda p: p.name)
times_at_night = pytest.mark.parametrize(
    "times", [ENOUGH, pytest.param(MANY, marks=pytest.mark.nightly)]
)


def outcomes(rewards: Iterator[float], first: int = 0) -> Iterator[Learn]:
    """Pairs and single outcomes in turn, for one memory in one cell."""
    for number, reward in enumerate(rewards, first):
        off = None if number % 2 else 0.5
        told = an_observation(reward, off, (A,), now=NOON + number * BETWEEN)
        yield Learn(AGENT, CATEGORY, "continuous", told)


def always(reward: float, times: int) -> Iterator[float]:
    return (reward for _ in range(times))


def anything(times: int) -> Iterator[float]:
    chance = Random(5)
    return (chance.choice((0.0, 1.0, chance.random())) for _ in range(times))


def weight(policy: Policy, states: Learned) -> float:
    return policy.effective_weight(states.memories[A], states.deviations.get((A, AGENT)))


def assert_finite(states: Learned) -> None:
    kept = chain(*(getattr(states, name).values() for name in Learned.__slots__))
    assert all(isfinite(value) for state in kept for value in state.values)


@policies
@times_at_night
def test_a_memory_blamed_without_end_stays_at_the_floor_and_recovers(
    policy: Policy, times: int
) -> None:
    blamed = fold(policy, outcomes(always(0.0, times)))
    praised = fold(policy, outcomes(always(1.0, RECOVERY), times), start=blamed)

    assert_finite(blamed)
    assert weight(policy, blamed) == pytest.approx(0.1)
    assert weight(policy, praised) > 1.0


@policies
def test_a_memory_praised_without_end_stays_at_the_ceiling_and_falls(policy: Policy) -> None:
    praised = fold(policy, outcomes(always(1.0, ENOUGH)))
    blamed = fold(policy, outcomes(always(0.0, RECOVERY), ENOUGH), start=praised)

    assert_finite(praised)
    assert weight(policy, praised) == pytest.approx(2.0)
    assert weight(policy, blamed) < 1.0


@policies
def test_whatever_is_said_of_it_every_weight_on_the_way_is_within_bounds(policy: Policy) -> None:
    states = Learned()
    for part in range(20):
        told = outcomes(anything(200), part * 200)
        states = fold(policy, told, start=states)
        assert 0.1 <= weight(policy, states) <= 2.0
    assert_finite(states)

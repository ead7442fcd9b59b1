"""Builders for tests of learning: valid by default, the sentence says the rest."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.belief.policy import Policy
from memory.belief.states import Evidence, Observation, States

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
A, B, C = (UUID(int=n) for n in (1, 2, 3))


def an_observation(
    on=None,
    off=None,
    memories=(A,),
    *,
    evidence=None,
    author_of=(),
    helpful=(),
    harmful=(),
    now=NOON,
    exposure=None,
):
    """One outcome; its evidence follows from the rewards unless it is named."""
    kinds = {
        (True, True): Evidence.PAIRED,
        (True, False): Evidence.SINGLE,
        (False, True): Evidence.CONTROL,
        (False, False): Evidence.NONE,
    }
    return Observation(
        evidence=evidence or kinds[on is not None, off is not None],
        reward_on=on,
        reward_off=off,
        memories=tuple(memories),
        author_of=frozenset(author_of),
        helpful=tuple(helpful),
        harmful=tuple(harmful),
        now=now,
        exposure=exposure,
    )


def fresh_states(policy: Policy, memories=(A, B), *, start_weight=1.0, siblings=()) -> States:
    return States(
        memories={m: policy.initial_memory(start_weight) for m in memories},
        deviations={},
        cell=policy.initial_cell(siblings),
        noise=policy.initial_noise(),
    )


def learned(policy: Policy, states: States, *observations: Observation) -> States:
    for observation in observations:
        states = policy.update(states, observation)
    return states

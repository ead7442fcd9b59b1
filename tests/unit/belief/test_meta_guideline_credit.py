"""A meta-guideline always stands beside a lesson; only its own absence tells what it adds to it."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import NormalDist, fmean
from uuid import UUID

import pytest

from memory.belief.exposure import ExposedMemory
from memory.belief.inclusion import LOWEST, TRIAL, UNTOLD, Lift, trial_probability
from memory.belief.policy import Policy, policy_named
from memory.belief.states import Evidence, Observation, State, States

LESSON, GUIDE = UUID(int=1), UUID(int=2)
START = datetime(2026, 3, 1, tzinfo=UTC)
BASELINE, GOOD, NOISE, CONTROLS = 0.4, 0.2, 0.15, 0.1
OUTCOMES, BANKS = 200, 40
FLOOR, SIMILARITY = 0.2, 0.5


@dataclass(slots=True)
class Bank:
    """One good lesson and one meta-guideline that is made after a bad pair, at .8."""

    policy: Policy
    chance: random.Random
    states: States
    now: datetime = START

    def reward(self, mean: float) -> float:
        return min(1.0, max(0.0, self.chance.gauss(mean, NOISE)))

    def weight(self, memory_id: UUID) -> float:
        state = self.policy.age_memory(self.states.memories[memory_id], self.now)
        return self.policy.effective_weight(state, self.states.deviations.get(memory_id))

    def probability(self) -> float:
        state = self.policy.age_memory(self.states.memories[GUIDE], self.now)
        lift = self.policy.lift(state, self.states.deviations.get(GUIDE))
        return trial_probability(lift, below_floor=self.weight(GUIDE) * SIMILARITY < FLOOR)

    def learn(self, evidence: Evidence, exposure: dict[UUID, float], **rewards: float) -> None:
        self.now += timedelta(hours=6)
        observation = Observation(
            evidence=evidence,
            reward_on=rewards.get("on"),
            reward_off=rewards.get("off"),
            memories=tuple(exposure),
            author_of=frozenset(),
            helpful=(),
            harmful=(),
            now=self.now,
            exposure=exposure,
        )
        self.states = self.policy.update(self.states, observation)

    def run(self, adds: float, *, paired: bool) -> None:
        """One retrieval with its outcome, in a world in which the meta-guideline adds so much."""
        if self.chance.random() < CONTROLS:
            self.learn(Evidence.CONTROL, {}, off=self.reward(BASELINE))
            return
        p = self.probability()
        followed = self.chance.random() < p
        directing = ExposedMemory(SIMILARITY, directs=True, inclusion=p, left_out=not followed)
        rewards = {"on": self.reward(BASELINE + GOOD + (adds if followed else 0.0))}
        if paired:
            rewards["off"] = self.reward(BASELINE)
        evidence = Evidence.PAIRED if paired else Evidence.SINGLE
        self.learn(evidence, {LESSON: 1.0, GUIDE: directing.surprise}, **rewards)


def a_bank(policy: Policy, seed: int) -> Bank:
    memories: dict[UUID, State] = {
        LESSON: policy.initial_memory(),
        GUIDE: policy.initial_memory(0.8),
    }
    states = States(memories, {}, policy.initial_cell([]), policy.initial_noise())
    return Bank(policy, random.Random(seed), states)


def played(name: str, adds: float, *, paired: bool) -> list[Bank]:
    banks = [a_bank(policy_named(name), seed) for seed in range(BANKS)]
    for bank in banks:
        for _ in range(OUTCOMES):
            bank.run(adds, paired=paired)
    return banks


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("policy", ["belief", "delta"])
def test_a_useless_one_beside_a_good_lesson_does_not_rise(policy: str, *, paired: bool):
    banks = played(policy, 0.0, paired=paired)

    weights = [bank.weight(GUIDE) for bank in banks]
    assert fmean(weights) < 1.0, "before there was a coin: 1.26 to 1.87"
    assert sum(weight > 1.0 for weight in weights) <= BANKS / 2
    assert fmean(bank.weight(LESSON) for bank in banks) > 1.5


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("policy", ["belief", "delta"])
def test_a_harmful_one_falls_and_takes_the_lesson_not_with_it(policy: str, *, paired: bool):
    banks = played(policy, -0.15, paired=paired)

    assert max(bank.weight(GUIDE) for bank in banks) < 0.8
    assert fmean(bank.probability() for bank in banks) < 0.1
    assert fmean(bank.weight(LESSON) for bank in banks) > 1.5


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("policy", ["belief", "delta"])
def test_a_helpful_one_rises(policy: str, *, paired: bool):
    banks = played(policy, 0.15, paired=paired)

    assert min(bank.weight(GUIDE) for bank in banks) > 1.2


@pytest.mark.parametrize("paired", [False, True])
def test_steps_are_coarse_and_still_tell_harm_from_use(*, paired: bool):
    useless, harmful, helpful = (
        fmean(bank.weight(GUIDE) for bank in played("steps", adds, paired=paired))
        for adds in (0.0, -0.15, 0.15)
    )

    assert harmful < 0.4 < useless < 0.9
    assert helpful > 1.0


def test_it_is_followed_with_the_probability_that_it_helps_and_never_for_certain():
    low, high = TRIAL

    assert trial_probability(Lift(0.02, 0.1), below_floor=False) == pytest.approx(
        NormalDist().cdf(0.2)
    )
    assert trial_probability(Lift(0.9, 0.01), below_floor=False) == high < 1.0
    assert trial_probability(Lift(-0.9, 0.01), below_floor=False) == low
    assert trial_probability(Lift(0.9, 0.01), below_floor=True) == LOWEST
    assert trial_probability(None, below_floor=False) == UNTOLD

"""Variants of `belief` that decision 46 judges: other constants, and a part for the author.

With an author's part a memory's effect is its own part plus its author's, each with a mean and a
variance; an outcome moves both, the author's by what all its served memories could have done. The
author is told to the fold as one more memory, whose exposure is the sum of theirs.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import sqrt
from uuid import UUID

from memory.belief import weights
from memory.belief.belief import (
    DEVIATION_VARIANCE,
    HALF_LIFE,
    MEMORY_VARIANCE,
    OPTIMISM,
    SCALE,
    Belief,
    _Served,  # pyright: ignore[reportPrivateUsage] - a variant of the same rule
)
from memory.belief.states import Observation, State, States, later

FIRST_AUTHOR = 2_000_000


def author_id(author: int) -> UUID:
    return UUID(int=FIRST_AUTHOR + author)


def is_author(memory: UUID) -> bool:
    return memory.int >= FIRST_AUTHOR


@dataclass(frozen=True, slots=True)
class Tuned(Belief):
    """`belief` with constants of its own."""

    half_life: timedelta = HALF_LIFE
    optimism: float = OPTIMISM
    variance: float = MEMORY_VARIANCE
    author_variance: float = 0.0

    def initial_author(self) -> State:
        return State((0.0, self.author_variance))

    def age_author(self, state: State, now: datetime) -> State:
        return self._age(state, now, self.author_variance)

    def initial_memory(self, start_weight: float = weights.NEUTRAL) -> State:
        return State(((start_weight - weights.NEUTRAL) * SCALE, self.variance))

    def age_memory(self, state: State, now: datetime) -> State:
        return self._age(state, now, self.variance)

    def age_deviation(self, state: State, now: datetime) -> State:
        return self._age(state, now, DEVIATION_VARIANCE)

    def ranking_weight(self, memory: State, deviation: State | None) -> float:
        mu, p = memory.values
        d, own = (deviation or State((0.0, DEVIATION_VARIANCE))).values
        lift = mu + d + self.optimism * sqrt(p + own)
        return weights.bounded(weights.NEUTRAL + lift / SCALE)

    def _served(self, states: States, observation: Observation) -> _Served:
        """An author means the same to every agent: it has no deviations."""
        served = Belief._served(self, states, observation)  # noqa: SLF001 - its own, before slots
        some = [i for i in served.common if is_author(i)]
        parts = {i: self.age_author(states.memories[i], observation.now) for i in some}
        return served._replace(
            common=served.common | parts,
            memories=served.memories | parts,
            deviations=served.deviations | dict.fromkeys(some, State((0.0, 0.0))),
        )

    def _age(self, state: State, now: datetime, prior: float) -> State:
        if state.touched is None:
            return state
        touched = later(state.touched, now)
        kept = 0.5 ** ((touched - state.touched) / self.half_life)
        mean, variance = state.values
        variance = min(prior, variance + (1.0 - kept * kept) * (prior - variance))
        return State((kept * mean, variance), touched)


@dataclass(frozen=True, slots=True)
class Authors:
    """Who wrote what, as the fold is told."""

    by_memory: dict[UUID, UUID]

    def told(self, observation: Observation) -> Observation:
        """The observation with the authors of what was served among the memories."""
        exposure, reach = dict(observation.exposure or {}), dict[UUID, float]()
        for memory in observation.memories:
            author = self.by_memory[memory]
            reach[author] = reach.get(author, 0.0) + exposure.get(memory, 1.0)
        own = {self.by_memory[memory] for memory in observation.author_of}
        return replace(
            observation,
            memories=(*observation.memories, *reach),
            author_of=observation.author_of | own,
            exposure=exposure | reach,
        )


def added(memory: State, author: State) -> State:
    """Both parts as one belief; what they share is left out of the variance."""
    return State(
        (memory.values[0] + author.values[0], memory.values[1] + author.values[1]), memory.touched
    )

"""The step rule of Live-Evo's released skill: a served memory that helped gains .3, else loses .2.

Two things differ from the release, where a memory of no use at all would rise for every agent that
succeeds more than two times in five: a tie moves nothing, and a single run is compared with what
its agent reaches without memory. There is no ageing, no deviation and no verdict.

Values of a memory: `(w,)`; cell and noise as in `offmean`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.belief import offmean, weights
from memory.belief.plain import Plain
from memory.belief.reading import Reading
from memory.belief.states import Observation, State, States, later

UP = 0.3


DOWN = -0.2


DEAD_BAND = 0.02  # a difference this small is a tie


@dataclass(frozen=True, slots=True)
class Steps(Plain):
    """Weights by steps: see `Policy` for what each method promises."""

    name: str = "steps"
    whole_bank: bool = False
    guarded: bool = True

    def initial_cell(self, siblings: Sequence[State]) -> State:
        return offmean.initial_cell(siblings)

    def initial_noise(self) -> State:
        return offmean.initial_noise()

    def baseline(self, states: States) -> float | None:
        return offmean.baseline(states)

    def readings(self, states: States, observation: Observation) -> tuple[Reading, ...]:  # noqa: ARG002 - they are rewards as they come
        return offmean.readings(observation)

    def residual(self, states: States, observation: Observation) -> float | None:
        return offmean.difference(states, observation)

    def update(self, states: States, observation: Observation) -> States:
        step = _step(offmean.difference(states, observation))
        after = offmean.counted(states, observation)
        if not step:
            return after
        moved = {
            i: _moved(states.memories[i], step, observation)
            for i in observation.counted
            if i not in observation.author_of
        }
        return replace(after, memories={**states.memories, **moved})


def _step(difference: float | None) -> float:
    if difference is None or abs(difference) <= DEAD_BAND:
        return 0.0
    return UP if difference > 0 else DOWN


def _moved(state: State, step: float, observation: Observation) -> State:
    weight = weights.bounded(state.values[0] + step)
    return State((weight,), later(state.touched, observation.now))

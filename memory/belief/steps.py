"""The step rule of Live-Evo's released skill: a served memory that helped gains .3, else loses .2.

Two things differ from the release, where a memory of no use at all would rise for every agent that
succeeds more than two times in five: a tie moves nothing, and a single run is compared with what
its agent reaches without memory. A step is as large as the memory could act. There is no ageing and
no deviation; a verdict moves nothing by itself, but a step against it is not the memory's.

Values of a memory: `(w,)`; cell and noise as in `point_policy`.
"""

from dataclasses import dataclass, replace
from uuid import UUID

from memory.belief import weights
from memory.belief.point_policy import PointPolicy, add_off_run
from memory.belief.states import VERDICT, Observation, State, States, later

UP = 0.3


DOWN = -0.2


DEAD_BAND = 0.02  # a difference this small is a tie


@dataclass(frozen=True, slots=True)
class Steps(PointPolicy):
    """Weights by steps: see `Policy` for what each method promises."""

    name: str = "steps"
    whole_bank: bool = False
    guarded: bool = True
    weighs_exposure: bool = True
    literal: bool = False
    places: int = weights.PLACES

    def residual(self, states: States, observation: Observation) -> float | None:
        return self.difference(states, observation)

    def update(self, states: States, observation: Observation) -> States:
        step = _step(self.difference(states, observation))
        after = add_off_run(states, observation)
        if not step:
            return after
        moved = {
            i: _add(states.memories[i], credit * step, observation)
            for i, credit in observation.credit(step, _lifts(states)).items()
            if i not in observation.author_of
        }
        return replace(after, memories={**states.memories, **moved})


def _lifts(states: States) -> dict[UUID, float]:
    """What each is believed to add; one unit of weight is as much as a verdict claims."""
    memories = states.memories.items()
    return {i: (state.values[0] - weights.NEUTRAL) * VERDICT for i, state in memories}


def _step(difference: float | None) -> float:
    if difference is None or abs(difference) <= DEAD_BAND:
        return 0.0
    return UP if difference > 0 else DOWN


def _add(state: State, step: float, observation: Observation) -> State:
    weight = weights.bounded(state.values[0] + step)
    return State((weight,), later(state.touched, observation.now))

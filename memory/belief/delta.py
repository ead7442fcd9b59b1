"""A delta rule on the residual: `belief` without variances, for whoever wants to check by hand.

A memory carries what it is thought to add, `mu`. An outcome moves every served memory by a fixed
share of what the served set as a whole left unexplained (Widrow and Hoff 1960): .05 of it in a
pair, .025 in a single run, as far as it could act. An author's word does not move its own memory.
There is no ageing and no deviation; a verdict moves nothing by itself, but a residual against it is
not the memory's.

Values of a memory: `(mu,)`; cell and noise as in `point_policy`.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from math import fsum

from memory.belief import weights
from memory.belief.point_policy import PointPolicy, add_off_run
from memory.belief.states import Evidence, Observation, State, States, later

SCALE = 0.10  # this much added reward is one unit of weight


SHARE_PAIRED = 0.05


SHARE_SINGLE = 0.025


OUTLIER = 0.5  # a residual beyond this is clipped


@dataclass(frozen=True, slots=True)
class Delta(PointPolicy):
    """Weights from residuals: see `Policy` for what each method promises."""

    name: str = "delta"
    whole_bank: bool = False
    guarded: bool = True
    weighs_exposure: bool = True
    literal: bool = False
    places: int = weights.PLACES

    def initial_memory(self, start_weight: float = weights.NEUTRAL) -> State:
        return State(((weights.start_weight(start_weight) - weights.NEUTRAL) * SCALE,))

    def edited_memory(self, state: State, now: datetime) -> State:
        """Half of what was known about the old text is taken to hold for the new one."""
        return State((state.values[0] / 2,), later(state.touched, now))

    def effective_weight(self, memory: State, deviation: State | None) -> float:  # noqa: ARG002 - none kept
        return weights.bounded(weights.NEUTRAL + memory.values[0] / SCALE)

    def residual(self, states: States, observation: Observation) -> float | None:
        difference = self.difference(states, observation)
        return None if difference is None else difference - _gain(states, observation)

    def update(self, states: States, observation: Observation) -> States:
        difference = self.difference(states, observation)
        after = add_off_run(states, observation)
        if difference is None:
            return after
        residual = difference - _gain(states, observation)
        move = _share(observation) * min(OUTLIER, max(-OUTLIER, residual))
        lifts = {i: state.values[0] for i, state in states.memories.items()}
        moved = {
            i: _add(states.memories[i], credit * move, observation)
            for i, credit in observation.credit(residual, lifts).items()
            if i not in observation.author_of
        }
        return replace(after, memories={**states.memories, **moved})


def _gain(states: States, observation: Observation) -> float:
    """What the served set was expected to add."""
    return fsum(h * states.memories[i].values[0] for i, h in observation.exposed.items())


def _share(observation: Observation) -> float:
    return SHARE_PAIRED if observation.evidence is Evidence.PAIRED else SHARE_SINGLE


def _add(state: State, move: float, observation: Observation) -> State:
    return State((state.values[0] + move,), later(state.touched, observation.now))

"""Live-Evo's rule to the letter (arXiv 2602.02369): w <- clip(w + r_on - r_off, .1, 2).

Every served memory gets the full difference of a pair; nothing else moves a weight. There is no
ageing, no deviation, no baseline, no author rule and no verdict, and the weight ranks the whole
bank. Kept for comparison: where rewards are binary, one pair takes a weight to a bound.

Values of a memory: `(w,)`; cell and noise are empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.belief import weights
from memory.belief.point_policy import PointPolicy
from memory.belief.states import Evidence, Measurement, Observation, State, States, later

PAIR_VARIANCE = 0.2  # of a difference of two runs, each as noisy as a belief takes one to be


@dataclass(frozen=True, slots=True)
class Paper(PointPolicy):
    """Weights from plain differences: see `Policy` for what each method promises."""

    name: str = "paper"
    whole_bank: bool = True
    guarded: bool = False

    def initial_cell(self, siblings: Sequence[State]) -> State:  # noqa: ARG002 - no baseline here
        return State(())

    def initial_noise(self) -> State:
        return State(())

    def update(self, states: States, observation: Observation) -> States:
        difference = _difference(observation)
        if difference is None:
            return states
        moved = {
            i: _add(states.memories[i], difference, observation.now) for i in observation.counted
        }
        return replace(states, memories={**states.memories, **moved})

    def baseline(self, states: States) -> float | None:  # noqa: ARG002 - none kept
        return None

    def measurements(
        self,
        states: States,  # noqa: ARG002 - a pair shows it by itself
        observation: Observation,
    ) -> tuple[Measurement, ...]:
        difference = _difference(observation)
        return () if difference is None else (Measurement(difference, 1.0, 0.0, PAIR_VARIANCE),)

    def residual(self, states: States, observation: Observation) -> float | None:  # noqa: ARG002 - a pair shows it by itself
        return _difference(observation)


def _difference(observation: Observation) -> float | None:
    on, off = observation.reward_on, observation.reward_off
    if observation.evidence is not Evidence.PAIRED or on is None or off is None:
        return None
    return on - off


def _add(state: State, difference: float, now: datetime) -> State:
    return State((weights.bounded(state.values[0] + difference),), later(state.touched, now))

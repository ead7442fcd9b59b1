"""Live-Evo's rule to the letter (arXiv 2602.02369): w <- clip(w + r_on - r_off, .1, 2).

Every served memory gets the full difference of a pair; nothing else moves a weight. There is no
ageing, no deviation, no baseline, no author rule and no verdict, and the weight ranks the whole
bank. Kept for comparison: where rewards are binary, one pair takes a weight to a bound.

`paper` is that rule within this server. `paper-strict` is that rule and nothing else: what the
server adds to a rule when it selects, tries, reflects or retires is left out (`literal`).
docs/reference/paper-parity.md compares both with the paper, line by line.

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
    weighs_exposure: bool = False
    literal: bool = False
    places: int = weights.PLACES

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
        if difference is None or observation.nothing_served:
            return ()
        return (Measurement(difference, 1.0, 0.0, PAIR_VARIANCE),)

    def residual(self, states: States, observation: Observation) -> float | None:  # noqa: ARG002 - a pair shows it by itself
        return _difference(observation)


@dataclass(frozen=True, slots=True)
class PaperStrict(Paper):
    """The rule, and nothing that the paper does not have."""

    name: str = "paper-strict"
    literal: bool = True
    places: int = 5  # not in the paper; both of its authors' skills serve five

    def edited_memory(self, state: State, now: datetime) -> State:  # noqa: ARG002 - nothing else moves a weight
        return state


def _difference(observation: Observation) -> float | None:
    on, off = observation.reward_on, observation.reward_off
    if observation.evidence is not Evidence.PAIRED or on is None or off is None:
        return None
    return on - off


def _add(state: State, difference: float, now: datetime) -> State:
    return State((weights.bounded(state.values[0] + difference),), later(state.touched, now))

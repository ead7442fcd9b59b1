"""What policies without ageing and deviations share; the state of a memory is its weight.

The rules they come from edit no memory; as in `belief`, half of what was earned is kept when a text
changes.
"""

from datetime import datetime

from memory.belief import weights
from memory.belief.states import State, later


class Plain:
    """Values of a memory: `(w,)`. See `Policy` for what each method promises."""

    __slots__ = ()

    def initial_memory(self, start_weight: float = weights.NEUTRAL) -> State:
        return State((weights.start_weight(start_weight),))

    def initial_deviation(self) -> State | None:
        return None

    def age_memory(self, state: State, now: datetime) -> State:  # noqa: ARG002 - nothing ages
        return state

    def age_deviation(self, state: State, now: datetime) -> State:  # noqa: ARG002 - there is none
        return state

    def edited_memory(self, state: State, now: datetime) -> State:
        [weight] = state.values
        kept = weights.NEUTRAL + (weight - weights.NEUTRAL) / 2
        return State((kept,), later(state.touched, now))

    def edited_deviation(self, state: State, now: datetime) -> State:  # noqa: ARG002 - none kept
        return state

    def effective_weight(self, memory: State, deviation: State | None) -> float:  # noqa: ARG002 - none kept
        return memory.values[0]

    def ranking_weight(self, memory: State, deviation: State | None) -> float:
        return self.effective_weight(memory, deviation)

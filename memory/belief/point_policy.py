"""What policies without a variance of their own share: a memory's state is one number.

What an agent reaches without memory is a mean of off-runs, shrunken toward wider means. A cell is
drawn toward the cells it started beside (as they were then), and those toward all off-runs of this
kind of reward, each as if the wider mean had been seen five times. While no off-run is known
anywhere there is no baseline, and a single run says nothing.

Values: cell `(sum, n, sum of siblings, n of siblings)`, noise `(sum, n)` over all.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import NamedTuple

from memory.belief import weights
from memory.belief.inclusion import Lift
from memory.belief.states import Evidence, Measurement, Observation, State, States, later

SHRINKAGE = 5.0


REWARD_VARIANCE = 0.10  # of one reward, where nothing measures it


class PointPolicy:
    """See `Policy` for what each method promises. The state of a memory is its weight here.

    The rules these policies come from edit no memory; as in `belief`, half of what was earned is
    kept when a text changes.
    """

    __slots__ = ()

    def initial_memory(self, start_weight: float = weights.NEUTRAL) -> State:
        return State((weights.start_weight(start_weight),))

    def initial_deviation(self) -> State | None:
        return None

    def initial_cell(self, siblings: Sequence[State]) -> State:
        known = [_Cell(*sibling.values) for sibling in siblings]
        totals = fsum(one.total for one in known), fsum(one.n for one in known)
        return State(_Cell(0.0, 0.0, *totals)[:])

    def initial_noise(self) -> State:
        return State((0.0, 0.0))

    def age_memory(self, state: State, now: datetime) -> State:  # noqa: ARG002 - nothing ages
        return state

    def age_deviation(self, state: State, now: datetime) -> State:  # noqa: ARG002 - there is none
        return state

    def age_influence(self, state: State, now: datetime) -> State:  # noqa: ARG002 - there is none
        return state

    def feel(self, memory: State, influence: State | None) -> State:  # noqa: ARG002 - none is bounded
        return memory

    def edited_memory(self, state: State, now: datetime) -> State:
        [weight] = state.values
        kept = weights.NEUTRAL + (weight - weights.NEUTRAL) / 2
        return State((kept,), later(state.touched, now))

    def edited_deviation(self, state: State, now: datetime) -> State:  # noqa: ARG002 - none kept
        return state

    def edited_influence(self, state: State, now: datetime) -> State:  # noqa: ARG002 - none kept
        return state

    def effective_weight(self, memory: State, deviation: State | None) -> float:  # noqa: ARG002 - none kept
        return memory.values[0]

    def ranking_weight(self, memory: State, deviation: State | None) -> float:
        return self.effective_weight(memory, deviation)

    def lift(self, memory: State, deviation: State | None) -> Lift | None:  # noqa: ARG002 - no variance
        return None

    def baseline(self, states: States) -> float | None:
        """The usual reward without memory; None while none was ever seen."""
        cell = _Cell(*states.cell.values)
        total, n = states.noise.values
        wide = _shrink(cell.siblings_total, cell.siblings_n, total / n if n else None)
        return _shrink(cell.total, cell.n, wide)

    def measurements(self, states: States, observation: Observation) -> tuple[Measurement, ...]:  # noqa: ARG002 - they are rewards as they come
        """A pair measures its difference, whatever the baseline; one reward measures its run."""
        on, off = observation.reward_on, observation.reward_off
        match observation.evidence:
            case Evidence.PAIRED if on is not None and off is not None:
                if observation.nothing_served:
                    return (Measurement(on, 0.0, 1.0, REWARD_VARIANCE),)
                return (Measurement(on - off, 1.0, 0.0, 2 * REWARD_VARIANCE),)
            case Evidence.SINGLE if on is not None:
                return (Measurement(on, observation.effect, 1.0, REWARD_VARIANCE),)
            case Evidence.CONTROL if off is not None:
                return (Measurement(off, 0.0, 1.0, REWARD_VARIANCE),)
            case _:
                return ()

    def difference(self, states: States, observation: Observation) -> float | None:
        """What the served set added: the pair's difference, or a single run's from the baseline."""
        on, off = observation.reward_on, observation.reward_off
        if observation.evidence is Evidence.PAIRED and on is not None and off is not None:
            return on - off
        usual = self.baseline(states)
        if observation.evidence is Evidence.SINGLE and on is not None and usual is not None:
            return on - usual
        return None


class _Cell(NamedTuple):
    total: float
    n: float
    siblings_total: float
    siblings_n: float


def _shrink(total: float, n: float, toward: float | None) -> float | None:
    if toward is None:
        return total / n if n else None
    return (total + SHRINKAGE * toward) / (n + SHRINKAGE)


def add_off_run(states: States, observation: Observation) -> States:
    """The run without memory, if there is one, added to its cell and to all."""
    off = observation.reward_without
    if observation.evidence is Evidence.NONE or off is None:
        return states
    cell, (total, n) = _Cell(*states.cell.values), states.noise.values
    more = cell._replace(total=cell.total + off, n=cell.n + 1.0)
    now = observation.now
    return replace(
        states,
        cell=State(more[:], later(states.cell.touched, now)),
        noise=State((total + off, n + 1.0), later(states.noise.touched, now)),
    )

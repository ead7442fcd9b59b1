"""What a policy of learning is, and the policies there are. A policy is pure and holds no state."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from memory.belief.belief import Belief
from memory.belief.delta import Delta
from memory.belief.inclusion import Lift
from memory.belief.paper import Paper, PaperStrict
from memory.belief.states import Measurement, Observation, State, States
from memory.belief.steps import Steps
from memory.kernel.errors import Rejected


class Policy(Protocol):
    """How outcomes become states and states become weights.

    A state that was never touched (`touched` None) is at its start: it has learned nothing, so it
    has nothing to forget, and ageing returns it as it is. Ageing composes: to t1 and then to t2 is
    ageing to t2, up to rounding. Weights are read from states that the caller has aged.
    """

    @property
    def name(self) -> str: ...

    @property
    def whole_bank(self) -> bool:
        """Whether weights rank the whole bank instead of the head."""
        ...

    @property
    def guarded(self) -> bool:
        """Whether the guard chooses the ranker by its record."""
        ...

    @property
    def weighs_exposure(self) -> bool:
        """Whether an outcome moves a memory as far as that could have acted on it."""
        ...

    @property
    def literal(self) -> bool:
        """Whether nothing is added to a rule as it was published: in selecting, trying, reflecting
        and retiring as well.
        """
        ...

    @property
    def places(self) -> int:
        """How many experiences are served where the caller does not say."""
        ...

    def initial_memory(self, start_weight: float = 1.0) -> State:
        """A new memory. Raises Rejected for a start weight outside floor and ceiling."""
        ...

    def initial_deviation(self) -> State | None:
        """An agent's deviation at its first credit; None where the policy keeps none."""
        ...

    def initial_cell(self, siblings: Sequence[State]) -> State:
        """A new cell, starting from the other cells of its category."""
        ...

    def initial_noise(self) -> State: ...

    def age_memory(self, state: State, now: datetime) -> State: ...

    def age_deviation(self, state: State, now: datetime) -> State: ...

    def age_influence(self, state: State, now: datetime) -> State: ...

    def feel(self, memory: State, influence: State | None) -> State:
        """A memory's state as the party feels it whose influence on it is given, both aged alike.

        The same state where the policy bounds no influence.
        """
        ...

    def update(self, states: States, observation: Observation) -> States:
        """The states after one outcome; reads only the states before it, aged to its moment.

        Subjects that the outcome does not touch come back as they were.
        """
        ...

    def baseline(self, states: States) -> float | None:
        """The reward to be expected without memory; None where nothing is known of it."""
        ...

    def measurements(self, states: States, observation: Observation) -> tuple[Measurement, ...]:
        """What the rewards of one outcome say of what memory as a whole adds, and of the baseline.

        Empty where they say nothing. Noises of several are independent. Reads the states before
        the outcome.
        """
        ...

    def residual(self, states: States, observation: Observation) -> float | None:
        """What the outcome showed beyond what was expected; None where nothing was expected."""
        ...

    def edited_memory(self, state: State, now: datetime) -> State:
        """What is still believed of a memory once its text has changed."""
        ...

    def edited_deviation(self, state: State, now: datetime) -> State: ...

    def edited_influence(self, state: State, now: datetime) -> State: ...

    def effective_weight(self, memory: State, deviation: State | None) -> float:
        """How far a memory has earned its place: for display, pruning, dry runs and scores."""
        ...

    def ranking_weight(self, memory: State, deviation: State | None) -> float:
        """The weight that orders candidates; may be optimistic about the untested."""
        ...

    def lift(self, memory: State, deviation: State | None) -> Lift | None:
        """What a memory is believed to add; None where the policy does not say how sure it is."""
        ...


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {policy.name: policy for policy in (Belief(), Paper(), PaperStrict(), Steps(), Delta())}
)


def policy_named(name: str) -> Policy:
    """The policy of that name. Raises Rejected when there is none."""
    if name not in POLICIES:
        raise Rejected(
            f"There is no policy {name!r}; there are {', '.join(POLICIES)}.",
            field="policy",
            limit=list(POLICIES),
        )
    return POLICIES[name]

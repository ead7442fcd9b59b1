"""What stored memories weigh for one agent at one time, by one policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.inclusion import Lift
from memory.belief.policy import Policy
from memory.belief.states import State

PROBATION = 0.5
"""On probation a memory counts half."""


def probation_share(status: str) -> float:
    """What a memory of this status counts of its weight."""
    return PROBATION if status == "probation" else 1.0


class BelievedRow(Protocol):
    """A stored row with its belief, and with how one agent's and one party's differ."""

    @property
    def id(self) -> UUID: ...
    @property
    def status(self) -> str: ...
    @property
    def start_weight(self) -> float: ...
    @property
    def state(self) -> tuple[float, ...]: ...
    @property
    def touched_at(self) -> datetime | None: ...
    @property
    def deviation(self) -> tuple[float, ...] | None: ...
    @property
    def deviation_touched_at(self) -> datetime | None: ...
    @property
    def influence(self) -> tuple[float, ...] | None: ...
    @property
    def influence_touched_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class WeightPair:
    """A memory's weight as it is earned, and as it orders candidates."""

    effective: float
    ranking: float


@dataclass(frozen=True, slots=True)
class BelievedWeights:
    """A memory's weights, and what it is believed to add; None by a policy that does not say how
    sure it is.
    """

    weights: WeightPair
    lift: Lift | None


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads weights: an agent, and the party of the key by which it asks, where it has one."""

    agent_id: UUID
    party_id: UUID | None


@dataclass(frozen=True, slots=True)
class WeightView:
    """Whose weights are read, as of when, and by which policy.

    `past`: the states of that time, where newer ones have been stored since.
    """

    reader: Reader
    as_of: datetime
    policy: Policy
    past: Learned | None

    def weights(self, row: BelievedRow) -> WeightPair:
        """Both weights of a row; on probation it counts half."""
        return self._weights(row, *self._aged_states(row))

    def believe(self, row: BelievedRow) -> BelievedWeights:
        """The same, and what the row is believed to add."""
        memory, deviation = self._aged_states(row)
        lift = self.policy.lift(memory, deviation)
        return BelievedWeights(self._weights(row, memory, deviation), lift)

    def _weights(self, row: BelievedRow, memory: State, deviation: State | None) -> WeightPair:
        share = probation_share(row.status)
        return WeightPair(
            share * self.policy.effective_weight(memory, deviation),
            share * self.policy.ranking_weight(memory, deviation),
        )

    def reads(self, rows: Sequence[BelievedRow]) -> bool:
        """Whether their states are of this policy: not where that was changed meanwhile."""
        size = len(self.policy.initial_memory().values)
        return self.past is not None or all(len(row.state) == size for row in rows)

    def lift(self, row: BelievedRow) -> Lift | None:
        """What the row is believed to add; None by a policy that does not say how sure it is."""
        return self.policy.lift(*self._aged_states(row))

    def deviation_in_weight(self, row: BelievedRow) -> float:
        """What the agent's own record adds to the effective weight."""
        memory, deviation = self._aged_states(row)
        share = probation_share(row.status)
        with_own = share * self.policy.effective_weight(memory, deviation)
        return with_own - share * self.policy.effective_weight(memory, None)

    def _aged_states(self, row: BelievedRow) -> tuple[State, State | None]:
        """The memory's state as the reader's party feels it, and this agent's deviation, aged to
        the moment.
        """
        if self.past is None:
            memory = State(row.state, row.touched_at)
            deviation = _known(row.deviation, row.deviation_touched_at)
            influence = _known(row.influence, row.influence_touched_at)
        else:
            known_then = self.past.memories.get(row.id)
            memory = known_then or self.policy.initial_memory(row.start_weight)
            deviation = self.past.deviations.get((row.id, self.reader.agent_id))
            party = self.reader.party_id
            influence = None if party is None else self.past.influences.get((row.id, party))
        own = None if influence is None else self.policy.age_influence(influence, self.as_of)
        aged = None if deviation is None else self.policy.age_deviation(deviation, self.as_of)
        return self.policy.feel(self.policy.age_memory(memory, self.as_of), own), aged


def _known(state: tuple[float, ...] | None, touched: datetime | None) -> State | None:
    return None if state is None else State(state, touched)

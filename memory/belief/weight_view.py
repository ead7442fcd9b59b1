"""What stored memories weigh for one agent at one time, by one policy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.policy import Policy
from memory.belief.states import State

PROBATION = 0.5
"""On probation a memory counts half."""


def probation_share(status: str) -> float:
    """What a memory of this status counts of its weight."""
    return PROBATION if status == "probation" else 1.0


class BelievedRow(Protocol):
    """A stored row with its belief, and with how one agent's differs."""

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


@dataclass(frozen=True, slots=True)
class WeightPair:
    """A memory's weight as it is earned, and as it orders candidates."""

    effective: float
    ranking: float


@dataclass(frozen=True, slots=True)
class WeightView:
    """Whose weights are read, as of when, and by which policy.

    `past`: the states of that time, where newer ones have been stored since.
    """

    agent_id: UUID
    as_of: datetime
    policy: Policy
    past: Learned | None

    def weights(self, row: BelievedRow) -> WeightPair:
        """Both weights of a row; on probation it counts half."""
        memory, deviation = self._aged_states(row)
        share = probation_share(row.status)
        return WeightPair(
            share * self.policy.effective_weight(memory, deviation),
            share * self.policy.ranking_weight(memory, deviation),
        )

    def deviation_in_weight(self, row: BelievedRow) -> float:
        """What the agent's own record adds to the effective weight."""
        memory, deviation = self._aged_states(row)
        share = probation_share(row.status)
        with_own = share * self.policy.effective_weight(memory, deviation)
        return with_own - share * self.policy.effective_weight(memory, None)

    def _aged_states(self, row: BelievedRow) -> tuple[State, State | None]:
        """The memory's state and this agent's deviation, aged to the moment."""
        if self.past is None:
            memory = State(row.state, row.touched_at)
            known = row.deviation
            deviation = None if known is None else State(known, row.deviation_touched_at)
        else:
            known_then = self.past.memories.get(row.id)
            memory = known_then or self.policy.initial_memory(row.start_weight)
            deviation = self.past.deviations.get((row.id, self.agent_id))
        aged = None if deviation is None else self.policy.age_deviation(deviation, self.as_of)
        return self.policy.age_memory(memory, self.as_of), aged

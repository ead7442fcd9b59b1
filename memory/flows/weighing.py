"""The rows that a retrieval ranks, made ready: their vectors stacked, their weights of that time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast
from uuid import UUID

from memory.domain.bank import Status
from memory.learning.fold import Learned
from memory.learning.policy import Policy
from memory.learning.states import State
from memory.retrieval.head import HeadRow, Stored
from memory.storage.search import Found as Row
from memory.storage.search import Head, Scope

PROBATION = 0.5
"""On probation a memory counts half."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a memory weighs for one agent at one time."""

    effective: float
    ranking: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """Rows with what they weigh; asks that see the same rows at the same time can share it."""

    head: Head
    rows: Mapping[UUID, Row]
    stored: Stored
    weights: Mapping[UUID, Weights]


def weighed(head: Head, scope: Scope, policy: Policy, past: Learned | None) -> Weighed:
    """`past`: the states of the scope's time, where newer ones have been stored since."""
    return Weighed(
        head=head,
        rows={row.id: row for row in head.rows},
        stored=Stored(_vectors(head)),
        weights={row.id: _weights(row, scope, policy, past) for row in head.rows},
    )


def _vectors(head: Head) -> list[HeadRow]:
    return [
        HeadRow(row.id, cast("Literal['situation', 'lesson']", field), vector)
        for row in head.rows
        for field, vector in row.vectors.items()
    ]


def _weights(row: Row, scope: Scope, policy: Policy, past: Learned | None) -> Weights:
    memory, deviation = _states(row, scope, policy, past)
    memory = policy.age_memory(memory, scope.as_of)
    aged = None if deviation is None else policy.age_deviation(deviation, scope.as_of)
    share = PROBATION if row.status == Status.PROBATION else 1.0
    return Weights(
        share * policy.effective_weight(memory, aged), share * policy.ranking_weight(memory, aged)
    )


def _states(
    row: Row, scope: Scope, policy: Policy, past: Learned | None
) -> tuple[State, State | None]:
    """The memory's state and this agent's deviation."""
    if past is not None:
        memory = past.memories.get(row.id) or policy.initial_memory(row.start_weight)
        return memory, past.deviations.get((row.id, scope.agent_id))
    known = row.deviation
    deviation = None if known is None else State(known, row.deviation_touched_at)
    return State(row.state, row.touched_at), deviation

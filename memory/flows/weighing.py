"""The rows that a retrieval ranks, made ready: their vectors stacked, their weights as of then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, cast
from uuid import UUID

import numpy as np

from memory.domain.bank import Status
from memory.learning.fold import Learned
from memory.learning.policy import Policy
from memory.learning.states import State
from memory.retrieval.candidate import Candidate
from memory.retrieval.head import Double, HeadRow, Stored
from memory.retrieval.shortlist import Bank
from memory.storage.search import Found as Row
from memory.storage.search import Head, Scope

PROBATION = 0.5
"""On probation a memory counts half."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """Rows in the order of their ids with what they weigh for one agent at one time.

    All asks of that agent and time that see the same rows can share it.
    """

    head: Head
    rows: Sequence[Row]
    by_id: Mapping[UUID, Row]
    stored: Stored
    bank: Bank


def weighed(head: Head, scope: Scope, policy: Policy, past: Learned | None) -> Weighed:
    """`past`: the states of the scope's time, where newer ones have been stored since."""
    rows = sorted(head.rows, key=attrgetter("id"))
    weights = [_weights(row, scope, policy, past) for row in rows]
    bank = Bank(
        effective=np.array([effective for effective, _ in weights]),
        ranking=np.array([ranking for _, ranking in weights]),
        groups=[row.source_group for row in rows],
        probation=[row.status == Status.PROBATION for row in rows],
    )
    return Weighed(head, rows, {row.id: row for row in rows}, Stored(_vectors(rows)), bank)


def candidates(
    weighed: Weighed,
    places: Sequence[int],
    similarities: Double,
    relevance: Mapping[UUID, float],
) -> tuple[Candidate, ...]:
    """The rows at these places; `relevance` is the reranker's, empty without one."""
    columns = (similarities, weighed.bank.effective, weighed.bank.ranking)
    numbers = zip(places, *(column[list(places)].tolist() for column in columns), strict=True)
    return tuple(
        Candidate(
            id=row.id,
            version=row.version,
            group=row.source_group,
            kind=row.kind,
            similarity=similarity,
            relevance=relevance.get(row.id, similarity) if relevance else similarity,
            effective_weight=effective,
            ranking_weight=ranking,
            learned_at=row.learned_at,
            credited=row.n_credited,
            probation=weighed.bank.probation[place],
        )
        for place, similarity, effective, ranking in numbers
        for row in (weighed.rows[place],)
    )


def _vectors(rows: Sequence[Row]) -> list[HeadRow]:
    return [
        HeadRow(row.id, cast("Literal['situation', 'lesson']", field), vector)
        for row in rows
        for field, vector in row.vectors.items()
    ]


def _weights(row: Row, scope: Scope, policy: Policy, past: Learned | None) -> tuple[float, float]:
    """(effective, ranking)."""
    memory, deviation = _states(row, scope, policy, past)
    memory = policy.age_memory(memory, scope.as_of)
    aged = None if deviation is None else policy.age_deviation(deviation, scope.as_of)
    share = PROBATION if row.status == Status.PROBATION else 1.0
    return (
        share * policy.effective_weight(memory, aged),
        share * policy.ranking_weight(memory, aged),
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

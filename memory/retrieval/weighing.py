"""The rows that a retrieval ranks, made ready: their vectors stacked, their weights as of then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Literal, cast
from uuid import UUID

import numpy as np

from memory.belief.fold import Learned
from memory.belief.policy import Policy
from memory.belief.rankers import Candidate
from memory.belief.state_mapping import PROBATION
from memory.belief.states import State
from memory.memories.entities import Status
from memory.retrieval.head import Double, HeadRow, Stored
from memory.retrieval.selection import Bank
from memory.retrieval.store.search import Found as Row
from memory.retrieval.store.search import Head, Scope


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
    eyes = Eyes(scope.agent_id, scope.as_of, policy, past)
    weights = [_weights(row, eyes) for row in rows]
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


@dataclass(frozen=True, slots=True)
class Eyes:
    """Whose weights are read, as of when, and by which policy; `past` as in `weighed`."""

    agent_id: UUID
    as_of: datetime
    policy: Policy
    past: Learned | None


def deviation_in_weight(row: Row, eyes: Eyes) -> float:
    """What the agent's own record adds to the effective weight."""
    return _effective(row, eyes) - _effective(row, eyes, own=False)


def _effective(row: Row, eyes: Eyes, *, own: bool = True) -> float:
    memory, deviation = _aged(row, eyes)
    return _share(row) * eyes.policy.effective_weight(memory, deviation if own else None)


def _weights(row: Row, eyes: Eyes) -> tuple[float, float]:
    """(effective, ranking)."""
    memory, deviation = _aged(row, eyes)
    ranking = _share(row) * eyes.policy.ranking_weight(memory, deviation)
    return _share(row) * eyes.policy.effective_weight(memory, deviation), ranking


def _share(row: Row) -> float:
    return PROBATION if row.status == Status.PROBATION else 1.0


def _aged(row: Row, eyes: Eyes) -> tuple[State, State | None]:
    """The memory's state and this agent's deviation, aged to the moment."""
    memory, deviation = _states(row, eyes)
    aged = None if deviation is None else eyes.policy.age_deviation(deviation, eyes.as_of)
    return eyes.policy.age_memory(memory, eyes.as_of), aged


def _states(row: Row, eyes: Eyes) -> tuple[State, State | None]:
    if eyes.past is not None:
        memory = eyes.past.memories.get(row.id) or eyes.policy.initial_memory(row.start_weight)
        return memory, eyes.past.deviations.get((row.id, eyes.agent_id))
    known = row.deviation
    deviation = None if known is None else State(known, row.deviation_touched_at)
    return State(row.state, row.touched_at), deviation

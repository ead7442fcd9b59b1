"""The rows that a retrieval ranks, made ready: their vectors stacked, their weights as of then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, cast
from uuid import UUID

import numpy as np

from memory.belief.fold import Learned
from memory.belief.policy import Policy
from memory.belief.rankers import Candidate
from memory.belief.weight_view import WeightView
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
    view = WeightView(scope.agent_id, scope.as_of, policy, past)
    weights = [view.weights(row) for row in rows]
    bank = Bank(
        effective=np.array([weight.effective for weight in weights]),
        ranking=np.array([weight.ranking for weight in weights]),
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

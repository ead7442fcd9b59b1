"""Ranks what a context holds: similarities → weights → strength → ranker → candidates. No I/O.

The paper's rule has neither strength nor guard: it ranks by weight and is followed whole.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, cast
from uuid import UUID

import numpy as np

from memory.belief.fold import Cell, Learned, other_strengths
from memory.belief.guard import feedback_dates, initial_record, probabilities
from memory.belief.policy import Policy, policy_named
from memory.belief.rankers import RANKERS, Candidate, draw_ranker, prior
from memory.belief.states import State
from memory.belief.strength import initial_strength, is_suspended, strength_of
from memory.belief.weight_view import WeightView
from memory.kernel.engine import Engine
from memory.memories.entities import Status
from memory.receipts.entities import Gates
from memory.retrieval.context import Context
from memory.retrieval.head import Double, HeadRow, QueryVector, Stored, ensure_whole, nearest
from memory.retrieval.selection import BankColumns, Selection, shortlist
from memory.retrieval.store.search import FoundRow, Head
from memory.tenancy.entities import Call

UNGUARDED = "weighted/none"
"""What a policy without a guard ranks by."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows in the order of their ids with what they weigh for one agent at one time."""

    rows: Sequence[FoundRow]
    by_id: Mapping[UUID, FoundRow]
    stored: Stored
    bank: BankColumns


@dataclass(frozen=True, slots=True)
class CellStrength:
    """How far memory is followed in a cell, in [0, 1], and whether the cell is suspended."""

    value: float = 1.0
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The ranker that orders, and each ranker's probability: of being drawn, or its share of the
    caller's answer where the caller answers from all of them.
    """

    ranker: str
    rankers: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The head with its weights, and the rules it is selected by.

    `candidates` may be a shortlist of `everyone`, where that is a whole bank.
    """

    context: Context
    view: WeightView
    candidates: tuple[Candidate, ...]
    everyone: Callable[[], tuple[Candidate, ...]]
    rows: Mapping[UUID, FoundRow]
    selection: Selection
    rankers: Mapping[str, float]
    strength: CellStrength


class HeadRanker:
    """Ranks the contexts of one call; rows that several of them share are scored once."""

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._call = call
        self._policy = policy_named(call.namespace.policy)
        self._scored: dict[int, ScoredRows] = {}

    def rank(self, context: Context, relevance: Mapping[UUID, float]) -> Ranking:
        """Weights re-rank the exact head; `relevance` is the reranker's, empty without one."""
        view = WeightView(context.agent.id, context.as_of, self._policy, context.past)
        scored = self._score(context.head, view)
        similarities = scored.stored.similarities(_queries(context))
        head = nearest(similarities, context.head_size)
        ensure_whole(len(head), context.head_size, context.head.matching)
        choice = self._choose_ranker(context)
        selection = Selection(
            k=context.request.k,
            gates=gates(self._engine, self._call, self._policy),
            as_of=context.as_of,
            ranker=choice.ranker,
            slot_probability=self._call.namespace.settings.slot_rate,
        )
        # All rankers need what each would serve, and a reranker's relevance has its own order.
        short = self._policy.whole_bank and not context.request.all_rankers and not relevance
        some = shortlist(scored.bank, similarities, selection) if short else head
        return Ranking(
            context=context,
            view=view,
            candidates=_candidates(scored, some, similarities, relevance),
            everyone=partial(_candidates, scored, head, similarities, relevance),
            rows=scored.by_id,
            selection=selection,
            rankers=choice.rankers,
            strength=self._strength(context),
        )

    def _score(self, head: Head, view: WeightView) -> ScoredRows:
        """A head that contexts share was searched for one agent and time, so by one view."""
        if id(head) not in self._scored:
            self._scored[id(head)] = score_rows(head, view)
        return self._scored[id(head)]

    def _choose_ranker(self, context: Context) -> Choice:
        if not self._policy.guarded:
            return Choice(UNGUARDED, MappingProxyType({UNGUARDED: 1.0}))
        return choose_ranker(context, self._engine.chance, signal=self._call.namespace.signal)

    def _strength(self, context: Context) -> CellStrength:
        if not self._policy.guarded:
            return CellStrength()
        own = context.agent.own_information
        return strength_in(context.states, context.cell, context.as_of, own=own)


def score_rows(head: Head, view: WeightView) -> ScoredRows:
    """The rows made ready: their vectors stacked, their weights as of then."""
    rows = sorted(head.rows, key=attrgetter("id"))
    weights = [view.weights(row) for row in rows]
    bank = BankColumns(
        effective=np.array([weight.effective for weight in weights]),
        ranking=np.array([weight.ranking for weight in weights]),
        groups=[row.source_group for row in rows],
        probation=[row.status == Status.PROBATION for row in rows],
    )
    return ScoredRows(rows, {row.id: row for row in rows}, Stored(_vectors(rows)), bank)


def gates(engine: Engine, call: Call, policy: Policy) -> Gates:
    """Measured for the model unless the namespace sets them; the paper's rule has no raw gate."""
    settings = call.namespace.settings
    measured = engine.model.calibration["q99"]
    raw = 0.0 if policy.whole_bank else measured
    return Gates(
        raw=settings.raw_gate if settings.raw_gate is not None else raw,
        score=settings.score_floor if settings.score_floor is not None else measured,
    )


def choose_ranker(context: Context, chance: random.Random, *, signal: bool) -> Choice:
    """The ranker by its record; drawn, unless the caller answers from each."""
    category = context.category_ids.category
    shares = ranker_shares(context.states.records, category, context.as_of, signal=signal)
    if context.request.all_rankers:
        return Choice(max(RANKERS, key=lambda ranker: shares[ranker]), shares)
    drawn = draw_ranker(shares, chance)
    return Choice(drawn.ranker, drawn.shares)


def ranker_shares(
    records: Mapping[UUID | None, State], category: UUID | None, now: datetime, *, signal: bool
) -> Mapping[str, float]:
    """How far each ranker is believed in a category (None: by the whole namespace's record)."""
    fresh = initial_record(RANKERS)
    record = records.get(category) or fresh
    believed = prior(feedback_dates(record), signal=signal)
    shares = probabilities(
        {ranker: believed[ranker] for ranker in RANKERS},
        fresh if category is None else record,
        records.get(None) or fresh,
        now,
    )
    return MappingProxyType(shares)


def strength_in(states: Learned, cell: Cell, now: datetime, *, own: bool) -> CellStrength:
    """How far memory is followed in a cell; `own`: its agent brings information of its own."""
    state = states.strengths.get(cell) or initial_strength()
    others = other_strengths(states.strengths, *cell)
    value = strength_of(state, others, own_information=own, now=now)
    return CellStrength(value, is_suspended(state))


def _queries(context: Context) -> list[QueryVector]:
    return [
        QueryVector(query.target.value, embedding.vector)
        for query, embedding in zip(context.request.queries, context.vectors, strict=True)
    ]


def _vectors(rows: Sequence[FoundRow]) -> list[HeadRow]:
    return [
        HeadRow(row.id, cast("Literal['situation', 'lesson']", field), vector)
        for row in rows
        for field, vector in row.vectors.items()
    ]


def _candidates(
    scored: ScoredRows,
    places: Sequence[int],
    similarities: Double,
    relevance: Mapping[UUID, float],
) -> tuple[Candidate, ...]:
    """The rows at these places; `relevance` is the reranker's, empty without one."""
    columns = (similarities, scored.bank.effective, scored.bank.ranking)
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
            probation=scored.bank.probation[place],
        )
        for place, similarity, effective, ranking in numbers
        for row in (scored.rows[place],)
    )

"""Ranks what a context holds: similarities → weights → strength → ranker → candidates. No I/O.

The paper's rule has neither strength nor guard: it ranks by weight and is followed whole.
"""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import fsum
from types import MappingProxyType
from uuid import UUID

import numpy as np

from memory.belief.fold import Cell, Learned, other_strengths
from memory.belief.guard import feedback_dates, initial_record, probabilities
from memory.belief.inclusion import Coin, Lift
from memory.belief.policy import Policy, policy_named
from memory.belief.rankers import ASKED, RANKERS, Candidate, draw_ranker, earned, prior
from memory.belief.states import State
from memory.belief.strength import initial_strength, is_suspended, strength_of
from memory.belief.weight_view import Reader, WeightView
from memory.kernel.engine import Engine
from memory.memories.entities import Status, Trust
from memory.receipts.entities import Gates, Purpose
from memory.retrieval.coins import Stake, Tossing, inclusions, is_tossed, toss_all
from memory.retrieval.context import Context
from memory.retrieval.head import Double, QueryVector, Stored, ensure_whole, nearest
from memory.retrieval.selection import BankColumns, Selection, shortlist
from memory.retrieval.store.found_rows import FoundRow
from memory.retrieval.store.search import Head
from memory.retrieval.words import find_best, fuse
from memory.tenancy.entities import ApartTrial, Call
from memory.tenancy.store.namespaces import policy_changed

UNGUARDED = "weighted/none"
"""What a policy without a guard ranks by."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows in the order of their ids with what they weigh for one agent at one time."""

    rows: Sequence[FoundRow]
    by_id: Mapping[UUID, FoundRow]
    stored: Stored
    bank: BankColumns
    lifts: Sequence[Lift | None]
    look_alikes: tuple[str, ...]
    named: frozenset[UUID]
    """Those that hold an identifier of the task."""


@dataclass(frozen=True, slots=True)
class RowNearness:
    """How near the rows are to the task, by place: their cosine, the reranker's opinion where there
    is one, and of a head that words order what it is ordered by.
    """

    similarity: Double
    relevance: Double
    fused: Mapping[int, float] = field(default_factory=dict[int, float])


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

    `found_by`: of several queries, the one that each candidate is nearest to, by its place.
    `candidates` may be a shortlist of `everyone`, where that is a whole bank. `inclusions`: the
    coins of the head before they are tossed; a preview has them too, though it tosses none.
    """

    context: Context
    view: WeightView
    candidates: tuple[Candidate, ...]
    everyone: Callable[[], tuple[Candidate, ...]]
    rows: Mapping[UUID, FoundRow]
    selection: Selection
    rankers: Mapping[str, float]
    strength: CellStrength
    found_by: Mapping[UUID, int]
    tossing: Tossing
    inclusions: Mapping[UUID, Coin]


class HeadRanker:
    """Ranks the contexts of one call; rows that several of them share are scored once."""

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._call = call
        self._policy = policy_named(call.namespace.policy)
        self._scored: dict[tuple[int, bool], ScoredRows] = {}

    def rank(self, context: Context, relevance: Mapping[UUID, float]) -> Ranking:
        """Weights re-rank the exact head; `relevance` is the reranker's, empty without one."""
        reader = Reader(context.agent.id, self._call.key.party_id)
        view = WeightView(reader, context.as_of, self._policy, context.past)
        scored = self._score(context.head, view, prose=context.request.format.is_prose)
        queries = _queries(context)
        similarities = scored.stored.similarities(queries)
        head = nearest(similarities, context.head_size)
        ensure_whole(len(head), context.head_size, context.head.matching)
        lexical = None
        if (words := context.head.words) is not None:
            lexical = words.scores()
            head = list(dict.fromkeys((*head, *find_best(lexical, context.head_size))))
        head = unite(head, scored, context.head.named)
        near = RowNearness(similarities, _relevances(scored, similarities, relevance))
        if lexical is not None:
            near = replace(near, fused=fuse(head, near.relevance, lexical))
        choice = self._choose_ranker(context)
        request, settings = context.request, self._call.namespace.settings
        on = gates(self._engine, self._call, self._policy)
        selection = Selection(
            k=context.k,
            gates=on if request.gates == "on" else Gates(0.0, 0.0),
            as_of=context.as_of,
            ranker=choice.ranker,
            slot_probability=settings.slot_rate if request.explore else 0.0,
        )
        # All rankers need what each would serve, and a reranker's relevance has its own order.
        short = self._policy.whole_bank and not context.request.all_rankers and not relevance
        some = shortlist(scored.bank, similarities, selection) if short else head
        candidates = _candidates(scored, some, near)
        tossing = self._tossing(context, context.retrieval_id)
        coins: Mapping[UUID, Coin] = {}
        if tossing.spent:
            trials = self._call.namespace.apart_trials
            chosen = zip(some, candidates, strict=True)
            coins = _inclusions(dict(chosen), scored, selection, trials)
        if tossing.falls:
            selection = replace(selection, coins=toss_all(coins, tossing))
        return Ranking(
            context=context,
            view=view,
            candidates=candidates,
            everyone=partial(_candidates, scored, head, near),
            rows=scored.by_id,
            selection=selection,
            rankers=choice.rankers,
            strength=self._strength(context),
            found_by=scored.stored.nearest_queries(queries, [one.id for one in candidates]),
            tossing=tossing,
            inclusions=coins,
        )

    def _tossing(self, context: Context, retrieval_id: UUID) -> Tossing:
        """Whether anything is left to coins; of a preview, whether an agent that acted would."""
        request = context.request
        acting = replace(request, purpose=Purpose.ACT) if request.is_preview else request
        whole_bank, namespace = self._policy.whole_bank, self._call.namespace
        return Tossing(
            spent=is_tossed(namespace, acting, whole_bank=whole_bank),
            falls=not request.is_preview,
            secret=namespace.secret,
            about=_name_task(context) or f"retrieval {retrieval_id}",
        )

    def _score(self, head: Head, view: WeightView, *, prose: bool) -> ScoredRows:
        """A head that contexts share was searched for one agent and time, so by one view."""
        key = (id(head), prose)
        if key not in self._scored:
            self._scored[key] = score_rows(head, view, prose=prose)
        return self._scored[key]

    def _choose_ranker(self, context: Context) -> Choice:
        if not self._policy.guarded:
            return Choice(UNGUARDED, MappingProxyType({UNGUARDED: 1.0}))
        return choose_ranker(context, self._engine.chance, signal=self._call.namespace.signal)

    def _strength(self, context: Context) -> CellStrength:
        if not self._policy.guarded:
            return CellStrength()
        own = context.agent.own_information
        return strength_in(context.states, context.cell, context.as_of, own=own)


def _inclusions(
    candidates: Mapping[int, Candidate],
    scored: ScoredRows,
    selection: Selection,
    trials: Mapping[UUID, ApartTrial],
) -> Mapping[UUID, Coin]:
    """The coins of the head, whose candidates come by their places; none by a policy that does not
    say how sure it is.
    """
    stakes: list[Stake] = []
    for place, one in candidates.items():
        row = scored.rows[place]
        if (lift := scored.lifts[place]) is None:
            return {}
        trial = trials.get(one.id)
        apart = trial is not None and trial.is_on(selection.as_of, row.n_absent)
        stakes.append(Stake(one, lift, row.n_absent, row.pinned, apart))
    return inclusions(stakes, selection.gates)


def score_rows(head: Head, view: WeightView, *, prose: bool) -> ScoredRows:
    """The rows made ready: their vectors stacked, their weights as of then."""
    rows = head.rows
    if not view.reads(rows):
        raise policy_changed()
    believed = [view.believe(row) for row in rows]
    weights = [one.weights for one in believed]
    # A literal rule knows neither groups nor copies nor authors: the k of highest score are served.
    literal = view.policy.literal
    look_alikes = tuple("" if literal else row.look_alike(prose=prose) for row in rows)
    bank = BankColumns(
        effective=np.array([weight.effective for weight in weights]),
        ranking=np.array([weight.ranking for weight in weights]),
        groups=[str(row.id) if literal else row.source_group for row in rows],
        probation=[row.status == Status.PROBATION for row in rows],
        alike=not literal and len(set(look_alikes)) < len(rows),
        authors=[None if literal else row.author for row in rows],
    )
    by_id = {row.id: row for row in rows}
    named = frozenset(head.named)
    lifts = [one.lift for one in believed]
    return ScoredRows(rows, by_id, head.stored, bank, lifts, look_alikes, named)


def unite(head: Sequence[int], scored: ScoredRows, named: Collection[UUID]) -> list[int]:
    """The places of the head, and behind them those of the memories that an identifier found."""
    if not named:
        return list(head)
    rest = (place for place, row in enumerate(scored.rows) if row.id in named)
    return list(dict.fromkeys((*head, *rest)))


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
        asked = fsum(shares[ranker] for ranker in ASKED)
        shares = {ranker: shares[ranker] / asked for ranker in ASKED}
        return Choice(max(ASKED, key=lambda ranker: shares[ranker]), MappingProxyType(shares))
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


def _name_task(context: Context) -> str | None:
    """What all retrievals about one task have in common, where the caller names it: the same coins
    fall for all of them, so that none is asked again until its coins please.
    """
    task = context.task
    key = context.request.task.key if context.request.task is not None else None
    if task is not None:
        key = task.key if task.key is not None else str(task.id)
    return None if key is None else f"task {key}"


def _queries(context: Context) -> list[QueryVector]:
    return [
        QueryVector(query.target.value, embedding.vector)
        for query, embedding in zip(context.queries, context.vectors, strict=True)
    ]


def _relevances(
    scored: ScoredRows, similarities: Double, relevance: Mapping[UUID, float]
) -> Double:
    """The reranker's opinion, where there is one; the similarity of what it was not asked about."""
    if not relevance:
        return similarities
    by_place = enumerate(scored.stored.ids)
    return np.array([relevance.get(one, similarities[place]) for place, one in by_place])


def _candidates(
    scored: ScoredRows, places: Sequence[int], near: RowNearness
) -> tuple[Candidate, ...]:
    """The rows at these places."""
    bank = scored.bank
    columns = (near.similarity, near.relevance, bank.effective, bank.ranking)
    numbers = zip(*(column[list(places)].tolist() for column in columns), strict=True)
    return tuple(
        Candidate(
            id=row.id,
            version=row.version,
            group=scored.bank.groups[place],
            kind=row.kind,
            similarity=similarity,
            relevance=relevance,
            effective_weight=effective,
            ranking_weight=ranking,
            learned_at=row.learned_at,
            credited=row.n_credited,
            probation=scored.bank.probation[place],
            look_alike=scored.look_alikes[place],
            trusted=row.trust == Trust.TRUSTED,
            earned=earned(effective, row.start_weight, row.n_credited),
            author=scored.bank.authors[place],
            is_exact=row.id in scored.named,
            fused=near.fused.get(place),
        )
        for place, (similarity, relevance, effective, ranking) in zip(places, numbers, strict=True)
        for row in (scored.rows[place],)
    )

"""Which constraints a task is served: category first, then the tasks they were learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

from memory.belief.inclusion import KEPT, Coin, Footing, inclusion_probability
from memory.belief.weight_view import WeightPair, WeightView, probation_share
from memory.constraints.check_entities import evidence_in
from memory.constraints.entities import DISTILLED, ServedConstraint, origin_of, wording_of
from memory.constraints.store.near import NearConstraint, NearTask
from memory.guidelines.entities import Entry, entry_of
from memory.memories.entities import Kind, Status
from memory.memories.rules import MULTIPLIERS, back_off
from memory.receipts.entities import Gates, Item
from memory.tasks.entities import CategoryName

TASKS = 3
"""So many source tasks contribute."""


EACH = 3
"""So many constraints of one task are served."""


BONUS = 1.1
"""What a constraint counts in whose pairs the reader's own model ran: more, and the others are not
left out, so that a model that nobody contrasted yet is not starved.
"""


_NO_COINS: Mapping[UUID, Coin] = MappingProxyType({})


class Toss(Protocol):
    """Tosses the coin of a memory."""

    def __call__(self, memory_id: UUID, coin: Coin) -> Coin: ...


@dataclass(frozen=True, slots=True)
class SelectedConstraints:
    """The constraints of one retrieval, in one order; `eligible`: some would be served whatever
    their weights.

    `left_out`: contenders that their coins left out. `near`: those of the nearest tasks past the
    raw gate, served or not.
    """

    items: tuple[Item, ...] = ()
    entries: tuple[Entry, ...] = ()
    served: tuple[ServedConstraint, ...] = ()
    eligible: bool = False
    left_out: tuple[Item, ...] = ()
    near: tuple[UUID, ...] = ()


def select_constraints(
    near: Sequence[NearConstraint],
    view: WeightView,
    gates: Gates,
    toss: Toss | None = None,
    *,
    alone: bool = False,
) -> SelectedConstraints:
    """The constraints of the nearest source tasks; their places begin at 1.

    `toss` tosses the coin of a memory, None where the retrieval has none; `alone`: no experience
    stands beside them, so that one alone is certain of its place.
    """
    if not near:
        return SelectedConstraints()
    rows = {row.id: row for row in near}
    weights = {row.id: view.weights(row) for row in near}
    candidates = [_candidate(row, weights[row.id].effective) for row in near]
    held = {row.bucket: row.held for row in near}
    by_flat = choose_constraints(candidates, held, gates, weighted=False)
    certain = alone and len(by_flat.taken) == 1
    coins = _toss_coins(near, view, gates, toss, certain=certain)
    chosen = choose_constraints(candidates, held, gates, coins=coins)
    items = tuple(
        _item(rows[one.candidate.id], one, place, weights[one.candidate.id], coins)
        for place, one in enumerate(chosen.taken, start=1)
    )
    left_out = tuple(
        _item(rows[one.candidate.id], one, place, weights[one.candidate.id], coins)
        for one, place in chosen.left_out
    )
    served = (_serve(rows[item.memory_id]) for item in items)
    return SelectedConstraints(
        items=items,
        entries=tuple(entry_of(rows[item.memory_id], item) for item in items),
        served=tuple(one for one in served if one is not None),
        eligible=bool(by_flat.taken),
        left_out=left_out,
        near=chosen.near,
    )


def _toss_coins(
    near: Sequence[NearConstraint],
    view: WeightView,
    gates: Gates,
    toss: Toss | None,
    *,
    certain: bool,
) -> Mapping[UUID, Coin]:
    """The coin of each constraint, by the rule of all memories (decision 41); none where the
    retrieval has none, or the policy does not say how sure it is.
    """
    coins: dict[UUID, Coin] = {}
    for row in near if toss is not None else ():
        if (lift := view.lift(row)) is None:
            return {}
        weight = view.weights(row).effective / probation_share(row.status)
        relevance = max(_relevance(_candidate(row, weight), s.similarity) for s in row.sources)
        below = weight * relevance < gates.score <= relevance
        if row.pinned or (certain and not below):
            coins[row.id] = KEPT
            continue
        footing = Footing.BELOW if below else Footing.ABOVE
        p = inclusion_probability(lift, footing, served=row.n_credited, absent=row.n_absent)
        assert toss is not None
        coins[row.id] = toss(row.id, Coin(p, left_out=False, footing=footing))
    return coins


@dataclass(frozen=True, slots=True)
class ConstraintCandidate:
    """A constraint under consideration; `bucket` as the ladder counts.

    `participates`: the reader's agent, or one of the same model, ran in one of its pairs.
    `probation`: nobody verified it yet.
    """

    id: UUID
    bucket: int
    sources: tuple[NearTask, ...]
    effective_weight: float = 1.0
    agnostic_score: float = 0.0
    participates: bool = False
    probation: bool = False


def _candidate(row: NearConstraint, effective_weight: float) -> ConstraintCandidate:
    return ConstraintCandidate(
        id=row.id,
        bucket=row.bucket,
        sources=row.sources,
        effective_weight=effective_weight,
        agnostic_score=row.support.agnostic_score,
        participates=row.participates,
        probation=row.status == Status.PROBATION,
    )


@dataclass(frozen=True, slots=True)
class ChosenConstraint:
    """A constraint that is served, and the nearest task by which it was found."""

    candidate: ConstraintCandidate
    task_id: UUID
    similarity: float
    relevance: float

    @property
    def score(self) -> float:
        """Effective weight times relevance, as of other memories."""
        return self.candidate.effective_weight * self.relevance


@dataclass(frozen=True, slots=True)
class ChosenConstraints:
    """Those with a place, those that their coins left out with the place each would have had, and
    all of the nearest tasks.
    """

    taken: tuple[ChosenConstraint, ...]
    left_out: tuple[tuple[ChosenConstraint, int], ...]
    near: tuple[UUID, ...]


def choose_constraints(
    candidates: Sequence[ConstraintCandidate],
    held: Mapping[int, int],
    gates: Gates,
    *,
    weighted: bool = True,
    coins: Mapping[UUID, Coin] = _NO_COINS,
) -> ChosenConstraints:
    """The constraints to serve, those of the nearest task first; at most nine.

    `held` is how many constraints each bucket has. Without `weighted` every weight counts 1, as
    eligibility asks. At most one on probation is served. Whom a coin leaves out, the next replaces.
    """
    opened = back_off(held)
    near = [one for one in candidates if one.bucket in opened]
    taken: dict[UUID, ChosenConstraint] = {}
    left_out: dict[UUID, tuple[ChosenConstraint, int]] = {}
    seen: dict[UUID, None] = {}
    probation = False
    for task_id in _nearest_tasks(near, gates.raw):
        left = EACH
        for one in _of_task(near, task_id):
            candidate = one.candidate
            seen[candidate.id] = None
            coin = coins.get(candidate.id, KEPT)
            barred = not left or candidate.id in taken or candidate.id in left_out
            barred = barred or (probation and candidate.probation)
            score = one.score if weighted else one.relevance
            if barred or (score < gates.score and not coin.below_floor):
                continue
            if coin.left_out:
                left_out[candidate.id] = (one, len(taken) + 1)
                continue
            taken[candidate.id] = one
            probation = probation or candidate.probation
            left -= 1
    return ChosenConstraints(tuple(taken.values()), tuple(left_out.values()), tuple(seen))


def _nearest_tasks(near: Sequence[ConstraintCandidate], gate: float) -> list[UUID]:
    """The tasks that pass the gate, by similarity times what their nearest bucket counts."""
    best: dict[UUID, float] = {}
    for one in near:
        for source in one.sources:
            if source.similarity >= gate:
                counted = source.similarity * MULTIPLIERS[one.bucket]
                best[source.task_id] = max(best.get(source.task_id, 0.0), counted)
    return sorted(best, key=lambda task_id: (-best[task_id], task_id))[:TASKS]


def _of_task(near: Sequence[ConstraintCandidate], task_id: UUID) -> list[ChosenConstraint]:
    """All constraints of a task: the strongest first, then what depends least on who ran it."""
    of_task = [
        ChosenConstraint(one, task_id, source.similarity, _relevance(one, source.similarity))
        for one in near
        for source in one.sources
        if source.task_id == task_id
    ]
    return sorted(of_task, key=_order)


def _order(one: ChosenConstraint) -> tuple[float, float, UUID]:
    candidate = one.candidate
    return (-candidate.effective_weight, -candidate.agnostic_score, candidate.id)


def _relevance(one: ConstraintCandidate, similarity: float) -> float:
    bonus = BONUS if one.participates else 1.0
    return min(1.0, similarity * MULTIPLIERS[one.bucket] * bonus)


def _item(
    row: NearConstraint,
    one: ChosenConstraint,
    place: int,
    weights: WeightPair,
    coins: Mapping[UUID, Coin],
) -> Item:
    coin = coins.get(row.id)
    return Item(
        memory_id=row.id,
        version=row.version,
        rank=place,
        similarity=one.similarity,
        relevance=one.relevance,
        effective_weight=weights.effective,
        ranking_weight=weights.ranking,
        score=one.score,
        scores=None,
        propensity=1.0 if coin is None else coin.p,
        served=False,
        cited=False,
        exploration_slot=False,
        inclusion=None if coin is None else coin.p,
        left_out=coin is not None and coin.left_out,
        contender=coin is not None,
        kind=Kind.CONSTRAINT,
    )


def _serve(row: NearConstraint) -> ServedConstraint | None:
    """Its content; None where it was erased."""
    wording = wording_of(row.detail)
    if wording is None:
        return None
    evidence = evidence_in(row.detail)
    return ServedConstraint(
        memory_id=row.id,
        wording=wording,
        origin=origin_of(row.detail, otherwise=DISTILLED),
        support=row.support,
        task_ids=tuple(source.task_id for source in row.sources),
        agent=row.agent,
        category=CategoryName(row.category, row.subcategory),
        learned_at=row.learned_at,
        evidence=None if evidence is None else evidence.words,
    )

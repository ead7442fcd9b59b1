"""Which constraints bind a task: category first, then the tasks they were learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.belief.weight_view import WeightPair, WeightView
from memory.constraints.entities import DISTILLED, ServedConstraint, wording_of
from memory.constraints.store.near import Binding
from memory.guidelines.entities import Entry, entry_of
from memory.memories.entities import Kind, Status
from memory.memories.rules import MULTIPLIERS, back_off
from memory.receipts.entities import Gates, Item
from memory.tasks.entities import CategoryName


@dataclass(frozen=True, slots=True)
class Bindings:
    """The constraints of one retrieval, in one order; `eligible`: some would be served whatever
    their weights.
    """

    items: tuple[Item, ...] = ()
    entries: tuple[Entry, ...] = ()
    served: tuple[ServedConstraint, ...] = ()
    eligible: bool = False


def bindings(found: Sequence[Binding], view: WeightView, gates: Gates) -> Bindings:
    """The constraints of the nearest source tasks; their places begin at 1."""
    if not found:
        return Bindings()
    rows = {row.id: row for row in found}
    weights = {row.id: view.weights(row) for row in found}
    sourced = [_sourced(row, weights[row.id].effective) for row in found]
    held = {row.bucket: row.held for row in found}
    chosen = binding(sourced, held, gates)
    items = tuple(
        _item(rows[one.constraint.id], one, place, weights[one.constraint.id])
        for place, one in enumerate(chosen, start=1)
    )
    return Bindings(
        items=items,
        entries=tuple(entry_of(rows[item.memory_id], item) for item in items),
        served=tuple(one for item in items if (one := _served(rows[item.memory_id])) is not None),
        eligible=bool(binding(sourced, held, gates, weighted=False)),
    )


@dataclass(frozen=True, slots=True)
class Source:
    """A task that a constraint was learned from, and how similar it is to the one asked about."""

    task_id: UUID
    similarity: float


@dataclass(frozen=True, slots=True)
class Sourced:
    """A constraint under consideration; `bucket` as the ladder counts.

    `participates`: the reader's agent, or one of the same model, ran in one of its pairs.
    `probation`: nobody verified it yet.
    """

    id: UUID
    bucket: int
    sources: tuple[Source, ...]
    effective_weight: float = 1.0
    agnostic_score: float = 0.0
    participates: bool = False
    probation: bool = False


def _sourced(row: Binding, effective: float) -> Sourced:
    return Sourced(
        id=row.id,
        bucket=row.bucket,
        sources=tuple(Source(*source) for source in row.sources),
        effective_weight=effective,
        agnostic_score=row.support.agnostic_score,
        participates=row.participates,
        probation=row.status == Status.PROBATION,
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """A constraint that is served, and the nearest task by which it was found."""

    constraint: Sourced
    task_id: UUID
    similarity: float
    relevance: float

    @property
    def score(self) -> float:
        """Effective weight times relevance, as of other memories."""
        return self.constraint.effective_weight * self.relevance


def _item(row: Binding, one: Bound, place: int, weights: WeightPair) -> Item:
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
        propensity=1.0,
        served=False,
        cited=False,
        exploration_slot=False,
        kind=Kind.CONSTRAINT,
    )


def _served(row: Binding) -> ServedConstraint | None:
    wording = wording_of(row.detail)
    if wording is None:
        return None
    return ServedConstraint(
        memory_id=row.id,
        wording=wording,
        origin=str(row.detail.get("origin", DISTILLED)),
        support=row.support,
        task_ids=tuple(task_id for task_id, _ in row.sources),
        agent=row.agent,
        category=CategoryName(row.category, row.subcategory),
        learned_at=row.learned_at,
    )


TASKS = 3
"""So many source tasks contribute."""


EACH = 3
"""So many constraints of one task are served."""


BONUS = 1.1
"""What a constraint counts in whose pairs the reader's own model ran: more, and the others are not
left out, so that a model that nobody contrasted yet is not starved.
"""


def binding(
    constraints: Sequence[Sourced], held: Mapping[int, int], gates: Gates, *, weighted: bool = True
) -> tuple[Bound, ...]:
    """The constraints to serve, those of the nearest task first; at most nine.

    `held` is how many constraints each bucket has. Without `weighted` every weight counts 1, as
    eligibility asks. At most one on probation is served.
    """
    opened = back_off(held)
    near = [one for one in constraints if one.bucket in opened]
    taken: dict[UUID, Bound] = {}
    probation = False
    for task_id in _nearest_tasks(near, gates.raw):
        left = EACH
        for one in _of_task(near, task_id):
            barred = not left or one.constraint.id in taken
            barred = barred or (probation and one.constraint.probation)
            score = one.score if weighted else one.relevance
            if not barred and score >= gates.score:
                taken[one.constraint.id] = one
                probation = probation or one.constraint.probation
                left -= 1
    return tuple(taken.values())


def _nearest_tasks(near: Sequence[Sourced], gate: float) -> list[UUID]:
    """The tasks that pass the gate, by similarity times what their nearest bucket counts."""
    best: dict[UUID, float] = {}
    for one in near:
        for source in one.sources:
            if source.similarity >= gate:
                counted = source.similarity * MULTIPLIERS[one.bucket]
                best[source.task_id] = max(best.get(source.task_id, 0.0), counted)
    return sorted(best, key=lambda task_id: (-best[task_id], task_id))[:TASKS]


def _of_task(near: Sequence[Sourced], task_id: UUID) -> list[Bound]:
    """All constraints of a task: the strongest first, then what depends least on who ran it."""
    found = [
        Bound(one, task_id, source.similarity, _relevance(one, source.similarity))
        for one in near
        for source in one.sources
        if source.task_id == task_id
    ]
    return sorted(found, key=_standing)


def _standing(one: Bound) -> tuple[float, float, UUID]:
    constraint = one.constraint
    return (-constraint.effective_weight, -constraint.agnostic_score, constraint.id)


def _relevance(one: Sourced, similarity: float) -> float:
    bonus = BONUS if one.participates else 1.0
    return min(1.0, similarity * MULTIPLIERS[one.bucket] * bonus)

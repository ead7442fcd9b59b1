"""Which constraints a retrieval serves, as the receipt, the compiler and the caller have them."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.domain.access import Call
from memory.domain.bank import Kind, Status, Trust
from memory.domain.binding import ServedConstraint
from memory.domain.constraint import DISTILLED, wording_of
from memory.domain.loop import Item
from memory.domain.task import CategoryName
from memory.flows.guidance import PROBATION, View, states_of
from memory.guideline.directives import sign_of
from memory.guideline.entry import Entry
from memory.learning.policy import Policy, policy_named
from memory.retrieval.constraints import Bound, Source, Sourced, binding
from memory.retrieval.selection import Gates
from memory.storage.binding import Binding
from memory.storage.search import Found as Row


@dataclass(frozen=True, slots=True)
class Bindings:
    """The constraints of one retrieval, in one order; `eligible`: some would be served whatever
    their weights.
    """

    items: tuple[Item, ...] = ()
    entries: tuple[Entry, ...] = ()
    served: tuple[ServedConstraint, ...] = ()
    eligible: bool = False


def bindings(call: Call, found: Sequence[Binding], view: View, gates: Gates) -> Bindings:
    """The constraints of the nearest source tasks; they take their places from `view.place` on."""
    if not found:
        return Bindings()
    policy = policy_named(call.namespace.policy)
    rows = {row.id: row for row in found}
    weights = {row.id: _weights(policy, row, view) for row in found}
    sourced = [_sourced(row, weights[row.id][0]) for row in found]
    held = {row.bucket: row.held for row in found}
    chosen = binding(sourced, held, gates)
    items = tuple(
        _item(rows[one.constraint.id], one, view.place + i, weights[one.constraint.id])
        for i, one in enumerate(chosen)
    )
    return Bindings(
        items=items,
        entries=tuple(entry_of(rows[item.memory_id], item) for item in items),
        served=tuple(one for item in items if (one := _served(rows[item.memory_id])) is not None),
        eligible=bool(binding(sourced, held, gates, weighted=False)),
    )


def _weights(policy: Policy, row: Binding, view: View) -> tuple[float, float]:
    """(effective, ranking)."""
    memory, deviation = states_of(policy, row, view)
    share = PROBATION if row.status == Status.PROBATION else 1.0
    return (
        share * policy.effective_weight(memory, deviation),
        share * policy.ranking_weight(memory, deviation),
    )


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


def _item(row: Binding, one: Bound, place: int, weights: tuple[float, float]) -> Item:
    return Item(
        memory_id=row.id,
        version=row.version,
        rank=place,
        similarity=one.similarity,
        relevance=one.relevance,
        effective_weight=weights[0],
        ranking_weight=weights[1],
        score=one.score,
        scores=None,
        propensity=1.0,
        served=False,
        cited=False,
        slot=False,
        kind=Kind.CONSTRAINT,
    )


def entry_of(row: Binding | Row, item: Item) -> Entry:
    """A memory of either kind as the compiler needs it, with the numbers it was chosen by."""
    return Entry(
        id=row.id,
        kind=item.kind,
        situation=row.situation,
        lesson=row.lesson,
        author=row.agent,
        score=item.score,
        effective_weight=item.effective_weight,
        trust=Trust(row.trust),
        learned_at=row.learned_at,
        category=row.category,
        rank=item.rank,
        sign=sign_of(item.effective_weight, row.n_credited),
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

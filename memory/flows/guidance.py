"""Which meta-guideline a guideline is compiled by: at most one, by weight and similarity."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.access import Call
from memory.domain.bank import Kind, Status, Trust
from memory.domain.guidance import Directives, ServedGuidance
from memory.domain.loop import Ask, Format, Item
from memory.domain.task import CategoryName
from memory.guideline.entry import Guidance
from memory.learning.fold import Learned
from memory.learning.policy import Policy, policy_named
from memory.learning.states import State
from memory.retrieval.backing_off import MULTIPLIERS, back_off
from memory.storage.binding import Binding
from memory.storage.database import Connection
from memory.storage.guidance import GuidanceStore, Guide, Near

PROBATION = 0.5
"""On probation a memory counts half."""


@dataclass(frozen=True, slots=True)
class View:
    """Who asks, in which category and at what time; the raw gate; the place in the receipt."""

    agent_id: UUID
    category: CategoryName
    as_of: datetime
    past: Learned | None
    gate: float
    place: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The meta-guideline of one retrieval: as the receipt, the compiler and the caller have it."""

    item: Item
    guidance: Guidance
    served: ServedGuidance


def wanted(call: Call, ask: Ask) -> bool:
    """Only a compiled guideline has a use for one: data and rivals are served as they are."""
    return (
        call.namespace.settings.meta_guidelines
        and ask.format is Format.GUIDELINE
        and not ask.rivals
        and ask.max_tokens > 0
    )


async def look(connection: Connection, call: Call, ask: Ask, near: Near) -> tuple[Guide, ...]:
    """The meta-guidelines among which one may be chosen."""
    if not wanted(call, ask):
        return ()
    return tuple(await GuidanceStore(connection, call.namespace.id).near(near))


def choose(call: Call, guides: Sequence[Guide], view: View) -> Chosen | None:
    """The largest of effective weight times similarity times what its bucket counts, ties by id;
    None where none passes the raw gate, for then nothing is like enough to the task.
    """
    policy = policy_named(call.namespace.policy)
    opened = back_off({guide.bucket: guide.held for guide in guides})
    near = [g for g in guides if g.bucket in opened and g.similarity >= view.gate]
    items = {guide.id: _item(policy, guide, view) for guide in near}
    if not items:
        return None
    best = min(
        items.values(), key=lambda item: (-item.score, -item.effective_weight, item.memory_id)
    )
    [guide] = [guide for guide in near if guide.id == best.memory_id]
    return Chosen(best, _guidance(guide, best, view), _served(guide))


def _item(policy: Policy, guide: Guide, view: View) -> Item:
    memory, deviation = states_of(policy, guide, view)
    share = PROBATION if guide.status == Status.PROBATION else 1.0
    effective = share * policy.effective_weight(memory, deviation)
    relevance = guide.similarity * MULTIPLIERS[guide.bucket]
    return Item(
        memory_id=guide.id,
        version=guide.version,
        rank=view.place,
        similarity=guide.similarity,
        relevance=relevance,
        effective_weight=effective,
        ranking_weight=share * policy.ranking_weight(memory, deviation),
        score=effective * relevance,
        scores=None,
        propensity=1.0,
        served=False,
        cited=False,
        slot=False,
        kind=Kind.META_GUIDELINE,
    )


def states_of(policy: Policy, row: Guide | Binding, view: View) -> tuple[State, State | None]:
    """The states of a memory and of this agent's deviation, aged to the time of the retrieval."""
    if view.past is None:
        memory = State(row.state, row.touched_at)
        known = row.deviation
        deviation = None if known is None else State(known, row.deviation_touched_at)
    else:
        memory = view.past.memories.get(row.id) or policy.initial_memory(row.start_weight)
        deviation = view.past.deviations.get((row.id, view.agent_id))
    aged = None if deviation is None else policy.age_deviation(deviation, view.as_of)
    return policy.age_memory(memory, view.as_of), aged


def _guidance(guide: Guide, item: Item, view: View) -> Guidance:
    return Guidance(
        id=guide.id,
        instruction=guide.instruction,
        author=guide.agent,
        effective_weight=item.effective_weight,
        trust=Trust(guide.trust),
        learned_at=guide.learned_at,
        directives=Directives.read(guide.detail),
        category=view.category.name,
    )


def _served(guide: Guide) -> ServedGuidance:
    return ServedGuidance(
        memory_id=guide.id,
        failure_reason=guide.failure_reason,
        instruction=guide.instruction,
        directives=Directives.read(guide.detail),
        agent=guide.agent,
        category=CategoryName(guide.category, guide.subcategory),
        learned_at=guide.learned_at,
    )

"""The bank of constraints: a caller brings one, people read them, stop them and bring them back."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.constraints.admission import (
    AdmissionResult,
    ConstraintAdmission,
    NewConstraint,
    admit_constraints,
    embed_constraints,
    manager_word,
)
from memory.constraints.check_entities import evidence_in
from memory.constraints.contradictions import ChangeContext, settle
from memory.constraints.entities import (
    WRITTEN,
    AddedConstraint,
    Constraint,
    ConstraintDraft,
    Support,
    SupportCounts,
    Wording,
    origin_of,
    wording_of,
)
from memory.constraints.lint import lint, literals_of
from memory.constraints.store.support import SupportStore
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.entities import (
    Kind,
    Memory,
    MemoryFilter,
    Status,
    Trust,
    Viewer,
    Visibility,
)
from memory.memories.rules import require_start_weight
from memory.memories.service import get_memory, hide_private, list_memories
from memory.memories.store.queries import MemoryReader
from memory.tasks.entities import OWN_NAMES, CategoryIds, Task
from memory.tasks.service import NameResolver
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore


async def add_constraint(engine: Engine, call: Call, draft: ConstraintDraft) -> AddedConstraint:
    """A caller's own: who manages vouches for it; an agent's is its own until others' runs say the
    same. What fails the lint is kept, and used by no one.
    """
    call.key.require(Act.REMEMBER)
    call.key.require_agent(draft.agent)
    require_start_weight(call.key, draft.weight)
    require_model(engine, call.namespace)
    learned_at = call.namespace.known_at(draft.learned_at, call.now, "learned_at")
    async with engine.database.transaction(call.namespace.id) as connection:
        new = await _resolve_names(connection, call, draft, learned_at)
    ready = await embed_constraints(engine, call.namespace, [new])
    async with engine.database.effect(call.namespace.id) as connection:
        model_id = await adopt_model(connection, engine, call.namespace)
        [result] = await admit_constraints(
            connection, call.namespace, ready, model_id=model_id, now=call.now
        )
        if new.is_word and result.outcome != "rejected":
            event = AuditEvent("constraint.vouch", str(result.memory_id), {"reason": None})
            await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await _answer(connection, call, new, result)


async def vouch_for(engine: Engine, call: Call, memory_id: UUID, reason: str | None) -> Constraint:
    """A manager says that a proposal holds for all, who see it from now on. Raises Conflict for
    anything else, and where another says the same.
    """
    call.key.require(Act.MANAGE)
    known = await get_constraint(engine, call, memory_id)
    if known.status is not Status.PROPOSED or known.trust is Trust.QUARANTINED:
        state = known.trust if known.trust is Trust.QUARANTINED else known.status
        raise Conflict(f"the constraint is {state}", code="status_conflict", field="id")
    async with engine.database.transaction(call.namespace.id) as connection:
        await NamespaceStore(connection).bump(call.namespace, steps=0)
        context = ChangeContext(connection, call.namespace, call.key.id, call.now)
        admission = None
        if known.visibility is Visibility.AGENT:
            admission = ConstraintAdmission(context, require_model(engine, call.namespace))
        place = await _open_up(admission, memory_id) if admission else None
        agent = await ActorStore(connection, call.namespace.id).get_agent(known.agent)
        word = manager_word(call, memory_id, known.task_ids[0], agent.id)
        await SupportStore(connection, call.namespace.id).add(word)
        await settle(context, [memory_id])
        if admission is not None and place is not None:
            wording = Wording(known.trigger, known.enforce, known.avoid)
            await admission.compare(memory_id, place, wording)
        event = AuditEvent("constraint.vouch", str(memory_id), {"reason": reason})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return await get_constraint(engine, call, memory_id)


async def _open_up(admission: ConstraintAdmission, memory_id: UUID) -> CategoryIds:
    place = await admission.open_up(memory_id)
    if place is None:
        raise Conflict(
            "another constraint that all agents see says the same",
            code="memory_exists",
            field="id",
        )
    return place


async def _resolve_names(
    connection: Connection, call: Call, draft: ConstraintDraft, learned_at: datetime
) -> NewConstraint:
    """Names become ids: the agent, the source task, the category; and the wording is linted."""
    names = NameResolver(connection, call)
    await names.ensure_agent(draft.agent)
    if draft.task is not None:
        task, _ = await names.ensure_task(draft.task, learned_at)
    else:
        assert draft.task_id is not None
        task = await TaskStore(connection, call.namespace.id).get(draft.task_id)
    ids = task.category_ids
    category = draft.category_name
    manages = call.key.may(Act.MANAGE)
    return NewConstraint(
        wording=draft.wording,
        category_ids=ids if category is None else await names.ensure_category(category),
        task_id=task.id,
        lint=await _lint(connection, call, draft, task),
        contrast=None,
        pair=None,
        origin=WRITTEN,
        agent=draft.agent,
        counts=manages,
        learned_at=learned_at,
        weight=draft.weight,
        trust=Trust.TRUSTED if manages else Trust.UNVERIFIED,
        visibility=Visibility.NAMESPACE if manages else Visibility.AGENT,
        binds_author=call.key.sees_private(draft.agent),
        key_id=call.key.id,
        metadata=draft.metadata,
    )


async def _lint(
    connection: Connection, call: Call, draft: ConstraintDraft, task: Task
) -> tuple[str, ...]:
    """Why the wording may not be served."""
    agents = await ActorStore(connection, call.namespace.id).every_agent()
    named = [agent.name for agent in agents if agent.name not in OWN_NAMES]
    # A person may say what to avoid alone, as two wrong runs do.
    required = draft.wording.avoid is None
    return await asyncio.to_thread(
        lambda: lint(draft.wording, literals_of(task.text), named, enforce_required=required)
    )


async def _answer(
    connection: Connection, call: Call, new: NewConstraint, result: AdmissionResult
) -> AddedConstraint:
    """As it stands now; without its id where it was there and this key may not read it."""
    agent = await ActorStore(connection, call.namespace.id).get_agent(new.agent)
    reader = MemoryReader(connection, call.namespace.id, Viewer((agent.id,)))
    memory = await reader.get(result.memory_id)
    known = await NamespaceStore(connection).get(call.namespace.id)
    made = AddedConstraint(
        id=memory.id,
        version=memory.version,
        deduplicated=result.outcome == "merged",
        bank_version=known.bank_version,
        memory_status=memory.status,
        lint=new.lint,
    )
    return await hide_private(connection, call, made)


async def get_constraint(engine: Engine, call: Call, memory_id: UUID) -> Constraint:
    """The constraint as it stands. Raises NotFound for a memory of another kind."""
    memory = await get_memory(engine, call, memory_id)
    if memory.kind is not Kind.CONSTRAINT:
        raise NotFound(f"no such constraint: {memory_id}", code="memory_not_found", field="id")
    return (await with_support(engine, call, [memory]))[0]


async def list_constraints(
    engine: Engine, call: Call, wanted: MemoryFilter, page: Page
) -> Listed[Constraint]:
    """Oldest first."""
    memories = await list_memories(engine, call, replace(wanted, kind=Kind.CONSTRAINT), page)
    constraints = await with_support(engine, call, memories.items)
    return Listed(constraints, memories.total, memories.next)


async def with_support(engine: Engine, call: Call, memories: Sequence[Memory]) -> list[Constraint]:
    """Each with what speaks for it."""
    ids = [memory.id for memory in memories]
    async with engine.database.transaction(call.namespace.id) as connection:
        store = SupportStore(connection, call.namespace.id)
        counts, tasks = await store.counts(ids), await store.tasks_of(ids)
    return [
        _to_constraint(
            memory, counts.get(memory.id, SupportCounts()), task_ids=tasks.get(memory.id, [])
        )
        for memory in memories
    ]


def _to_constraint(memory: Memory, support: SupportCounts, *, task_ids: list[UUID]) -> Constraint:
    wording, lint = wording_of(memory.detail), memory.detail.get("lint")
    return Constraint(
        id=memory.id,
        origin=origin_of(memory.detail, otherwise=WRITTEN),
        status=memory.status,
        status_reason=memory.status_reason,
        trust=memory.trust,
        visibility=memory.visibility,
        pinned=memory.pinned,
        agent=memory.agent,
        category=memory.category,
        subcategory=memory.subcategory,
        trigger=wording.trigger if wording else "",
        enforce=wording.enforce if wording else None,
        avoid=wording.avoid if wording else None,
        lint=[str(reason) for reason in lint] if isinstance(lint, list) else [],
        support=support,
        check=evidence_in(memory.detail),
        task_ids=task_ids,
        metadata=memory.metadata,
        version=memory.version,
        evidence=memory.evidence,
        effective_weight=memory.effective_weight,
        learned_at=memory.learned_at,
        recorded_at=memory.recorded_at,
        bank_version=memory.bank_version,
    )


async def list_support(engine: Engine, call: Call, memory_id: UUID, page: Page) -> Listed[Support]:
    """The contrasts and words that a constraint rests on, oldest first."""
    await get_constraint(engine, call, memory_id)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await SupportStore(connection, call.namespace.id).browse(memory_id, page)

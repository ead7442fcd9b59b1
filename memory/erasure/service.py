"""Text and vectors go wherever they are kept, and numbers stay: find whose text it is → lock, in
one order → blank → weaken what rested on it → audit. A preview does the same and takes it back.
"""

from dataclasses import asdict, replace
from uuid import UUID

from memory.constraints.contradictions import ChangeContext, settle
from memory.erasure.entities import MAX_REACHED, Erased, ErasedCounts, Erasure, ErasureReach
from memory.erasure.store.erasures import ErasurePreviewStore, ErasureStore, ErasureTargets
from memory.inference.store import ModelStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.memories.service import hide_private, viewer
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.memories.store.queries import MemoryReader
from memory.receipts.store.blanking import BlankingStore, ReceiptWords
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.verification.changeset_applying import drop
from memory.verification.store.changesets import ChangesetStore
from memory.verification.store.tickets import TicketStore


async def erase(engine: Engine, call: Call, erasure: Erasure) -> Erased:
    """Text and vectors go, with every served line and stored answer that carries them."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        counts = await _erase(connection, call, erasure)
    engine.recent_answers.forget(call.namespace.id)
    return Erased(counts)


async def preview_erasure(engine: Engine, call: Call, erasure: Erasure) -> Erased:
    """The counts the erasure would answer with, what it would reach, and what rests on that.

    Its locks are held as long as the erasure itself would hold them.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        targets = await _find_targets(connection, call.namespace.id, erasure)
        preview = ErasurePreviewStore(connection, call.namespace.id)
        receipts = await preview.list_receipts(targets)
        derived = await preview.list_derived(targets)
        savepoint = await connection.begin_nested()
        counts = await _erase(connection, call, erasure)
        await savepoint.rollback()
        reach = ErasureReach(targets.memory_ids[:MAX_REACHED], receipts, derived)
        reach = await hide_private(connection, call, reach)
    return Erased(counts, dry_run=True, reach=reach)


async def _find_targets(
    connection: Connection, namespace_id: UUID, erasure: Erasure
) -> ErasureTargets:
    """Whose text would go, with the memories that a model made of several failures of which one is
    among them.
    """
    targets = await ErasureStore(connection, namespace_id).find_targets(erasure)
    whose = {"task": erasure.task_id, "agent": erasure.agent, "key": erasure.key_id}
    resting = await ChangesetStore(connection, namespace_id).resting_on(whose)
    more = {one: status for one, status in resting.items() if one not in targets.memory_ids}
    living = sum(status not in ("retired", "rejected") for status in more.values())
    ids = tuple(sorted({*targets.memory_ids, *more}))
    return replace(targets, memory_ids=ids, living=targets.living + living)


async def _erase(connection: Connection, call: Call, erasure: Erasure) -> ErasedCounts:
    """Inside the caller's transaction."""
    namespace_id = call.namespace.id
    store = ErasureStore(connection, namespace_id)
    # Nobody makes a vector of words that are about to go.
    await ModelStore(connection).hold_vectors_alone(namespace_id)
    targets = await _find_targets(connection, namespace_id, erasure)
    if erasure.memory_id is not None and not targets.memory_ids:
        seen = await viewer(connection, call)
        await MemoryReader(connection, namespace_id, seen).get(erasure.memory_id)
    # Before the version is taken: whoever ends a ticket locks it first, too.
    tickets = await TicketStore(connection, namespace_id).blank(targets.memory_ids, call.now)
    await store.blank_lessons(erasure, targets.memory_ids)
    await store.hold_receipts(targets.memory_ids)
    version = await NamespaceStore(connection).bump(call.namespace, memories=-targets.living)
    await store.hold_memories(targets.memory_ids)
    versions, embeddings = await store.blank_memories(targets.memory_ids, call.now)
    lines = await store.blank_lines(targets.memory_ids)
    tasks = await store.blank_tasks(targets.task_ids, call.now)
    runs = await store.blank_runs(erasure, targets, call.now)
    weakened = await store.blank_contrasts(erasure, targets.task_ids, runs)
    llm_calls = await store.blank_llm_calls(erasure, targets, call.now)
    await store.blank_rationales(erasure, targets.task_ids)
    words = ReceiptWords(targets.task_ids, targets.memory_ids, erasure.agent, erasure.key_id)
    await BlankingStore(connection, namespace_id).blank_words(words)
    decided = await store.blank_resolutions(targets.memory_ids, erasure.key_id)
    subjects = [str(one) for one in (*targets.memory_ids, *tickets, *decided)]
    await CallStore(connection).blank_reasons(namespace_id, subjects, erasure.key_id)
    await CentroidStore(connection, namespace_id).recount()
    context = ChangeContext(connection, call.namespace, call.key.id, call.now)
    await settle(context, weakened)
    stamp = Stamp(call.key.id, call.now, version)
    await drop(connection, namespace_id, tickets, stamp)
    await MemoryStore(connection, namespace_id).feed(stamp, "erased", targets.memory_ids)
    memories = len(targets.memory_ids)
    counts = ErasedCounts(memories, versions, embeddings, lines, tasks, llm_calls, len(runs))
    await _record(connection, call, erasure, counts)
    return counts


async def _record(
    connection: Connection, call: Call, erasure: Erasure, counts: ErasedCounts
) -> None:
    """Stored answers may carry the text, so they go; the audit trail holds numbers alone."""
    calls = CallStore(connection)
    await calls.blank(call.namespace.id)
    event = AuditEvent("erase", erasure.subject, asdict(counts))
    await calls.record(event, call.key.id, call.namespace.id, call.now)

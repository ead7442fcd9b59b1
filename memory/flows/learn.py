"""Outcomes move states: pending outcomes → fold, one by one, in order → states, ledger, bank
version.

One transaction at a time holds a namespace's state lock, reads what its outcomes touch, folds, and
writes; so each outcome is applied exactly once, in the same order, whatever number of processes
run.
"""

from datetime import datetime
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.loop import Applied
from memory.engine import Engine
from memory.flows.lesson import Lesson, read, steps_of, stored
from memory.learning.states import Evidence
from memory.storage.actors import ActorStore
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore, Step
from memory.storage.namespaces import NamespaceStore
from memory.storage.outcomes import Decision, OutcomeStore
from memory.storage.receipts import ReceiptStore
from memory.storage.states import StateStore
from memory.storage.work import Leadership, WorkStore

BATCH = 128
"""Outcomes in one transaction: enough to be quick, few enough to let others in between."""


async def apply_now(engine: Engine, call: Call) -> Applied:
    """Apply whatever is pending in this namespace, and say which bank came of it."""
    call.key.require(Act.REPORT)
    applied = await drain(engine, call.namespace.id, call.now, None)
    async with engine.database.transaction(call.namespace.id) as connection:
        namespace = await NamespaceStore(connection).get(call.namespace.id)
        pending = await OutcomeStore(connection, call.namespace.id).count_pending()
    return Applied(namespace.bank_version, applied, pending)


async def drain(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> int:
    """Apply pending outcomes until none is left; returns how many. A leader's term is checked."""
    applied = 0
    while True:
        done = await _apply_batch(engine, namespace_id, now, leadership)
        applied += done
        if not done:
            return applied


async def _apply_batch(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> int:
    async with engine.database.transaction(namespace_id) as connection:
        if leadership is not None:
            await WorkStore(connection).guard(leadership)
        await StateStore(connection, namespace_id).lock()
        pending = await OutcomeStore(connection, namespace_id).pending(BATCH)
        if not pending:
            return 0
        bindings = await ReceiptStore(connection, namespace_id).bindings(
            [one.outcome.retrieval_id for one in pending]
        )
        touched = [memory for binding in bindings.values() for memory in binding.cited]
        sheet = await StateStore(connection, namespace_id).load(touched)
        lesson = Lesson(await NamespaceStore(connection).get(namespace_id), read(sheet), bindings)
        for one in pending:
            lesson.learn(one)
        await _write(connection, lesson, now)
        return len(pending)


async def _write(connection: Connection, lesson: Lesson, now: datetime) -> None:
    """States, counts, rulings and ledger, all or none; the version is taken as late as possible."""
    namespace_id = lesson.namespace.id
    states = StateStore(connection, namespace_id)
    actors = ActorStore(connection, namespace_id)
    for category_id, (metric, kind) in sorted(lesson.metrics.items()):
        await actors.fix_metric(category_id, metric, kind)
    first = 0
    if lesson.moves:
        last = await NamespaceStore(connection).bump(namespace_id, steps=len(lesson.moves))
        first = last - len(lesson.moves) + 1
        await _write_states(states, lesson)
    versions = {move.outcome.id: first + i for i, move in enumerate(lesson.moves)}
    steps: list[Step] = []
    for move in lesson.moves:
        steps.extend(steps_of(move, lesson.policy, versions[move.outcome.id]))
    await LedgerStore(connection, namespace_id).append(steps, lesson.policy.name, now)
    await OutcomeStore(connection, namespace_id).decide(
        [
            Decision(
                outcome_id=ruling.outcome.id,
                status="ignored" if ruling.evidence is Evidence.NONE else "applied",
                evidence=ruling.evidence.value,
                reason=ruling.reason,
                bank_version=versions.get(ruling.outcome.id),
            )
            for ruling in lesson.rulings
        ],
        now,
    )
    newest = max(ruling.outcome.known_at for ruling in lesson.rulings)
    await NamespaceStore(connection).saw(namespace_id, newest)


async def _write_states(store: StateStore, lesson: Lesson) -> None:
    """The last state of each subject that any move changed."""
    last = lesson.states
    memories = {m for move in lesson.moves for m in move.after.memories}
    deviations = {d for move in lesson.moves for d in move.after.deviations}
    cells = {(move.entry.agent, move.entry.category) for move in lesson.moves}
    kinds = {move.entry.reward_kind for move in lesson.moves}
    await store.save_memories({key: stored(last.memories[key]) for key in memories})
    await store.save_deviations({key: stored(last.deviations[key]) for key in deviations})
    await store.save_cells(
        {key: stored(last.cells[key]) for key in cells if key in last.cells}, lesson.controls
    )
    await store.save_noise({key: stored(last.noises[key]) for key in kinds if key in last.noises})
    await store.count(lesson.counts)

"""Outcomes move states: pending outcomes → fold, one by one, in order → states, ledger, bank
version.

One transaction at a time holds a namespace's state lock, reads what its outcomes touch, folds, and
writes; so each outcome is applied exactly once, in the same order, whatever number of processes
run.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.loop import Applied
from memory.engine import Engine
from memory.flows.correction import take_back
from memory.flows.lesson import Lesson, Move
from memory.flows.sheets import Cause, read, sheet_of, steps
from memory.learning.fold import feedback_date
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
        withdrawn, done = await _apply_batch(engine, namespace_id, now, leadership)
        applied += done
        if not (withdrawn or done):
            return applied


async def _apply_batch(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> tuple[int, int]:
    """One transaction: take back what is out of effect, then learn; how many of each."""
    async with engine.database.transaction(namespace_id) as connection:
        if leadership is not None:
            await WorkStore(connection).guard(leadership)
        await StateStore(connection, namespace_id).lock()
        namespace = await NamespaceStore(connection).get(namespace_id)
        withdrawn = await take_back(connection, namespace, now, namespace.newest_known_at or now)
        pending = await OutcomeStore(connection, namespace_id).pending(BATCH)
        if not pending:
            return withdrawn, 0
        bindings = await ReceiptStore(connection, namespace_id).bindings(
            [one.outcome.retrieval_id for one in pending]
        )
        touched = [memory for binding in bindings.values() for memory in binding.cited]
        days = [feedback_date(one.outcome.known_at) for one in pending]
        sheet = await StateStore(connection, namespace_id).load(touched, days)
        lesson = Lesson(namespace, read(sheet), bindings)
        for one in pending:
            lesson.learn(one)
        await _write(connection, lesson, now)
        return withdrawn, len(pending)


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
        await states.save(sheet_of(c for move in lesson.moves for c in move.changes))
        await states.add_controls(lesson.counted.controls)
        await states.count(lesson.counted.memories)
    versions = {move.outcome.id: first + i for i, move in enumerate(lesson.moves)}
    entries = [step for move in lesson.moves for step in _steps(lesson, move, versions)]
    await LedgerStore(connection, namespace_id).append(entries, lesson.policy.name, now)
    muted = {move.outcome.id: move.outcome.muted for move in lesson.moves}
    residuals = {move.outcome.id: move.residual for move in lesson.moves}
    await OutcomeStore(connection, namespace_id).decide(
        [
            Decision(
                outcome_id=ruling.outcome.id,
                status="ignored" if ruling.evidence is Evidence.NONE else "applied",
                evidence=ruling.evidence.value,
                reason=ruling.reason,
                bank_version=versions.get(ruling.outcome.id),
                residual=residuals.get(ruling.outcome.id),
                muted=muted.get(ruling.outcome.id, ruling.outcome.muted),
            )
            for ruling in lesson.rulings
        ],
        now,
    )
    newest = max(ruling.outcome.known_at for ruling in lesson.rulings)
    await NamespaceStore(connection).saw(namespace_id, newest)


def _steps(lesson: Lesson, move: Move, versions: Mapping[UUID, int]) -> list[Step]:
    outcome = move.outcome
    evidence = move.entry.observation.evidence.value
    cause = Cause(versions[outcome.id], "learn", evidence, outcome.known_at, outcome.id)
    return steps(move.changes, lesson.policy, cause)

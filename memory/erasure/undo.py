"""A rollback is undone: is it the newest that stands, and can all of it come back? → its outcomes
stand in the ledger where they stood → refold → its memories and their support come back.
"""

from collections.abc import Sequence
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.constraints.contradictions import ChangeContext, settle
from memory.constraints.store.competence import CompetenceStore
from memory.erasure.entities import RollbackRecord, RollbackUndone
from memory.erasure.store.rollbacks import KeptRollback, TakenState, TakenSupport, UndoStore
from memory.insight.entities import BankDifference
from memory.insight.history import Bank, compare_banks
from memory.insight.service import load_names, present
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection, UniqueTextTaken
from memory.memories.entities import Status
from memory.memories.service import hide_private, reading_time
from memory.memories.store.memories import Stamp
from memory.memories.store.status import StatusStore, StatusTransition
from memory.outcomes.withdrawal import give_back
from memory.receipts.rebuild import NO_LONGER_KEPT
from memory.receipts.store.outcomes import OutcomeStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

MAX_NAMED = 5
"""So many outcomes a refusal names."""


async def list_rollbacks(engine: Engine, call: Call, page: Page) -> Listed[RollbackRecord]:
    """The rollbacks of this namespace, the newest first."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        return await UndoStore(connection, call.namespace.id).browse(page)


async def undo_rollback(engine: Engine, call: Call, rollback_id: UUID) -> RollbackUndone:
    """Give back what a rollback took: every weight is as if it had never been."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        await StateStore(connection, call.namespace.id).lock()
        kept = await _load_undoable(connection, call, rollback_id)
        difference, version = await _give_back_outcomes(connection, call, kept)
        restored = await _restore_memories(connection, call, kept.taken.memories, version)
        await _give_back_support(connection, call, kept.taken.support)
        store = UndoStore(connection, call.namespace.id)
        await store.note_undone(kept.id, version, call.key.id, call.now)
        await _record(connection, call, kept, restored)
        namespace = await NamespaceStore(connection).get(call.namespace.id)
        undone = RollbackUndone(
            rollback_id=kept.id,
            outcomes=tuple(one.id for one in kept.taken.outcomes),
            restored=tuple(restored),
            left=tuple(one.id for one in kept.taken.memories if one.id not in restored),
            trajectories=kept.taken.support.runs,
            supported=kept.taken.support.weakened,
            difference=difference,
            bank_version=namespace.bank_version,
        )
        return await hide_private(connection, call, undone)


async def _load_undoable(connection: Connection, call: Call, rollback_id: UUID) -> KeptRollback:
    """The rollback, if all that it took can come back. Raises Conflict with the reason if not."""
    store = UndoStore(connection, call.namespace.id)
    kept = await store.get(rollback_id)
    if kept.undone_at is not None:
        raise _refusal("the rollback was undone already", "rollback_undone")
    newest = await store.newest()
    if newest != rollback_id:
        raise _refusal(f"a newer rollback stands: undo {newest} first", "rollback_not_newest")
    closing = await LedgerStore(connection, call.namespace.id).closing()
    first = kept.first_version
    if closing is not None and first is not None and first <= closing.bank_version:
        raise _refusal(
            "what the rollback took is older than this namespace keeps",
            NO_LONGER_KEPT,
        )
    ids = [one.id for one in kept.taken.outcomes]
    outcomes = OutcomeStore(connection, call.namespace.id)
    await outcomes.lock_retrievals([one.retrieval_id for one in await outcomes.some(ids)])
    if overtaken := await store.list_overtaken(kept):
        named = ", ".join(str(one) for one in overtaken[:MAX_NAMED])
        more = len(overtaken) - MAX_NAMED
        named += f" and {more} more" if more > 0 else ""
        raise _refusal(
            f"runs were reported anew since the rollback, those of outcomes {named}",
            "rollback_overtaken",
        )
    if kept.taken.support != TakenSupport() and await store.was_erased_since(kept.recorded_at):
        raise _refusal(
            "texts were erased since the rollback, so what rested on them cannot be given back",
            "rollback_overtaken",
        )
    return kept


def _refusal(detail: str, code: str) -> Conflict:
    return Conflict(detail, code=code, field="rollback_id")


async def _give_back_outcomes(
    connection: Connection, call: Call, kept: KeptRollback
) -> tuple[BankDifference, int]:
    """What changes in the bank, and in which version of it."""
    await UndoStore(connection, call.namespace.id).give_back_outcomes(kept.taken.outcomes)
    ids = [one.id for one in kept.taken.outcomes]
    done = await give_back(connection, call.namespace, call.now, present(call), ids)
    policy, at = policy_named(call.namespace.policy), present(call)
    difference = compare_banks(
        Bank(done.before, policy, at),
        Bank(done.after, policy, at),
        await load_names(connection, call),
        frozenset({*done.before.memories, *done.after.memories}),
    )
    namespace = await NamespaceStore(connection).get(call.namespace.id)
    return difference, namespace.bank_version


async def _restore_memories(
    connection: Connection, call: Call, taken: Sequence[TakenState], version: int
) -> list[UUID]:
    """Memories that are as the rollback left them stand again as they did; which. Another that says
    the same by now stays in place of its like.
    """
    store = UndoStore(connection, call.namespace.id)
    left = set(await store.list_still_retired([one.id for one in taken]))
    stamp = Stamp(call.key.id, call.now, version)
    status = StatusStore(connection, call.namespace.id)
    restored: list[UUID] = []
    for one in taken:
        if one.id not in left:
            continue
        back = StatusTransition((Status.RETIRED,), Status(one.status), one.reason)
        try:
            moved = await status.move([one.id], back, stamp)
        except UniqueTextTaken:
            continue
        restored += moved
        await status.mark_returned(one.id, reading_time(call))
    await NamespaceStore(connection).recount(call.namespace.id, len(restored))
    return restored


async def _give_back_support(connection: Connection, call: Call, taken: TakenSupport) -> None:
    if taken == TakenSupport():
        return
    await UndoStore(connection, call.namespace.id).give_back_support(taken)
    context = ChangeContext(connection, call.namespace, call.key.id, call.now)
    await settle(context, taken.weakened)
    competence = CompetenceStore(connection, call.namespace.id)
    await competence.hold(alone=True)
    await competence.recount()


async def _record(
    connection: Connection, call: Call, kept: KeptRollback, restored: Sequence[UUID]
) -> None:
    counts = {
        "outcomes": len(kept.taken.outcomes),
        "memories": len(restored),
        "trajectories": len(kept.taken.support.runs),
        "supported": len(kept.taken.support.weakened),
    }
    event = AuditEvent("rollback.undo", str(kept.id), counts)
    await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)

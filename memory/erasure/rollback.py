"""A source is taken back whole: name it → look (a dry run) → withdraw its outcomes, retire its
memories.
"""

from dataclasses import replace

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.insight.entities import Rollback, RolledBack
from memory.insight.history import Bank, compared, names_of
from memory.insight.weights import present
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.memories.service import retire
from memory.memories.store.memories import Stamp
from memory.memories.store.sources import Source, SourceStore
from memory.outcomes.withdrawal import refold, take_back
from memory.receipts.store.outcomes import OutcomeStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

REASON = "rolled_back"


async def roll_back(engine: Engine, call: Call, wanted: Rollback) -> RolledBack:
    """Take back what a source said; a dry run changes nothing and tells the same."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        await StateStore(connection, call.namespace.id).lock()
        seen = await _foreseen(connection, call, wanted)
        if wanted.dry_run:
            return seen
        outcomes = OutcomeStore(connection, call.namespace.id)
        await outcomes.supersede(seen.outcomes, REASON, call.now)
        await take_back(connection, call.namespace, call.now, present(call))
        seen = await _retired(connection, call, seen)
        event = AuditEvent("rollback", str(wanted.agent or wanted.key_id), _told(wanted, seen))
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        namespace = await NamespaceStore(connection).get(call.namespace.id)
    return replace(seen, dry_run=False, bank_version=namespace.bank_version)


async def _foreseen(connection: Connection, call: Call, wanted: Rollback) -> RolledBack:
    actors = ActorStore(connection, call.namespace.id)
    agent = None if wanted.agent is None else await actors.get_agent(wanted.agent)
    source = Source(None if agent is None else agent.id, wanted.key_id, wanted.since, wanted.until)
    store = SourceStore(connection, call.namespace.id)
    ids = await store.outcomes(source)
    stored = await OutcomeStore(connection, call.namespace.id).some(ids)
    done = await refold(connection, call.namespace, stored)
    policy, at = policy_named(call.namespace.policy), present(call)
    names = await names_of(connection, call.namespace)
    changed = compared(
        (Bank(done.before, at), policy),
        (Bank(done.after, at), policy),
        names,
        frozenset({*done.before.memories, *done.after.memories}),
    )
    return RolledBack(
        dry_run=True,
        outcomes=tuple(ids),
        retired=tuple(await store.memories(source)),
        difference=changed,
        bank_version=call.namespace.bank_version,
    )


async def _retired(connection: Connection, call: Call, seen: RolledBack) -> RolledBack:
    if not seen.retired:
        return seen
    version = await NamespaceStore(connection).bump(call.namespace.id)
    stamp = Stamp(call.key.id, call.now, version)
    reasons = dict.fromkeys(seen.retired, REASON)
    retired = await retire(connection, call.namespace.id, reasons, stamp)
    return replace(seen, retired=tuple(sorted(retired)))


def _told(wanted: Rollback, seen: RolledBack) -> dict[str, object]:
    """What the audit trail says: the source, and how much of it there was."""
    times = {n: str(t) for n in ("since", "until") if (t := getattr(wanted, n)) is not None}
    key = {} if wanted.key_id is None else {"key_id": str(wanted.key_id)}
    return {**key, **times, "outcomes": len(seen.outcomes), "memories": len(seen.retired)}

"""A source is taken back whole: name it → look (a dry run) → withdraw its outcomes, retire its
memories.
"""

from dataclasses import replace

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.erasure.store import RollbackSource, RollbackStore
from memory.insight.entities import Rollback, RollbackResult
from memory.insight.history import Bank, compare_banks
from memory.insight.service import load_names, present
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.memories.service import retire
from memory.memories.store.memories import Stamp
from memory.outcomes.withdrawal import refold, take_back
from memory.receipts.store.outcomes import OutcomeStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

REASON = "rolled_back"


async def roll_back(engine: Engine, call: Call, wanted: Rollback) -> RollbackResult:
    """Take back what a source said; a dry run changes nothing and tells the same."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        await StateStore(connection, call.namespace.id).lock()
        preview = await _preview(connection, call, wanted)
        if wanted.dry_run:
            return preview
        outcomes = OutcomeStore(connection, call.namespace.id)
        await outcomes.supersede(preview.outcomes, REASON, call.now)
        await take_back(connection, call.namespace, call.now, present(call))
        done = await _retire_memories(connection, call, preview)
        event = AuditEvent("rollback", str(wanted.agent or wanted.key_id), _describe(wanted, done))
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        namespace = await NamespaceStore(connection).get(call.namespace.id)
    return replace(done, dry_run=False, bank_version=namespace.bank_version)


async def _preview(connection: Connection, call: Call, wanted: Rollback) -> RollbackResult:
    actors = ActorStore(connection, call.namespace.id)
    agent = None if wanted.agent is None else await actors.get_agent(wanted.agent)
    agent_id = None if agent is None else agent.id
    source = RollbackSource(agent_id, wanted.key_id, wanted.since, wanted.until)
    store = RollbackStore(connection, call.namespace.id)
    ids = await store.list_outcomes(source)
    stored = await OutcomeStore(connection, call.namespace.id).some(ids)
    done = await refold(connection, call.namespace, stored)
    policy, at = policy_named(call.namespace.policy), present(call)
    difference = compare_banks(
        Bank(done.before, policy, at),
        Bank(done.after, policy, at),
        await load_names(connection, call),
        frozenset({*done.before.memories, *done.after.memories}),
    )
    return RollbackResult(
        dry_run=True,
        outcomes=tuple(ids),
        retired=tuple(await store.list_memories(source)),
        difference=difference,
        bank_version=call.namespace.bank_version,
    )


async def _retire_memories(
    connection: Connection, call: Call, preview: RollbackResult
) -> RollbackResult:
    if not preview.retired:
        return preview
    version = await NamespaceStore(connection).bump(call.namespace.id)
    stamp = Stamp(call.key.id, call.now, version)
    reasons = dict.fromkeys(preview.retired, REASON)
    retired = await retire(connection, call.namespace.id, reasons, stamp)
    return replace(preview, retired=tuple(sorted(retired)))


def _describe(wanted: Rollback, done: RollbackResult) -> dict[str, object]:
    """What the audit trail says: the source, and how much of it there was."""
    named = {"key_id": wanted.key_id, "since": wanted.since, "until": wanted.until}
    source = {name: str(value) for name, value in named.items() if value is not None}
    return {**source, "outcomes": len(done.outcomes), "memories": len(done.retired)}

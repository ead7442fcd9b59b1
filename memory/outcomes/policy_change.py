"""The policy of a living namespace is changed: the ledger is refolded → states, ledger, policy.

All of it is one transaction: who is killed on the way has changed nothing, and asks again. It holds
the state lock, so that outcomes wait, and takes the namespace's row only when the ledger is folded,
so that memories are written meanwhile. Whoever began under the old policy is refused what it would
write (`NamespaceStore.bump`).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from memory.belief.fold import Entry, Learn, Learned, fold
from memory.belief.policy import policy_named
from memory.belief.state_mapping import ChangeCause, CounterChanges, diff_states, ledger_entries
from memory.belief.store.ledger import POLICY, LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.outcomes.withdrawal import tell_of_suspensions
from memory.receipts.rebuild import ledger, require_whole
from memory.tenancy import service as tenancy
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace, NamespaceChange
from memory.tenancy.namespace_settings import change_preset
from memory.tenancy.service import merge_settings
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import BENEATH, NamespaceStore


async def change_namespace(
    engine: Engine, call: Call, change: NamespaceChange, version: int
) -> Namespace:
    """Turn learning on or off, change settings, or change the policy, which folds every belief
    anew. Raises Conflict where outcomes that were folded are no longer kept.
    """
    if change.policy in (None, call.namespace.policy):
        return await tenancy.change_namespace(engine, call, change, version)
    call.key.require(Act.MANAGE)
    here = call.namespace.id
    async with engine.database.transaction(here) as connection:
        await StateStore(connection, here).lock()
        await require_whole(LedgerStore(connection, here), change.policy)
        current = await NamespaceStore(connection).get(here)
        entries = await ledger(connection, here, until=current.bank_version)
        learned = await asyncio.to_thread(fold, policy_named(change.policy), entries)
        changed = await _write_namespace(engine, connection, call, change, version)
        return await _refold(
            connection, call, replace(current, policy=changed.policy), learned, entries
        )


async def _write_namespace(
    engine: Engine, connection: Connection, call: Call, change: NamespaceChange, version: int
) -> Namespace:
    """From here on nobody else writes to the namespace."""
    store, before = NamespaceStore(connection), call.namespace
    assert change.policy is not None
    beneath = await store.settings_beneath(before.id)
    settled = change_preset(before.policy, change.policy, before.settings, beneath)
    settings = merge_settings(engine, change.policy, settled.settings, change.settings or {})
    values: dict[str, object] = {
        "policy": change.policy,
        "settings": settings.stored() | {BENEATH: settled.beneath},
    }
    if change.learning is not None:
        values["learning"] = change.learning
    return await store.change(before, values, version)


async def _refold(
    connection: Connection,
    call: Call,
    before: Namespace,
    learned: Learned,
    entries: Sequence[Entry],
) -> Namespace:
    """Write the states that the ledger folds to, `learned` from its `entries` so far, and what was
    written since. `before` is the namespace as it was then, with the new policy.
    """
    here, was = before.id, policy_named(call.namespace.policy)
    policy = policy_named(before.policy)
    namespaces, states = NamespaceStore(connection), StateStore(connection, here)
    version = await namespaces.bump(before)
    since = await ledger(connection, here, since=before.bank_version + 1)
    learned = await asyncio.to_thread(fold, policy, since, start=learned)
    changes = diff_states(await states.load_all(), learned)
    await states.save(changes)
    # A cell's row goes where a policy keeps no baseline, and its count with it.
    counters = CounterChanges()
    for entry in (*entries, *since):
        if isinstance(entry, Learn):
            counters.count(entry)
    await states.set_controls(counters.controls)
    known_at = call.now if before.newest_known_at is None else before.newest_known_at
    written = ledger_entries(changes, policy, ChangeCause(version, "set", POLICY, known_at), was)
    await LedgerStore(connection, here).append(written, policy.name, call.now)
    await tell_of_suspensions(connection, here, changes)
    detail = {"fields": ["policy"], "before": was.name, "after": policy.name}
    event = AuditEvent("namespace.change", before.slug, detail | {"states": len(changes)})
    await CallStore(connection).record(event, call.key.id, here, call.now)
    return await namespaces.get(here)

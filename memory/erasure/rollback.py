"""A source is withdrawn whole: name it → look (a dry run) → withdraw its outcomes and its verdicts
on runs, retire its memories, settle the constraints that rested on them, and keep on record what
was taken, so that it can be undone.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.constraints.contradictions import ChangeContext, settle
from memory.constraints.store.competence import CompetenceStore
from memory.erasure.store.rollbacks import (
    NewRollback,
    RollbackSource,
    RollbackStore,
    TakenParts,
    TakenState,
    TakenSupport,
    UndoStore,
)
from memory.insight.entities import Rollback, RollbackResult
from memory.insight.history import Bank, compare_banks
from memory.insight.service import load_names, present
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.postgres.database import Connection
from memory.memories.service import hide_private, retire
from memory.memories.store.memories import Stamp
from memory.outcomes.withdrawal import refold, take_back
from memory.receipts.entities import Outcome
from memory.receipts.store.outcomes import OutcomeStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.keys import KeyStore
from memory.tenancy.store.namespaces import NamespaceStore

REASON = "rolled_back"


NOTHING = TakenParts()


async def roll_back(engine: Engine, call: Call, wanted: Rollback) -> RollbackResult:
    """Withdraw what a source said; a dry run changes nothing and tells the same."""
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        await StateStore(connection, call.namespace.id).lock()
        preview = await _preview(connection, call, wanted)
        if wanted.dry_run:
            return await hide_private(connection, call, preview)
        outcomes = OutcomeStore(connection, call.namespace.id)
        stood = await outcomes.some(preview.outcomes)
        await outcomes.supersede(preview.outcomes, REASON, call.now)
        await take_back(connection, call.namespace, call.now, present(call))
        taken = _as_they_stood(stood)
        without = await NamespaceStore(connection).get(call.namespace.id)
        done, retired = await _retire_memories(connection, call, preview)
        taken = replace(taken, memories=retired)
        if wanted.claims is None:
            support = await _withdraw_support(connection, call, wanted, done)
            taken = replace(taken, support=support)
        if taken != NOTHING:
            rollback_id = new_id()
            done = replace(done, rollback_id=rollback_id)
            versions = [one.bank_version for one in stood if one.bank_version is not None]
            first = min(versions, default=None)
            kept = NewRollback(rollback_id, _source_of(wanted), taken, first, without.bank_version)
            await UndoStore(connection, call.namespace.id).add(kept, call.key.id, call.now)
        event = AuditEvent("rollback", _name_source(wanted), _describe(wanted, done))
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        namespace = await NamespaceStore(connection).get(call.namespace.id)
        done = await hide_private(connection, call, done)
    return replace(done, dry_run=False, bank_version=namespace.bank_version)


async def _find_source(connection: Connection, call: Call, wanted: Rollback) -> RollbackSource:
    actors = ActorStore(connection, call.namespace.id)
    agent = None if wanted.agent is None else await actors.get_agent(wanted.agent)
    agent_id = None if agent is None else agent.id
    if wanted.key_id is not None:
        await _require_key(connection, call, wanted.key_id)
    return RollbackSource(agent_id, wanted.key_id, wanted.since, wanted.until)


async def _require_key(connection: Connection, call: Call, key_id: UUID) -> None:
    """Raises NotFound for an id that no key has, also no ended one, or a key of another namespace:
    that nothing came from it would sound as if there were nothing to undo.
    """
    found = (await KeyStore(connection).some([key_id])).get(key_id)
    if found is None or found.namespace_id not in (None, call.namespace.id):
        raise NotFound("no key of this id", code="key_not_found", field="key_id")


async def _preview(connection: Connection, call: Call, wanted: Rollback) -> RollbackResult:
    source = await _find_source(connection, call, wanted)
    store = RollbackStore(connection, call.namespace.id)
    outcomes = OutcomeStore(connection, call.namespace.id)
    ids = await store.list_outcomes(source)
    if wanted.claims is not None:
        too_high = set(await outcomes.claimed_too_high())
        ids = [outcome_id for outcome_id in ids if outcome_id in too_high]
    stored = await outcomes.some(ids)
    done = await refold(connection, call.namespace, stored)
    policy, at = policy_named(call.namespace.policy), present(call)
    difference = compare_banks(
        Bank(done.before, policy, at),
        Bank(done.after, policy, at),
        await load_names(connection, call),
        frozenset({*done.before.memories, *done.after.memories}),
    )
    # Only outcomes are withdrawn for their claims.
    whole = wanted.claims is None
    runs = await store.list_runs(source) if whole else []
    weakened = await store.list_supported(runs, await store.list_words(source)) if whole else []
    return RollbackResult(
        dry_run=True,
        outcomes=tuple(ids),
        retired=tuple(await store.list_memories(source)) if whole else (),
        trajectories=tuple(runs),
        weakened=tuple(weakened),
        difference=difference,
        bank_version=call.namespace.bank_version,
    )


async def _retire_memories(
    connection: Connection, call: Call, preview: RollbackResult
) -> tuple[RollbackResult, tuple[TakenState, ...]]:
    """The result with those that retired, and how each had stood."""
    if not preview.retired:
        return preview, ()
    version = await NamespaceStore(connection).bump(call.namespace)
    stamp = Stamp(call.key.id, call.now, version)
    reasons = dict.fromkeys(preview.retired, REASON)
    stood = await RollbackStore(connection, call.namespace.id).list_memory_states(preview.retired)
    retired = await retire(connection, call.namespace.id, reasons, stamp)
    states = tuple(one for one in stood if one.id in retired)
    return replace(preview, retired=tuple(sorted(retired))), states


async def _withdraw_support(
    connection: Connection, call: Call, wanted: Rollback, preview: RollbackResult
) -> TakenSupport:
    """Verdicts on its runs, and its word for constraints, prove nothing any more; what stopped
    proving something.
    """
    store = RollbackStore(connection, call.namespace.id)
    words = await store.list_words(await _find_source(connection, call, wanted))
    if not (preview.trajectories or words):
        return TakenSupport()
    # Held to the end: no constraint is admitted meanwhile.
    await NamespaceStore(connection).bump(call.namespace, steps=0)
    taken = await store.withdraw_support(preview.trajectories, words, call.now)
    context = ChangeContext(connection, call.namespace, call.key.id, call.now)
    await settle(context, preview.weakened)
    competence = CompetenceStore(connection, call.namespace.id)
    await competence.hold(alone=True)
    await competence.recount()
    return replace(taken, weakened=preview.weakened)


def _as_they_stood(outcomes: Sequence[Outcome]) -> TakenParts:
    return TakenParts(tuple(TakenState(one.id, one.status, one.reason) for one in outcomes))


def _name_source(wanted: Rollback) -> str:
    return str(wanted.agent or wanted.key_id or wanted.claims)


def _source_of(wanted: Rollback) -> dict[str, object]:
    """As it is kept on record; what was not named is null."""
    texts = {"key_id": wanted.key_id, "claims": wanted.claims}
    moments = {"since": wanted.since, "until": wanted.until}
    return {
        "agent": wanted.agent,
        **{name: None if value is None else str(value) for name, value in texts.items()},
        **{name: None if at is None else at.isoformat() for name, at in moments.items()},
    }


def _describe(wanted: Rollback, done: RollbackResult) -> dict[str, object]:
    """What the audit trail says: the source, and how much of it there was."""
    named = {"key_id": wanted.key_id, "since": wanted.since, "until": wanted.until}
    named |= {"claims": wanted.claims}
    source = {name: str(value) for name, value in named.items() if value is not None}
    counts = {
        "outcomes": len(done.outcomes),
        "memories": len(done.retired),
        "trajectories": len(done.trajectories),
        "weakened": len(done.weakened),
    }
    return {**source, **counts}

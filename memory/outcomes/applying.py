"""Outcomes move states: pending → classified → learned → states, ledger and bank version written.

One transaction at a time holds a namespace's state lock, reads what its outcomes touch, folds, and
writes; so each outcome is applied exactly once, in the same order, whatever number of processes
run. One that cannot be applied is set aside with the reason, until somebody asks for it again.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.belief.exposure import Naming, decide_exposure, follows_used, note_usage
from memory.belief.fold import Learn, Learned, day_of, feedback_date, learn_outcome
from memory.belief.policy import Policy, policy_named
from memory.belief.state_mapping import (
    ChangeCause,
    CounterChanges,
    LedgerEntry,
    StateChange,
    diff_states,
    ledger_entries,
)
from memory.belief.states import Evidence
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.belief.worth import above_baseline
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable, explain
from memory.kernel.postgres.database import Connection, undone
from memory.kernel.postgres.leadership import (
    NOT_LEADER,
    Leadership,
    RunDraft,
    WorkStore,
    led_transaction,
)
from memory.outcomes.entities import Applied, ApplyRequest
from memory.outcomes.measures import free_categories
from memory.outcomes.precedence import classify_outcome
from memory.outcomes.set_aside import find_culprit
from memory.outcomes.withdrawal import reinstate, take_back, tell_of_suspensions
from memory.receipts.entities import Exposure, Outcome, OutcomeStatus
from memory.receipts.rebuild import learning_entry
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.entities import Measure
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.webhooks.store import Outbox

log = logging.getLogger(__name__)


APPLY = "apply"
"""Among jobs, the work on a namespace's pending outcomes; on record only where it fails."""


SET_ASIDE = "outcomes"
"""Among jobs, that no outcome is set aside; a failed run is one that was."""


BATCH = 128
"""Outcomes in one transaction: enough to be quick, few enough to let others in between."""


PENDING = ApplyRequest()


async def apply_now(engine: Engine, call: Call, request: ApplyRequest = PENDING) -> Applied:
    """Apply whatever is pending in this namespace, and say which bank came of it."""
    call.key.require(Act.MANAGE if request.retry else Act.REPORT)
    here = call.namespace.id
    if request.retry:
        async with engine.database.transaction(here) as connection:
            ids = await OutcomeStore(connection, here).take_up_again()
            event = AuditEvent("outcomes.retry", call.namespace.slug, {"outcomes": len(ids)})
            await CallStore(connection).record(event, call.key.id, here, call.now)
    applied = await apply_pending(engine, here, call.now, None)
    async with engine.database.transaction(here) as connection:
        namespace = await NamespaceStore(connection).get(here)
        outcomes = OutcomeStore(connection, here)
        pending, set_aside = await outcomes.count_pending(), await outcomes.count_set_aside()
        failing = {one.job for one in await WorkStore(connection).failing(here)}
    for job in failing & ({APPLY} if set_aside else {APPLY, SET_ASIDE}):
        await note_recovery(engine, _draft(job, here, call.now, call.key.id), None)
    return Applied(namespace.bank_version, applied, pending, set_aside)


async def apply_pending(
    engine: Engine, namespace_id: UUID, now: datetime, leadership: Leadership | None
) -> int:
    """Apply pending outcomes until none is left; returns how many. A leader's term is checked."""
    applied = 0
    while True:
        try:
            async with led_transaction(engine.database, namespace_id, leadership) as connection:
                step = await _apply_next(connection, namespace_id, now)
        except Exception as fault:
            if _is_passing(fault):
                raise
            await _set_one_aside(engine, namespace_id, now, leadership, fault)
            continue
        applied += step.applied
        if step.applied:
            engine.to_learn_from.add(namespace_id)
        if not step.has_found:
            return applied


async def note_recovery(engine: Engine, draft: RunDraft, leadership: Leadership | None) -> None:
    """A run that went well, on record: what failed before no longer does."""
    async with led_transaction(engine.database, draft.namespace_id, leadership) as connection:
        store = WorkStore(connection)
        run_id = await store.claim(draft, draft.now)
        if run_id is not None:
            await store.finish(run_id, {}, draft.now)


@dataclass(frozen=True, slots=True)
class AppliedBatch:
    """What one transaction applied, and whether there may be more to do."""

    applied: int
    has_found: bool


async def _apply_next(
    connection: Connection,
    namespace_id: UUID,
    now: datetime,
    among: Collection[UUID] | None = None,
) -> AppliedBatch:
    """Withdraw what is out of effect, and apply the next outcomes that wait; `among` those."""
    await StateStore(connection, namespace_id).lock()
    namespace = await NamespaceStore(connection).get(namespace_id)
    newest = namespace.newest_known_at or now
    held = set(await OutcomeStore(connection, namespace_id).hold_pending(BATCH))
    if among is not None:
        held &= set(among)
    pending = await reinstate(connection, namespace, now, held=held)
    withdrawn = await take_back(connection, namespace, now, newest)
    done = await _apply_batch(connection, namespace, now, held=pending)
    return AppliedBatch(done, bool(withdrawn or held))


async def _set_one_aside(
    engine: Engine,
    namespace_id: UUID,
    now: datetime,
    leadership: Leadership | None,
    fault: Exception,
) -> None:
    """Set aside the outcome that is to blame for the fault. Raises it where none is."""

    async def attempt(ids: Sequence[UUID]) -> Exception | None:
        try:
            async with (
                led_transaction(engine.database, namespace_id, leadership) as connection,
                undone(connection),
            ):
                await _apply_next(connection, namespace_id, now, ids)
        except Exception as found:
            if _is_passing(found):
                raise
            return found
        return None

    async with led_transaction(engine.database, namespace_id, leadership) as connection:
        ids = await OutcomeStore(connection, namespace_id).hold_pending(BATCH)
    culprit = await find_culprit(ids, attempt)
    if culprit is None:
        raise fault
    reason = explain(culprit.fault)
    log.error("outcome %s is set aside: %s", culprit.outcome_id, reason)
    async with led_transaction(engine.database, namespace_id, leadership) as connection:
        outcomes = OutcomeStore(connection, namespace_id)
        await outcomes.set_aside(culprit.outcome_id, f"it cannot be applied: {reason}", now)
        draft = _draft(SET_ASIDE, namespace_id, now, None)
        recorded = f"outcome {culprit.outcome_id} cannot be applied: {reason}"
        await WorkStore(connection).fail(draft, recorded, now)
        told = {"outcome_id": culprit.outcome_id}
        await Outbox(connection, namespace_id).put("outcome.set_aside", told)
    engine.jobs.runs[SET_ASIDE, "failed"] += 1


def _draft(job: str, namespace_id: UUID, now: datetime, key_id: UUID | None) -> RunDraft:
    return RunDraft(job, namespace_id, now.isoformat(timespec="seconds"), now, key_id, None)


def _is_passing(fault: Exception) -> bool:
    """Whether it is no fault of what is applied: it passes, or another process leads."""
    if isinstance(fault, Unavailable | Overloaded):
        return True
    return isinstance(fault, MemoryFault) and fault.kind == NOT_LEADER


async def _apply_batch(
    connection: Connection, namespace: Namespace, now: datetime, *, held: set[UUID]
) -> int:
    """Apply the next outcomes in their order; returns how many. The caller holds the state lock
    and these outcomes.
    """
    pending = await OutcomeStore(connection, namespace.id).pending(BATCH, held)
    if not pending:
        return 0
    receipts = await ReceiptStore(connection, namespace.id).contexts(
        [outcome.retrieval_id for outcome in pending]
    )
    batch = PendingBatch(namespace, receipts)
    for outcome in pending:
        batch.classify(outcome, now)
    updates = await _learn(connection, batch)
    await _write(connection, batch, updates, now)
    return len(pending)


@dataclass(frozen=True, slots=True)
class OutcomeEntry:
    """An outcome that is evidence, and what learning is to see of it."""

    outcome: Outcome
    entry: Learn


@dataclass(slots=True)
class PendingBatch:
    """Outcomes in the order of their application, classified as things stand now."""

    namespace: Namespace
    receipts: Mapping[UUID, ReceiptContext]
    entries: list[OutcomeEntry] = field(default_factory=list[OutcomeEntry])
    ignored: list[Outcome] = field(default_factory=list[Outcome])
    lapsed: list[UUID] = field(default_factory=list[UUID])
    measures: dict[UUID, Measure] = field(default_factory=dict[UUID, Measure])

    def classify(self, outcome: Outcome, now: datetime) -> None:
        """Say what it is evidence of, and make that an entry to learn from."""
        receipt = self.receipts[outcome.retrieval_id]
        fixed = self.measures.get(receipt.category_id)
        if fixed is not None:
            receipt = replace(receipt, metric=fixed.metric, reward_kind=fixed.reward_kind)
        evidence, reason = classify_outcome(self.namespace, receipt, outcome)
        lapsed = evidence is Evidence.NONE and outcome.evidence is not Evidence.NONE
        self.lapsed += [outcome.retrieval_id] if lapsed else []
        outcome = replace(outcome, evidence=evidence, reason=reason, applied_at=now)
        if evidence is Evidence.NONE:
            self.ignored.append(replace(outcome, status=OutcomeStatus.IGNORED))
            return
        muted = tuple(sorted({*outcome.muted, *(receipt.erased & set(receipt.cited))}))
        outcome = replace(outcome, status=OutcomeStatus.APPLIED, muted=muted)
        entry = learning_entry(outcome, receipt)
        if entry.observation.is_about_others:
            measure = Measure(outcome.metric, outcome.reward_kind)
            self.measures.setdefault(receipt.category_id, measure)
        self.entries.append(OutcomeEntry(outcome, entry))


@dataclass(frozen=True, slots=True)
class Update:
    """What learning from one outcome came to; versions in its ledger entries count from 1."""

    learned: OutcomeEntry
    residual: float | None
    above_baseline: float | None
    changes: list[StateChange]
    ledger_entries: list[LedgerEntry]


async def _learn(connection: Connection, batch: PendingBatch) -> list[Update]:
    """Fold the outcomes into the states that they touch, one after another."""
    namespace, entries = batch.namespace, batch.entries
    if not entries:
        return []
    touched = [
        memory
        for one in entries
        for memory in {
            *one.entry.observation.counted,
            *batch.receipts[one.outcome.retrieval_id].exposed,
        }
    ]
    days = [feedback_date(one.entry.now) for one in entries]
    states = await StateStore(connection, namespace.id).load(touched, days)
    policy = policy_named(namespace.policy)
    updates: list[Update] = []
    for version, entry in enumerate(entries, start=1):
        one = _expose(entry, batch.receipts[entry.outcome.retrieval_id], states, policy)
        before = _touched_by(one.entry, states)
        after, residual = learn_outcome(policy, before, one.entry)
        moved = diff_states(before, after)
        cause = ChangeCause(
            version, "learn", one.outcome.evidence, one.outcome.known_at, one.outcome.id
        )
        above = above_baseline(policy, before, one.entry)
        updates.append(Update(one, residual, above, moved, ledger_entries(moved, policy, cause)))
        states = _merge(states, after)
    return updates


def _expose(
    one: OutcomeEntry, receipt: ReceiptContext, states: Learned, policy: Policy
) -> OutcomeEntry:
    """Decide how far each memory could have acted, as its cell stands with this outcome in it; kept
    with the outcome, so that a rebuild does not decide again.
    """
    if not policy.weighs_exposure:
        return one
    outcome, entry = one.outcome, one.entry
    usage = states.usages.get((entry.agent, entry.category))
    if entry.observation.counted:
        usage = note_usage(usage, entry.now, named=outcome.used is not None)
    naming = Naming(outcome.used, outcome.helpful, outcome.harmful, follows_used(usage))
    served = {i: one for i, one in receipt.exposed.items() if i not in receipt.stale}
    served = served if entry.observation.counted else {}
    found = decide_exposure(served, naming, receipt.q99)
    exposure = tuple(Exposure(memory_id, h) for memory_id, h in sorted(found.items()))
    outcome = replace(outcome, exposure=exposure)
    return OutcomeEntry(outcome, learning_entry(outcome, receipt))


def _touched_by(entry: Learn, states: Learned) -> Learned:
    """Only the states this outcome can touch, so that a fold costs what it touches."""
    served, today = entry.observation.counted, day_of(entry)
    pairs = [(memory, entry.agent) for memory in served]
    party = entry.observation.party
    told = [] if party is None else [(memory, party) for memory in served]
    deviations, influences, effects = states.deviations, states.influences, states.effects
    return Learned(
        memories={memory: states.memories[memory] for memory in served},
        deviations={pair: deviations[pair] for pair in pairs if pair in deviations},
        influences={pair: influences[pair] for pair in told if pair in influences},
        cells=states.cells,
        noises=states.noises,
        strengths=states.strengths,
        effects={today: effects[today]} if today in effects else {},
        records=states.records,
        usages=states.usages,
    )


def _merge(states: Learned, after: Learned) -> Learned:
    return Learned(
        memories={**states.memories, **after.memories},
        deviations={**states.deviations, **after.deviations},
        influences={**states.influences, **after.influences},
        cells=after.cells,
        noises=after.noises,
        strengths=after.strengths,
        effects={**states.effects, **after.effects},
        records=after.records,
        usages=after.usages,
    )


async def _write(
    connection: Connection, batch: PendingBatch, updates: Sequence[Update], now: datetime
) -> None:
    """States, counters, outcomes and ledger, all or none; the version is taken as late as it can
    be.
    """
    namespace = batch.namespace
    actors = ActorStore(connection, namespace.id)
    for category_id, measure in sorted(batch.measures.items(), key=lambda item: item[0]):
        await actors.fix_metric(category_id, measure)
    states, base = StateStore(connection, namespace.id), 0
    if updates:
        last = await NamespaceStore(connection).bump(namespace, steps=len(updates))
        base = last - len(updates)
        counters = CounterChanges()
        for update in updates:
            counters.count(update.learned.entry)
        changes = [change for update in updates for change in update.changes]
        await states.save(changes)
        await tell_of_suspensions(connection, namespace.id, changes)
        await states.add_controls(counters.controls)
        await states.count(counters.memories)
    await LedgerStore(connection, namespace.id).append(
        [
            replace(entry, cause=replace(entry.cause, bank_version=base + number))
            for number, update in enumerate(updates, start=1)
            for entry in update.ledger_entries
        ],
        namespace.policy,
        now,
    )
    applied = [
        replace(
            update.learned.outcome,
            bank_version=base + number,
            residual=update.residual,
            above_baseline=update.above_baseline,
        )
        for number, update in enumerate(updates, start=1)
    ]
    outcomes = [*batch.ignored, *applied]
    await OutcomeStore(connection, namespace.id).decide(outcomes)
    await free_categories(connection, namespace.id, batch.lapsed)
    newest = max(outcome.known_at for outcome in outcomes)
    await NamespaceStore(connection).saw(namespace.id, newest)

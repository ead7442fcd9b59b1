"""Every state is a fold of the ledger: reads the ledger and folds it."""

import asyncio
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from memory.belief.effect import ArmOutcome
from memory.belief.fold import Auxiliary, Entry, Learn, Learned, Operation, Set, fold
from memory.belief.guard import Losses
from memory.belief.policy import policy_named
from memory.belief.rankers import Draw
from memory.belief.states import Evidence, Observation
from memory.belief.store.ledger import LAST, Closing, LedgerStore
from memory.kernel.errors import Conflict, Rejected
from memory.kernel.postgres.database import Connection
from memory.receipts.entities import Outcome
from memory.receipts.store.operations import OperationStore
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tenancy.entities import Namespace

NO_LONGER_KEPT = "no_longer_kept"
"""The code of a refusal of what the ledger tells no more, because it is closed."""


TRIED_ARITHMETIC = 3
"""From this arithmetic on a meta-guideline is credited against its own absence."""


async def past_states(connection: Connection, namespace: Namespace, as_of: datetime) -> Learned:
    """All states as they were at `as_of`: folded from what was known by then. Raises Rejected for
    a time before the newest fact that is closed.
    """
    store = LedgerStore(connection, namespace.id)
    await store.hold()
    closing = await store.closing()
    if closing is not None and as_of < closing.known_at:
        kept = closing.known_at.isoformat()
        raise Rejected(
            f"as_of is at least {kept}: what was learned before is kept as its result alone",
            code=NO_LONGER_KEPT,
            field="as_of",
            limit=kept,
        )
    start, entries = await _since_closing(connection, namespace.id, closing)
    policy = policy_named(namespace.policy)
    return await asyncio.to_thread(fold, policy, entries, start=start, until=as_of)


async def rebuilt(connection: Connection, namespace: Namespace) -> Learned:
    """All states, refolded from where the ledger is closed; equal to the live ones bit for
    bit.
    """
    store = LedgerStore(connection, namespace.id)
    await store.hold()
    start, entries = await _since_closing(connection, namespace.id, await store.closing())
    return await asyncio.to_thread(fold, policy_named(namespace.policy), entries, start=start)


async def require_whole(store: LedgerStore, policy: str) -> None:
    """Raises Conflict where outcomes that were folded are no longer kept, so that another policy
    cannot fold them. Until the end of the transaction nothing more is closed.
    """
    await store.hold()
    closing = await store.closing()
    if closing is not None:
        kept = closing.known_at.isoformat()
        raise Conflict(
            f"what was learned until {kept} is kept as its result alone: the policy {policy} would"
            " need the outcomes themselves, which were removed after this namespace's"
            " retention_days",
            code=NO_LONGER_KEPT,
            field="policy",
            limit=kept,
        )


async def _since_closing(
    connection: Connection, namespace_id: UUID, closing: Closing | None
) -> tuple[Learned, list[Entry]]:
    """The states that are closed, and what happened since."""
    if closing is None:
        return Learned(), await ledger(connection, namespace_id)
    start = await LedgerStore(connection, namespace_id).at(closing.bank_version)
    return start, await ledger(connection, namespace_id, since=closing.bank_version + 1)


async def ledger(
    connection: Connection,
    namespace_id: UUID,
    *,
    since: int = 0,
    until: int = LAST,
    without: Collection[UUID] = frozenset(),
) -> list[Entry]:
    """What happened, in the ledger's order: outcomes that moved a state, and `set` events.

    From the version `since` on, up to `until`; `without` the outcomes of these ids.
    """
    found = await OutcomeStore(connection, namespace_id).in_ledger(since, until)
    outcomes = [one for one in found if one.id not in without]
    bindings = await ReceiptStore(connection, namespace_id).contexts(
        [one.retrieval_id for one in outcomes]
    )
    entries: list[tuple[tuple[int, int], Entry]] = []
    for one in outcomes:
        assert one.bank_version is not None
        entry = learning_entry(one, bindings[one.retrieval_id])
        entries.append(((one.bank_version, 0), entry))
    for row in await OperationStore(connection, namespace_id).between(since, until):
        operation = Operation(row["reason"])
        step = Set(row["memory_id"], operation, row["known_at"], row["start_weight"])
        entries.append(((row["bank_version"], row["position"]), step))
    return [entry for _, entry in sorted(entries, key=lambda placed: placed[0])]


def learning_entry(outcome: Outcome, context: ReceiptContext) -> Learn:
    """An outcome as learning sees it. Beliefs use the answer had memory been followed wholly."""
    evidence = outcome.evidence
    passed_over = context.passed_over
    control = evidence is Evidence.CONTROL
    observation = Observation(
        evidence=evidence,
        reward_on=None if control else outcome.reward_full,
        reward_off=outcome.reward if control else _off(evidence, outcome.reward_without),
        memories=() if control else _memories(outcome, context),
        author_of=frozenset((*outcome.authored, *outcome.muted)),
        helpful=outcome.helpful,
        harmful=outcome.harmful,
        now=outcome.known_at,
        party=outcome.party_id,
        own=_own(outcome, context),
        # Receipts of earlier releases do not say what they passed over; they are read as then.
        nothing_served=not (control or passed_over is None or context.cited),
        exposure=_exposure(outcome),
    )
    decided = outcome.exposure is not None and observation.counted
    return Learn(
        agent=context.agent_id,
        category=context.category_id,
        reward_kind=outcome.reward_kind,
        observation=observation,
        auxiliary=_auxiliary(outcome, context, evidence),
        absent=() if control or passed_over is None else (*passed_over, *_unused(observation)),
        named_used=outcome.used is not None if decided else None,
    )


def _memories(outcome: Outcome, context: ReceiptContext) -> tuple[UUID, ...]:
    """What the outcome is about: what stood in the guideline. A meta-guideline only where a coin
    decided whether it was followed, and then also where it was not.
    """
    if outcome.arithmetic < TRIED_ARITHMETIC:
        return context.cited
    tried = {one.memory_id for one in outcome.exposure or () if one.exposure != 0.0}
    directing = {i for i, one in context.exposed.items() if one.directs}
    return (*(i for i in context.cited if i not in directing), *sorted(directing & tried))


def _unused(observation: Observation) -> tuple[UUID, ...]:
    """Served and not used: such a run tells as much as one that went without the memory."""
    exposure = observation.exposure or {}
    return tuple(i for i in observation.counted if exposure.get(i) == 0.0)


def _exposure(outcome: Outcome) -> dict[UUID, float] | None:
    if outcome.exposure is None:
        return None
    return {one.memory_id: one.exposure for one in outcome.exposure}


def _own(outcome: Outcome, context: ReceiptContext) -> frozenset[UUID]:
    """The served memories that the party wrote whose word this is: no bound protects them from
    their author.
    """
    if outcome.party_id is None:
        return frozenset()
    authors = context.author_parties
    return frozenset(memory for memory, party in authors.items() if party == outcome.party_id)


def _auxiliary(outcome: Outcome, context: ReceiptContext, evidence: Evidence) -> Auxiliary:
    """Effect by the answer as given; strength and guard by the one had memory been followed."""
    without = _off(evidence, outcome.reward_without)
    return Auxiliary(
        arm_outcome=ArmOutcome(context.arm, context.propensity, outcome.reward, without),
        numeric=_numeric(outcome, context),
        losses=None if evidence is Evidence.CONTROL else _losses(outcome),
        draw=None if evidence is Evidence.CONTROL else _draw(outcome, context),
        own_information=context.own_information,
        arithmetic=outcome.arithmetic,
    )


def _losses(outcome: Outcome) -> Losses | None:
    """Those of all rankers, where each gave an answer of its own."""
    if outcome.ranker_rewards is None:
        return None
    return {ranker: 1.0 - reward for ranker, reward in outcome.ranker_rewards.items()}


def _draw(outcome: Outcome, context: ReceiptContext) -> Draw | None:
    """The ranker that was drawn from those of its time, where one was and nobody answered for the
    others. One alone was not drawn.
    """
    alone = set(context.rankers) == {context.ranker}
    if outcome.ranker_rewards is not None or context.all_rankers or alone:
        return None
    return Draw(context.ranker, context.rankers, context.same_rankers)


def _numeric(outcome: Outcome, context: ReceiptContext) -> tuple[float, float] | None:
    """That of a pair in which something was served; answers of two runs without memory differ too,
    but not by it.
    """
    served = bool(context.cited) or context.passed_over is None
    return outcome.numeric if outcome.evidence is Evidence.PAIRED and served else None


def _off(evidence: Evidence, reward_without: float | None) -> float | None:
    return reward_without if evidence is Evidence.PAIRED else None

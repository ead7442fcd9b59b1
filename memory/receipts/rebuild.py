"""Every state is a fold of the ledger: reads the ledger and folds it."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from memory.belief.effect import ArmOutcome
from memory.belief.fold import Auxiliary, Entry, Learn, Learned, Operation, Set, fold
from memory.belief.guard import Losses
from memory.belief.policy import policy_named
from memory.belief.rankers import Draw
from memory.belief.states import Evidence, Observation
from memory.kernel.postgres.database import Connection
from memory.receipts.entities import Outcome
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tenancy.entities import Namespace


async def past_states(connection: Connection, namespace: Namespace, as_of: datetime) -> Learned:
    """All states as they were at `as_of`: folded from what was known by then."""
    return fold(policy_named(namespace.policy), await ledger(connection, namespace.id), until=as_of)


async def rebuilt(connection: Connection, namespace: Namespace) -> Learned:
    """All states, folded anew; equal to the live ones bit for bit."""
    return fold(policy_named(namespace.policy), await ledger(connection, namespace.id))


async def ledger(
    connection: Connection,
    namespace_id: UUID,
    *,
    since: int = 0,
    without: Collection[UUID] = frozenset(),
) -> list[Entry]:
    """What happened, in the ledger's order: outcomes that moved a state, and `set` events.

    From the version `since` on; `without` the outcomes of these ids.
    """
    found = await OutcomeStore(connection, namespace_id).in_ledger(since)
    outcomes = [one for one in found if one.id not in without]
    bindings = await ReceiptStore(connection, namespace_id).contexts(
        [one.retrieval_id for one in outcomes]
    )
    entries: list[tuple[tuple[int, int], Entry]] = []
    for one in outcomes:
        assert one.bank_version is not None
        entry = learning_entry(one, bindings[one.retrieval_id])
        entries.append(((one.bank_version, 0), entry))
    for row in await OutcomeStore(connection, namespace_id).sets(since):
        operation = Operation(row["reason"])
        step = Set(row["memory_id"], operation, row["known_at"], row["start_weight"])
        entries.append(((row["bank_version"], row["position"]), step))
    return [entry for _, entry in sorted(entries, key=lambda placed: placed[0])]


def learning_entry(outcome: Outcome, context: ReceiptContext) -> Learn:
    """An outcome as learning sees it. Beliefs use the answer had memory been followed wholly."""
    evidence = outcome.evidence
    control = evidence is Evidence.CONTROL
    observation = Observation(
        evidence=evidence,
        reward_on=None if control else outcome.reward_full,
        reward_off=outcome.reward if control else _off(evidence, outcome.reward_without),
        memories=() if control else context.cited,
        author_of=frozenset((*outcome.authored, *outcome.muted)),
        helpful=outcome.helpful,
        harmful=outcome.harmful,
        now=outcome.known_at,
    )
    return Learn(
        agent=context.agent_id,
        category=context.category_id,
        reward_kind=outcome.reward_kind,
        observation=observation,
        auxiliary=_auxiliary(outcome, context, evidence),
    )


def _auxiliary(outcome: Outcome, context: ReceiptContext, evidence: Evidence) -> Auxiliary:
    """Effect by the answer as given; strength and guard by the one had memory been followed."""
    without = _off(evidence, outcome.reward_without)
    return Auxiliary(
        arm_outcome=ArmOutcome(context.arm, context.propensity, outcome.reward, without),
        numeric=outcome.numeric if evidence is Evidence.PAIRED else None,
        losses=None if evidence is Evidence.CONTROL else _losses(outcome),
        draw=None if evidence is Evidence.CONTROL else _draw(outcome, context),
        own_information=context.own_information,
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
    return Draw(context.ranker, context.rankers)


def _off(evidence: Evidence, reward_without: float | None) -> float | None:
    return reward_without if evidence is Evidence.PAIRED else None

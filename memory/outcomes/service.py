"""An outcome comes back: report → reward → evidence → stored, to be applied in its order."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.outcomes.entities import Report, Reported
from memory.outcomes.intake import Desk, Reporters, Said, Stores, utc_day
from memory.outcomes.store.unpaired import HalfStore
from memory.receipts.entities import SETTLEMENT, Outcome, OutcomeFilter
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Clock, Role

STATES = ("accepted", "applied", "ignored", "superseded")


MAX_VERDICTS = 64


Answer = Reported | MemoryFault


async def report(
    engine: Engine, call: Call, reports: Sequence[tuple[UUID, Report]]
) -> list[Answer]:
    """Accept each outcome once; the answers are in the reports' order."""
    call.key.require(Act.REPORT)
    answers: list[Answer] = []
    async with engine.database.transaction(call.namespace.id) as connection:
        ids = [retrieval_id for retrieval_id, _ in reports]
        outcomes = OutcomeStore(connection, call.namespace.id)
        stores = Stores(outcomes, HalfStore(connection, call.namespace.id))
        await outcomes.lock_retrievals(ids)
        bindings = await ReceiptStore(connection, call.namespace.id).contexts(ids)
        desk = Desk(
            call=call,
            bindings=bindings,
            known=await outcomes.of_retrievals(ids),
            who=(
                await _reporters(connection, call),
                await _said(stores.halves, call, reports, bindings),
            ),
        )
        for position, (retrieval_id, one) in enumerate(reports):
            try:
                _require_name(one)
                answers.append(await desk.take(stores, retrieval_id, one, position))
            except MemoryFault as fault:
                answers.append(fault)
        await desk.write(stores)
    engine.arrived.set()
    return answers


def _require_name(one: Report) -> None:
    if one.evaluator == SETTLEMENT:
        raise Rejected(f"{SETTLEMENT} is what settlements go by", field="evaluator")


async def get_outcome(engine: Engine, call: Call, outcome_id: UUID) -> Outcome:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await OutcomeStore(connection, call.namespace.id).get(outcome_id)


async def list_outcomes(
    engine: Engine, call: Call, wanted: OutcomeFilter, page: Page
) -> Listed[Outcome]:
    """Oldest first."""
    if wanted.state is not None and wanted.state not in STATES:
        raise Rejected(f"state must be one of {STATES}", field="state", limit=list(STATES))
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OutcomeStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
    return listed(found, page, total, lambda outcome: (str(outcome.id),))


async def _reporters(connection: Connection, call: Call) -> Reporters:
    """An evaluator is never an author; an unbound key speaks for no agent in particular."""
    store = ActorStore(connection, call.namespace.id)
    if call.key.role is Role.EVALUATOR or call.key.agents is None:
        return Reporters(await store.count_agents(), frozenset())
    found = [await store.find_agent(name) for name in call.key.agents]
    speaks_for = frozenset(agent.id for agent in found if agent is not None)
    return Reporters(await store.count_agents(), speaks_for)


async def _said(
    store: HalfStore,
    call: Call,
    reports: Sequence[tuple[UUID, Report]],
    bindings: Mapping[UUID, ReceiptContext],
) -> Said:
    """One loud key does not move the bank alone: an agent's word counts so often a day.

    Reports of one call are counted into the day of the first.
    """
    if call.key.role is not Role.AGENT:
        return Said(None)
    limit = call.namespace.settings.daily_credits
    memories = sorted({m for binding in bindings.values() for m in binding.cited})
    first = next((one.known_at for _, one in reports if one.known_at is not None), call.now)
    day = utc_day(first if call.namespace.clock is Clock.REPLAY else call.now)
    return Said(limit, await store.said(call.key.id, memories, day))

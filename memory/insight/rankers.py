"""How the guard came to believe rankers as it does: the ledger's records → shares by day."""

from collections import defaultdict
from datetime import UTC, datetime, time
from uuid import UUID

from memory.belief.states import State
from memory.insight.ranker_entities import RankerDay, RankerHistory, RankerShares
from memory.insight.store.rankers import RankerStore
from memory.kernel.engine import Engine
from memory.retrieval.ranking import ranker_shares
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call

VERSIONS = 20_000
"""So many versions of the bank are looked back, so that a long ledger is not read whole."""


async def list_ranker_histories(engine: Engine, call: Call) -> list[RankerHistory]:
    """Of the whole namespace and of each category, by name; shares are those of today's rankers."""
    since = max(0, call.namespace.bank_version - VERSIONS)
    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await RankerStore(connection, call.namespace.id).by_day(since)
        names = await ActorStore(connection, call.namespace.id).names()
    records: dict[UUID | None, State] = {}
    days = defaultdict[UUID | None, list[RankerDay]](list)
    for row in rows:
        records[row.category_id] = row.record
        end = datetime.combine(row.day, time.max, UTC)
        shares = ranker_shares(records, row.category_id, end, signal=call.namespace.signal)
        days[row.category_id].append(RankerDay(row.day, RankerShares(dict(shares))))
    found = [
        RankerHistory(None if key is None else names[key], tuple(some))
        for key, some in days.items()
    ]
    return sorted(found, key=lambda one: one.category or "")

"""One search over a namespace: memories of each kind, and receipts, the newest of each first."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from memory.insight.browse import browse_memories, some_memories
from memory.insight.search_entities import FoundReceipt
from memory.insight.store.lookup import LookupStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.memories.browse_entities import Browse, ListedMemory, MemoryCriteria
from memory.memories.entities import Kind, Memory
from memory.tenancy.entities import Call

SHORTEST_ID = 6
"""Fewer characters of an id are no name of anything."""
ID_SIGNS = frozenset("0123456789abcdef-")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found; memories whose text has it by kind, those whose id ends so apart."""

    by_id: tuple[Memory, ...]
    by_kind: Mapping[Kind, Listed[ListedMemory]]
    receipts: tuple[FoundReceipt, ...]


async def search_namespace(engine: Engine, call: Call, sought: str, limit: int) -> SearchResult:
    """At most `limit` of each; how many memories there are in all stands with each kind."""
    by_kind = {
        kind: await browse_memories(
            engine,
            call,
            Browse(MemoryCriteria(kind=kind, text=sought), descending=True),
            Page(limit),
        )
        for kind in Kind
    }
    async with engine.database.transaction(call.namespace.id) as connection:
        store = LookupStore(connection, call.namespace.id)
        receipts = await store.receipts(sought, limit)
        ids: list[UUID] = await store.memories_by_id(sought, limit) if _is_id(sought) else []
    by_id = await some_memories(engine, call, ids)
    return SearchResult(tuple(by_id), by_kind, tuple(receipts))


def _is_id(sought: str) -> bool:
    return len(sought) >= SHORTEST_ID and set(sought.lower()) <= ID_SIGNS

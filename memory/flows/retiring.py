"""Memories leave use for a reason, and the count of the living and the feed of changes say so."""

from collections.abc import Mapping
from uuid import UUID

from memory.storage.database import Connection
from memory.storage.memories import MemoryStore, Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.weighing import WeighingStore


async def retire(
    connection: Connection,
    namespace_id: UUID,
    reasons: Mapping[UUID, str],
    stamp: Stamp,
    counted_off: int = 0,
) -> list[UUID]:
    """Retire what still lives and is not pinned; returns which.

    `counted_off`: how many the version in `stamp` has already taken from the count of the living.
    """
    retired = await WeighingStore(connection, namespace_id).retire(reasons, stamp)
    await NamespaceStore(connection).recount(namespace_id, counted_off - len(retired))
    await MemoryStore(connection, namespace_id).feed(stamp, "retired", retired)
    return retired

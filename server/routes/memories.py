"""Memories of all kinds: look through them, see what came of one, believe it or not."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.curation import service as trust
from memory.insight import browsing
from memory.insight import weights as episodes
from memory.kernel.errors import MemoryFault
from memory.memories import service as bank
from memory.memories.entities import Memory
from server.answers import Batch, BatchDep, PagesDep, answered, whole
from server.dependencies import EngineDep, Manages, Reads, Remembers
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.experiences import MemoryOut
from server.schemas.memories import (
    AgentRecordOut,
    BrowsedOut,
    BulkIn,
    BulkItem,
    BulkOut,
    EpisodeOut,
    MemoryQuery,
    NeighbourOut,
    TrustIn,
)

router = router_at(f"{INSIDE}/memories", "memories")


@router.get("", response_model=Listing[BrowsedOut])
async def list_memories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MemoryQuery, Query()]
) -> Response:
    """Memories of all kinds by filter and order, now or as of a moment."""
    listed = await browsing.browse_memories(engine, call, query.to_browse(), pages.page(query))
    return pages.answered(listed, BrowsedOut.of_browsed)


@router.post("/bulk", status_code=207, response_model=BulkOut)
async def change_memories(
    engine: EngineDep, call: Remembers, batch: BatchDep, body: BulkIn
) -> Response:
    """Suspend, retire, restore or (managers) trust many; each has its own status."""
    bulk = body.to_bulk()
    results = await trust.change_all(engine, call, bulk)
    items = [_item(batch, i, (bulk.ids[i], result)) for i, result in enumerate(results)]
    return batch.answered(BulkOut(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, changed: tuple[UUID, Memory | MemoryFault]) -> BulkItem:
    memory_id, result = changed
    if isinstance(result, MemoryFault):
        problem = batch.problem(result)
        return BulkItem(index=index, status=status_of(result), id=memory_id, problem=problem)
    return BulkItem.of(index, result)


@router.get("/{memory_id}", response_model=MemoryOut)
async def get_memory(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A memory of any kind as it stands."""
    memory = await bank.get_memory(engine, call, memory_id)
    return answered(MemoryOut.of(memory), version=memory.version)


@router.get("/{memory_id}/neighbours", response_model=Listing[NeighbourOut])
async def list_neighbours(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """The eight memories whose situations are most similar, whatever their status."""
    near = await browsing.neighbours(engine, call, memory_id)
    return whole([NeighbourOut.of(one) for one in near])


@router.get("/{memory_id}/episodes", response_model=Listing[EpisodeOut])
async def list_episodes(
    engine: EngineDep,
    call: Reads,
    memory_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """Receipts in which the memory was served and what came of them, the newest first."""
    listed = await episodes.list_episodes(engine, call, memory_id, pages.page(query))
    return pages.answered(listed, EpisodeOut.of)


@router.get("/{memory_id}/records", response_model=Listing[AgentRecordOut])
async def list_records(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """What came of the memory for each agent in each category, and each agent's deviation."""
    records = await episodes.records_of(engine, call, memory_id)
    return whole([AgentRecordOut.of(record) for record in records])


@router.post("/{memory_id}/trust", response_model=MemoryOut)
async def change_trust(
    engine: EngineDep, call: Manages, memory_id: UUID, body: TrustIn
) -> Response:
    """Believe a memory's source, or not, or quarantine it."""
    memory = await trust.change_trust(engine, call, memory_id, body.to_change())
    return answered(MemoryOut.of(memory), version=memory.version)

"""Memories of all kinds: look through them, see the results of one, believe it or not."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.curation import service as curation
from memory.curation.entities import BulkChange, TrustChange
from memory.insight import browse, worth
from memory.insight import service as insight
from memory.insight.worth_entities import Worth
from memory.kernel.errors import MemoryFault
from memory.memories import service as bank
from memory.memories.browse_entities import AgentRecord, Episode, ListedMemory, Neighbour
from memory.memories.entities import Memory
from server.answers import Batch, BatchDep, PagesDep, all_of, answered
from server.dependencies import EngineDep, Manages, Reads, Remembers
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.memories import BulkItem, BulkOut, MemoryQuery

router = router_at(f"{INSIDE}/memories", "memories")


@router.get("", response_model=Listing[ListedMemory])
async def list_memories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MemoryQuery, Query()]
) -> Response:
    """Memories of all kinds by filter and order, now or as of a moment."""
    listed = await browse.browse_memories(engine, call, query.to_browse(), pages.page(query))
    return pages.page_of(ListedMemory, listed)


@router.post("/bulk", status_code=207, response_model=BulkOut)
async def change_memories(
    engine: EngineDep, call: Remembers, batch: BatchDep, body: BulkChange
) -> Response:
    """Suspend, retire, restore or (managers) trust many; each has its own status."""
    results = await curation.change_all(engine, call, body)
    changed = zip(body.ids, results, strict=True)
    items = [_item(batch, i, memory_id, result) for i, (memory_id, result) in enumerate(changed)]
    return batch.answered(BulkOut(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, memory_id: UUID, result: Memory | MemoryFault) -> BulkItem:
    if isinstance(result, MemoryFault):
        problem = batch.problem(result)
        return BulkItem(index=index, status=status_of(result), id=memory_id, problem=problem)
    return BulkItem.of(index, result)


@router.get("/{memory_id}", response_model=Memory)
async def get_memory(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A memory of any kind as it stands."""
    memory = await bank.get_memory(engine, call, memory_id)
    return answered(memory, version=memory.version)


@router.get("/{memory_id}/neighbours", response_model=Listing[Neighbour])
async def list_neighbours(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """The eight memories whose situations are most similar, whatever their status."""
    return all_of(Neighbour, await browse.list_neighbours(engine, call, memory_id))


@router.get("/{memory_id}/episodes", response_model=Listing[Episode])
async def list_episodes(
    engine: EngineDep,
    call: Reads,
    memory_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """Receipts in which the memory was served and their results, the newest first."""
    listed = await insight.list_episodes(engine, call, memory_id, pages.page(query))
    return pages.page_of(Episode, listed)


@router.get("/{memory_id}/records", response_model=Listing[AgentRecord])
async def list_records(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """The memory's results for each agent in each category, and each agent's deviation."""
    return all_of(AgentRecord, await insight.list_agent_records(engine, call, memory_id))


@router.get("/{memory_id}/worth", response_model=Worth)
async def get_worth(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """What serving the memory added, against what took its place when a coin left it out."""
    return answered(await worth.get_worth(engine, call, memory_id))


@router.post("/{memory_id}/trust", response_model=Memory)
async def change_trust(
    engine: EngineDep, call: Manages, memory_id: UUID, body: TrustChange
) -> Response:
    """Believe a memory's source, or not, or quarantine it."""
    memory = await curation.change_trust(engine, call, memory_id, body)
    return answered(memory, version=memory.version)

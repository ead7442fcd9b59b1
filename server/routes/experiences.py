"""Experiences: add, import, browse, edit, see how they were; out of use, and back."""

from collections.abc import Iterable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.curation import service as curation
from memory.curation.apart import (
    ABSENCES,
    OngoingTrial,
    TriedApart,
    get_apart_trial,
    start_apart_trial,
    stop_apart_trial,
)
from memory.curation.entities import MergeInto
from memory.curation.merging import merge_memory
from memory.experiences.service import remember
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.memories import service as bank
from memory.memories.entities import ExperienceDraft, Memory, MemoryEdit, MemoryVersion, Remembered
from memory.tenancy.entities import Call
from server.answers import Batch, BatchDep, PagesDep, all_of, answered, only, rejoined
from server.dependencies import EngineDep, Manages, Reads, Remembers, SharedDep, Version
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.experiences import (
    ExperienceBatch,
    ExperienceQuery,
    HistoryBatch,
    RememberedBatch,
    RememberedItem,
    StatusReason,
)
from server.shared import Shared
from server.tracing import note_creation

experiences_router = router_at(f"{INSIDE}/experiences", "experiences")


@experiences_router.post(
    "", status_code=201, response_model=Remembered, responses={200: {"model": Remembered}}
)
async def add_experience(
    engine: EngineDep, call: Remembers, shared: SharedDep, body: ExperienceDraft
) -> Response:
    """Remember what a task taught; 200 where a memory already says the same."""
    note_creation(shared.tracing, [body])
    remembered = only(await remember(engine, call, [body]))
    _count(shared, [remembered])
    return answered(remembered, _status(remembered))


@experiences_router.post("/batch", status_code=207, response_model=RememberedBatch)
async def add_experiences(
    engine: EngineDep,
    call: Remembers,
    batch: BatchDep,
    shared: SharedDep,
    body: ExperienceBatch,
) -> Response:
    """Remember many; each item has its own status."""
    results = await _add_each(engine, call, shared, body.items)
    _count(shared, results)
    return _answer(batch, results)


@experiences_router.post("/import", status_code=207, response_model=RememberedBatch)
async def import_experiences(
    engine: EngineDep, call: Remembers, batch: BatchDep, shared: SharedDep, body: HistoryBatch
) -> Response:
    """Take in history; who manages the namespace may vouch for a person or a test."""
    results = await _add_each(engine, call, shared, body.items)
    _count(shared, results)
    return _answer(batch, results)


async def _add_each(
    engine: Engine, call: Call, shared: Shared, drafts: Sequence[ExperienceDraft | MemoryFault]
) -> list[Remembered | MemoryFault]:
    good = [draft for draft in drafts if isinstance(draft, ExperienceDraft)]
    note_creation(shared.tracing, good)
    return rejoined(drafts, await remember(engine, call, good) if good else [])


def _answer(batch: Batch, results: Sequence[Remembered | MemoryFault]) -> Response:
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(RememberedBatch(items=items), (item.status for item in items))


def _count(shared: Shared, results: Iterable[Remembered | MemoryFault]) -> None:
    shared.meters.echoes.inc(sum(isinstance(one, Remembered) and one.echo for one in results))


def _status(remembered: Remembered) -> int:
    return 200 if remembered.deduplicated else 201


def _item(batch: Batch, index: int, result: Remembered | MemoryFault) -> RememberedItem:
    if isinstance(result, MemoryFault):
        problem = batch.problem(result)
        return RememberedItem(index=index, status=status_of(result), problem=problem)
    return RememberedItem(
        index=index,
        status=_status(result),
        id=result.id,
        version=result.version,
        deduplicated=result.deduplicated,
        bank_version=result.bank_version,
        memory_status=result.memory_status,
        echo=result.echo,
        echoes=list(result.echoes),
        contradicts=list(result.contradicts),
        warnings=list(result.warnings),
    )


@experiences_router.get("", response_model=Listing[Memory])
async def list_experiences(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ExperienceQuery, Query()]
) -> Response:
    """Browse the bank."""
    listed = await bank.list_memories(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Memory, listed)


@experiences_router.get("/{memory_id}", response_model=Memory)
async def get_experience(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A memory as it stands."""
    memory = await bank.get_memory(engine, call, memory_id)
    return answered(memory, version=memory.version)


@experiences_router.patch("/{memory_id}", response_model=Memory)
async def edit_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, version: Version, body: MemoryEdit
) -> Response:
    """Edit a memory; new words make a new version, and what was believed of the old ones fades."""
    memory = await curation.edit_memory(engine, call, memory_id, body, version)
    return answered(memory, version=memory.version)


@experiences_router.get("/{memory_id}/versions", response_model=Listing[MemoryVersion])
async def list_versions(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """The texts a memory had."""
    versions = await bank.list_versions(engine, call, memory_id)
    return all_of(MemoryVersion, versions)


statuses_router = router_at(f"{INSIDE}/experiences/{{memory_id}}", "experiences")
NO_REASON = StatusReason()


@statuses_router.post("/suspend", response_model=Memory)
async def suspend_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop serving a memory for now."""
    return await _change(engine, call, memory_id, body, "suspend")


@statuses_router.post("/retire", response_model=Memory)
async def retire_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop serving a memory; its record stays."""
    return await _change(engine, call, memory_id, body, "retire")


@statuses_router.post("/restore", response_model=Memory)
async def restore_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Serve a memory again."""
    return await _change(engine, call, memory_id, body, "restore")


@statuses_router.post("/merge", response_model=Memory)
async def merge_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: MergeInto
) -> Response:
    """Retire a memory into another that says the same; restoring it takes them apart again."""
    memory = await merge_memory(engine, call, memory_id, body)
    return answered(memory, version=memory.version)


@statuses_router.post("/apart", response_model=OngoingTrial)
async def try_apart(engine: EngineDep, call: Manages, memory_id: UUID) -> Response:
    """Have a memory tried apart from what is always served beside it: from now on it is left out
    every other time, for 14 days or until 12 more outcomes came without it.
    """
    trial = await start_apart_trial(engine, call, memory_id)
    return answered(OngoingTrial(trial.asked_at, trial.until, ABSENCES))


@statuses_router.get("/apart", response_model=TriedApart)
async def get_apart(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """Whether a memory is being tried apart, and how long still."""
    return answered(await get_apart_trial(engine, call, memory_id))


@statuses_router.delete("/apart", status_code=204)
async def stop_apart(engine: EngineDep, call: Manages, memory_id: UUID) -> Response:
    """Stop trying a memory apart: it is served as before."""
    await stop_apart_trial(engine, call, memory_id)
    return Response(status_code=204)


async def _change(
    engine: Engine, call: Call, memory_id: UUID, body: StatusReason, action: str
) -> Response:
    memory = await curation.change_status(engine, call, memory_id, body.to_change(action))
    return answered(memory, version=memory.version)

"""Statuses: take a memory out of use, and back."""

from uuid import UUID

from fastapi import Response

from memory.curation import service as curation
from memory.kernel.engine import Engine
from memory.tenancy.entities import Call
from server.answers import answered
from server.dependencies import EngineDep, Remembers
from server.routing import INSIDE, router_at
from server.schemas.experiences import MemoryOut, StatusIn

router = router_at(f"{INSIDE}/experiences/{{memory_id}}", "experiences")
NO_REASON = StatusIn()


@router.post("/suspend", response_model=MemoryOut)
async def suspend_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Stop serving a memory for now."""
    return await _changed(engine, call, memory_id, body, "suspend")


@router.post("/retire", response_model=MemoryOut)
async def retire_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Stop serving a memory; its record stays."""
    return await _changed(engine, call, memory_id, body, "retire")


@router.post("/restore", response_model=MemoryOut)
async def restore_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Serve a memory again."""
    return await _changed(engine, call, memory_id, body, "restore")


async def _changed(
    engine: Engine, call: Call, memory_id: UUID, body: StatusIn, action: str
) -> Response:
    memory = await curation.change_status(engine, call, memory_id, body.to_change(action))
    return answered(MemoryOut.of(memory), version=memory.version)

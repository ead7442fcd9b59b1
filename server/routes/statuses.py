"""Statuses: take a memory out of use, and back."""

from uuid import UUID

from fastapi import Response

from memory.curation import service as curation
from memory.kernel.engine import Engine
from memory.memories.entities import Memory
from memory.tenancy.entities import Call
from server.answers import answered
from server.dependencies import EngineDep, Remembers
from server.routing import INSIDE, router_at
from server.schemas.experiences import StatusReason

router = router_at(f"{INSIDE}/experiences/{{memory_id}}", "experiences")
NO_REASON = StatusReason()


@router.post("/suspend", response_model=Memory)
async def suspend_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop serving a memory for now."""
    return await _change(engine, call, memory_id, body, "suspend")


@router.post("/retire", response_model=Memory)
async def retire_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop serving a memory; its record stays."""
    return await _change(engine, call, memory_id, body, "retire")


@router.post("/restore", response_model=Memory)
async def restore_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Serve a memory again."""
    return await _change(engine, call, memory_id, body, "restore")


async def _change(
    engine: Engine, call: Call, memory_id: UUID, body: StatusReason, action: str
) -> Response:
    memory = await curation.change_status(engine, call, memory_id, body.to_change(action))
    return answered(memory, version=memory.version)

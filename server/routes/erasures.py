"""Erasures: blank texts for good; numbers stay."""

from uuid import UUID

from fastapi import Response

from memory.erasure import service as erasure
from memory.erasure.entities import Erasure
from memory.erasure.service import foresee_erasure
from server.answers import answered
from server.dependencies import EngineDep, Manages
from server.routing import INSIDE, router_at
from server.schemas.erasures import ErasedOut, ErasureIn

router = router_at(INSIDE, "experiences")


@router.delete("/experiences/{memory_id}", response_model=ErasedOut)
async def erase_experience(engine: EngineDep, call: Manages, memory_id: UUID) -> Response:
    """Erase one memory's texts wherever they are kept."""
    return answered(ErasedOut.of(await erasure.erase(engine, call, Erasure(memory_id=memory_id))))


@router.post("/erasures", response_model=ErasedOut)
async def erase(engine: EngineDep, call: Manages, body: ErasureIn) -> Response:
    """Erase the texts of one memory, agent, key or task, or look what that would take."""
    if body.dry_run:
        foreseen = await foresee_erasure(engine, call, body.to_erasure())
        return answered(ErasedOut.of_foreseen(foreseen))
    return answered(ErasedOut.of(await erasure.erase(engine, call, body.to_erasure())))

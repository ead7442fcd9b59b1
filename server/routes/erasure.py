"""Texts and vectors go; numbers stay."""

from uuid import UUID

from fastapi import Response

from memory.erasure import service as erasure
from memory.erasure.entities import Erased, Erasure
from server.answers import answered
from server.dependencies import EngineDep, Manages
from server.routing import INSIDE, router_at

erasures_router = router_at(INSIDE, "experiences")


@erasures_router.delete("/experiences/{memory_id}", response_model=Erased)
async def erase_experience(engine: EngineDep, call: Manages, memory_id: UUID) -> Response:
    """Erase one memory's texts wherever they are kept."""
    return answered(await erasure.erase(engine, call, Erasure(memory_id=memory_id)))


@erasures_router.post("/erasures", response_model=Erased)
async def erase(engine: EngineDep, call: Manages, body: Erasure) -> Response:
    """Erase the texts of one memory, agent, key or task, or look what that would take."""
    do = erasure.preview_erasure if body.dry_run else erasure.erase
    return answered(await do(engine, call, body))

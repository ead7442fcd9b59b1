"""Meta-guidelines: add, browse, edit, take out of use and back."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.curation import service as curation
from memory.kernel.engine import Engine
from memory.meta_guidelines import service as meta_guidelines
from memory.tenancy.entities import Call
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads, Version
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.experiences import RememberedOut, StatusIn
from server.schemas.meta_guidelines import (
    MetaGuidelineIn,
    MetaGuidelineOut,
    MetaGuidelinePatch,
    MetaGuidelineQuery,
)

router = router_at(f"{INSIDE}/meta-guidelines", "meta-guidelines")
NO_REASON = StatusIn()


@router.post(
    "", status_code=201, response_model=RememberedOut, responses={200: {"model": RememberedOut}}
)
async def add_meta_guideline(engine: EngineDep, call: Manages, body: MetaGuidelineIn) -> Response:
    """Say how memories are to be used; 200 where a meta-guideline already says the same."""
    made = await meta_guidelines.add(engine, call, body.to_draft())
    return answered(RememberedOut.of(made), 200 if made.deduplicated else 201)


@router.get("", response_model=Listing[MetaGuidelineOut])
async def list_meta_guidelines(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MetaGuidelineQuery, Query()]
) -> Response:
    """Browse the bank of meta-guidelines, oldest first."""
    listed = await meta_guidelines.browse(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, MetaGuidelineOut.of)


@router.get("/{memory_id}", response_model=MetaGuidelineOut)
async def get_meta_guideline(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A meta-guideline as it stands."""
    return await _shown(engine, call, memory_id)


@router.patch("/{memory_id}", response_model=MetaGuidelineOut)
async def edit_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, version: Version, body: MetaGuidelinePatch
) -> Response:
    """Edit a meta-guideline; new words make a new version, and what was believed fades."""
    await meta_guidelines.get(engine, call, memory_id)
    await curation.edit_memory(engine, call, memory_id, body.to_edit(version))
    return await _shown(engine, call, memory_id)


@router.post("/{memory_id}/suspend", response_model=MetaGuidelineOut)
async def suspend_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Stop using a meta-guideline for now."""
    return await _changed(engine, call, memory_id, body, "suspend")


@router.post("/{memory_id}/retire", response_model=MetaGuidelineOut)
async def retire_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Stop using a meta-guideline; its record stays."""
    return await _changed(engine, call, memory_id, body, "retire")


@router.post("/{memory_id}/restore", response_model=MetaGuidelineOut)
async def restore_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusIn = NO_REASON
) -> Response:
    """Use a meta-guideline again."""
    return await _changed(engine, call, memory_id, body, "restore")


async def _changed(
    engine: Engine, call: Call, memory_id: UUID, body: StatusIn, action: str
) -> Response:
    await meta_guidelines.get(engine, call, memory_id)
    await curation.change_status(engine, call, memory_id, body.to_change(action))
    return await _shown(engine, call, memory_id)


async def _shown(engine: Engine, call: Call, memory_id: UUID) -> Response:
    meta = await meta_guidelines.get(engine, call, memory_id)
    return answered(MetaGuidelineOut.of(meta), version=meta.memory.version)

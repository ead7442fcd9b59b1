"""Meta-guidelines: add, browse, edit, take out of use and back."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.curation import service as curation
from memory.kernel.engine import Engine
from memory.memories.entities import Remembered
from memory.meta_guidelines import service as meta_guidelines
from memory.meta_guidelines.entities import MetaGuideline, MetaGuidelineDraft, MetaGuidelineEdit
from memory.tenancy.entities import Call
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads, Version
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.experiences import StatusReason
from server.schemas.meta_guidelines import MetaGuidelineQuery

router = router_at(f"{INSIDE}/meta-guidelines", "meta-guidelines")
NO_REASON = StatusReason()


@router.post("", status_code=201, response_model=Remembered, responses={200: {"model": Remembered}})
async def add_meta_guideline(
    engine: EngineDep, call: Manages, body: MetaGuidelineDraft
) -> Response:
    """Say how memories are to be used; 200 where a meta-guideline already says the same."""
    made = await meta_guidelines.add(engine, call, body)
    return answered(made, 200 if made.deduplicated else 201)


@router.get("", response_model=Listing[MetaGuideline])
async def list_meta_guidelines(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MetaGuidelineQuery, Query()]
) -> Response:
    """Browse the bank of meta-guidelines, oldest first."""
    listed = await meta_guidelines.browse(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(MetaGuideline, listed)


@router.get("/{memory_id}", response_model=MetaGuideline)
async def get_meta_guideline(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A meta-guideline as it stands."""
    return await _answer(engine, call, memory_id)


@router.patch("/{memory_id}", response_model=MetaGuideline)
async def edit_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, version: Version, body: MetaGuidelineEdit
) -> Response:
    """Edit a meta-guideline; new words make a new version, and what was believed fades."""
    edit = body.as_edit()
    await meta_guidelines.get(engine, call, memory_id)
    await curation.edit_memory(engine, call, memory_id, edit, version)
    return await _answer(engine, call, memory_id)


@router.post("/{memory_id}/suspend", response_model=MetaGuideline)
async def suspend_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a meta-guideline for now."""
    return await _change(engine, call, memory_id, body, "suspend")


@router.post("/{memory_id}/retire", response_model=MetaGuideline)
async def retire_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a meta-guideline; its record stays."""
    return await _change(engine, call, memory_id, body, "retire")


@router.post("/{memory_id}/restore", response_model=MetaGuideline)
async def restore_meta_guideline(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Use a meta-guideline again."""
    return await _change(engine, call, memory_id, body, "restore")


async def _change(
    engine: Engine, call: Call, memory_id: UUID, body: StatusReason, action: str
) -> Response:
    await meta_guidelines.get(engine, call, memory_id)
    await curation.change_status(engine, call, memory_id, body.to_change(action))
    return await _answer(engine, call, memory_id)


async def _answer(engine: Engine, call: Call, memory_id: UUID) -> Response:
    meta = await meta_guidelines.get(engine, call, memory_id)
    return answered(meta, version=meta.version)

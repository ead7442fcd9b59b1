"""Constraints: bring one, browse, see what supports it, take out of use and back."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import service as constraint_bank
from memory.constraints.entities import AddedConstraint
from memory.curation import service as curation
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.constraints import (
    ConstraintIn,
    ConstraintOut,
    ConstraintQuery,
    SupportItem,
)
from server.schemas.experiences import StatusReason

router = router_at(f"{INSIDE}/constraints", "constraints")
NO_REASON = StatusReason()


@router.post(
    "", status_code=201, response_model=AddedConstraint, responses={200: {"model": AddedConstraint}}
)
async def add_constraint(engine: EngineDep, call: Remembers, body: ConstraintIn) -> Response:
    """Say what a task taught for others like it; 200 where it supports one that says the same."""
    made = await constraint_bank.add(engine, call, body.to_draft())
    status = 200 if made.deduplicated else 201
    return answered(made, status)


@router.get("", response_model=Listing[ConstraintOut])
async def list_constraints(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ConstraintQuery, Query()]
) -> Response:
    """Browse the bank of constraints, oldest first."""
    listed = await constraint_bank.browse(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, ConstraintOut.of)


@router.get("/{memory_id}", response_model=ConstraintOut)
async def get_constraint(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A constraint as it stands, with what speaks for it in numbers."""
    return answered(ConstraintOut.of(await constraint_bank.get(engine, call, memory_id)))


@router.get("/{memory_id}/support", response_model=Listing[SupportItem])
async def list_support(
    engine: EngineDep,
    call: Reads,
    pages: PagesDep,
    memory_id: UUID,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """The contrasts a constraint rests on, and its author's word."""
    listed = await constraint_bank.support(engine, call, memory_id, pages.page(query))
    return pages.answered(listed, SupportItem.of)


@router.post("/{memory_id}/suspend", response_model=ConstraintOut)
async def suspend_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint for now."""
    change = body.to_change("suspend")
    return answered(
        ConstraintOut.of(await curation.change_constraint(engine, call, memory_id, change))
    )


@router.post("/{memory_id}/retire", response_model=ConstraintOut)
async def retire_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint; its record stays."""
    change = body.to_change("retire")
    return answered(
        ConstraintOut.of(await curation.change_constraint(engine, call, memory_id, change))
    )


@router.post("/{memory_id}/restore", response_model=ConstraintOut)
async def restore_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Use a constraint again; without support that counts it waits as proposed."""
    change = body.to_change("restore")
    return answered(
        ConstraintOut.of(await curation.change_constraint(engine, call, memory_id, change))
    )

"""Constraints: bring one, browse, see what supports it, take out of use and back."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import bank
from memory.constraints.entities import AddedConstraint, Constraint, ConstraintDraft, Support
from memory.curation import service as curation
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Reads, Remembers
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.constraints import ConstraintQuery
from server.schemas.experiences import StatusReason

router = router_at(f"{INSIDE}/constraints", "constraints")
NO_REASON = StatusReason()


@router.post(
    "", status_code=201, response_model=AddedConstraint, responses={200: {"model": AddedConstraint}}
)
async def add_constraint(engine: EngineDep, call: Remembers, body: ConstraintDraft) -> Response:
    """Say what a task taught for others like it; 200 where it supports one that says the same."""
    made = await bank.add_constraint(engine, call, body)
    status = 200 if made.deduplicated else 201
    return answered(made, status)


@router.get("", response_model=Listing[Constraint])
async def list_constraints(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ConstraintQuery, Query()]
) -> Response:
    """Browse the bank of constraints, oldest first."""
    listed = await bank.list_constraints(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Constraint, listed)


@router.get("/{memory_id}", response_model=Constraint)
async def get_constraint(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A constraint as it stands, with what speaks for it in numbers."""
    return answered(await bank.get_constraint(engine, call, memory_id))


@router.get("/{memory_id}/support", response_model=Listing[Support])
async def list_support(
    engine: EngineDep,
    call: Reads,
    pages: PagesDep,
    memory_id: UUID,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """The contrasts a constraint rests on, and its author's word."""
    listed = await bank.list_support(engine, call, memory_id, pages.page(query))
    return pages.page_of(Support, listed)


@router.post("/{memory_id}/suspend", response_model=Constraint)
async def suspend_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint for now."""
    change = body.to_change("suspend")
    return answered(await curation.change_constraint(engine, call, memory_id, change))


@router.post("/{memory_id}/retire", response_model=Constraint)
async def retire_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint; its record stays."""
    change = body.to_change("retire")
    return answered(await curation.change_constraint(engine, call, memory_id, change))


@router.post("/{memory_id}/restore", response_model=Constraint)
async def restore_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Use a constraint again; without support that counts it waits as proposed."""
    change = body.to_change("restore")
    return answered(await curation.change_constraint(engine, call, memory_id, change))

"""Candidates are tried: tickets, trials, decisions."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.memories.entities import Memory
from memory.verification import acquisition as acquire
from memory.verification import changesets
from memory.verification import service as tickets
from memory.verification.changeset_applying import undo
from memory.verification.changeset_entities import Changeset
from memory.verification.entities import (
    LessonCandidate,
    Ticket,
    TicketClaim,
    TrialReport,
)
from memory.verification.refining import refine
from server.answers import JSON, PagesDep, answered, written
from server.dependencies import (
    EngineDep,
    Manages,
    Reads,
    Remembers,
    Reports,
    Retrieves,
    Version,
)
from server.idempotency import Idle
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.experiences import StatusReason
from server.schemas.verification import (
    CandidateQuery,
    ChangesetQuery,
    ClaimedTickets,
    Refinement,
    TicketQuery,
)

tickets_router = router_at(INSIDE, "tickets")
NO_REASON = StatusReason()


@tickets_router.post("/tickets/claims", response_model=ClaimedTickets)
async def claim_tickets(engine: EngineDep, call: Retrieves, body: TicketClaim) -> Response:
    """Lease candidates to try, for half an hour; none where nothing waits."""
    claimed = await tickets.claim(engine, call, body)
    shape = ClaimedTickets(items=claimed)
    return answered(shape) if claimed else Idle(written(shape), media_type=JSON)


@tickets_router.get("/tickets", response_model=Listing[Ticket])
async def list_tickets(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TicketQuery, Query()]
) -> Response:
    """Tickets, also those that have their end."""
    listed = await tickets.list_tickets(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Ticket, listed)


@tickets_router.get("/tickets/{ticket_id}", response_model=Ticket)
async def get_ticket(engine: EngineDep, call: Reads, ticket_id: UUID) -> Response:
    """A ticket with its trials."""
    return answered(await tickets.get_ticket(engine, call, ticket_id))


@tickets_router.post(
    "/tickets/{ticket_id}/trials",
    status_code=201,
    response_model=Ticket,
    responses={200: {"model": Ticket}},
)
async def report_trials(
    engine: EngineDep, call: Reports, ticket_id: UUID, body: TrialReport
) -> Response:
    """Say how trials went; the last one decides. 200 where the same report had come before."""
    reported = await tickets.report_trials(engine, call, ticket_id, body)
    return answered(reported.ticket, 200 if reported.replayed else 201)


@tickets_router.post("/tickets/{ticket_id}/release", response_model=Ticket)
async def release_ticket(engine: EngineDep, call: Retrieves, ticket_id: UUID) -> Response:
    """Give a ticket back before its lease ends."""
    return answered(await tickets.release(engine, call, ticket_id))


@tickets_router.post("/tickets/{ticket_id}/cancel", response_model=Ticket)
async def cancel_ticket(
    engine: EngineDep, call: Manages, ticket_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Reject a candidate without trying it further."""
    return answered(await tickets.cancel(engine, call, ticket_id, body.reason))


@tickets_router.post("/tickets/{ticket_id}/approve", response_model=Ticket)
async def approve_ticket(
    engine: EngineDep, call: Manages, ticket_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Let a candidate in without trying it further."""
    return answered(await tickets.approve(engine, call, ticket_id, body.reason))


@tickets_router.post("/tickets/{ticket_id}/retry", response_model=Ticket)
async def retry_ticket(engine: EngineDep, call: Manages, ticket_id: UUID) -> Response:
    """Hand out a quarantined ticket again."""
    return answered(await tickets.retry(engine, call, ticket_id))


@tickets_router.get("/changesets", response_model=Listing[Changeset])
async def list_changesets(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ChangesetQuery, Query()]
) -> Response:
    """What a language model would change about the notes, after several failures alike."""
    listed = await changesets.list_changesets(engine, call, query.state, pages.page(query))
    return pages.page_of(Changeset, listed)


@tickets_router.get("/changesets/{changeset_id}", response_model=Changeset)
async def get_changeset(engine: EngineDep, call: Reads, changeset_id: UUID) -> Response:
    """A changeset with the words before and after: what it would do, or did."""
    return answered(await changesets.get_changeset(engine, call, changeset_id))


@tickets_router.post("/changesets/{changeset_id}/undo", response_model=Changeset)
async def undo_changeset(engine: EngineDep, call: Manages, changeset_id: UUID) -> Response:
    """Take an applied changeset back: what it brought retires, what it retired returns."""
    return answered(await undo(engine, call, changeset_id))


@tickets_router.post("/changesets/{changeset_id}/retry", response_model=Changeset)
async def retry_changeset(engine: EngineDep, call: Manages, changeset_id: UUID) -> Response:
    """Work on a quarantined changeset again, or free a waiting one from its claim."""
    return answered(await changesets.retry_changeset(engine, call, changeset_id))


@tickets_router.post("/experiences/{memory_id}/refine", response_model=Memory)
async def refine_experience(
    engine: EngineDep, call: Remembers, memory_id: UUID, version: Version, body: Refinement
) -> Response:
    """Put a candidate, also a rejected one, into other words; it is tried anew."""
    memory = await refine(engine, call, memory_id, body.to_edit(), version)
    return answered(memory, version=memory.version)


@tickets_router.get("/candidates", response_model=Listing[LessonCandidate])
async def list_candidates(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[CandidateQuery, Query()]
) -> Response:
    """Bad outcomes on their way to becoming memories."""
    listed = await acquire.list_candidates(engine, call, query.state, pages.page(query))
    return pages.page_of(LessonCandidate, listed)


@tickets_router.post("/candidates/{outcome_id}/retry", response_model=LessonCandidate)
async def retry_candidate(engine: EngineDep, call: Manages, outcome_id: UUID) -> Response:
    """Work on a quarantined candidate again, or free a waiting one from its claim."""
    return answered(await acquire.retry_candidate(engine, call, outcome_id))

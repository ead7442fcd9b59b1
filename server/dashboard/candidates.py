"""Candidates: lessons on trial with what their trials brought, and the outcomes they are of."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import Any
from uuid import UUID

from fastapi import Response

from memory.insight.browse import some_memories
from memory.kernel.errors import MemoryFault, NotFound
from memory.memories.entities import Memory
from memory.memories.service import get_memory
from memory.verification import service as tickets
from memory.verification.acquisition import list_candidates, retry_candidate
from memory.verification.changeset_applying import undo
from memory.verification.changeset_entities import ChangesetState
from memory.verification.changesets import list_changesets, retry_changeset
from memory.verification.entities import (
    CandidateState,
    Ticket,
    TicketFilter,
    TicketState,
    TrialSlot,
)
from memory.verification.service import verdict_of
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import page_of, shown
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

UNDECIDED = frozenset({TicketState.OPEN, TicketState.LEASED, TicketState.QUARANTINED})

router = guarded_at("/dashboard/ns/{namespace}/candidates")


@dataclass(frozen=True, slots=True)
class Compared:
    """Trials of one purpose: the mean reward before (without the candidate) and after (with it)."""

    purpose: str
    n: int
    before: float | None
    after: float | None

    @property
    def gain(self) -> float | None:
        if self.before is None or self.after is None:
            return None
        return self.after - self.before


@router.get("")
async def show_tickets(viewer: Reads) -> Response:
    """Candidates that are or were on trial."""
    state = viewer.request.query_params.get("state") or None
    fetch = partial(tickets.list_tickets, viewer.engine, viewer.call, TicketFilter(state))
    if wants_file(viewer):
        return await file_of(viewer, "candidates", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    compared = [compared_of(ticket.trials) for ticket in table.rows]
    ids = [ticket.memory_id for ticket in table.rows]
    memories = {one.id: one for one in await some_memories(viewer.engine, viewer.call, ids)}
    return page(
        viewer,
        "candidates.html",
        table=table,
        compared=compared,
        memories=memories,
        state=state,
        states=[one.value for one in TicketState],
    )


@router.get("/lessons")
async def show_lessons(viewer: Reads) -> Response:
    """Bad outcomes on their way to becoming memories."""
    state = viewer.request.query_params.get("state") or None
    fetch = partial(list_candidates, viewer.engine, viewer.call, state)
    if wants_file(viewer):
        return await file_of(viewer, "bad-outcomes", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    return page(viewer, "lessons.html", table=table, state=state, states=list(CandidateState))


@router.post("/lessons/{outcome_id}/retry")
async def retry_lesson(viewer: Manages, outcome_id: UUID) -> Response:
    """Work on a quarantined one again."""
    await retry_candidate(viewer.engine, viewer.call, outcome_id)
    return done(viewer, "/candidates/lessons", "The outcome is queued again.")


@router.get("/changesets")
async def show_changesets(viewer: Reads) -> Response:
    """What would be changed after several failures alike, with the words before and after."""
    state = viewer.request.query_params.get("state") or None
    fetch = partial(list_changesets, viewer.engine, viewer.call, state)
    if wants_file(viewer):
        return await file_of(viewer, "changesets", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
    states = list(ChangesetState)
    return page(viewer, "changesets.html", table=table, state=state, states=states)


@router.post("/changesets/{changeset_id}/undo")
async def undo_changeset(viewer: Manages, changeset_id: UUID) -> Response:
    """Take an applied one back."""
    await undo(viewer.engine, viewer.call, changeset_id)
    return done(viewer, "/candidates/changesets", "The changeset is undone.")


@router.post("/changesets/{changeset_id}/retry")
async def retry_one(viewer: Manages, changeset_id: UUID) -> Response:
    """Work on a quarantined one again."""
    await retry_changeset(viewer.engine, viewer.call, changeset_id)
    return done(viewer, "/candidates/changesets", "The changeset is queued again.")


@router.get("/{ticket_id}")
async def show_ticket(viewer: Reads, ticket_id: UUID) -> Response:
    """One candidate: before, after, and the evidence."""
    return await _shown(viewer, ticket_id)


@router.post("/{ticket_id}/approval")
async def approve(viewer: Manages, ticket_id: UUID, form: FormDep) -> Response:
    """Let it in, with a reason that stays with the memory."""
    return await _decided(viewer, ticket_id, form, tickets.approve, "is let in")


@router.post("/{ticket_id}/rejection")
async def reject(viewer: Manages, ticket_id: UUID, form: FormDep) -> Response:
    """Keep it out, with a reason that stays with the memory."""
    return await _decided(viewer, ticket_id, form, tickets.cancel, "is kept out")


@router.post("/{ticket_id}/retry")
async def retry(viewer: Manages, ticket_id: UUID) -> Response:
    """Hand a quarantined one out again."""
    await tickets.retry(viewer.engine, viewer.call, ticket_id)
    return done(viewer, f"/candidates/{ticket_id}", "The candidate waits to be tried again.")


Deciding = Callable[..., Coroutine[Any, Any, Ticket]]


async def _decided(
    viewer: PageViewer, ticket_id: UUID, form: Form, decide: Deciding, result: str
) -> Response:
    try:
        await decide(viewer.engine, viewer.call, ticket_id, form.given("reason"))
    except NotFound:
        raise
    except MemoryFault as fault:
        return await _shown(viewer, ticket_id, fault)
    return done(viewer, f"/candidates/{ticket_id}", f"The candidate {result}.")


async def _shown(viewer: PageViewer, ticket_id: UUID, fault: MemoryFault | None = None) -> Response:
    ticket = await tickets.get_ticket(viewer.engine, viewer.call, ticket_id)
    return page(
        viewer,
        "ticket.html",
        200 if fault is None else status_of(fault),
        ticket=ticket,
        memory=await _memory(viewer, ticket.memory_id),
        compared=compared_of(ticket.trials),
        verdict=verdict_of(viewer.call.namespace, ticket),
        undecided=ticket.state in UNDECIDED,
        fault=fault,
    )


async def _memory(viewer: PageViewer, memory_id: UUID) -> Memory | None:
    """The candidate itself; None once it was erased."""
    try:
        return await get_memory(viewer.engine, viewer.call, memory_id)
    except NotFound:
        return None


def compared_of(trials: Sequence[TrialSlot]) -> list[Compared]:
    """Before and after, purpose by purpose, over the trials that were run."""
    return [
        _compared(purpose, [slot for slot in trials if slot.purpose == purpose])
        for purpose in dict.fromkeys(slot.purpose for slot in trials)
    ]


def _compared(purpose: str, trials: Sequence[TrialSlot]) -> Compared:
    run = [(_before(slot), slot.reward) for slot in trials if slot.reward is not None]
    pairs = [(before, after) for before, after in run if before is not None]
    return Compared(
        purpose=purpose,
        n=len(run),
        before=_mean([before for before, _ in pairs]),
        after=_mean([after for _, after in pairs]),
    )


def _before(slot: TrialSlot) -> float | None:
    """What the task brought without the candidate: known before, else brought along."""
    return slot.reference if slot.reference is not None else slot.reward_without


def _mean(rewards: Sequence[float]) -> float | None:
    return fsum(rewards) / len(rewards) if rewards else None

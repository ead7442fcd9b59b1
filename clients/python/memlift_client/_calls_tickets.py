"""Calls of verification: candidates, tickets to try them, and what the trials brought."""

from collections.abc import Sequence
from typing import Unpack

from memlift_client import _fields_tickets as t
from memlift_client import _results_bank as bank
from memlift_client import _results_tickets as tickets
from memlift_client._building import batch, get, listed, one, page, posted, reworded
from memlift_client._wire import Call, Reply


def import_history(
    items: Sequence[t.HistoryFields],
) -> Call[tuple[bank.BatchItem[bank.Remembered], ...]]:
    """Up to 256 experiences from before this server; each is taken or refused by itself."""
    return posted("/experiences/import", {"items": items}, batch(bank.Remembered))


def refine(memory_id: str, version: int, **fields: Unpack[t.RefineFields]) -> Call[bank.Memory]:
    """Put a candidate into other words, as `version` of it was seen; it is tried anew."""
    return reworded(f"/experiences/{memory_id}/refine", fields, version, one(bank.Memory))


def claim_tickets(agent: str, **fields: Unpack[t.ClaimFields]) -> Call[tuple[tickets.Ticket, ...]]:
    """Lease candidates to try, for half an hour; none where nothing waits."""
    return posted("/tickets/claims", {"agent": agent, **fields}, _claimed)


def report_trials(ticket_id: str, **fields: Unpack[t.TrialsFields]) -> Call[tickets.Ticket]:
    """Say how trials went; the last one decides."""
    return posted(f"/tickets/{ticket_id}/trials", fields, one(tickets.Ticket))


def get_ticket(ticket_id: str) -> Call[tickets.Ticket]:
    return get(f"/tickets/{ticket_id}", one(tickets.Ticket))


def list_tickets(**filters: Unpack[t.TicketFilterFields]) -> Call[bank.Page[tickets.Ticket]]:
    return listed("/tickets", filters, page(tickets.Ticket))


def release_ticket(ticket_id: str) -> Call[tickets.Ticket]:
    """Give a ticket back before its lease ends."""
    return posted(f"/tickets/{ticket_id}/release", None, one(tickets.Ticket))


def cancel_ticket(ticket_id: str, reason: str | None = None) -> Call[tickets.Ticket]:
    """Reject a candidate without trying it further."""
    return _decided(ticket_id, "cancel", reason)


def approve_ticket(ticket_id: str, reason: str | None = None) -> Call[tickets.Ticket]:
    """Let a candidate in without trying it further."""
    return _decided(ticket_id, "approve", reason)


def _decided(ticket_id: str, verdict: str, reason: str | None) -> Call[tickets.Ticket]:
    fields = {} if reason is None else {"reason": reason}
    return posted(f"/tickets/{ticket_id}/{verdict}", fields, one(tickets.Ticket))


def retry_ticket(ticket_id: str) -> Call[tickets.Ticket]:
    """Hand out a quarantined ticket again."""
    return posted(f"/tickets/{ticket_id}/retry", None, one(tickets.Ticket))


def list_candidates(
    **filters: Unpack[t.CandidateFilterFields],
) -> Call[bank.Page[tickets.Candidate]]:
    """Bad outcomes on their way to becoming memories."""
    return listed("/candidates", filters, page(tickets.Candidate))


def retry_candidate(outcome_id: str) -> Call[tickets.Candidate]:
    """Work on a quarantined candidate again."""
    return posted(f"/candidates/{outcome_id}/retry", None, one(tickets.Candidate))


def _claimed(reply: Reply) -> tuple[tickets.Ticket, ...]:
    return page(tickets.Ticket)(reply).items

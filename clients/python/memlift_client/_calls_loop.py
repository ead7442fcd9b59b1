"""Calls of the loop: remember, retrieve, report, and what became of it."""

from collections.abc import Sequence
from typing import Unpack

from memlift_client import _fields as f
from memlift_client import _results_bank as bank
from memlift_client import _results_health as state
from memlift_client import _results_history as history
from memlift_client import _results_loop as loop
from memlift_client._building import batch, get, listed, one, page, patched, posted
from memlift_client._wire import Call, Reply


def remember(**fields: Unpack[f.ExperienceFields]) -> Call[bank.Remembered]:
    """Store what one task taught; the same texts give the memory that is there."""
    return posted("/experiences", fields, one(bank.Remembered))


def remember_all(
    items: Sequence[f.ExperienceFields],
) -> Call[tuple[bank.BatchItem[bank.Remembered], ...]]:
    """Up to 256 experiences at once; each is taken or refused by itself."""
    return posted("/experiences/batch", {"items": items}, batch(bank.Remembered))


def get_experience(memory_id: str) -> Call[bank.Memory]:
    return get(f"/experiences/{memory_id}", one(bank.Memory))


def list_experiences(**filters: Unpack[f.MemoryFilterFields]) -> Call[bank.Page[bank.Memory]]:
    return listed("/experiences", filters, page(bank.Memory))


def edit_experience(
    memory_id: str, version: int, **fields: Unpack[f.EditFields]
) -> Call[bank.Memory]:
    """Change a memory, as `version` of it was seen. New texts make a new version and widen doubt
    about its worth.
    """
    return patched(f"/experiences/{memory_id}", fields, version, one(bank.Memory))


def list_versions(memory_id: str) -> Call[bank.Page[bank.MemoryText]]:
    """The texts a memory has had."""
    return get(f"/experiences/{memory_id}/versions", page(bank.MemoryText))


def suspend(memory_id: str, reason: str | None = None) -> Call[bank.Memory]:
    """Serve it no more until it is restored."""
    return _status(memory_id, "suspend", reason)


def retire(memory_id: str, reason: str | None = None) -> Call[bank.Memory]:
    """Serve it no more; its record stays."""
    return _status(memory_id, "retire", reason)


def restore(memory_id: str, reason: str | None = None) -> Call[bank.Memory]:
    """Serve it again."""
    return _status(memory_id, "restore", reason)


def retrieve(**fields: Unpack[f.AskFields]) -> Call[loop.Retrieval]:
    """A guideline for the task at hand, and the receipt to report its outcome under."""
    return posted("/retrievals", fields, one(loop.Retrieval))


def retrieve_all(
    items: Sequence[f.AskFields],
) -> Call[tuple[bank.BatchItem[loop.Retrieval], ...]]:
    """Up to 256 retrievals at once."""
    return posted("/retrievals/batch", {"items": items}, batch(loop.Retrieval, "retrieval"))


def get_retrieval(retrieval_id: str) -> Call[loop.Retrieval]:
    """The receipt: what was served and by which numbers, without the texts."""
    return get(f"/retrievals/{retrieval_id}", one(loop.Retrieval))


def explain(retrieval_id: str) -> Call[loop.Retrieval]:
    """The receipt with a sentence for each memory."""
    return get(f"/retrievals/{retrieval_id}/explain", one(loop.Retrieval))


def list_retrievals(**filters: Unpack[f.ReceiptFilterFields]) -> Call[bank.Page[loop.Retrieval]]:
    """Receipts; state="pending" gives those that still wait for an outcome."""
    return listed("/retrievals", filters, page(loop.Retrieval))


def report(retrieval_id: str, **fields: Unpack[f.ReportFields]) -> Call[loop.Reported]:
    """Say what became of the attempt."""
    return posted(f"/retrievals/{retrieval_id}/outcome", fields, one(loop.Reported))


def report_all(
    items: Sequence[f.OutcomeFields],
) -> Call[tuple[bank.BatchItem[loop.Reported], ...]]:
    """Up to 256 outcomes at once."""
    return posted("/outcomes/batch", {"items": items}, batch(loop.Reported, "outcome"))


def apply_outcomes() -> Call[loop.Applied]:
    """Learn now from every outcome that waits, instead of when the leader comes by."""
    return posted("/outcomes/apply", None, one(loop.Applied))


def get_outcome(outcome_id: str) -> Call[loop.Outcome]:
    return get(f"/outcomes/{outcome_id}", one(loop.Outcome))


def list_outcomes(**filters: Unpack[f.OutcomeFilterFields]) -> Call[bank.Page[loop.Outcome]]:
    return listed("/outcomes", filters, page(loop.Outcome))


def get_weight(memory_id: str, agent: str | None = None) -> Call[loop.Weight]:
    """A memory's weight, as `agent` sees it."""
    return listed(f"/experiences/{memory_id}/weight", {"agent": agent}, one(loop.Weight))


def list_weight_events(
    memory_id: str, **filters: Unpack[f.PageFields]
) -> Call[bank.Page[loop.WeightEvent]]:
    """What moved a memory's weight, step by step."""
    return listed(f"/experiences/{memory_id}/weight/events", filters, page(loop.WeightEvent))


def list_weights(**filters: Unpack[f.WeightOrderFields]) -> Call[bank.Page[loop.WeightRow]]:
    """The strongest memories first, or the weakest."""
    return listed("/weights", filters, page(loop.WeightRow))


def effect(**filters: Unpack[f.EffectFilterFields]) -> Call[tuple[loop.Effect, ...]]:
    """What memory did, agent by category."""
    return listed("/effect", filters, _effects)


def rankers() -> Call[tuple[loop.Rankers, ...]]:
    """What each ranker has lost, and how far it is believed, category by category."""
    return get("/rankers", _rankers)


def bank_at(**moment: Unpack[f.MomentFields]) -> Call[bank.Page[history.PastWeight]]:
    """Every memory's weight as of a moment."""
    return listed("/bank", moment, page(history.PastWeight))


def difference(**moments: Unpack[f.DifferenceFields]) -> Call[history.Difference]:
    """What changed between two moments; one without time or version is now."""
    return listed("/bank/difference", moments, one(history.Difference))


def what_if(policy: str, limit: int = 100) -> Call[history.Conjectured]:
    """What the recorded outcomes would have made of the bank under another policy."""
    return posted("/what-if", {"policy": policy, "limit": limit}, one(history.Conjectured))


def rollback(**source: Unpack[f.RollbackFields]) -> Call[history.RolledBack]:
    """Take back what an agent or a key said; without `dry_run=False` only look."""
    return posted("/rollbacks", source, one(history.RolledBack))


def _rankers(reply: Reply) -> tuple[loop.Rankers, ...]:
    return page(loop.Rankers)(reply).items


def health() -> Call[state.Health]:
    """Whether learning is fed, moves, and carries a signal."""
    return get("/health", one(state.Health))


def list_health(**filters: Unpack[f.PageFields]) -> Call[bank.Page[state.Health]]:
    """How the health of learning was, day by day."""
    return listed("/health/history", filters, page(state.Health))


def _effects(reply: Reply) -> tuple[loop.Effect, ...]:
    return page(loop.Effect)(reply).items


def _status(memory_id: str, action: str, reason: str | None) -> Call[bank.Memory]:
    return posted(f"/experiences/{memory_id}/{action}", {"reason": reason}, one(bank.Memory))

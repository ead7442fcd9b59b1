"""Calls about memories of all kinds: browse, see what stands around one, change many."""

from collections.abc import Sequence
from typing import Literal, Unpack

from memlift_client import _fields as f
from memlift_client import _fields_memories as m
from memlift_client import _results_bank as bank
from memlift_client import _results_memories as memories
from memlift_client._building import batch, get, listed, one, page, posted
from memlift_client._wire import Call


def list_memories(**filters: Unpack[m.BrowseFields]) -> Call[bank.Page[memories.BrowsedMemory]]:
    """Memories of all kinds by filter and order, now or as of a moment."""
    return listed("/memories", filters, page(memories.BrowsedMemory))


def get_memory(memory_id: str) -> Call[bank.Memory]:
    """A memory of any kind as it stands."""
    return get(f"/memories/{memory_id}", one(bank.Memory))


def neighbours(memory_id: str) -> Call[bank.Page[memories.Neighbour]]:
    """The eight memories whose situations are most similar."""
    return get(f"/memories/{memory_id}/neighbours", page(memories.Neighbour))


def list_episodes(
    memory_id: str, **filters: Unpack[f.PageFields]
) -> Call[bank.Page[memories.Episode]]:
    """Where it was served and what came of it, the newest first."""
    return listed(f"/memories/{memory_id}/episodes", filters, page(memories.Episode))


def list_records(memory_id: str) -> Call[bank.Page[memories.AgentRecord]]:
    """What came of it for each agent in each category."""
    return get(f"/memories/{memory_id}/records", page(memories.AgentRecord))


def change_trust(memory_id: str, trust: m.Trust, reason: str | None = None) -> Call[bank.Memory]:
    """Believe a memory's source, or not, or quarantine it."""
    body = {"trust": trust, "reason": reason}
    return posted(f"/memories/{memory_id}/trust", body, one(bank.Memory))


def change_memories(
    ids: Sequence[str],
    action: Literal["suspend", "retire", "restore", "trust"],
    **fields: Unpack[m.BulkFields],
) -> Call[tuple[bank.BatchItem[memories.Changed], ...]]:
    """One action on up to 256 memories; each is changed or refused by itself."""
    return posted(
        "/memories/bulk", {"ids": ids, "action": action, **fields}, batch(memories.Changed)
    )


def foresee_erasure(**fields: Unpack[f.ErasureFields]) -> Call[memories.ForeseenErasure]:
    """What an erasure would take; nothing is changed."""
    return posted("/erasures", {**fields, "dry_run": True}, one(memories.ForeseenErasure))

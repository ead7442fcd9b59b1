"""What of a receipt may be told to a model whose answer everyone may come to read.

A lesson or an instruction that a model makes of a guideline is shared, so it is made of what is
shared; and it goes with the memories that it was made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.kernel.postgres.database import Connection
from memory.memories.entities import Viewer
from memory.memories.service import load_mask
from memory.memories.store.status import StatusStore
from memory.receipts.store.receipts import ReceiptStore


@dataclass(frozen=True, slots=True)
class SharedGuideline:
    """A guideline with a word for each line that is made of a private memory; the memories that
    the rest is made of; all that were served; and whether those are more.
    """

    text: str | None
    memory_ids: tuple[UUID, ...]
    served: tuple[UUID, ...]
    partial: bool


async def load_shared_guideline(
    connection: Connection, namespace_id: UUID, retrieval_id: UUID
) -> SharedGuideline:
    receipt = await ReceiptStore(connection, namespace_id).get(retrieval_id)
    mask = await load_mask(connection, namespace_id, Viewer(), receipt)
    shown = mask.apply(receipt).guideline
    served = [item.memory_id for item in receipt.items if item.served]
    shared = tuple(one for one in served if not mask.hides([one]))
    return SharedGuideline(shown.text, shared, tuple(served), partial=len(shared) < len(served))


async def is_erased(connection: Connection, namespace_id: UUID, memory_ids: Sequence[UUID]) -> bool:
    """Whether any of these has lost its words; none of them does before the transaction ends."""
    held = await StatusStore(connection, namespace_id).hold(memory_ids)
    return any(one.erased_at is not None for one in held)

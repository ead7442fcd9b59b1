"""Receipts are read, listed and explained."""

from uuid import UUID

from memory.domain.access import Call
from memory.domain.loop import Explanation, Item, Receipt, ReceiptFilter
from memory.domain.namespace import Clock
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.errors import Rejected
from memory.storage.paging import listed
from memory.storage.receipts import ReceiptStore


async def get_receipt(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ReceiptStore(connection, call.namespace.id).get(retrieval_id)


async def list_receipts(
    engine: Engine, call: Call, wanted: ReceiptFilter, page: Page
) -> Listed[Receipt]:
    """Oldest first. In a replay namespace the newest applied fact is the present."""
    if wanted.state not in ("pending", "all"):
        raise Rejected("state is pending or all", field="state", limit=["pending", "all"])
    now = call.now
    if call.namespace.clock is Clock.REPLAY:
        now = call.namespace.newest_known_at or call.namespace.created_at
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ReceiptStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page, now)
    return listed(found, page, total, lambda receipt: (str(receipt.id),))


async def explain(engine: Engine, call: Call, retrieval_id: UUID) -> Explanation:
    """Why each memory stands where it stands."""
    receipt = await get_receipt(engine, call, retrieval_id)
    return Explanation(
        receipt, {item.memory_id: _sentence(receipt, item) for item in receipt.items}
    )


def _sentence(receipt: Receipt, item: Item) -> str:
    parts = [
        f"Rank {item.rank} by ranker {receipt.ranker}: relevance {item.relevance:.3f}",
        f"ranking weight {item.ranking_weight:.3f}",
        f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        f"gates {receipt.raw_gate:.3f} on similarity and {receipt.score_floor:.3f} on score",
    ]
    if item.slot:
        parts.append("drawn into the last place because it has been credited least")
    if not item.served:
        parts.append(f"not served: the arm was {receipt.arm}")
    elif not item.cited:
        parts.append("not in the guideline: the budget was spent")
    return "; ".join(parts) + f". Propensity {item.propensity:g}."

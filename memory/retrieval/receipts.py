"""Receipts are read, listed and explained."""

from uuid import UUID

from memory.guidelines.entities import CutReason
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Listed, Page, listed
from memory.memories.entities import Kind
from memory.receipts.entities import Item, Receipt, ReceiptFilter
from memory.receipts.store.receipts import ReceiptStore
from memory.retrieval.entities import Explanation
from memory.tenancy.entities import Call, Clock

STATES = ("pending", "answered", "expired", "all")


WHY_CUT = {
    CutReason.BUDGET: "the budget was spent",
    CutReason.QUARANTINED: "its source is not believed",
    CutReason.EMPTY: "nothing of it was left to show",
    CutReason.LEFT_OUT: "the language model had no use for it",
    CutReason.CATEGORY: "the meta-guideline leaves out other categories",
    CutReason.DISAGREEMENT: "it disagrees with others, and the meta-guideline left it out",
    CutReason.MAX_MEMORIES: "the meta-guideline asks for fewer memories",
}


async def get_receipt(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ReceiptStore(connection, call.namespace.id).get(retrieval_id)


async def list_receipts(
    engine: Engine, call: Call, wanted: ReceiptFilter, page: Page
) -> Listed[Receipt]:
    """By the time they were made. In a replay namespace the newest applied fact is the present."""
    if wanted.state not in STATES:
        raise Rejected(f"state must be one of {STATES}", field="state", limit=list(STATES))
    now = call.now
    if call.namespace.clock is Clock.REPLAY:
        now = call.namespace.newest_known_at or call.namespace.created_at
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ReceiptStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page, now)
    return listed(found, page, total, lambda receipt: (str(receipt.id),))


async def explain(engine: Engine, call: Call, retrieval_id: UUID) -> Explanation:
    """Why each memory stands where it stands."""
    return explained(await get_receipt(engine, call, retrieval_id))


def explained(receipt: Receipt) -> Explanation:
    """The receipt with a sentence for each memory."""
    return Explanation(
        receipt, {item.memory_id: _sentence(receipt, item) for item in receipt.items}
    )


def _sentence(receipt: Receipt, item: Item) -> str:
    parts = _reasons(receipt, item)
    if item.exploration_slot:
        parts.append("drawn into the last place because it has been credited least")
    if not item.served:
        parts.append(f"not served: the arm was {receipt.arm}")
    elif not item.cited:
        reasons = {cut.memory_id: cut.reason for cut in receipt.cut}
        why = WHY_CUT[CutReason(reasons.get(item.memory_id, CutReason.BUDGET))]
        parts.append(f"not in the guideline: {why}")
    return "; ".join(parts) + f". Propensity {item.propensity:g}."


def _reasons(receipt: Receipt, item: Item) -> list[str]:
    if item.kind is Kind.META_GUIDELINE:
        return [
            f"The meta-guideline of this guideline: similarity {item.similarity:.3f}",
            f"counted as {item.relevance:.3f} in the category where it was found",
            f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        ]
    if item.kind is Kind.CONSTRAINT:
        return [
            f"A constraint: similarity {item.similarity:.3f} of the nearest task it comes from",
            f"counted as {item.relevance:.3f} for its category and for who ran its pairs",
            f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        ]
    return [
        f"Rank {item.rank} by ranker {receipt.ranker}: relevance {item.relevance:.3f}",
        f"ranking weight {item.ranking_weight:.3f}",
        f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        f"gates {receipt.raw_gate:.3f} on similarity and {receipt.score_floor:.3f} on score",
    ]

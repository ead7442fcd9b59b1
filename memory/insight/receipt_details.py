"""A receipt with its story: what was asked, what was served and why, and its outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.insight.entities import ReceiptDetails, ReceiptSummary, WeightChange
from memory.insight.store.memory_details import MemoryDetailStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.memories.service import hide_private, viewer
from memory.memories.store.queries import MemoryReader
from memory.receipts.entities import Outcome, Receipt
from memory.receipts.list_entities import ReceiptFilter
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.retrieval.explanation import explain_items
from memory.retrieval.service import list_receipts
from memory.tasks.entities import Task
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Call


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A memory that was similar enough and was not served, with its lesson as it stands now."""

    memory_id: UUID
    lesson: str


@dataclass(frozen=True, slots=True)
class ReceiptStory:
    """What came of a retrieval, and what it went without."""

    moved: tuple[WeightChange, ...]
    """Weights that its outcome in effect moved, the furthest first."""
    passed_over: tuple[PassedOver, ...]
    """What passed the raw gate, had no place and no coin, and may be read."""
    private: int
    """So many more may not be read."""


async def get_receipt_story(engine: Engine, call: Call, turn: ReceiptDetails) -> ReceiptStory:
    """What the outcome in effect moved, and which memories were found and not served."""
    items = {item.memory_id for item in turn.receipt.items}
    ids = [one for one in turn.receipt.passed_over or () if one not in items]
    async with engine.database.transaction(call.namespace.id) as connection:
        store = MemoryDetailStore(connection, call.namespace.id)
        moved = (
            [] if turn.effective is None else await store.moved_by(turn.effective, sorted(items))
        )
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        known = {memory.id: memory for memory in await reader.some(ids)}
    seen = tuple(PassedOver(one, known[one].lesson) for one in ids if one in known)
    return ReceiptStory(tuple(moved), seen, len(ids) - len(seen))


async def get_receipt_details(engine: Engine, call: Call, retrieval_id: UUID) -> ReceiptDetails:
    """The receipt with the words as they were served, its task, and every outcome reported."""
    async with engine.database.transaction(call.namespace.id) as connection:
        receipt = await ReceiptStore(connection, call.namespace.id).get(retrieval_id)
        reader = MemoryReader(connection, call.namespace.id, await viewer(connection, call))
        texts = await reader.texts({item.memory_id: item.version for item in receipt.items})
        known = await OutcomeStore(connection, call.namespace.id).of_retrievals([retrieval_id])
        task = await _find_task(connection, call, receipt)
        outcomes = await hide_private(connection, call, known.get(retrieval_id, []))
        receipt = await hide_private(connection, call, explain_items(receipt))
    return ReceiptDetails(
        receipt=receipt,
        task=task,
        texts=texts,
        outcomes=tuple(sorted(outcomes, key=lambda one: one.id)),
        effective=next((one.id for one in outcomes if one.holds_place), None),
    )


async def list_receipt_summaries(
    engine: Engine, call: Call, wanted: ReceiptFilter, page: Page
) -> Listed[ReceiptSummary]:
    """Receipts, as `list_receipts` has them, each with the outcome in effect."""
    found = await list_receipts(engine, call, wanted, page)
    ids = [receipt.retrieval_id for receipt in found.items]
    task_ids = {receipt.task_id for receipt in found.items if receipt.task_id is not None}
    async with engine.database.transaction(call.namespace.id) as connection:
        known = await OutcomeStore(connection, call.namespace.id).of_retrievals(ids)
        known = await hide_private(connection, call, known)
        tasks = await TaskStore(connection, call.namespace.id).some(sorted(task_ids), ())
    texts = {task.id: task.text for task in tasks}
    summaries = [
        _summary(receipt, known.get(receipt.retrieval_id, []), texts) for receipt in found.items
    ]
    return Listed(summaries, found.total, found.next)


def _summary(
    receipt: Receipt, outcomes: Sequence[Outcome], texts: Mapping[UUID, str]
) -> ReceiptSummary:
    return ReceiptSummary(
        receipt=receipt,
        task=None if receipt.task_id is None else texts.get(receipt.task_id),
        effective=next((one for one in outcomes if one.holds_place), None),
        reported=len(outcomes),
    )


async def _find_task(connection: Connection, call: Call, receipt: Receipt) -> Task | None:
    if receipt.task_id is None:
        return None
    return await TaskStore(connection, call.namespace.id).get(receipt.task_id)

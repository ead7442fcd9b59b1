"""What a category is measured by: free → fixed by the first outcome that counts → free again.

An outcome fixes it when it is applied; when none that counts is left in effect, the category is
free again. An admin may fix it otherwise, or free it: what was
learned before stays, later outcomes are held to what is fixed now.
"""

from collections.abc import Sequence
from uuid import UUID

from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Rejected
from memory.kernel.postgres.database import Connection
from memory.outcomes.entities import Report
from memory.receipts.entities import Outcome
from memory.receipts.rebuild import learning_entry
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.entities import Category, Measure
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore

OTHER_METRIC = "other_metric"


async def set_measure(engine: Engine, call: Call, category_id: UUID, measure: Measure) -> Category:
    """Fix what a category is measured by, or free it for the next outcome that counts."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        # Outcomes are applied under this lock: each is held to what was fixed before or after.
        await StateStore(connection, call.namespace.id).lock()
        actors = ActorStore(connection, call.namespace.id)
        before = await actors.get_category(category_id)
        if before.parent is not None:
            raise Rejected(
                f"a subcategory is measured as its category, {before.parent}",
                field="category_id",
                limit=before.parent,
            )
        await actors.set_measure(category_id, measure)
        detail = {
            "from": str(Measure(before.metric, before.reward_kind)),
            "to": str(measure),
        }
        event = AuditEvent("category.measure", str(category_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await actors.get_category(category_id)


async def free_categories(
    connection: Connection, namespace_id: UUID, retrieval_ids: Sequence[UUID]
) -> None:
    """Free the categories of receipts whose outcomes count no more, where no other keeps them
    fixed.
    """
    if retrieval_ids:
        await OutcomeStore(connection, namespace_id).free_categories(retrieval_ids)


async def fix_categories(
    connection: Connection, namespace_id: UUID, outcomes: Sequence[Outcome]
) -> None:
    """Categories of outcomes that count again are measured as these are. Raises Conflict where one
    has come to be measured otherwise.
    """
    ids = [one.retrieval_id for one in outcomes]
    receipts = await ReceiptStore(connection, namespace_id).contexts(ids)
    actors = ActorStore(connection, namespace_id)
    wanted: dict[UUID, Measure] = {}
    for one in outcomes:
        receipt = receipts[one.retrieval_id]
        if not learning_entry(one, receipt).observation.is_about_others:
            continue
        measure = Measure(one.metric, one.reward_kind)
        fixed = measure_of(receipt)
        if fixed not in (None, measure):
            raise Conflict(
                f"outcome {one.id} is measured by {measure}, and its category by {fixed} now: free"
                " the category first",
                code=OTHER_METRIC,
                field="metric",
            )
        wanted[receipt.category_id] = measure
    for category_id, measure in sorted(wanted.items()):
        await actors.fix_metric(category_id, measure)


def measure_of(receipt: ReceiptContext) -> Measure | None:
    """What the category of a receipt is fixed to; None where it is free."""
    if receipt.metric is None or receipt.reward_kind is None:
        return None
    return Measure(receipt.metric, receipt.reward_kind)


def find_other_measure(receipt: ReceiptContext, report: Report) -> Conflict | None:
    """The refusal of a report that is measured otherwise than its category; None where it fits."""
    fixed = measure_of(receipt)
    if fixed is None or fixed == Measure(report.metric_name, report.reward_kind):
        return None
    return Conflict(
        f"the category is measured by {fixed}, not by {report.metric_name}, {report.reward_kind}:"
        " such outcomes need a category of their own, or keep: true to be kept as notes",
        code=OTHER_METRIC,
        field="metric" if fixed.metric != report.metric_name else "reward_kind",
        limit={"metric": fixed.metric, "reward_kind": fixed.reward_kind},
    )

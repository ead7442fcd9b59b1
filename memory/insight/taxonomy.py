"""How much of a namespace lies in which category."""

from memory.insight.overview_entities import CategoryCount
from memory.insight.store.taxonomy import CategoryCountStore
from memory.kernel.engine import Engine
from memory.memories.service import viewer
from memory.tenancy.entities import Call


async def list_category_counts(engine: Engine, call: Call) -> list[CategoryCount]:
    """Every category of both levels by name, a subcategory after its category."""
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        store = CategoryCountStore(connection, call.namespace.id)
        return await store.list_counts(seen_by)

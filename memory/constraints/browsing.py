"""Constraints as who looks after them reads them: by kind of task, with what leads on from each."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from memory.constraints.browse_entities import ConstraintCluster, ConstraintLinks
from memory.constraints.store.browsing import ConstraintBrowser
from memory.kernel.engine import Engine
from memory.memories.service import viewer
from memory.tenancy.entities import Call


async def list_constraint_clusters(engine: Engine, call: Call) -> list[ConstraintCluster]:
    """Constraints by kind of task, the largest cluster first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        return await ConstraintBrowser(connection, call.namespace.id).clusters(seen_by)


async def load_constraint_links(
    engine: Engine, call: Call, memory_ids: Sequence[UUID]
) -> Mapping[UUID, ConstraintLinks]:
    """Of constraints that the caller was shown."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ConstraintBrowser(connection, call.namespace.id).links(memory_ids)


async def count_open_contradictions(engine: Engine, call: Call) -> int:
    """How many contradictions wait for a decision."""
    async with engine.database.transaction(call.namespace.id) as connection:
        browser = ConstraintBrowser(connection, call.namespace.id)
        return await browser.count_open_contradictions()

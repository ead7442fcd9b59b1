"""Constraints as who looks after them reads them: by kind of task, with what leads on from each."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from memory.belief.exposure import acts_wholly_from
from memory.constraints.browse_entities import ConstraintCluster, ConstraintLinks
from memory.constraints.likeness_groups import AlikeConstraints, group_alike
from memory.constraints.store import browsing
from memory.constraints.store.browsing import ConstraintBrowser
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.memories.service import viewer
from memory.tenancy.entities import Call

LOOKED_AT = 1_000
"""So many constraints are compared with each other."""


async def list_constraint_clusters(engine: Engine, call: Call) -> list[ConstraintCluster]:
    """Constraints by kind of task, the largest cluster first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        return await ConstraintBrowser(connection, call.namespace.id).clusters(seen_by)


async def group_alike_constraints(engine: Engine, call: Call) -> list[AlikeConstraints]:
    """Constraints whose triggers are as alike as two texts about one thing, the largest group
    first; of the newest `LOOKED_AT`.
    """
    model_id = require_model(engine, call.namespace)
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        browser = ConstraintBrowser(connection, call.namespace.id)
        found = await browser.triggers(seen_by, model_id, LOOKED_AT)
    if not found:
        return []
    bound = acts_wholly_from(engine.model.calibration["q99"])
    return await asyncio.to_thread(group_alike, [*found], np.stack([*found.values()]), bound)


async def load_constraint_links(
    engine: Engine, call: Call, memory_ids: Sequence[UUID]
) -> Mapping[UUID, ConstraintLinks]:
    """Of constraints that the caller was shown."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ConstraintBrowser(connection, call.namespace.id).links(memory_ids)


async def count_open_contradictions(engine: Engine, call: Call) -> int:
    """How many contradictions wait for a decision."""
    return await browsing.count_open_contradictions(engine.database, call.namespace.id)

"""What stirs in a namespace just now."""

from collections.abc import Sequence
from uuid import UUID

from memory.insight.pulse_entities import Pulse
from memory.insight.store.pulse import PulseStore
from memory.kernel.engine import Engine

NEWEST = 5


async def get_pulse(engine: Engine, namespace_id: UUID, jobs: Sequence[str]) -> Pulse:
    """What every key of the namespace may read, so one answer serves all who watch it."""
    async with engine.database.transaction(namespace_id) as connection:
        return await PulseStore(connection, namespace_id).pulse(jobs, NEWEST)

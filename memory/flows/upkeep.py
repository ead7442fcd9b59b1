"""What has no further use is forgotten: answers kept for repeats, old runs of jobs."""

from datetime import datetime

from memory.domain.namespace import Namespace
from memory.engine import Engine
from memory.storage.calls import CallStore
from memory.storage.namespaces import NamespaceStore
from memory.storage.work import WorkStore


async def forget(engine: Engine, now: datetime) -> None:
    """Drop idempotency answers after 24 hours and job runs after 90 days."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).forget(now)
        await WorkStore(connection).forget(now)


async def namespaces(engine: Engine) -> tuple[Namespace, ...]:
    """All namespaces: work visits them one by one, each inside its own transaction."""
    async with engine.database.transaction() as connection:
        return await NamespaceStore(connection).all()

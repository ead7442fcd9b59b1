"""One namespace that is busy keeps nobody else waiting."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.curation.service import edit_memory
from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Overloaded
from memory.kernel.postgres.database import Database, PoolSettings
from memory.memories.entities import MemoryEdit
from memory.tenancy.entities import Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, Caller, a_namespace, an_engine
from tests.storage.steps import remembered, served

WRITERS = 200


@pytest.fixture
async def small(database_url: str) -> AsyncGenerator[Engine]:
    """An engine with eight connections, for which callers wait as long as it takes."""
    pool = PoolSettings(size=8, overflow=0, timeout=timedelta(hours=1))
    opened = an_engine(database_url, database=Database(database_url, pool))
    await register_model(opened, NOON)
    yield opened
    await opened.close()


async def test_a_reader_is_answered_while_two_hundred_writers_wait_elsewhere(
    engine: Engine, small: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    busy = await calls(wall)
    quiet = await calls(await a_namespace(engine, operator))
    [contested] = await remembered(engine, busy, a_draft())
    await remembered(engine, quiet, a_draft())
    async with engine.database.transaction(busy.namespace.id) as connection:
        # Whoever writes to the namespace waits for this row, with a connection in hand.
        lock = text("SELECT FROM namespace WHERE id = :id FOR UPDATE")
        await connection.execute(lock, {"id": busy.namespace.id})
        writers = [
            asyncio.create_task(edit_memory(small, busy, contested.id, MemoryEdit(pinned=True), 1))
            for _ in range(WRITERS)
        ]
        while small.database.gauges()["waiting"] < WRITERS - 8:  # noqa: ASYNC110 - a queue has no event
            await asyncio.sleep(0.01)

        answer = await served(small, quiet)

        assert answer.memories
        assert not any(writer.done() for writer in writers)
    done = await asyncio.gather(*writers, return_exceptions=True)
    assert not [one for one in done if isinstance(one, Overloaded)]
    assert small.database.gauges()["waiting"] == 0

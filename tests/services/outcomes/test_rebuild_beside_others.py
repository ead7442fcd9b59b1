"""The rebuild is exact however much is remembered while it reads."""

from collections.abc import Awaitable, Callable

from memory.insight.history import verify_rebuild
from memory.kernel.engine import Engine
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, Caller
from tests.storage.steps import remembered


class Interrupted:
    """A connection under which something happens once, before the first reading of outcomes."""

    def __init__(self, connection, happens: Callable[[], Awaitable[object]]) -> None:
        self._connection = connection
        self._happens = [happens]

    async def execute(self, statement, *given):
        if self._happens and "FROM outcome" in str(statement):
            await self._happens.pop()()
        return await self._connection.execute(statement, *given)

    def __getattr__(self, name):
        return getattr(self._connection, name)


async def test_a_memory_that_comes_while_the_rebuild_reads_is_no_difference(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))

    async def another() -> None:
        await remembered(engine, call, a_draft(lesson="came in between", learned_at=NOON))

    async with engine.database.transaction(call.namespace.id) as connection:
        reading = Interrupted(connection, another)
        found = await verify_rebuild(reading, call.namespace, (NOON, NOON), dry=True)

    assert reading._happens == []
    assert (found.result()["exact"], found.result()["differing"]) == (True, [])

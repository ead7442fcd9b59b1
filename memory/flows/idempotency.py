"""A repeated call is answered as the first was, and has no second effect."""

from datetime import datetime

from memory.domain.access import Attempt, Recorded
from memory.engine import Engine
from memory.storage.calls import CallStore


async def begin(engine: Engine, attempt: Attempt, now: datetime) -> Recorded | None:
    """None where the work is to be done now; else the answer that was recorded.

    Raises Rejected for another body under the key, Conflict while the first call runs.
    """
    async with engine.database.transaction() as connection:
        return await CallStore(connection).begin(attempt, now)


async def finish(engine: Engine, attempt: Attempt, answer: Recorded) -> None:
    """The work is done and committed: from now on this is the answer."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).finish(attempt, answer)


async def abandon(engine: Engine, attempt: Attempt) -> None:
    """The work had no effect: the key is free again."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).abandon(attempt)

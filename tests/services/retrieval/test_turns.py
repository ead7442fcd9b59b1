"""A batch of retrievals lets others have their turn between its asks."""

import asyncio
from dataclasses import replace
from random import Random

from memory.kernel.engine import Engine
from memory.retrieval.service import retrieve
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import Caller
from tests.storage.steps import remembered

ASKS = 6


class Watching(Random):
    """Notes how many turns another task had had whenever chance was asked."""

    def __init__(self) -> None:
        super().__init__(7)
        self.turns = 0
        self.seen: set[int] = set()

    def random(self) -> float:
        self.seen.add(self.turns)
        return super().random()


async def test_another_task_has_a_turn_between_the_asks_of_a_batch(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    chance = Watching()

    async def ticking() -> None:
        while True:
            chance.turns += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(ticking())
    try:
        watched = replace(engine, chance=chance)
        await retrieve(watched, await calls(wall), [an_ask() for _ in range(ASKS)])
    finally:
        ticker.cancel()

    assert len(chance.seen) >= ASKS

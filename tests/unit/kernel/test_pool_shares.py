"""Namespaces take turns at the pool's connections, and none takes all of them."""

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from memory.kernel.departure import Departure, departing
from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.postgres.shares import PoolShares

LONG = 3600.0


class Holders:
    """Callers who take a connection and keep it until they are told to give it back."""

    def __init__(self, shares: PoolShares) -> None:
        self.shares = shares
        self.holding: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.ends: dict[str, asyncio.Event] = {}

    async def come(self, name: str, namespace_id: UUID | None) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, namespace_id))
        await settle()

    async def _hold(self, name: str, namespace_id: UUID | None) -> None:
        async with self.shares.hold(namespace_id):
            self.holding.append(name)
            await self.ends[name].wait()
        self.holding.remove(name)

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
        await settle()

    async def end_all(self) -> None:
        for _ in range(len(self.tasks)):
            await self.end(*self.ends)
        await asyncio.gather(*self.tasks.values())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_namespace_leaves_a_quarter_to_the_others() -> None:
    holders, busy, quiet = Holders(PoolShares(8, LONG)), uuid4(), uuid4()
    for number in range(20):
        await holders.come(f"busy {number}", busy)
    assert len(holders.holding) == 6
    assert holders.shares.waiting == 14

    await holders.come("quiet", quiet)
    await holders.come("a key", None)

    assert holders.holding[-2:] == ["quiet", "a key"]
    await holders.end_all()
    assert holders.shares.waiting == 0


async def test_what_becomes_free_goes_round_among_those_who_wait() -> None:
    holders, first, second = Holders(PoolShares(2, LONG)), uuid4(), uuid4()
    await holders.come("first 0", first)
    await holders.come("second 0", second)
    for number in (1, 2):
        await holders.come(f"first {number}", first)
    await holders.come("second 1", second)

    await holders.end("second 0")
    assert holders.holding == ["first 0", "second 1"]
    await holders.end("first 0")
    assert holders.holding == ["second 1", "first 1"]
    await holders.end_all()


async def test_alone_a_namespace_may_have_all_but_what_is_kept_free() -> None:
    shares = PoolShares(8, 0.0)
    here = uuid4()
    async with AsyncExitStack() as held:
        for _ in range(6):
            await held.enter_async_context(shares.hold(here))
        with pytest.raises(Overloaded) as refused:
            await held.enter_async_context(shares.hold(here))
        assert (refused.value.kind, refused.value.limit) == ("namespace_busy", 6)
        assert "holds 6 of 8 database connections" in refused.value.detail
        for _ in range(2):
            await held.enter_async_context(shares.hold(None))
        with pytest.raises(Unavailable) as busy:
            await held.enter_async_context(shares.hold(uuid4()))
        assert busy.value.kind == "pool_exhausted"
    assert (shares.waiting, shares.refused) == (0, 1)
    async with shares.hold(here):
        pass


async def test_a_pool_of_one_connection_serves_everybody_in_turn() -> None:
    holders, here = Holders(PoolShares(1, LONG)), uuid4()
    for number in range(3):
        await holders.come(str(number), here)
    assert holders.holding == ["0"]
    await holders.end_all()


async def test_who_leaves_the_queue_leaves_no_place_behind() -> None:
    shares, here = PoolShares(1, LONG), uuid4()
    holders = Holders(shares)
    await holders.come("holding", here)
    await holders.come("cancelled", here)
    await holders.come("next", here)

    holders.tasks.pop("cancelled").cancel()
    await settle()
    await holders.end("holding")

    assert holders.holding == ["next"]
    await holders.end_all()


async def test_a_caller_who_left_is_dropped_from_the_queue_and_not_from_its_work() -> None:
    shares, here = PoolShares(1, LONG), uuid4()
    departures: list[Departure] = []

    async def call() -> str:
        departures.append(Departure(lambda: True))
        with departing(departures[0]):
            async with shares.hold(here):
                return "served"

    async with shares.hold(here):
        waiting = asyncio.create_task(call())
        await settle()
        assert shares.waiting == 1
        departures[0].leave()
        with pytest.raises(Unavailable) as left:
            await waiting
        assert left.value.kind == "caller_left"
        assert shares.waiting == 0
    # Who has a connection already goes on as if the caller were there.
    gone = Departure(lambda: True)
    gone.has_left = True
    with departing(gone):
        async with shares.hold(here):
            pass

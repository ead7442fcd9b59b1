"""Namespaces leave each other room: who has many callers waits for itself."""

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from memory.kernel.departure import Departure, departing
from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.turns import LATELY, aside
from server.bulkheads import Bulkheads

LONG = 3600.0


class Time:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Holders:
    """Callers who take a place and keep it until they are told to give it back."""

    def __init__(self, bulkheads):
        self.bulkheads = bulkheads
        self.holding = []
        self.tasks = {}
        self.ends = {}

    async def come(self, name, namespace_id):
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, namespace_id))
        await settle()

    async def _hold(self, name, namespace_id):
        async with self.bulkheads.hold(namespace_id):
            self.holding.append(name)
            await self.ends[name].wait()
            self.holding.remove(name)

    async def end(self, *names):
        for name in names:
            self.ends[name].set()
        await settle()

    async def end_all(self):
        for _ in range(len(self.tasks)):
            await self.end(*self.ends)
        await asyncio.gather(*self.tasks.values())
        assert (self.bulkheads.under_way, self.bulkheads.waiting) == (0, 0)


async def settle():
    for _ in range(9):
        await asyncio.sleep(0)


async def test_alone_a_namespace_has_all_places_but_a_quarter():
    holders, busy, quiet = Holders(Bulkheads(8, 2, LONG)), uuid4(), uuid4()
    for number in range(20):
        await holders.come(f"busy {number}", busy)
    assert len(holders.holding) == 6
    assert holders.bulkheads.waiting == 14

    await holders.come("quiet", quiet)

    assert holders.holding[-1] == "quiet"
    await holders.end_all()


async def test_while_others_ask_a_namespace_has_a_few_until_they_have_long_been_silent():
    clock, busy, quiet = Time(), uuid4(), uuid4()
    holders = Holders(Bulkheads(8, 2, LONG, clock))
    await holders.come("quiet", quiet)
    await holders.end("quiet")
    for number in range(10):
        await holders.come(str(number), busy)
    assert holders.holding == ["0", "1"]

    clock.now = LATELY
    await holders.end("0")
    assert holders.holding == ["1", "2"]
    clock.now = LATELY + 1
    await holders.end("1")
    assert holders.holding == ["2", "3", "4", "5", "6", "7"]
    await holders.end_all()


async def test_where_all_places_are_taken_namespaces_take_turns():
    first, second, third = uuid4(), uuid4(), uuid4()
    holders = Holders(Bulkheads(2, 2, LONG))
    await holders.come("first 0", first)
    await holders.come("second 0", second)
    for number in (1, 2):
        await holders.come(f"first {number}", first)
    await holders.come("second 1", second)
    await holders.come("third 0", third)

    came = []
    for _ in range(4):
        await holders.end(holders.holding[0])
        came.append(holders.holding[-1])
    assert came == ["first 1", "second 1", "third 0", "first 2"]
    await holders.end_all()


async def test_who_waits_for_long_hears_whether_its_own_namespace_is_busy_or_all_are():
    bulkheads, here = Bulkheads(8, 2, 0.0), uuid4()
    async with AsyncExitStack() as held:
        for _ in range(6):
            await held.enter_async_context(bulkheads.hold(here))
        with pytest.raises(Overloaded) as refused:
            await held.enter_async_context(bulkheads.hold(here))
        assert (refused.value.kind, refused.value.limit) == ("namespace_busy", 6)
        assert refused.value.retry_after == 1
        assert "6 requests of this namespace are being worked on" in refused.value.detail
        for _ in range(2):
            await held.enter_async_context(bulkheads.hold(uuid4()))
        with pytest.raises(Unavailable) as full:
            await held.enter_async_context(bulkheads.hold(uuid4()))
        assert (full.value.kind, full.value.retry_after) == ("server_busy", 1)
    assert (bulkheads.under_way, bulkheads.waiting, bulkheads.refused) == (0, 0, 2)
    async with bulkheads.hold(here):
        pass


async def test_one_place_serves_everybody_in_turn():
    holders, here = Holders(Bulkheads(1, 3, LONG)), uuid4()
    for number in range(3):
        await holders.come(str(number), here)
    assert holders.holding == ["0"]
    await holders.end("0")
    assert holders.holding == ["1"]
    await holders.end_all()


async def test_who_is_cancelled_leaves_no_place_behind():
    holders, here = Holders(Bulkheads(1, 1, LONG)), uuid4()
    for name in ("holding", "cancelled", "next"):
        await holders.come(name, here)

    holders.tasks.pop("cancelled").cancel()
    await holders.end("holding")

    assert holders.holding == ["next"]
    await holders.end_all()


async def test_who_is_cancelled_as_its_turn_comes_passes_it_on():
    bulkheads, here = Bulkheads(1, 1, LONG), uuid4()
    holders = Holders(bulkheads)
    async with bulkheads.hold(here):
        for name in ("cancelled", "next"):
            await holders.come(name, here)
    assert bulkheads.under_way == 1
    holders.tasks.pop("cancelled").cancel()
    await settle()

    assert holders.holding == ["next"]
    await holders.end_all()


async def test_a_caller_who_left_is_dropped_from_the_queue_and_not_from_its_work():
    bulkheads, here = Bulkheads(1, 1, LONG), uuid4()
    departures = []

    async def call():
        departures.append(Departure(lambda: True))
        with departing(departures[0]):
            async with bulkheads.hold(here):
                pytest.fail("nobody is there for whom this could be")

    async with bulkheads.hold(here):
        waiting = asyncio.create_task(call())
        await settle()
        assert bulkheads.waiting == 1
        departures[0].leave()
        with pytest.raises(Unavailable) as left:
            await waiting
        assert left.value.kind == "caller_left"
        assert bulkheads.waiting == 0
    # Who is worked on already goes on as if the caller were there.
    gone = Departure(lambda: True)
    gone.has_left = True
    with departing(gone):
        async with bulkheads.hold(here):
            pass


class Asides:
    """A caller who has a place, steps aside, and comes back."""

    def __init__(self, bulkheads, namespace_id: UUID):
        self.bulkheads, self.namespace_id = bulkheads, namespace_id
        self.back, self.end = asyncio.Event(), asyncio.Event()
        self.is_back = False

    async def run(self):
        async with self.bulkheads.hold(self.namespace_id):
            await asyncio.gather(self._aside(), self._aside())
            self.is_back = True
            await self.end.wait()

    async def _aside(self):
        async with aside():
            await self.back.wait()


async def test_who_steps_aside_makes_room_and_comes_back_before_those_who_have_not_begun():
    bulkheads, here = Bulkheads(1, 1, LONG), uuid4()
    holders, one = Holders(bulkheads), Asides(bulkheads, here)
    running = asyncio.create_task(one.run())
    await settle()
    for name in ("0", "1"):
        await holders.come(name, here)
    assert (holders.holding, bulkheads.waiting) == (["0"], 1)

    one.back.set()
    await settle()
    assert (one.is_back, bulkheads.waiting) == (False, 2)
    await holders.end("0")
    assert (one.is_back, holders.holding) == (True, [])
    one.end.set()
    await settle()
    assert holders.holding == ["1"]
    await running
    await holders.end_all()


async def test_who_fails_aside_does_not_wait_to_say_so():
    bulkheads, here = Bulkheads(1, 1, LONG), uuid4()
    holders, failing = Holders(bulkheads), asyncio.Event()

    async def fail():
        async with bulkheads.hold(here), aside():
            await failing.wait()
            raise Unavailable("the model is away")

    running = asyncio.create_task(fail())
    await settle()
    await holders.come("0", here)
    failing.set()
    with pytest.raises(Unavailable, match="away"):
        await running

    assert (holders.holding, bulkheads.under_way) == (["0"], 1)
    await holders.end_all()


async def test_work_that_outlives_its_request_takes_no_place():
    bulkheads, here, left = Bulkheads(1, 1, LONG), uuid4(), asyncio.Event()

    async def later():
        async with aside():
            await left.wait()

    async with bulkheads.hold(here):
        behind = asyncio.create_task(later())
        await settle()
    left.set()
    await behind

    assert (bulkheads.under_way, bulkheads.waiting) == (0, 0)


async def test_who_comes_back_is_worked_on_to_the_end_though_its_caller_left():
    bulkheads, here = Bulkheads(1, 1, LONG), uuid4()
    holders, one, departure = Holders(bulkheads), Asides(bulkheads, here), []

    async def call():
        departure.append(Departure(lambda: True))
        with departing(departure[0]):
            await one.run()

    running = asyncio.create_task(call())
    await settle()
    await holders.come("other", here)
    one.back.set()
    departure[0].leave()
    await holders.end("other")

    assert one.is_back
    one.end.set()
    await running
    await holders.end_all()

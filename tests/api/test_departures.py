"""A caller who leaves is noticed where its call waits in a queue."""

import asyncio
from uuid import UUID

import pytest

from memory.kernel.errors import Unavailable
from server.bulkheads import Bulkheads
from server.departures import Departures

HERE = UUID(int=1)
SCOPE = {"type": "http"}
BODY = {"type": "http.request", "body": b"{}", "more_body": False}


class Caller:
    """Sends its body at once, and leaves when the test says so."""

    def __init__(self):
        self.left, self.body = asyncio.Event(), [BODY]

    async def receive(self):
        if self.body:
            return self.body.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}


async def settle():
    for _ in range(9):
        await asyncio.sleep(0)


async def send(_):
    """Nobody listens."""


async def test_a_call_that_waits_for_its_turn_is_dropped_when_its_caller_leaves():
    bulkheads, caller, faults = Bulkheads(1, 1, 3600.0), Caller(), []

    async def app(_, receive, __):
        assert await receive() == BODY
        try:
            async with bulkheads.hold(HERE):
                pytest.fail("nobody is there for whom this could be")
        except Unavailable as fault:
            faults.append(fault.kind)
        assert (await receive())["type"] == "http.disconnect"

    async with bulkheads.hold(HERE):
        call = asyncio.create_task(Departures(app)(SCOPE, caller.receive, send))
        await settle()
        assert bulkheads.waiting == 1
        caller.left.set()
        await call

    assert faults == ["caller_left"]


async def test_a_caller_who_stays_is_served_when_its_turn_comes():
    bulkheads, caller, served = Bulkheads(1, 1, 3600.0), Caller(), []

    async def app(_, receive, __):
        await receive()
        async with bulkheads.hold(HERE):
            served.append(True)

    async with bulkheads.hold(HERE):
        call = asyncio.create_task(Departures(app)(SCOPE, caller.receive, send))
        await settle()
        assert bulkheads.waiting == 1
    await call

    assert served == [True]


async def test_a_body_that_is_still_coming_is_left_to_who_reads_it():
    bulkheads, caller, read = Bulkheads(1, 1, 3600.0), Caller(), []

    async def app(_, receive, __):
        waiting = bulkheads.hold(HERE)
        async with waiting:
            read.append(await receive())

    async with bulkheads.hold(HERE):
        call = asyncio.create_task(Departures(app)(SCOPE, caller.receive, send))
        await settle()
        assert bulkheads.waiting == 1
        assert caller.body == [BODY]
    await call

    assert read == [BODY]

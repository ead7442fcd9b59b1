"""Outcomes that arrive one after the other are applied together, and none waits for ever."""

import asyncio

from memory.jobs.leader import gather

FOR_EVER = 3_600.0


async def test_what_goes_on_arriving_does_not_keep_the_first_waiting_for_ever():
    arrived = asyncio.Event()

    async def arrive() -> None:
        while True:
            arrived.set()
            await asyncio.sleep(0)

    arriving = asyncio.create_task(arrive())
    async with asyncio.timeout(60):
        await gather(arrived, longest=0.05, pause=FOR_EVER)
    goes_on = not arriving.done()
    arriving.cancel()

    assert goes_on


async def test_it_ends_when_nothing_arrives_any_more():
    arrived = asyncio.Event()
    arrived.set()

    async with asyncio.timeout(60):
        await gather(arrived, longest=FOR_EVER, pause=0.01)

    assert not arrived.is_set()


async def test_it_goes_on_while_something_arrives():
    arrived = asyncio.Event()
    gathering = asyncio.create_task(gather(arrived, longest=FOR_EVER, pause=FOR_EVER))

    for _ in range(3):
        arrived.set()
        while arrived.is_set():  # noqa: ASYNC110 - it is cleared by what is tested
            await asyncio.sleep(0)
    goes_on = not gathering.done()
    gathering.cancel()

    assert goes_on

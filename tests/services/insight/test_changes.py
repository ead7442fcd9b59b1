"""A reader of the feed misses nothing, hears nothing twice, and is told where that cannot be."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import text

from memory.insight.change_entities import BankChange, FeedPosition, ReadChanges
from memory.insight.changes import read_changes
from memory.kernel.engine import Engine
from memory.kernel.errors import Gone
from memory.memories.entities import Visibility
from memory.outcomes.applying import apply_now
from memory.tenancy.entities import Call, Key, Role
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import Caller
from tests.services.retrieval.test_resident_copies import World
from tests.storage.steps import remembered, reported, served


async def begin(engine: Engine, call: Call) -> FeedPosition:
    return (await read_changes(engine, call, None, 1)).reached


async def read_all(
    engine: Engine, call: Call, position: FeedPosition, limit: int = 500
) -> tuple[list[BankChange], FeedPosition]:
    """What was written since, by pages of so many."""
    told: list[BankChange] = []
    while True:
        page: ReadChanges = await read_changes(engine, call, position, limit)
        assert len(page.changes) <= limit
        told += page.changes
        position = page.reached
        if not page.has_more:
            return told, position


async def test_who_begins_is_told_what_comes_and_that_once(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    await remembered(engine, call, a_draft())
    position = await begin(engine, call)
    assert (await read_all(engine, call, position))[0] == []

    [new] = await remembered(engine, call, a_draft(lesson="salt the steps before the frost"))
    first, position = await read_all(engine, call, position)
    run = await served(engine, call, purpose="paired")
    await reported(engine, call, run, reward=1.0, without={"reward": 0.0})
    await apply_now(engine, await calls(wall))
    second, position = await read_all(engine, call, position)

    assert {one.part for one in first} >= {"experience", "memory"}
    assert {i for one in first for i in one.memory_ids} == {new.id}
    assert {one.part for one in second} >= {"memory", "cell", "strength"}
    assert (await read_all(engine, call, position))[0] == []


async def test_pages_of_any_size_tell_the_same(engine: Engine, calls: Caller, wall: str) -> None:
    call = await calls(wall)
    start = await begin(engine, call)
    for number in range(5):
        await remembered(engine, call, a_draft(lesson=f"lesson {number} of the frost and the salt"))

    whole, _ = await read_all(engine, call, start)

    assert len(whole) > 5
    for limit in (1, 2, 3):
        assert (await read_all(engine, call, start, limit))[0] == whole


async def test_what_commits_late_is_told_although_its_row_came_first(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    [slow] = await remembered(engine, call, a_draft())
    start = await begin(engine, call)
    touch = text("UPDATE memory SET pinned = NOT pinned WHERE id = :id")
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(touch, {"id": slow.id})
        [quick] = await remembered(engine, call, a_draft(lesson="salt the steps before the frost"))
        before, position = await read_all(engine, call, start)
    after, _ = await read_all(engine, call, position)

    assert {i for one in before for i in one.memory_ids} == {quick.id}
    assert {i for one in after for i in one.memory_ids} == {slow.id}


async def test_every_writing_flow_is_followed_while_others_write(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    world = World((engine, engine), operator, wall, 5)
    await world.create(engine)
    call = await calls(wall)
    start = position = await begin(engine, call)
    told: list[BankChange] = []
    writing = asyncio.create_task(_write(world, 40))
    while not writing.done():
        page = await read_changes(engine, call, position, Random(len(told)).randint(1, 7))
        told, position = [*told, *page.changes], page.reached
        await asyncio.sleep(0)
    await writing
    rest, _ = await read_all(engine, call, position)

    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.execute(
            text("""SELECT kind, memory_ids, recorded_at FROM row_change
                WHERE NOT pg_visible_in_snapshot(xid::text::xid8, CAST(:seen AS pg_snapshot))"""),
            {"seen": start.seen},
        )
        written = Counter(
            (row.kind, tuple(row.memory_ids), row.recorded_at.replace(microsecond=0))
            for row in rows
        )
    heard = Counter((one.part, one.memory_ids, one.recorded_at) for one in (*told, *rest))
    assert heard == written
    assert written.total() > 40


async def _write(world: World, steps: int) -> None:
    for _ in range(steps):
        await world.write()


async def test_a_key_hears_of_no_memory_that_it_may_not_read(
    engine: Engine, calls: Caller, wall: str
) -> None:
    owner = await calls(wall, role=Role.AGENT, agents=("solver",))
    other = await calls(wall, role=Role.AGENT, agents=("another",))
    start = await begin(engine, other)

    [secret] = await remembered(engine, owner, a_draft(visibility=Visibility.AGENT))

    mine, _ = await read_all(engine, owner, start)
    theirs, position = await read_all(engine, other, start)
    assert secret.id in {i for one in mine for i in one.memory_ids}
    assert not [one for one in theirs if one.memory_ids]
    assert not {one.part for one in theirs} & {"experience", "memory"}
    assert (await read_all(engine, other, position))[0] == []


@pytest.mark.parametrize(
    ("hours", "versions", "seen"),
    [(24, 0, None), (0, 10**6, None), (0, 0, "90000000000000:90000000000001:90000000000000")],
    ids=["a day ago", "of another bank", "of another database"],
)
async def test_a_reader_who_may_have_missed_something_is_told(
    *, engine: Engine, calls: Caller, wall: str, hours: int, versions: int, seen: str | None
) -> None:
    call = await calls(wall)
    begun = await begin(engine, call)
    lost = replace(
        begun,
        at=begun.at - timedelta(hours=hours),
        version=begun.version + versions,
        seen=begun.seen if seen is None else seen,
    )

    with pytest.raises(Gone) as fault:
        await read_changes(engine, call, lost, 10)

    assert (fault.value.kind, fault.value.field) == ("changes_gone", "after")

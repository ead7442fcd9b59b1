"""A lease by the database's clock, and what becomes of the transactions of an earlier term."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.jobs.checks import readiness
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Unavailable
from memory.kernel.postgres.database import Connection, process_name
from memory.kernel.postgres.leadership import LEASE, Leadership, WorkStore, led_transaction
from memory.tenancy.entities import Key
from tests.fixtures.engine import a_namespace
from tests.fixtures.replicas import a_term
from tests.storage.steps import a_call

Replicas = tuple[Engine, Engine]
AGE = "UPDATE lease SET beat_at = clock_timestamp() - CAST(:age AS interval)"
WRITE = "UPDATE namespace SET n_memories = n_memories + 1 WHERE id = :id"


async def lead(engine: Engine) -> Leadership | None:
    async with engine.database.transaction() as connection:
        return await WorkStore(connection).lead("another")


async def let_pass(engine: Engine, age: timedelta) -> None:
    """As if the leader had been silent for so long."""
    async with engine.database.transaction() as connection:
        await connection.execute(text(AGE), {"age": age})


async def end_earlier(engine: Engine, leadership: Leadership, earlier: str = "nobody") -> None:
    async with engine.database.login() as connection:
        await WorkStore(connection).end_earlier(leadership, earlier, timedelta(0))


async def write(connection: Connection, namespace_id: object) -> None:
    await connection.execute(text(WRITE), {"id": namespace_id})


async def test_a_lease_is_taken_over_when_it_has_run_out_and_not_before(
    replicas: Replicas,
) -> None:
    one, other = replicas
    first = await a_term(one)
    await let_pass(one, LEASE / 3)

    early = await lead(other)
    async with one.database.transaction() as connection:
        beaten = await WorkStore(connection).beat(first)
    await let_pass(one, LEASE)
    taken = await lead(other)

    assert (early, beaten) == (None, True)
    assert taken is not None
    assert taken.epoch == first.epoch + 1
    async with one.database.transaction() as connection:
        assert not await WorkStore(connection).beat(first)


async def test_who_is_silent_for_a_lease_is_missing_and_requests_go_on(replicas: Replicas) -> None:
    await a_term(replicas[0])

    await let_pass(replicas[0], LEASE + timedelta(seconds=1))
    missing = (await readiness(replicas[1]))["leader"]
    await let_pass(replicas[0], timedelta(0))
    there = (await readiness(replicas[1]))["leader"]

    assert (missing.ok, missing.detail) == (False, "no process leads")
    assert (there.ok, there.detail) == (True, "led by test")


async def test_what_an_earlier_term_left_open_is_ended_and_holds_nothing_any_more(
    replicas: Replicas, chief: Key
) -> None:
    one, other = replicas
    here = (await a_call(one, chief, await a_namespace(one, chief))).namespace.id
    old = await a_term(one)

    async def sleep_over_the_term() -> None:
        async with led_transaction(one.database, here, old) as asleep:
            await write(asleep, here)
            new = await a_term(other)
            await end_earlier(other, new)
            async with led_transaction(other.database, here, new) as awake:
                await write(awake, here)
            await write(asleep, here)

    with pytest.raises(Unavailable):
        await sleep_over_the_term()
    with pytest.raises(Conflict):
        async with led_transaction(one.database, here, old):
            pass
    async with other.database.transaction() as connection:
        counted = "SELECT n_memories FROM namespace WHERE id = :id"
        assert await connection.scalar(text(counted), {"id": here}) == 1


async def test_what_the_earlier_leader_has_left_open_of_its_requests_is_ended_too(
    replicas: Replicas, chief: Key
) -> None:
    one, other = replicas
    here = (await a_call(one, chief, await a_namespace(one, chief))).namespace.id
    new = await a_term(other)

    async def sleep_in_mid_request() -> None:
        async with one.database.transaction(here) as asleep:
            await write(asleep, here)
            # Whoever leads ends nothing of its own.
            await end_earlier(other, Leadership(new.epoch, process_name()), process_name())
            await write(asleep, here)
            await end_earlier(other, new, process_name())
            await write(asleep, here)

    with pytest.raises(Unavailable):
        await sleep_in_mid_request()


async def test_the_current_term_is_left_alone(replicas: Replicas, chief: Key) -> None:
    one, other = replicas
    here = (await a_call(one, chief, await a_namespace(one, chief))).namespace.id
    current = await a_term(one)

    async with led_transaction(one.database, here, current) as connection:
        await write(connection, here)
        await end_earlier(other, current)
        await write(connection, here)

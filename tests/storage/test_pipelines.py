"""Statements of one transaction in one round trip, on a real Postgres."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest
import pytest_asyncio

from memory.kernel.postgres.pipelines import PipelineConnections, Statement

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TABLE = f"note_{uuid4().hex}"
PID = Statement(b"SELECT pg_backend_pid() AS pid", {})


@pytest_asyncio.fixture
async def connections(database_url: str) -> AsyncGenerator[PipelineConnections]:
    made = PipelineConnections(database_url, {}, most=2, timeout=60.0)
    await made.exchange(
        [
            Statement(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, text text)".encode(), {}),
            Statement(
                f"""ALTER TABLE {TABLE} ADD CONSTRAINT one_text UNIQUE (text)
                DEFERRABLE INITIALLY DEFERRED""".encode(),
                {},
            ),
        ]
    )
    yield made
    await made.exchange([Statement(f"DROP TABLE {TABLE}".encode(), {})])
    made.close()


def put(number: int, words: str) -> Statement:
    values = {"id": number, "text": words}
    return Statement(f"INSERT INTO {TABLE} VALUES (%(id)s, %(text)s)".encode(), values)


async def held(connections: PipelineConnections) -> list[int]:
    [rows] = await connections.exchange([Statement(f"SELECT id FROM {TABLE}".encode(), {})])
    return [row["id"] for row in rows]


async def test_values_come_back_as_they_were_sent(connections: PipelineConnections):
    sent = {
        "whole": 7,
        "large": 2**40,
        "real": 0.1 + 0.2,
        "yes": True,
        "nothing": None,
        "text": "naïve 東京 %s %(x)s",
        "id": UUID(int=9),
        "ids": [UUID(int=1), UUID(int=2)],
        "at": NOON,
        "bytes": b"\x00\xff",
    }
    statement = b"""SELECT %(whole)s::int AS whole, %(large)s::bigint AS large,
        %(real)s::float8 AS real, %(yes)s::bool AS yes, %(nothing)s::text AS nothing,
        %(text)s::text AS text, %(id)s::uuid AS id, %(ids)s::uuid[] AS ids,
        %(at)s::timestamptz AS at, %(bytes)s::bytea AS bytes, 7 %% 4 AS rest, %(whole)s + 1 AS more
    """

    [[row]] = await connections.exchange([Statement(statement, sent)])

    assert row == {**sent, "rest": 3, "more": 8}


async def test_each_statement_has_its_rows_and_sees_those_before_it(
    connections: PipelineConnections,
):
    count = Statement(f"SELECT count(*) AS n FROM {TABLE}".encode(), {})

    found = await connections.exchange([count, put(1, "a"), count, put(2, "b"), count])

    assert found == [[{"n": 0}], [], [{"n": 1}], [], [{"n": 2}]]


async def test_what_fails_keeps_nothing_and_the_connection_goes_on(
    connections: PipelineConnections,
):
    [[before]] = await connections.exchange([PID])

    with pytest.raises(psycopg.errors.UniqueViolation):
        await connections.exchange([put(1, "a"), put(1, "b"), put(2, "c")])

    assert await held(connections) == []
    assert (await connections.exchange([put(3, "d"), PID]))[1] == [before]


async def test_what_fails_when_it_is_committed_is_told(connections: PipelineConnections):
    with pytest.raises(psycopg.errors.UniqueViolation):
        await connections.exchange([put(1, "same"), put(2, "same")])

    assert await held(connections) == []


async def test_a_statement_that_cannot_be_prepared_is_told_and_can_be_sent_again(
    connections: PipelineConnections,
):
    lacking = Statement(f"SELECT more FROM {TABLE}".encode(), {})
    for _ in range(2):
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await connections.exchange([put(1, "a"), lacking, put(2, "b")])

    assert await connections.exchange([put(1, "a"), put(2, "b")]) == [[], []]


async def test_a_table_that_changed_is_read_as_it_is_now(connections: PipelineConnections):
    everything = Statement(f"SELECT * FROM {TABLE}".encode(), {})
    await connections.exchange([put(1, "a"), everything])

    await connections.exchange([Statement(f"ALTER TABLE {TABLE} ADD extra int".encode(), {})])

    assert await connections.exchange([everything]) == [[{"id": 1, "text": "a", "extra": None}]]


async def test_a_connection_that_was_ended_is_not_used_again(
    connections: PipelineConnections, database_url: str
):
    [[row]] = await connections.exchange([PID])
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [row["pid"]])

    try:
        [[after]] = await connections.exchange([PID])
    except psycopg.OperationalError:
        # Its end had not arrived yet: that is told once.
        [[after]] = await connections.exchange([PID])

    assert after["pid"] != row["pid"]


async def test_one_that_ends_under_way_is_a_fault_of_the_connection(
    connections: PipelineConnections,
):
    ending = Statement(b"SELECT pg_terminate_backend(pg_backend_pid())", {})

    with pytest.raises(psycopg.OperationalError):
        await connections.exchange([put(1, "a"), ending])

    assert await held(connections) == []


async def test_who_leaves_in_the_middle_leaves_nothing_to_others(
    connections: PipelineConnections,
):
    slow = Statement(b"SELECT pg_sleep(30)", {})
    leaving = asyncio.create_task(connections.exchange([slow]))
    await asyncio.sleep(0.1)

    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving

    assert connections.out == 0
    assert [await held(connections) for _ in range(3)] == [[]] * 3


async def test_whoever_finds_none_free_waits_and_then_is_told(database_url: str):
    connections = PipelineConnections(database_url, {}, most=2, timeout=0.2)
    slow = Statement(b"SELECT pg_sleep(2)", {})
    both = [asyncio.create_task(connections.exchange([slow])) for _ in range(2)]
    await asyncio.sleep(0.1)

    with pytest.raises(TimeoutError):
        await connections.exchange([PID])

    await asyncio.gather(*both)
    assert connections.out == 0
    assert connections.kept == 2
    connections.close()


async def test_more_than_the_socket_takes_at_once_arrives_whole(connections: PipelineConnections):
    words = "x" * 20_000_000
    asked = Statement(b"SELECT length(%(a)s) AS n, %(a)s AS again", {"a": words})

    [[row]] = await connections.exchange([asked])

    assert row == {"n": len(words), "again": words}


async def test_many_callers_share_few_connections(connections: PipelineConnections):
    async def one(number: int) -> None:
        found = await connections.exchange([put(number, str(number)), PID])
        assert len(found) == 2

    for start in range(0, 100, 10):
        await asyncio.gather(*(one(start + n) for n in range(10)))

    assert sorted(await held(connections)) == list(range(100))
    assert connections.kept <= 2

"""A namespace moves from one database to another, and is in one place at any time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from transfer_builders import content, exported, opened, states

from memory.jobs.service import JOBS, JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Moved, NotFound, Unavailable
from memory.kernel.ids import first_id_of
from memory.kernel.paging import Page
from memory.kernel.postgres.database import Database
from memory.kernel.postgres.leadership import WorkStore
from memory.kernel.postgres.migrate import upgrade
from memory.schema import metadata
from memory.tenancy.entities import Key, NamespaceDraft
from memory.tenancy.store.keys import KeyStore
from memory.tenancy.store.moves import MoveStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.transfer.calling_off import call_off, drop_remains, free_name
from memory.transfer.moving import MoveRequest, move_namespace
from memory.transfer.store.moving import NOT_MOVED, RowTarget, moved_tables
from tests.fixtures.engine import NOON, a_namespace
from tests.migrations.first_release import restore
from tests.migrations.surviving import SLUGS
from tests.storage.steps import a_call

THERE = "https://there.example"


@pytest.fixture(scope="module")
async def databases(
    fresh_database: Callable[[], str], migrated_database: Callable[[], str], superuser_url: str
) -> AsyncGenerator[tuple[Database, Database]]:
    """Six namespaces that the first release filled, and a database that has none of them."""
    first = await asyncio.to_thread(fresh_database)
    await asyncio.to_thread(restore, superuser_url, first)
    await asyncio.to_thread(upgrade, first)
    other = await asyncio.to_thread(migrated_database)
    async with opened(first) as source, opened(other) as target:
        yield source, target


def heard(into: list[str]) -> Callable[[str], None]:
    return into.append


async def secrets_of(database: Database, slug: str) -> list[str]:
    """What no file has: the hashes of keys, and the key of the coins."""
    async with database.transaction() as connection:
        rows = await connection.execute(
            text(
                "SELECT k.sha256::text FROM api_key k JOIN namespace n ON n.id = k.namespace_id"
                " WHERE n.slug = :slug UNION ALL SELECT secret::text FROM namespace"
                " WHERE slug = :slug ORDER BY 1"
            ),
            {"slug": slug},
        )
        return [row for (row,) in rows]


async def test_beliefs_that_the_ledger_does_not_give_stay_where_they_are(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    slug = SLUGS[0]
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    async with source.transaction(space.id) as connection:
        doubled = "UPDATE memory_weight SET state[1] = state[1] * 2 WHERE state[1] <> 0"
        assert (await connection.execute(text(doubled))).rowcount

    with pytest.raises(Conflict, match="does not give the belief it has of memory"):
        await move_namespace(source, target, MoveRequest(slug, THERE), NOON, heard([]))

    async with source.transaction(space.id) as connection:
        await connection.execute(text(doubled.replace("*", "/")))
    await call_off(source, target, slug, NOON, heard([]))


async def test_all_of_it_is_at_the_other_place_and_nothing_where_it_was(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    slug = SLUGS[0]
    before, secrets = await content(source, slug), await secrets_of(source, slug)
    learned = await states(source, slug)

    done = await move_namespace(source, target, MoveRequest(slug, THERE), NOON, heard([]))

    assert await secrets_of(target, slug) == secrets
    after = await content(target, slug)
    trail = after.pop("audit")
    assert after == {name: rows for name, rows in before.items() if name != "audit"}
    assert trail[:-1] == before["audit"]
    assert "namespace.arrived" in trail[-1]
    assert await states(target, slug) == learned
    assert learned[1]
    assert done.rows >= sum(map(len, before.values())) > 100
    assert done.folded_in_pause
    with pytest.raises(Moved, match=THERE):
        await content(source, slug)

    async with source.transaction() as here, target.transaction() as there:
        ages = (
            await WorkStore(here).last_good(["decay"]),
            await WorkStore(there).last_good(["decay"]),
        )
    assert ages[1] == {"decay": NOON}, "at the target no job was due before it came"
    assert ages[0].keys() <= {"decay"}

    async with source.transaction() as here, target.transaction() as there:
        soon = first_id_of(datetime.now(UTC) - timedelta(minutes=1))
        whole = await KeyStore(here).living(NOON, None), await KeyStore(there).living(NOON, soon)
    assert whole[1] <= whole[0], "keys that came are known at once, old as they are"
    assert whole[1]

    again = await move_namespace(source, target, MoveRequest(slug, THERE), NOON, heard([]))
    gone = await drop_remains(source, slug, NOON)

    assert (again.rows, again.url) == (0, THERE)
    assert gone > 100
    assert await secrets_of(source, slug) == secrets, "keys are still told where it went"
    with pytest.raises(Conflict, match="has moved to"):
        await call_off(source, target, slug, NOON, heard([]))

    await move_namespace(target, source, MoveRequest(slug, "https://here.example"), NOON, print)

    with pytest.raises(NotFound, match="has begun"):
        await call_off(source, target, slug, NOON, heard([]))
    with pytest.raises(Moved, match="https://here"):
        await content(target, slug)
    back = await content(source, slug)
    assert {**back, "audit": []} == {**before, "audit": []}, "it may come back"


async def test_callers_are_told_another_address_where_the_first_was_wrong(
    databases: tuple[Database, Database], tmp_path: Path
) -> None:
    source, target = databases
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).create(NamespaceDraft("wrong"), None, NOON)
    await move_namespace(source, target, MoveRequest("wrong", "https://w.example"), NOON, heard([]))
    said: list[str] = []

    again = await move_namespace(source, target, MoveRequest("wrong", THERE), NOON, heard(said))

    assert (again.rows, again.url) == (0, THERE)
    assert said == [
        "it has moved already, to https://w.example",
        f"callers of the old place are told {THERE} from now on",
    ]
    with pytest.raises(Moved, match=THERE):
        await content(source, "wrong")
    async with source.transaction() as connection:
        shown = await NamespaceStore(connection).browse(Page(100), space.id)
    assert [one.elsewhere for one in shown.items] == [THERE]
    with pytest.raises(Moved, match=THERE):
        await exported(source, "wrong", tmp_path / "old.zip")
    async with target.transaction() as connection:
        await NamespaceStore(connection).delete(space.id)
    with pytest.raises(Conflict, match="database of --to does not have it"):
        await move_namespace(source, target, MoveRequest("wrong", THERE), NOON, heard([]))


async def test_the_name_of_what_moved_is_freed_once_it_is_open_elsewhere(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).create(NamespaceDraft("named"), None, NOON)
    with pytest.raises(Conflict, match="has not moved"):
        await free_name(source, target, "named", NOON)
    await move_namespace(source, target, MoveRequest("named", THERE), NOON, heard([]))
    async with target.transaction() as connection:
        await MoveStore(connection).arrive(space.id, THERE, NOON)
    with pytest.raises(Conflict, match="not open at the new place"):
        await free_name(source, target, "named", NOON)
    async with target.transaction() as connection:
        await MoveStore(connection).open(space.id)

    assert await free_name(source, target, "named", NOON) == THERE

    async with source.transaction() as connection:
        made = await NamespaceStore(connection).create(NamespaceDraft("named"), None, NOON)
    assert made.id != space.id
    assert await content(target, "named")


class Stopped(Exception):
    """As if the process had died."""


@pytest.mark.parametrize("after", [1, 2, 3])
async def test_a_move_that_was_interrupted_goes_on(
    databases: tuple[Database, Database], after: int
) -> None:
    source, target = databases
    slug = SLUGS[after]
    before = await content(source, slug)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == after:
            raise Stopped

    with pytest.raises(Stopped):
        await move_namespace(source, target, MoveRequest(slug, THERE), NOON, say)
    assert await content(source, slug) == before, "it is served where it was"
    with pytest.raises(Unavailable, match="is being moved"):
        await content(target, slug)
    async with source.transaction() as here, target.transaction() as there:
        space = await NamespaceStore(here).by_slug(slug)
        shown = [await NamespaceStore(one).browse(Page(100), space.id) for one in (here, there)]
    assert [one.items[0].elsewhere for one in shown] == [None, "arriving"]
    await move_namespace(source, target, MoveRequest(slug, THERE), NOON, heard(said))

    after_all = await content(target, slug)
    assert {**after_all, "audit": []} == {**before, "audit": []}
    assert said[after] == "going on with the move that was begun"


async def test_what_arrived_of_a_namespace_that_was_deleted_since_is_called_off(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).create(NamespaceDraft("short"), None, NOON)

    def say(line: str) -> None:
        raise Stopped(line)

    with pytest.raises(Stopped):
        await move_namespace(source, target, MoveRequest("short", THERE), NOON, say)
    async with source.holding(MoveStore.lock_name(space.id)), source.transaction() as connection:
        with pytest.raises(Conflict, match="is being moved"):
            await MoveStore(connection).require_at_rest(space.id)
    async with source.transaction() as connection:
        await MoveStore(connection).require_at_rest(space.id)
        await NamespaceStore(connection).delete(space.id)
        # One of the same name is another one.
        await NamespaceStore(connection).create(NamespaceDraft("short"), None, NOON)
    with pytest.raises(Conflict, match="has begun to arrive"):
        await move_namespace(source, target, MoveRequest("short", THERE), NOON, heard([]))
    async with target.holding(f"arrive {space.id}"):
        with pytest.raises(Conflict, match="another process"):
            await call_off(source, target, "short", NOON, heard([]))
    said: list[str] = []

    await call_off(source, target, "short", NOON, heard(said))

    assert "does not have the short" in said[0]
    with pytest.raises(NotFound):
        await content(target, "short")
    assert await content(source, "short"), "the one of the same name stays"
    async with source.transaction() as connection:
        await NamespaceStore(connection).delete(
            (await NamespaceStore(connection).by_slug("short")).id
        )
    with pytest.raises(NotFound, match="no such namespace"):
        await call_off(source, target, "short", NOON, heard([]))


async def test_one_database_is_not_two_places(databases: tuple[Database, Database]) -> None:
    source, _ = databases
    with pytest.raises(Conflict, match="is the database that the namespace is in"):
        await move_namespace(source, source, MoveRequest(SLUGS[4], THERE), NOON, heard([]))


async def test_what_changes_and_goes_between_two_rounds_is_carried_over_too(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    slug = SLUGS[4]
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 1:
            raise Stopped

    with pytest.raises(Stopped):
        await move_namespace(source, target, MoveRequest(slug, THERE), NOON, say)
    async with source.transaction(space.id) as connection:
        gone = await connection.execute(text("DELETE FROM centroid"))
        changed = await connection.execute(text("UPDATE memory SET pinned = NOT pinned"))
    before = await content(source, slug)

    await move_namespace(source, target, MoveRequest(slug, THERE), NOON, heard(said))

    after = await content(target, slug)
    assert min(gone.rowcount, changed.rowcount) > 0
    assert {**after, "audit": []} == {**before, "audit": []}


async def test_a_pause_ends_by_itself_and_what_was_written_since_stays(
    databases: tuple[Database, Database],
) -> None:
    source, _ = databases
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(SLUGS[5])
        await MoveStore(connection).pause(space.id, THERE, timedelta(seconds=0.3))
    with pytest.raises(Unavailable, match="is being moved"):
        async with source.transaction(space.id):
            pass
    async with source.transaction() as connection:
        assert space.id not in {one.id for one in await NamespaceStore(connection).all()}
    await asyncio.sleep(0.4)

    async with source.transaction(space.id) as writing:
        await writing.execute(text("UPDATE memory SET pinned = pinned"))
        leaving = asyncio.create_task(leave(source, space.id))
        await asyncio.sleep(0.1)
        assert not leaving.done(), "who came in by the lapsed pause is waited for"
    assert await leaving is False
    async with source.transaction() as connection:
        assert await MoveStore(connection).open(space.id)


async def leave(database: Database, namespace_id: object) -> bool:
    async with database.transaction() as connection:
        store = MoveStore(connection)
        await store.find(namespace_id, lock=True)  # pyright: ignore[reportArgumentType] - an id
        return await store.leave(namespace_id)  # pyright: ignore[reportArgumentType] - an id


async def test_a_transaction_that_does_not_end_calls_the_pause_off(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    slug = SLUGS[5]
    async with source.transaction() as connection:
        space = await NamespaceStore(connection).by_slug(slug)
    request = MoveRequest(slug, THERE, timedelta(seconds=3))
    async with source.transaction(space.id) as writing:
        await writing.execute(text("UPDATE memory SET pinned = pinned"))
        with pytest.raises(Unavailable, match="1 transaction did not end"):
            await move_namespace(source, target, request, NOON, heard([]))
        async with source.transaction(space.id):
            pass
        with pytest.raises(Conflict, match="another process"):
            async with source.holding(f"move {space.id}"):
                await move_namespace(source, target, request, NOON, heard([]))

    await call_off(source, target, slug, NOON, heard([]))

    assert await content(source, slug)
    with pytest.raises(NotFound):
        await content(target, slug)
    with pytest.raises(NotFound, match="has begun"):
        await call_off(source, target, slug, NOON, heard([]))


async def test_a_namespace_with_something_in_it_is_not_written_over(
    databases: tuple[Database, Database],
) -> None:
    source, target = databases
    async with source.transaction() as connection, target.transaction() as other:
        taken = await NamespaceStore(connection).by_slug(SLUGS[5])
        made = await NamespaceStore(other).create(NamespaceDraft(taken.slug), None, NOON)
    async with target.transaction(made.id) as other:
        await other.execute(
            text(
                "INSERT INTO category (id, namespace_id, name, created_at)"
                " VALUES (:id, :id, 'x', now())"
            ),
            {"id": made.id},
        )
    with pytest.raises(Conflict, match="with something in it"):
        await move_namespace(source, target, MoveRequest(taken.slug, THERE), NOON, heard([]))
    async with target.transaction(made.id) as other:
        await other.execute(text("DELETE FROM category"))
    await move_namespace(source, target, MoveRequest(taken.slug, THERE), NOON, heard([]))
    assert await content(target, taken.slug)
    with pytest.raises(NotFound):
        await move_namespace(source, target, MoveRequest("nowhere", THERE), NOON, heard([]))


async def test_what_jobs_leave_in_a_namespace_that_nobody_used_is_nothing(
    engine: Engine, operator: Key
) -> None:
    call = await a_call(engine, operator, await a_namespace(engine, operator))
    for job in JOBS:
        await run_job(engine, call, job.name, JobRequest())

    async with engine.database.transaction(call.namespace.id) as connection:
        assert await connection.scalar(text("SELECT count(*) FROM health_sample"))
        assert await RowTarget(connection, call.namespace.id).is_empty()


def test_no_table_of_a_namespace_is_forgotten_by_its_move() -> None:
    moved = {table.name for table in moved_tables()}

    with_namespace = {name for name, table in metadata.tables.items() if "namespace_id" in table.c}
    assert moved == with_namespace - NOT_MOVED.keys() | {"namespace"}
    named = {
        (table.name, column.name)
        for table in metadata.tables.values()
        for column in table.c
        if "model_id" in column.name and table.name in moved
    }
    known = {
        (table.name, column)
        for table in moved_tables()
        for column in table.model_columns | table.model_lists
    }
    assert named == known

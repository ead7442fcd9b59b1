"""The database itself keeps namespaces apart, whatever the code above it forgets."""

import pytest
from sqlalchemy import Executable, Table, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from memory.belief.tables import weight_event
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import ROLE, Connection
from memory.memories.tables import memory
from memory.schema import ISOLATED
from memory.tenancy.entities import Call
from memory.tenancy.tables import audit
from tests.storage.neighbours import Neighbours


async def count(connection: Connection, table: Table) -> int:
    return await connection.scalar(select(func.count()).select_from(table)) or 0


async def rows(engine: Engine, call: Call, table: Table) -> list[dict[str, object]]:
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await connection.execute(select(table).order_by(*table.primary_key))
        return [dict(row) for row in found.mappings()]


async def test_a_namespace_sees_its_rows_and_its_neighbour_none(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for table in ISOLATED:
        with subtests.test(table=table.name):
            assert await rows(engine, neighbours.full, table) != []
            assert await rows(engine, neighbours.empty, table) == []


async def test_without_a_namespace_nothing_is_seen(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for table in ISOLATED:
        with subtests.test(table=table.name):
            async with engine.database.transaction() as connection:
                assert await count(connection, table) == 0


async def test_a_row_of_another_namespace_cannot_be_planted(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for table in ISOLATED:
        with subtests.test(table=table.name):
            [row, *_] = await rows(engine, neighbours.full, table)

            with pytest.raises(DBAPIError, match="row-level security"):
                async with engine.database.transaction(neighbours.empty.namespace.id) as connection:
                    await connection.execute(insert(table).values(row))


async def test_a_row_cannot_be_moved_to_another_namespace(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for table in ISOLATED:
        with subtests.test(table=table.name):
            there = {"namespace_id": neighbours.empty.namespace.id}

            with pytest.raises(DBAPIError, match=r"row-level security|permission denied"):
                async with engine.database.transaction(neighbours.full.namespace.id) as connection:
                    await connection.execute(update(table).values(there))


async def test_changes_and_deletions_do_not_reach_the_neighbour(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for table in ISOLATED:
        with subtests.test(table=table.name):
            before = await rows(engine, neighbours.full, table)

            async with engine.database.transaction(neighbours.empty.namespace.id) as connection:
                if table is weight_event:
                    changed = await connection.execute(update(table).values(superseded_by=1))
                    assert changed.rowcount == 0
                else:
                    same = {"namespace_id": table.c.namespace_id}
                    assert (await connection.execute(update(table).values(same))).rowcount == 0
                    assert (await connection.execute(delete(table))).rowcount == 0

            assert await rows(engine, neighbours.full, table) == before


TAKING_BACK: tuple[Executable, ...] = (
    update(weight_event).values(reason="another"),
    update(weight_event).values(state_after=[0.0]),
    update(audit).values(action="another"),
    delete(audit),
    text("TRUNCATE weight_event"),
    text("TRUNCATE audit"),
    text("ALTER TABLE memory DISABLE ROW LEVEL SECURITY"),
    text("DROP POLICY namespace ON memory"),
    text("DROP TABLE memory CASCADE"),
    text("SET LOCAL row_security = off; SELECT count(*) FROM memory"),
)


async def test_the_application_cannot_take_back_what_was_written(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for statement in TAKING_BACK:
        with (
            subtests.test(str(statement)),
            pytest.raises(DBAPIError, match=r"permission denied|must be owner|row-level security"),
        ):
            async with engine.database.transaction(neighbours.full.namespace.id) as connection:
                await connection.execute(statement)


async def test_an_event_that_is_not_closed_cannot_be_deleted(
    engine: Engine, neighbours: Neighbours
) -> None:
    async with engine.database.transaction(neighbours.full.namespace.id) as connection:
        gone = await connection.execute(delete(weight_event))

    assert gone.rowcount == 0
    assert await rows(engine, neighbours.full, weight_event)


async def test_an_event_may_be_marked_as_superseded(engine: Engine, neighbours: Neighbours) -> None:
    async with engine.database.transaction(neighbours.full.namespace.id) as connection:
        savepoint = await connection.begin_nested()
        marked = await connection.execute(update(weight_event).values(superseded_by=99))
        await savepoint.rollback()

    assert marked.rowcount > 0


@pytest.mark.parametrize("inside", [True, False])
async def test_a_transaction_acts_as_a_role_without_power(
    engine: Engine, neighbours: Neighbours, *, inside: bool
) -> None:
    here = neighbours.full.namespace.id if inside else None

    async with engine.database.transaction(here) as connection:
        row = (await connection.execute(text(WHO))).one()

    assert tuple(row) == (ROLE, False, False, "" if here is None else str(here))


WHO = """
    SELECT current_user::text, rolsuper, rolbypassrls, current_setting('memlift.namespace')
    FROM pg_roles WHERE rolname = current_user
"""


async def test_a_connection_forgets_the_namespace_it_served(
    engine: Engine, neighbours: Neighbours
) -> None:
    async with engine.database.transaction(neighbours.full.namespace.id) as connection:
        assert await count(connection, memory) > 0

    async with engine.database.login() as connection:
        setting = await connection.scalar(text("SELECT current_setting('memlift.namespace', true)"))
        role = await connection.scalar(text("SELECT current_user::text"))

    assert not setting
    assert role == "memlift"

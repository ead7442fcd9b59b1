"""Whatever is kept of a namespace is told apart inside it: one schema for one server and many."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import psycopg
import pytest
from first_release import restore
from migration_builders import CONSTRAINTS, INDEXES, Fresh, asked, go_back, migrate, revision

from memory.kernel.errors import Unavailable
from memory.kernel.postgres.migrate import head, upgrade
from memory.kernel.postgres.tables import metadata
from memory.schema import ISOLATED

NAMESPACED = {table.name for table in ISOLATED}
BEFORE = "0034"

# Every other table, and why no namespace owns its rows.
SHARED = {
    "alembic_version": "the revision of the schema",
    "namespace": "the namespaces themselves; each table of one names it",
    "embedding_model": "a model's vectors are those of all namespaces that use it",
    "api_key": "an operator's key opens every namespace, and who calls is known before where",
    "dashboard_session": "belongs to a key, not to a namespace",
    "idempotency": "a call is recognised by its key before it has a namespace",
    "audit": "what was done to keys and namespaces outlives them",
    "namespace_move": "says where a namespace is served, before anything enters it",
    "server_budget": "what language models may cost all namespaces together",
    "lease": "one process leads them all",
    "job_run": "a run may be of one namespace or of all",
}

NAMED = """
    SELECT t.relname::text, k.name::text, k.kind, ARRAY(
        SELECT coalesce(a.attname::text, '(an expression)')
        FROM unnest(k.columns) WITH ORDINALITY AS c(number, place)
        LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.number AND c.number > 0
        ORDER BY c.place
    ), k.other::text
    FROM (
        SELECT indrelid AS relation, c.relname AS name, 'key' AS kind,
            (indkey::int2[])[0:indnkeyatts - 1] AS columns, NULL::name AS other
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE indisunique
        UNION ALL
        SELECT conrelid, conname, 'foreign', conkey, f.relname
        FROM pg_constraint c JOIN pg_class f ON f.oid = c.confrelid WHERE contype = 'f'
        UNION ALL
        SELECT conrelid, conname, 'primary', conkey, NULL FROM pg_constraint WHERE contype = 'p'
    ) AS k
    JOIN pg_class t ON t.oid = k.relation
    WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p')
        AND NOT t.relispartition
    ORDER BY 1, 3, 2
"""
UNCHECKED = "SELECT conname::text FROM pg_constraint WHERE NOT convalidated"
LOOSE = """
    SELECT count(*) FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity
"""


def test_keys_of_what_a_namespace_owns_begin_with_it(database_url: str) -> None:
    named = asked(database_url, NAMED)

    keys = [one for one in named if one[0] in NAMESPACED]
    assert {table for table, *_ in keys} == NAMESPACED
    assert {table for table, _, kind, *_ in keys if kind == "primary"} == NAMESPACED
    for table, name, kind, columns, other in keys:
        if kind != "foreign" or other in NAMESPACED:
            assert columns[0] == "namespace_id", (table, name)
            assert kind != "foreign" or len(columns) == 2, (table, name)


def test_what_a_namespace_owns_names_nothing_else_but_the_namespace_and_models(
    database_url: str,
) -> None:
    """What would have to lie beside every part of the tables, so that keys can name it."""
    others = {
        other
        for table, _, kind, _, other in asked(database_url, NAMED)
        if kind == "foreign" and table in NAMESPACED and other not in NAMESPACED
    }

    assert others == {"namespace", "embedding_model"}


def test_every_table_is_of_a_namespace_or_shared_for_a_reason() -> None:
    assert {*metadata.tables, "alembic_version"} == NAMESPACED | SHARED.keys()
    assert all(SHARED.values())


@pytest.fixture
def first_release(fresh_database: Fresh, superuser_url: str) -> str:
    """With data: two namespaces and what they learned."""
    url = fresh_database()
    restore(superuser_url, url)
    migrate(url, BEFORE)
    return url


def test_keys_changed_beside_writers_are_those_of_a_new_database(
    first_release: str, database_url: str
) -> None:
    before = [asked(first_release, catalogue) for catalogue in (CONSTRAINTS, INDEXES)]

    upgrade(first_release)

    assert asked(first_release, UNCHECKED) == []
    assert asked(first_release, LOOSE) == [(0,)]
    for catalogue in (CONSTRAINTS, INDEXES):
        assert asked(first_release, catalogue) == asked(database_url, catalogue)
    go_back(first_release, BEFORE)
    assert [asked(first_release, catalogue) for catalogue in (CONSTRAINTS, INDEXES)] == before


def test_a_change_that_broke_off_goes_on_where_it_stopped(
    first_release: str, database_url: str
) -> None:
    """A row that names another namespace's is found, and nothing is half done for ever."""
    move(first_release, AWAY)

    with pytest.raises(Unavailable, match=r"what was built is kept.*fk_memory_weight_namespace"):
        upgrade(first_release)

    assert revision(first_release) == BEFORE
    assert asked(first_release, LOOSE) == [(0,)]
    move(first_release, BACK)
    upgrade(first_release)
    assert revision(first_release) == head()
    for catalogue in (CONSTRAINTS, INDEXES):
        assert asked(first_release, catalogue) == asked(database_url, catalogue)


AWAY = """
    UPDATE memory_weight w SET namespace_id = (SELECT n.id FROM namespace n
        WHERE n.id <> w.namespace_id ORDER BY n.id LIMIT 1)
    WHERE w.memory_id = (SELECT x.memory_id FROM memory_weight x ORDER BY x.memory_id LIMIT 1)
"""
BACK = """
    UPDATE memory_weight w SET namespace_id = m.namespace_id FROM memory m
    WHERE m.id = w.memory_id AND m.namespace_id <> w.namespace_id
"""


def move(url: str, statement: str) -> None:
    """As no server would do: they work inside of a namespace."""
    with psycopg.connect(url) as connection:
        connection.execute("SET ROLE memlift_owner")
        for table in ("memory", "memory_weight"):
            connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY".encode())
        assert connection.execute(statement.encode()).rowcount == 1
        for table in ("memory", "memory_weight"):
            connection.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY".encode())


def test_others_write_while_the_change_waits_for_a_writer(first_release: str) -> None:
    with psycopg.connect(first_release) as writer, ThreadPoolExecutor(1) as pool:
        writer.execute(WRITE)
        changing = pool.submit(upgrade, first_release)
        until_it_builds(first_release)

        assert asked(first_release, WRITE.decode()) == [(1,)]

        assert not changing.done()
        writer.commit()
        assert changing.result() == head()


WRITE = b"""
    WITH here AS MATERIALIZED (
        SELECT set_config('memlift.namespace', id::text, false), id
        FROM namespace ORDER BY id LIMIT 1
    )
    INSERT INTO agent (id, namespace_id, name, created_at)
    SELECT gen_random_uuid(), id, gen_random_uuid()::text, now() FROM here RETURNING 1
"""
WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND query LIKE 'CREATE UNIQUE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
"""


def until_it_builds(url: str) -> None:
    for _ in range(1000):
        if asked(url, WAITING) == [(1,)]:
            return
        sleep(0.02)
    pytest.fail("no index was built")

"""From nothing to the head and back, by one migrator at a time, or not at all."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import sleep

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from migration_builders import (
    COLUMNS,
    CONSTRAINTS,
    INDEXES,
    STORAGE,
    Fresh,
    Rows,
    asked,
    go_back,
    migrate,
    opened,
    revision,
    scripts,
    tables,
    take_down,
)
from sqlalchemy import text

from memory.jobs.checks import readiness
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.migrate import head, heads, upgrade
from memory.kernel.postgres.tables import metadata
from memory.schema import ISOLATED
from tests.fixtures.engine import an_engine

ISOLATION = import_module("migrations.versions.0002_isolation")
VERSIONS = sorted(Path(str(ISOLATION.__file__)).parent.glob("0*.py"))


def test_an_empty_database_comes_to_the_head(fresh_database: Fresh) -> None:
    url = fresh_database()
    assert heads(url) == (None, head())

    upgrade(url)

    assert heads(url) == (head(), head())
    assert tables(url) == {*metadata.tables, "alembic_version"}


def test_coming_to_the_head_again_changes_nothing(database_url: str) -> None:
    upgrade(database_url)

    assert heads(database_url) == (head(), head())


def test_the_head_is_what_the_tables_say(database_url: str) -> None:
    with opened(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("catalogue", [COLUMNS, CONSTRAINTS, INDEXES, STORAGE])
def test_tables_made_from_code_have_the_catalogue_of_the_head(
    database_url: str, made_from_code: str, catalogue: str
) -> None:
    found = asked(database_url, catalogue)

    assert found
    assert found == asked(made_from_code, catalogue)


@pytest.fixture(scope="module")
def made_from_code(fresh_database: Fresh) -> str:
    url = fresh_database()
    with opened(url) as connection, connection.begin():
        connection.execute(text("SET LOCAL ROLE memlift_owner"))
        metadata.create_all(connection)
    return url


def test_every_isolated_table_has_forced_row_security_and_a_policy(database_url: str) -> None:
    secured = asked(
        database_url,
        "SELECT relname::text FROM pg_class WHERE relrowsecurity AND relforcerowsecurity",
    )
    policies = asked(
        database_url,
        "SELECT tablename::text FROM pg_policies WHERE permissive = 'PERMISSIVE' AND cmd = 'ALL' "
        "AND qual = with_check AND qual LIKE '%namespace_id = %memlift.namespace%'",
    )

    isolated = sorted(table.name for table in ISOLATED)
    assert sorted(str(name) for (name,) in secured) == isolated
    assert sorted(str(name) for (name,) in policies) == isolated
    assert sorted(_isolated_by_migrations()) == isolated


def _isolated_by_migrations() -> list[str]:
    """What the steps themselves say that they isolate."""
    steps = (import_module(f"migrations.versions.{path.stem}") for path in VERSIONS)
    return [name for step in steps for name in getattr(step, "ISOLATED", ())]


def test_every_table_with_a_namespace_is_isolated_or_shared_on_purpose() -> None:
    shared = {"api_key", "idempotency", "job_run", "audit", "namespace_move"}

    with_namespace = {t.name for t in metadata.tables.values() if "namespace_id" in t.columns}

    assert with_namespace == {table.name for table in ISOLATED} | shared


def test_the_owner_owns_every_table_and_the_login_none(database_url: str) -> None:
    owners = asked(
        database_url,
        "SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
        "AND relname <> 'alembic_version'",
    )

    assert owners == [("memlift_owner",)]


def test_revisions_are_one_numbered_line() -> None:
    walked = list(scripts().walk_revisions())[::-1]

    assert scripts().get_heads() == [head()]
    assert [script.revision for script in walked] == [f"{n + 1:04}" for n in range(len(walked))]
    before = [None, *(script.revision for script in walked)]
    assert [script.down_revision for script in walked] == before[:-1]
    assert all(script.module.__name__.startswith(script.revision) for script in walked)


def test_the_way_down_leaves_nothing_and_the_way_up_is_open_again(fresh_database: Fresh) -> None:
    url = fresh_database()
    upgrade(url)

    take_down(url)

    assert tables(url) == {"alembic_version"}
    upgrade(url)
    assert heads(url) == (head(), head())


def test_three_replicas_that_start_at_once_all_find_the_head(fresh_database: Fresh) -> None:
    url = fresh_database()

    with ThreadPoolExecutor(3) as replicas:
        done = list(replicas.map(upgrade, [url] * 3))

    assert done == [head()] * 3
    assert heads(url) == (head(), head())


def test_a_schema_newer_than_the_code_is_refused_and_left_as_it_is(fresh_database: Fresh) -> None:
    url = fresh_database()
    upgrade(url)
    asked(url, "UPDATE alembic_version SET version_num = '9001' RETURNING 1")

    with pytest.raises(Unavailable, match="9001") as caught:
        upgrade(url)

    assert caught.value.kind == "schema_newer"
    assert revision(url) == "9001"


def test_a_migration_that_fails_in_the_middle_leaves_nothing_and_says_so(
    fresh_database: Fresh,
) -> None:
    url = fresh_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE memlift_owner")
        connection.execute("CREATE TABLE outcome (id int)")

    with pytest.raises(Unavailable, match=r'nothing was changed.*"outcome" already exists'):
        upgrade(url)

    assert tables(url) == {"outcome"}
    assert heads(url)[0] is None


def test_a_failed_step_keeps_the_step_before_it(at_the_first: str) -> None:
    with psycopg.connect(at_the_first, autocommit=True) as connection:
        connection.execute("SET ROLE memlift_owner")
        connection.execute("CREATE POLICY namespace ON outcome USING (true)")

    with pytest.raises(Unavailable, match="nothing was changed"):
        upgrade(at_the_first)

    assert revision(at_the_first) == "0001"
    secured = asked(at_the_first, "SELECT count(*) FROM pg_class WHERE relforcerowsecurity")
    assert secured == [(0,)]


@pytest.fixture
def at_the_first(fresh_database: Fresh) -> str:
    """A database as a release with only the first revision left it."""
    url = fresh_database()
    migrate(url, "0001")
    return url


@contextmanager
def a_busy_table(url: str) -> Generator[None]:
    with psycopg.connect(url) as reader:
        reader.execute("SELECT count(*) FROM memory")
        yield


def test_a_migration_does_not_queue_before_the_service_for_ever(at_the_first: str) -> None:
    with (
        a_busy_table(at_the_first),
        pytest.raises(Unavailable, match=r"nothing was changed.*lock timeout"),
    ):
        upgrade(at_the_first)

    assert revision(at_the_first) == "0001"


def test_a_migrator_killed_on_its_way_leaves_the_step_before_it(at_the_first: str) -> None:
    with a_busy_table(at_the_first), ThreadPoolExecutor(1) as pool:
        migrating = pool.submit(upgrade, at_the_first)
        kill_who_waits(at_the_first)
        with pytest.raises(Unavailable, match="nothing was changed"):
            migrating.result()

    assert revision(at_the_first) == "0001"
    upgrade(at_the_first)
    assert heads(at_the_first) == (head(), head())


def kill_who_waits(url: str) -> None:
    """Ends the session that waits for a table's lock."""
    killed = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted "
        "AND locktype = 'relation' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    for _ in range(300):
        if asked(url, killed):
            return
        sleep(0.01)
    pytest.fail("nobody waited")


BUILT_IN = """
    WITH ns AS (
        INSERT INTO namespace (id, slug, clock, learning, policy, n_memories, created_at)
        VALUES (gen_random_uuid(), '{slug}', 'wall', 'on', 'paper', 3, now()) RETURNING id
    ), here AS (
        SELECT id, set_config('memlift.namespace', id::text, false) FROM ns
    ), author AS (
        INSERT INTO agent (id, namespace_id, name, created_at)
        SELECT gen_random_uuid(), id, 'memlift', now() FROM here RETURNING id, namespace_id
    ), place AS (
        INSERT INTO category (id, namespace_id, name, created_at)
        SELECT gen_random_uuid(), id, 'general', now() FROM here RETURNING id
    )
    INSERT INTO memory (id, namespace_id, kind, status, trust, visibility, owner, agent_id,
        category_id, source_group, detail, version, sha256, start_weight, learned_at, recorded_at,
        bank_version)
    SELECT gen_random_uuid(), author.namespace_id, 'meta_guideline', said.status, 'trusted',
        'namespace', '*', author.id, place.id, said.origin || said.status,
        jsonb_build_object('origin', said.origin), 1,
        decode(md5(said.origin || said.status), 'hex'), 1, now(), now(), 0
    FROM author, place, (VALUES ('default', 'active'), ('default', 'probation'),
        ('default', 'suspended'), ('reflection', 'active')) AS said (origin, status)
    RETURNING 1
"""
ENTER = "SELECT set_config('memlift.namespace', id::text, false) FROM namespace WHERE slug = %s"
METAS = """
    SELECT detail ->> 'origin', status, coalesce(status_reason, ''), detail ->> 'retired_from'
    FROM memory ORDER BY 1, 2, 4
"""
BANK = "SELECT bank_version, n_memories FROM namespace ORDER BY slug"
FEED = "SELECT bank_version, kind, jsonb_array_length(subjects) FROM change ORDER BY 1, 2"


def test_what_the_first_release_built_in_retires_and_can_be_brought_back(
    fresh_database: Fresh,
) -> None:
    url = fresh_database()
    migrate(url, "0008")
    for slug in ("first", "second"):
        asked(url, BUILT_IN.format(slug=slug))
    before = [asked_within(url, slug, METAS) for slug in ("first", "second")]

    migrate(url, "0009")

    for slug in ("first", "second"):
        assert asked_within(url, slug, METAS) == [
            ("default", "retired", "built_in", "active"),
            ("default", "retired", "built_in", "probation"),
            ("default", "suspended", "", None),
            ("reflection", "active", "", None),
        ]
        assert asked_within(url, slug, FEED) == [(1, "retired", 2)]
    assert asked(url, BANK) == [(1, 1)] * 2
    go_back(url, "0008")
    assert [asked_within(url, slug, METAS) for slug in ("first", "second")] == before
    assert len(before[0]) == 4
    assert asked(url, BANK) == [(3, 3)] * 2


def asked_within(url: str, slug: str, question: str) -> Rows:
    """Rows of a table that is kept apart by namespace."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ENTER.encode(), [slug])
        return connection.execute(question.encode()).fetchall()


@pytest.mark.parametrize("reached", [None, "0001", "9001"])
async def test_ready_is_red_unless_the_schema_is_at_the_head(
    fresh_database: Fresh, reached: str | None
) -> None:
    url = fresh_database()
    if reached is not None:
        migrate(url, "0001")
        asked(url, f"UPDATE alembic_version SET version_num = '{reached}' RETURNING 1")

    checks = await checked(an_engine(url))

    assert not checks["migrations"].ok
    assert head() in checks["migrations"].detail


async def test_ready_finds_the_schema_at_the_head(database_url: str) -> None:
    checks = await checked(an_engine(database_url))

    assert checks["migrations"].ok
    assert checks["role"].ok


async def checked(engine: Engine):
    try:
        return await readiness(engine)
    finally:
        await engine.close()

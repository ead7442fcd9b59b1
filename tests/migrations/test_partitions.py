"""A new database may be spread over hash partitions, and is then as any other, schema and all."""

import psycopg
import pytest
from click.testing import CliRunner
from migration_builders import Fresh, asked, revision

from memory.kernel.errors import Conflict, Rejected
from memory.kernel.postgres.migrate import head, upgrade
from memory.schema import ISOLATED
from server.cli.serving import migrate

PARTS = 3
NAMES = sorted(table.name for table in ISOLATED)

# Of what is no part of another table; a plain key and one over parts read the same.
CATALOGUES = {
    "columns": """
        SELECT t.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attidentity::text, pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
        WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p')
            AND NOT t.relispartition AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2
    """,
    "constraints": """
        SELECT t.relname::text, c.conname::text, pg_get_constraintdef(c.oid)
        FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        WHERE t.relnamespace = 'public'::regnamespace AND NOT t.relispartition
            AND c.conparentid = 0 AND c.contype <> 'n' ORDER BY 1, 2
    """,
    "indexes": """
        SELECT t.relname::text, replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
        FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
        WHERE t.relnamespace = 'public'::regnamespace AND NOT t.relispartition ORDER BY 1, 2
    """,
    "triggers": """
        SELECT t.relname::text, pg_get_triggerdef(g.oid)
        FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid
        WHERE NOT g.tgisinternal AND NOT t.relispartition ORDER BY 1, 2
    """,
    "policies": """
        SELECT tablename::text, policyname::text, permissive, roles::text, cmd, qual, with_check
        FROM pg_policies ORDER BY 1, 2
    """,
    "rights": """
        SELECT t.relname::text, t.relowner::regrole::text, t.relrowsecurity, t.relforcerowsecurity,
            (SELECT array_agg(one::text ORDER BY one::text) FROM unnest(t.relacl) one),
            (SELECT array_agg(a.attname || a.attacl::text ORDER BY a.attname) FROM pg_attribute a
                WHERE a.attrelid = t.oid AND a.attacl IS NOT NULL)
        FROM pg_class t WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p')
            AND NOT t.relispartition ORDER BY 1
    """,
}
PARTED = """
    SELECT p.relname::text, count(*), bool_and(c.reloptions::text IS NOT DISTINCT FROM
        CASE WHEN p.relname = ANY('{memory_weight,weight_deviation,influence}')
        THEN '{fillfactor=50}' END), bool_and(c.relacl IS NULL)
    FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
    WHERE p.relkind = 'p' GROUP BY p.relname ORDER BY 1
"""


@pytest.fixture(scope="module")
def spread_url(fresh_database: Fresh) -> str:
    url = fresh_database()
    upgrade(url, PARTS)
    return url


@pytest.fixture(scope="module")
def whole_url(fresh_database: Fresh) -> str:
    url = fresh_database()
    upgrade(url)
    return url


def test_every_table_of_namespaces_has_its_parts(spread_url: str) -> None:
    """Stored as the whole table would be, and open to nobody by another way than the table."""
    assert asked(spread_url, PARTED) == [(name, PARTS, True, True) for name in NAMES]


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_a_spread_database_has_the_catalogue_of_a_whole_one(
    spread_url: str, whole_url: str, catalogue: str
) -> None:
    found = asked(spread_url, CATALOGUES[catalogue])

    assert found
    assert found == asked(whole_url, CATALOGUES[catalogue])


def test_the_number_of_parts_stays(spread_url: str) -> None:
    upgrade(spread_url)
    upgrade(spread_url, PARTS)

    with pytest.raises(Conflict, match=r"has 3 partitions.*memlift export"):
        upgrade(spread_url, PARTS + 1)

    assert asked(spread_url, PARTED) == [(name, PARTS, True, True) for name in NAMES]


def test_what_broke_off_and_what_a_later_migration_makes_gets_its_parts(spread_url: str) -> None:
    with psycopg.connect(spread_url, autocommit=True) as connection:
        connection.execute("SET ROLE memlift_owner")
        connection.execute("DROP TABLE influence_p1, influence_p2")
        connection.execute("""
            CREATE TABLE later (namespace_id uuid NOT NULL, memory_id uuid NOT NULL,
                PRIMARY KEY (namespace_id, memory_id),
                FOREIGN KEY (namespace_id, memory_id) REFERENCES memory (namespace_id, id));
            ALTER TABLE later ENABLE ROW LEVEL SECURITY;
            ALTER TABLE later FORCE ROW LEVEL SECURITY;
            ALTER TABLE memory ADD COLUMN later text
        """)

        upgrade(spread_url)

        parts = [(name, PARTS, True, True) for name in sorted([*NAMES, "later"])]
        assert asked(spread_url, PARTED) == parts
        connection.execute("DROP TABLE later; ALTER TABLE memory DROP COLUMN later")


def test_the_owner_takes_statistics_of_the_whole_tables(spread_url: str) -> None:
    whole = "SELECT relname::text, reltuples >= 0 FROM pg_class WHERE relkind = 'p' ORDER BY 1"
    with psycopg.connect(spread_url, autocommit=True) as connection:
        connection.execute("SET ROLE memlift_owner")
        connection.execute("ANALYZE")

    assert asked(spread_url, whole) == [(name, True) for name in NAMES]


NAMESPACE = """
    INSERT INTO namespace (id, slug, clock, learning, policy, created_at)
    VALUES (gen_random_uuid(), 'here', 'wall', 'on', 'paper', now()) RETURNING 1
"""


def test_a_database_with_namespaces_is_refused_and_told_the_way(fresh_database: Fresh) -> None:
    url = fresh_database()
    upgrade(url)
    asked(url, NAMESPACE)

    with pytest.raises(Conflict, match=r"has namespaces.*memlift move.*export.*memlift import"):
        upgrade(url, PARTS)

    assert asked(url, PARTED) == []
    assert revision(url) == head()


@pytest.mark.parametrize("parts", [0, -1, 257])
def test_a_number_out_of_bounds_is_refused_before_anything_is_done(
    fresh_database: Fresh, parts: int
) -> None:
    url = fresh_database()

    with pytest.raises(Rejected, match="from 1 to 256"):
        upgrade(url, parts)

    assert asked(url, "SELECT to_regclass('alembic_version')") == [(None,)]


def test_the_command_spreads_a_new_database(
    fresh_database: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = fresh_database()
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", url)

    done = CliRunner().invoke(migrate, ["--partitions", "1"])

    assert done.exit_code == 0, done.output
    assert done.output == f"at head, {head()}, 1 partition\n"
    assert {row[:2] for row in asked(url, PARTED)} == {(name, 1) for name in NAMES}

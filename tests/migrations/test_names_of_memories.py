"""Memories of an earlier release are found by identifiers of their texts once it is upgraded."""

import psycopg
from migration_builders import Fresh, migrate

from memory.kernel.identifiers import find_identifiers
from tests.migrations.test_what_proves_a_constraint import Bank

TEXTS = (
    ("Ein Fehler E4012 in memory/retrieval/head.py", "fooBar neu laden"),
    ("nothing to name", "nothing at all"),
    ("登录 ECONNRESET", '"quoted\\path" and {braces} of x-1'),
)
VERSION = """
    INSERT INTO memory_version (memory_id, version, namespace_id, situation, lesson, known_at,
        recorded_at, bank_version)
    SELECT id, %(version)s, namespace_id, %(situation)s, %(lesson)s, now(), now(), 0 FROM memory
"""
FOUND = "SELECT identifiers FROM memory_version ORDER BY version"


def test_the_identifiers_of_every_version_are_found(fresh_database: Fresh) -> None:
    url = fresh_database()
    migrate(url, "0027")
    with psycopg.connect(url, autocommit=True) as connection:
        Bank(connection)
        for version, (situation, lesson) in enumerate(TEXTS, start=1):
            values = {"version": version, "situation": situation, "lesson": lesson}
            connection.execute(VERSION, values)

        migrate(url, "0028")

        found = [names for (names,) in connection.execute(FOUND).fetchall()]
        [(forced,)] = connection.execute(
            "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'memory_version'"
        ).fetchall()
    assert found == [sorted(find_identifiers("\n".join(texts))) for texts in TEXTS]
    assert "e4012" in found[0]
    assert forced

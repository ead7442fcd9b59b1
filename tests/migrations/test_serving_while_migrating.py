"""Processes of the release before go on while a newer one migrates: what migrations may do, and
what a process says that finds itself behind.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from migration_builders import Fresh, asked, migrate, scripts
from serving_lint import find_breaking
from sqlalchemy import Engine as SqlEngine
from sqlalchemy import event

from memory.inference.service import register_model
from memory.jobs.checks import readiness
from memory.kernel.postgres.migrate import head, upgrade
from server.schemas.health import Ready
from tests.fixtures.engine import NOON, an_engine

BASE = "0034"
"""The last revision of which this was not asked."""
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "upgrade.md"


@contextmanager
def watching() -> Generator[list[str]]:
    """Every statement that is sent in the block."""
    sent: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(SqlEngine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(SqlEngine, "before_cursor_execute", note)


def test_a_process_of_the_release_before_can_go_on_after_each_migration(fresh_database: Fresh):
    url = fresh_database()
    migrate(url, BASE)
    later = [one for one in scripts().walk_revisions(BASE, "head") if one.revision != BASE]
    page = PAGE.read_text()

    for script in reversed(later):
        with watching() as sent:
            migrate(url, script.revision)
        found = sorted({why for statement in sent for why in find_breaking(statement)})
        if found:
            reason = getattr(script.module, "STOPS_OLDER", None)
            assert reason, f"{script.revision} {found}: do it in two releases, or say STOPS_OLDER"
            assert f"| {script.revision} | {reason} |" in page


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE memory DROP COLUMN trust",
        "DROP TABLE task",
        "ALTER TABLE memory RENAME TO note",
        "ALTER TABLE memory RENAME COLUMN trust TO standing",
        "ALTER TABLE memory RENAME trust TO standing",
        "ALTER TABLE memory ALTER COLUMN version TYPE bigint",
        "ALTER TABLE memory ALTER COLUMN agent_id SET NOT NULL",
        "ALTER TABLE memory ADD COLUMN place INTEGER NOT NULL",
        "ALTER TABLE memory ADD COLUMN a TEXT, ADD COLUMN b INTEGER NOT NULL",
        "ALTER TABLE memory ADD CONSTRAINT ck_memory_x CHECK (x > 0)",
        "ALTER TABLE memory DROP CONSTRAINT pk_memory",
        'DROP INDEX IF EXISTS "uq_ticket_waiting"',
        "REVOKE INSERT ON memory FROM memlift_app",
        "DROP INDEX CONCURRENTLY IF EXISTS uq_ticket_waiting",
    ],
)
def test_what_an_older_process_could_not_go_on_after_is_found(statement: str):
    assert find_breaking(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE place (id uuid NOT NULL)",
        "ALTER TABLE memory ADD COLUMN place INTEGER",
        "ALTER TABLE memory ADD COLUMN place INTEGER DEFAULT 0 NOT NULL",
        "ALTER TABLE memory ADD COLUMN a TEXT, ADD COLUMN b INTEGER DEFAULT 1 NOT NULL",
        "ALTER TABLE memory ADD CONSTRAINT ck_memory_x CHECK (x > 0) NOT VALID",
        "CREATE INDEX CONCURRENTLY ix_memory_x ON memory (x)",
        "ALTER TABLE memory ALTER COLUMN agent_id DROP NOT NULL",
        "ALTER TABLE memory RENAME CONSTRAINT ck_memory_x TO ck_memory_y",
        "ALTER INDEX ix_memory_x RENAME TO ix_memory_y",
    ],
)
def test_what_an_older_process_does_not_notice_is_allowed(statement: str):
    assert find_breaking(statement) == []


async def test_a_process_behind_its_database_is_ready_and_says_that_it_is_behind(
    fresh_database: Fresh,
):
    url = fresh_database()
    upgrade(url)
    engine = an_engine(url)
    try:
        await register_model(engine, NOON)
        asked_of(url, "UPDATE alembic_version SET version_num = '9999'")
        ready = Ready.of(await readiness(engine))
    finally:
        await engine.close()

    assert ready.status == "ready"
    assert "newer schema" in ready.degraded
    assert f"9999, this process knows {head()}" in ready.checks["schema"].detail


def asked_of(url: str, statement: str) -> None:
    asked(url, f"{statement} RETURNING version_num")

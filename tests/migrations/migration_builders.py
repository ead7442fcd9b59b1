"""Databases at a revision of one's choice, and what their catalogues say."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import psycopg
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from memory.kernel.postgres.migrate import _config, _scripts, sqlalchemy_url

Fresh = Callable[[], str]
Rows = list[tuple[object, ...]]

COLUMNS = """
    SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid)
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND c.relname <> 'alembic_version'
    ORDER BY 1, 2
"""
CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      AND conrelid::regclass::text <> 'alembic_version'
    ORDER BY 1, 2
"""
INDEXES = """
    SELECT tablename::text, indexname::text, indexdef FROM pg_indexes
    WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1, 2
"""
STORAGE = """
    SELECT relname::text, reloptions::text FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL ORDER BY 1
"""
TABLES = """
    SELECT relname::text FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1
"""


@contextmanager
def opened(url: str) -> Generator[Connection]:
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def migrate(url: str, revision: str) -> None:
    """Go up to `revision`, as an earlier release would have."""
    with opened(url) as connection:
        command.upgrade(_config(connection), revision)


def go_back(url: str, revision: str) -> None:
    with opened(url) as connection:
        command.downgrade(_config(connection), revision)


def take_down(url: str) -> None:
    go_back(url, "base")


def scripts() -> ScriptDirectory:
    return _scripts()


def asked(url: str, question: str) -> Rows:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(question.encode()).fetchall()


def revision(url: str) -> object:
    [[found]] = asked(url, "SELECT version_num FROM alembic_version")
    return found


def tables(url: str) -> set[object]:
    return {name for (name,) in asked(url, TABLES)}

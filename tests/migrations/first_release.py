"""A database that the first release made, restored as its administrator would have restored it."""

import json
import lzma
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

DATA = Path(__file__).parent / "data"
TOKEN = "ml_" + "0" * 31 + "1_" + "f" * 64
"""The operator's key in that database."""

# What only the program that wrote the dump, or the version of Postgres it spoke to, understands.
SKIPPED = ("--", "\\", "SET ", "SELECT pg_catalog.set_config")


def expected() -> dict[str, dict[str, Any]]:
    """What the first release read in its database, by namespace."""
    return json.loads(lzma.decompress((DATA / "first_release.json.xz").read_bytes()))


def restore(superuser_url: str, url: str) -> None:
    """Fill the empty, prepared database at `url`, as a superuser."""
    name = conninfo_to_dict(url)["dbname"]
    dump = lzma.decompress((DATA / "first_release.sql.xz").read_bytes()).decode()
    with psycopg.connect(make_conninfo(superuser_url, dbname=name), autocommit=True) as inside:
        inside.execute("SET search_path = ''")
        for statement, rows in _statements(iter(dump.splitlines())):
            asked = cast("LiteralString", statement)
            if not statement.startswith("COPY "):
                inside.execute(asked)
                continue
            with inside.cursor().copy(asked) as copy:
                copy.write("".join(f"{row}\n" for row in rows))


def _statements(lines: Iterator[str]) -> Generator[tuple[str, list[str]]]:
    """Each statement, and the rows that follow a COPY."""
    said: list[str] = []
    for line in lines:
        if not said and (not line or line.startswith(SKIPPED)):
            continue
        said.append(line)
        if line.endswith(";"):
            statement, said = "\n".join(said), []
            rows = list(iter(lines.__next__, "\\.")) if statement.startswith("COPY ") else []
            yield statement, rows

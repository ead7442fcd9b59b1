"""What the suite `dashboard` looks at beside experiences: constraints, and receipts in quantity.

Receipts are copies of those that were really served, made by SQL: to serve one takes a model's
time, and a list has rows of the same kind either way.
"""

from collections.abc import Iterator
from itertools import islice

import psycopg
from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.load import Shot, fire
from benchmarks.texts import experiences

ONE = 1
CHUNK = 5_000


def add_constraints(bench: Bench, prefix: str) -> None:
    """Constraints as agents bring them; those that the server refuses are counted."""
    wanted = bench.settings["constraints"]
    bench.say(f"storing {wanted} constraints")
    shots = [Shot("POST", f"{prefix}/constraints", body) for body in _constraints(bench)]
    hits = fire(bench.server, shots, ONE)
    bench.number("constraints_stored", sum(hit.timing.ok for hit in hits), "constraints")
    bench.number("constraints_refused", sum(not hit.timing.ok for hit in hits), "constraints")


def _constraints(bench: Bench) -> Iterator[dict[str, object]]:
    made = experiences(2 * bench.settings["constraints"], bench.settings["seed"] + 2)
    pairs = zip(made, made, strict=False)
    for first, other in islice(pairs, bench.settings["constraints"]):
        yield {
            "agent": first["agent"],
            "trigger": first["situation"],
            "enforce": first["lesson"],
            "avoid": other["lesson"],
            "task": {"text": first["situation"], "category": first["category"]},
        }


def accept_constraints(bench: Bench, slug: str) -> None:
    """Constraints that the lint refused, since their made words name numbers, are in use: a list of
    rejected ones is not what an operator looks at. None where the database is not at hand.
    """
    if (url := bench.server.database_url()) is None:
        return
    with psycopg.connect(url, autocommit=True) as connection:
        namespace_id = _enter(connection, slug)
        connection.execute(
            "UPDATE memory SET status = 'active', status_reason = NULL WHERE namespace_id = %s"
            " AND kind = 'constraint' AND status = 'rejected'",
            [namespace_id],
        )
        connection.execute("ANALYZE memory")


def multiply_receipts(bench: Bench, slug: str) -> None:
    """Copies of the namespace's receipts until there are as many as the settings say; none where
    the database of the server cannot be reached from here.
    """
    url = bench.server.database_url()
    if url is None:
        bench.say("the server's database is not at hand: receipts stay those that were served")
        return
    wanted = bench.settings["receipts"]
    bench.say(f"copying receipts until there are {wanted}")
    with psycopg.connect(url, autocommit=True) as connection:
        namespace_id = _enter(connection, slug)
        copied = _copying(connection)
        while (missing := wanted - _count(connection, namespace_id)) > 0:
            made = connection.execute(copied, {"ns": namespace_id, "limit": min(missing, CHUNK)})
            if not made.rowcount:
                raise SystemExit("there is no receipt to copy")
        connection.execute("ANALYZE")
        bench.number("receipts", _count(connection, namespace_id), "receipts")


def _enter(connection: "psycopg.Connection[tuple[object, ...]]", slug: str) -> object:
    """The id of the namespace, whose rows are seen from now on: row-level security binds the owner
    of the tables too.
    """
    found = connection.execute("SELECT id FROM namespace WHERE slug = %s", [slug]).fetchone()
    if found is None:
        raise SystemExit(f"the database at hand has no namespace {slug}")
    connection.execute("SELECT set_config('memlift.namespace', %s, false)", [str(found[0])])
    return found[0]


def _count(connection: "psycopg.Connection[tuple[object, ...]]", namespace: object) -> int:
    found = connection.execute(
        "SELECT count(*) FROM retrieval WHERE namespace_id = %s", [namespace]
    )
    row = found.fetchone()
    assert row is not None
    return int(str(row[0]))


def _copying(connection: "psycopg.Connection[tuple[object, ...]]") -> sql.Composed:
    """A statement that copies rows of the namespace under ids of their own, whatever columns there
    are.
    """
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'retrieval'"
        " AND is_generated = 'NEVER' AND column_name <> 'id'"
    ).fetchall()
    columns = sql.SQL(", ").join(sql.Identifier(str(name)) for (name,) in rows)
    return sql.SQL(
        "INSERT INTO retrieval (id, {columns}) SELECT uuidv7(), {columns} FROM retrieval"
        " WHERE namespace_id = %(ns)s LIMIT %(limit)s"
    ).format(columns=columns)

"""Every primary, unique and foreign key of a namespaced table begins with its namespace.

Nobody waits long for it: where a namespace is there already, indexes are built beside the writers,
foreign keys are added unchecked and checked afterwards, and each step that needs a table for itself
takes a moment, or is tried again. What was reached is found in the catalogue, so that a step which
failed goes on where it stopped. In a database without any all is one transaction, as elsewhere.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import DBAPIError, OperationalError

from memory.kernel.errors import Unavailable

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None
STOPS_OLDER = "a row that is written again is found by a key that begins with its namespace"

NAMESPACED = (
    *("agent", "candidate", "category", "cell", "centroid", "change", "changeset", "competence"),
    *("constraint_support", "contradiction", "contrast", "effect_day", "embedding"),
    *("health_sample", "influence", "ledger_closing", "memory", "memory_version", "memory_weight"),
    *("noise", "outcome", "prediction", "prediction_revision", "prediction_score"),
    *("ranker_record", "receipt_tally", "retrieval", "retrieval_item", "rollback", "row_change"),
    *("settled_window", "settlement", "strength", "task", "task_embedding", "taxonomy", "ticket"),
    *("trajectory", "trial", "usage", "webhook", "webhook_delivery", "weight_deviation"),
    *("weight_event", "writing", "writing_budget"),
)
# Their primary keys began with it before.
BEGAN_WITH_IT = (
    *("noise", "weight_event", "ledger_closing", "receipt_tally", "change", "writing_budget"),
    *("health_sample", "taxonomy"),
)
UNIQUE_CONSTRAINTS = (
    ("constraint_support", "memory_id", "contrast_id"),
    ("contradiction", "first_id", "second_id"),
    ("settled_window", "task_id", "correction"),
    ("webhook_delivery", "webhook_id", "once"),
)
UNIQUE_INDEXES = (
    ("ticket", "uq_ticket_waiting", "memory_id", "state IN ('open', 'leased', 'quarantined')"),
    ("outcome", "uq_outcome_partner_id", "partner_id", "status IN ('accepted', 'applied')"),
    ("outcome", "uq_outcome_effective", "retrieval_id", "status IN ('accepted', 'applied')"),
)
# What a primary key, or another index, says from now on.
NEEDLESS = (
    ("retrieval", "ix_retrieval_namespace_id_id", "namespace_id, id", None),
    ("rollback", "ix_rollback_namespace_id_id", "namespace_id, id", None),
    ("writing", "ix_writing_namespace_id_id", "namespace_id, id", None),
    ("changeset", "ix_changeset_namespace_id_id", "namespace_id, id", None),
    ("candidate", "ix_candidate_namespace_id_outcome_id", "namespace_id, outcome_id", None),
    ("competence", "ix_competence_namespace_id", "namespace_id", None),
    ("webhook", "ix_webhook_namespace_id", "namespace_id", None),
    ("outcome", "ix_outcome_retrieval_id", "retrieval_id", None),
    ("trajectory", "ix_trajectory_retrieval_id", "retrieval_id", "retrieval_id IS NOT NULL"),
)
OWNER = "memlift_owner"
NEW = "_0035"
"""What the name of an index ends in until it takes the place of the one before."""
# Who waits for a table alone stops all behind it, so not for long; who builds or checks stops
# nobody, and waits for whoever began to write before.
ALONE, BESIDE = "2s", "60s"
TRIES, PAUSE_SECONDS = 30, 1.0
LOCKED = ("55P03", "40P01")

PRIMARY = """
    SELECT t.relname AS table, array_agg(a.attname::text ORDER BY k.place) AS columns
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number
    WHERE c.contype = 'p' AND c.connamespace = 'public'::regnamespace
        AND t.relname::text = ANY(:tables)
    GROUP BY t.relname ORDER BY 1
"""
FOREIGN = """
    SELECT t.relname AS table, c.conname AS name, f.relname AS target, c.convalidated AS checked,
        c.confdeltype::text AS action, array_length(c.conkey, 1) AS width, a.attname AS column
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    JOIN pg_class f ON f.oid = c.confrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[array_length(c.conkey, 1)]
    WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace
        AND t.relname::text = ANY(:tables) AND f.relname::text = ANY(:tables)
    ORDER BY 1, 2
"""
INDEX = """
    SELECT i.indisvalid AS whole, ARRAY(
        SELECT pg_get_indexdef(i.indexrelid, n, false) FROM generate_series(1, i.indnkeyatts) n
    ) AS columns
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relname = :name
"""


class Key(NamedTuple):
    """An index that takes the place of another, and what it is a constraint of, if of any."""

    table: str
    before: str
    name: str
    columns: tuple[str, ...]
    constraint: str | None = None
    condition: str | None = None


def upgrade() -> None:
    aside(lambda *, beside: change(begin=True, beside=beside))


def downgrade() -> None:
    aside(lambda *, beside: change(begin=False, beside=beside))


def aside(work: Callable[..., None]) -> None:
    """Do it beside writers where there may be some: each step is then a transaction of its own."""
    if not op.get_bind().scalar(sa.text("SELECT EXISTS (SELECT FROM namespace)")):
        work(beside=False)
        return
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        bind.execute(sa.text(f"SET ROLE {OWNER}; SET statement_timeout = 0"))
        try:
            work(beside=True)
        except DBAPIError as fault:
            why = str(fault.orig).strip().splitlines()[0]
            raise Unavailable(
                "the keys of some tables are not changed yet, and no row was; what was built is "
                f"kept: run `memlift migrate` again. The database said: {why}",
                code="database",
            ) from fault
        finally:
            bind.execute(sa.text("RESET ROLE; RESET statement_timeout; RESET lock_timeout"))
    op.execute(f"SET LOCAL lock_timeout = '4s'; SET LOCAL ROLE {OWNER}")


def change(*, begin: bool, beside: bool) -> None:
    """Let all keys begin with the namespace, or go back to those that did not."""
    keys = [*primary_keys(begin=begin), *unique_keys(begin=begin)]
    todo = [key for key in keys if not stands(key.name, key.columns)]
    if not begin:
        for table, name, columns, condition in NEEDLESS:
            build("INDEX", table, name, columns, condition, beside=beside)
    for key in todo:
        columns = ", ".join(key.columns)
        build("UNIQUE INDEX", key.table, key.name + NEW, columns, key.condition, beside=beside)
    replace_foreign(begin=begin, beside=beside)
    for key in todo:
        swap(key, beside=beside)
    if begin:
        for _, name, *_ in NEEDLESS:
            drop(name, beside=beside)


def primary_keys(*, begin: bool) -> Iterable[Key]:
    for row in op.get_bind().execute(sa.text(PRIMARY), {"tables": list(NAMESPACED)}).all():
        if row.table not in BEGAN_WITH_IT:
            rest = [column for column in row.columns if column != "namespace_id"]
            name = f"pk_{row.table}"
            yield Key(row.table, name, name, keyed(rest, begin=begin), "PRIMARY KEY")


def unique_keys(*, begin: bool) -> Iterable[Key]:
    for table, *columns in UNIQUE_CONSTRAINTS:
        before, after = keyed(columns, begin=not begin), keyed(columns, begin=begin)
        yield Key(table, unique(table, before), unique(table, after), after, "UNIQUE")
    for table, name, column, condition in UNIQUE_INDEXES:
        yield Key(table, name, name, keyed([column], begin=begin), None, condition)


def keyed(columns: Sequence[str], *, begin: bool) -> tuple[str, ...]:
    return ("namespace_id", *columns) if begin else tuple(columns)


def unique(table: str, columns: Sequence[str]) -> str:
    return "_".join(("uq", table, *columns))


def stands(name: str, columns: Sequence[str] | None = None) -> bool:
    """Whether there is such an index, whole."""
    found = op.get_bind().execute(sa.text(INDEX), {"name": name}).first()
    if found is None or not found.whole:
        return False
    return columns is None or tuple(found.columns) == tuple(columns)


def build(
    kind: str, table: str, name: str, columns: str, condition: str | None, *, beside: bool
) -> None:
    """The index, unless it is there; one whose building broke off is built anew."""
    how = " CONCURRENTLY" if beside else ""
    where = "" if condition is None else f" WHERE {condition}"

    def once() -> None:
        if not stands(name):
            op.execute(f"DROP INDEX{how} IF EXISTS {name}")
            op.execute(f"CREATE {kind}{how} {name} ON {table} ({columns}){where}")

    patiently(once, BESIDE, beside=beside)


def drop(name: str, *, beside: bool) -> None:
    how = " CONCURRENTLY" if beside else ""
    patiently(lambda: op.execute(f"DROP INDEX{how} IF EXISTS {name}"), BESIDE, beside=beside)


def swap(key: Key, *, beside: bool) -> None:
    """Put the index that was built in the place of the one before, in one moment."""
    table, before, name, _, constraint, _ = key
    if constraint is None:
        statement = f"DROP INDEX {before}; ALTER INDEX {name}{NEW} RENAME TO {name}"
    else:
        statement = f"""ALTER TABLE {table} DROP CONSTRAINT {before},
            ADD CONSTRAINT {name} {constraint} USING INDEX {name}{NEW}"""
    patiently(lambda: op.execute(statement), ALONE, beside=beside)


def replace_foreign(*, begin: bool, beside: bool) -> None:
    """New foreign keys beside those before; once they are checked, these go."""
    wide = 2 if begin else 1
    unchecked = " NOT VALID" if beside else ""
    found = foreign_keys()
    names = {(one.table, one.name) for one in found}
    before = [one for one in found if one.width != wide]
    for one in before:
        here, there = keyed([one.column], begin=begin), keyed(["id"], begin=begin)
        name = "_".join(("fk", one.table, *here))
        if (one.table, name) not in names:
            add = f"""ALTER TABLE {one.table} ADD CONSTRAINT {name} FOREIGN KEY ({", ".join(here)})
                REFERENCES {one.target} ({", ".join(there)}){on_delete(one, begin=begin)}{unchecked}"""
            patiently(lambda add=add: op.execute(add), ALONE, beside=beside)
    if beside:
        check()
    for one in before:
        gone = f"ALTER TABLE {one.table} DROP CONSTRAINT {one.name}"
        patiently(lambda gone=gone: op.execute(gone), ALONE, beside=beside)


def foreign_keys() -> Sequence[sa.Row[tuple[object, ...]]]:
    return op.get_bind().execute(sa.text(FOREIGN), {"tables": list(NAMESPACED)}).all()


def on_delete(one: sa.Row[tuple[object, ...]], *, begin: bool) -> str:
    # The namespace of a row stays, whatever it named goes.
    only = f" ({one.column})" if begin else ""
    return {"a": "", "c": " ON DELETE CASCADE", "n": f" ON DELETE SET NULL{only}"}[one.action]


def check() -> None:
    """Of all rows: the policies of the tables, which show an owner none, are loosed for it
    meanwhile. Nobody but a migration works as the owner.
    """
    try:
        bind_owner("NO FORCE")
        for one in foreign_keys():
            if not one.checked:
                look = f"ALTER TABLE {one.table} VALIDATE CONSTRAINT {one.name}"
                patiently(lambda look=look: op.execute(look), BESIDE, beside=True)
    finally:
        bind_owner("FORCE")


def bind_owner(how: str) -> None:
    for table in NAMESPACED:
        statement = f"ALTER TABLE {table} {how} ROW LEVEL SECURITY"
        patiently(lambda statement=statement: op.execute(statement), ALONE, beside=True)


def patiently(step: Callable[[], object], wait: str, *, beside: bool) -> None:
    """Do it, again where somebody held what it needs for too long; inside the one transaction of
    all steps once.
    """
    if not beside:
        step()
        return
    op.execute(f"SET lock_timeout = '{wait}'")
    for tried in range(1, TRIES + 1):
        try:
            step()
        except OperationalError as fault:
            if tried == TRIES or getattr(fault.orig, "sqlstate", None) not in LOCKED:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return

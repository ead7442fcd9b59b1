"""Spreads the tables of namespaces over hash partitions: whatever a namespace owns lies in one part
of each table, chosen by its id.

What is to be spread is found in the catalogue (row security is forced there), so that a table which
a later migration makes is spread by the migrator that made it. The number of parts is fixed when
the database is made; it stands in the comment of the table `namespace`, where a dump keeps it.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from memory.kernel.errors import Conflict, Rejected

MOST = 256
"""Parts of a table at most: each is a table of its own to the server."""


OWNER = "memlift_owner"


# Parts that one transaction makes, since it holds a lock on each of their indexes.
_AT_ONCE = 16


_MARK = ("memlift: ", " partitions")


def require_number(n: int) -> None:
    """Raises Rejected for a number of partitions that is out of bounds."""
    if not 1 <= n <= MOST:
        raise Rejected(f"partitions must be from 1 to {MOST}, not {n}", field="partitions")


def recorded(connection: Connection) -> int | None:
    """Over how many parts the tables are spread, or are being spread; None: they are whole."""
    mark = connection.scalar(text("SELECT obj_description(to_regclass('public.namespace'))"))
    n = (mark or "").removeprefix(_MARK[0]).removesuffix(_MARK[1])
    return int(n) if n.isdigit() else None


def require_new(connection: Connection, n: int) -> None:
    """Raises Conflict where the tables cannot be spread over `n` parts any more: there are
    namespaces, or they are spread over another number of parts.
    """
    if (found := recorded(connection)) is not None:
        if found != n:
            raise Conflict(
                f"the database has {found} partitions, and their number stays: {_RECIPE}",
                code="partitions",
                field="partitions",
            )
        return
    there = connection.scalar(text("SELECT to_regclass('public.namespace') IS NOT NULL"))
    if there and connection.scalar(text("SELECT EXISTS (SELECT FROM namespace)")):
        raise Conflict(
            f"the database has namespaces, and only an empty one is spread: {_RECIPE}",
            code="partitions",
            field="partitions",
        )


_RECIPE = (
    "make a new database, run `memlift migrate --partitions N` on it, and bring each namespace "
    "over by `memlift move`, or by `memlift export` and `memlift import` "
    "(docs/how-to/spread-over-partitions.md)"
)


def spread(connection: Connection, n: int) -> None:
    """Let every table of namespaces have `n` parts; those that have them are left alone. Where it
    breaks off, the next call goes on. Raises Conflict where a table that is whole has rows.
    """
    with connection.begin():
        _as_owner(connection)
        if whole := connection.execute(_WHOLE).scalars().all():
            _split(connection, whole, n)
            _run(connection, f"COMMENT ON TABLE namespace IS '{str(n).join(_MARK)}'")
    with connection.begin():
        missing = connection.execute(_MISSING, {"n": n}).all()
    for table, options, parts in missing:
        for start in range(0, len(parts), _AT_ONCE):
            with connection.begin():
                _as_owner(connection)
                for part in parts[start : start + _AT_ONCE]:
                    _run(connection, _part(table, part, n, options))


def _as_owner(connection: Connection) -> None:
    _run(connection, f"SET LOCAL lock_timeout = '4s'; SET LOCAL ROLE {OWNER}")


def _run(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement.replace("%", "%%"))


def _split(connection: Connection, names: Sequence[str], n: int) -> None:
    """Each table anew, with its first part; all in one transaction, as they name each other."""
    asked = {"tables": list(names)}
    foreign = connection.execute(_FOREIGN, asked).all()
    again = [
        statement
        for question in (_KEYS, _INDEXES, _TRIGGERS, _POLICIES, _GRANTS)
        for statement in connection.execute(question, asked).scalars()
    ]
    for statement in connection.execute(_POLICY_GOES, asked).scalars().all():
        _run(connection, statement)
    for table, key, _ in foreign:
        _run(connection, f"ALTER TABLE {table} DROP CONSTRAINT {key}")
    for table, options in connection.execute(_OPTIONS, asked).all():
        _replace(connection, table)
        _run(connection, _part(table, 0, n, options))
    for statement in again:
        _run(connection, statement)
    for table, key, definition in foreign:
        _run(connection, f"ALTER TABLE {table} ADD CONSTRAINT {key} {definition}")


def _replace(connection: Connection, table: str) -> None:
    before = f"{table}_whole"
    _run(connection, f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {table})")):  # noqa: S608 - a name of the schema
        raise Conflict(
            f"the table {table} has rows, and only an empty one is spread over partitions",
            code="partitions",
            field="partitions",
        )
    _run(connection, f"ALTER TABLE {table} RENAME TO {before}")
    _run(
        connection,
        f"""CREATE TABLE {table} (LIKE {before} INCLUDING ALL EXCLUDING INDEXES)
        PARTITION BY HASH (namespace_id)""",
    )
    _run(connection, f"DROP TABLE {before}")
    for how in ("ENABLE", "FORCE"):
        _run(connection, f"ALTER TABLE {table} {how} ROW LEVEL SECURITY")


def _part(table: str, part: int, n: int, options: str | None) -> str:
    """Nobody is granted anything on a part: the way in is through the table and its policies."""
    kept = f" WITH ({options})" if options else ""
    return f"""CREATE TABLE {table}_p{part} PARTITION OF {table}
        FOR VALUES WITH (MODULUS {n}, REMAINDER {part}){kept}"""


_WHOLE = text("""
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind = 'r' AND NOT relispartition AND relforcerowsecurity ORDER BY 1
""")


# The first part tells what the others are stored like.
_MISSING = text("""
    SELECT t.relname AS table, array_to_string(min(p.reloptions), ', ') AS options,
        ARRAY(SELECT part FROM generate_series(0, :n - 1) AS part
            WHERE to_regclass(format('public.%I', t.relname || '_p' || part)) IS NULL
            ORDER BY part) AS parts
    FROM pg_class t LEFT JOIN pg_class p ON p.relnamespace = t.relnamespace
        AND p.relname = t.relname || '_p0'
    WHERE t.relnamespace = 'public'::regnamespace AND t.relkind = 'p' AND t.relforcerowsecurity
    GROUP BY t.relname ORDER BY 1
""")


_OF_THESE = "t.relnamespace = 'public'::regnamespace AND t.relname::text = ANY(:tables)"


_OPTIONS = text(f"""
    SELECT t.relname, array_to_string(t.reloptions, ', ') FROM pg_class t
    WHERE {_OF_THESE} ORDER BY 1
""")  # noqa: S608 - put together of constants, as those below


_FOREIGN = text(f"""
    SELECT t.relname, format('%I', c.conname), pg_get_constraintdef(c.oid)
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    JOIN pg_class f ON f.oid = c.confrelid
    WHERE c.contype = 'f' AND c.conparentid = 0
        AND ({_OF_THESE} OR f.relname::text = ANY(:tables)) ORDER BY 1, 2
""")  # noqa: S608 - constants


_KEYS = text(f"""
    SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', t.relname, c.conname,
        pg_get_constraintdef(c.oid))
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    WHERE c.contype IN ('p', 'u') AND {_OF_THESE} ORDER BY 1
""")  # noqa: S608 - constants


_INDEXES = text(f"""
    SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
    WHERE {_OF_THESE}
        AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid
            AND c.contype IN ('p', 'u')) ORDER BY 1
""")  # noqa: S608 - constants


_TRIGGERS = text(f"""
    SELECT pg_get_triggerdef(g.oid) FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid
    WHERE NOT g.tgisinternal AND {_OF_THESE} ORDER BY 1
""")  # noqa: S608 - constants


_POLICIES = text(f"""
    SELECT format('CREATE POLICY %I ON %I AS %s FOR %s TO %s', p.policyname, p.tablename,
            p.permissive, p.cmd, array_to_string(p.roles, ', '))
        || coalesce(' USING (' || p.qual || ')', '')
        || coalesce(' WITH CHECK (' || p.with_check || ')', '')
    FROM pg_policies p JOIN pg_class t ON t.relname = p.tablename
    WHERE p.schemaname = 'public' AND {_OF_THESE} ORDER BY 1
""")  # noqa: S608 - constants


_POLICY_GOES = text(f"""
    SELECT format('DROP POLICY %I ON %I', p.polname, t.relname)
    FROM pg_policy p JOIN pg_class t ON t.oid = p.polrelid WHERE {_OF_THESE} ORDER BY 1
""")  # noqa: S608 - constants


_GRANTS = text(f"""
    SELECT format('GRANT %s%s ON %I TO %I', g.privilege, g.columns, g.relname, r.rolname)
    FROM (
        SELECT t.relname, a.grantee, a.privilege_type AS privilege, '' AS columns
        FROM pg_class t, aclexplode(t.relacl) a WHERE a.grantee <> t.relowner AND {_OF_THESE}
        UNION ALL
        SELECT t.relname, a.grantee, a.privilege_type, format(' (%I)', c.attname)
        FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid, aclexplode(c.attacl) a
        WHERE {_OF_THESE}
    ) AS g JOIN pg_roles r ON r.oid = g.grantee ORDER BY 1
""")  # noqa: S608 - constants

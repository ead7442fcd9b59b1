"""A copy of the whole database in one file, made beside a running server, and the way back.

The file is a tar of `manifest.json` and `database.dump`. The dump is that of Postgres' own
`pg_dump`, in its custom format, of one snapshot; the manifest says what made it, the checksum of
the dump and how many rows that snapshot had in each table. Both tools come with the embedded
server.

The way back: the file is read through and checked, then the database, then `pg_restore` does all
in one transaction, the rows are counted, and the schema is brought to head.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import Field, TypeAdapter, ValidationError

from memory.kernel.errors import Conflict, Rejected, Unavailable
from memory.kernel.fields import BOTH_WAYS, Moment
from memory.kernel.postgres.compatibility import CONNECT_SECONDS, OWNER, POWER
from memory.kernel.postgres.embedded.account import client_tools
from memory.kernel.postgres.migrate import refuse_newer, upgrade

FORMAT = 1
"""The version of the file's own layout."""
MANIFEST, DUMP = "manifest.json", "database.dump"
MAX_MANIFEST_BYTES = 1024 * 1024
AT_A_TIME = 1024 * 1024
# An export may be packed so, a backup never is.
GZIP = b"\x1f\x8b"

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class DumpFacts:
    """The dump as it must be found again."""

    __pydantic_config__ = BOTH_WAYS

    bytes: Annotated[int, Field(ge=0)]
    """Its size."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of its bytes, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What a backup is of, and what made it."""

    __pydantic_config__ = BOTH_WAYS

    format: int
    """The version of the file's layout."""
    made_at: Moment
    """When its snapshot was taken."""
    memlift: str
    """The version that made it."""
    schema: str
    """The revision that the database was at."""
    postgres: str
    """The version of its server."""
    vector: str
    """The version of its vector extension."""
    models: tuple[str, ...]
    """The embedding models whose vectors are in it, each with its revision."""
    rows: Mapping[str, int]
    """How many rows each table had."""
    dump: DumpFacts
    """The member beside this one."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore brought back."""

    manifest: BackupManifest
    revision: str
    """The revision that the database is at now."""


_FACTS: LiteralString = """
    SELECT current_setting('server_version'),
        (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
        (SELECT version_num FROM alembic_version),
        ARRAY(SELECT name || ' ' || revision FROM embedding_model ORDER BY name, revision),
        pg_export_snapshot()
"""
# What an extension brought is its own.
_OURS: LiteralString = """
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
_SERVING: LiteralString = """
    SELECT count(DISTINCT application_name) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'memlift %'
"""


def back_up(url: str, out: IO[bytes], beside: Path, memlift: str, now: datetime) -> BackupManifest:
    """Write the database at `url` into `out`, as it is at one moment; the dump lies in the file
    `beside` meanwhile. The login must see the rows of all namespaces. Raises Unavailable where it
    does not, or the server does not answer.
    """
    with _snapshot(url) as connection:
        row = connection.execute(_FACTS).fetchone()
        assert row is not None
        server, vector, revision, models, snapshot = row
        rows = count_rows(connection)
        dump = _dump(url, snapshot, beside)
    manifest = BackupManifest(
        FORMAT, now, memlift, revision, server, vector, tuple(models), rows, dump
    )
    with tarfile.open(fileobj=out, mode="w") as tar:
        _add(tar, MANIFEST, json.dumps(asdict(manifest), indent=1, default=str).encode())
        tar.add(beside, DUMP, filter=_bare)
    return manifest


def verify(file: Path) -> BackupManifest:
    """Read the file through. Raises Rejected where it is no backup, or not as it was written, or
    of a schema that this version does not know.
    """
    with _opened(file) as tar:
        manifest = _read_manifest(tar)
        with _member(tar, DUMP) as dump:
            found = _facts_of(dump)
    if found != manifest.dump:
        raise Rejected(
            f"{file}: {DUMP} is not what the manifest says: {found.bytes} bytes with sha256 "
            f"{found.sha256}, not {manifest.dump.bytes} with {manifest.dump.sha256}",
            field="file",
        )
    refuse_newer(manifest.schema, "the backup")
    return manifest


def restore(url: str, file: Path, manifest: BackupManifest, *, replace: bool) -> Restored:
    """Read a verified backup into the database at `url`, all or nothing, and bring it to head.

    Raises Conflict where a server works on the database, or something is in it already; that is
    dropped first where it is to be replaced.
    """
    with _connected(url) as connection:
        _refuse_served(connection)
        if found := _tables(connection):
            if not replace:
                raise Conflict(
                    f"the database holds {len(found)} tables already: restore into an empty one, "
                    "or drop what is there by --replace",
                    code="not_empty",
                    field="replace",
                )
            _drop_all(connection)
    _load(url, file)
    with _connected(url) as connection:
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(OWNER)))
        _require_same(manifest, _counted_unbound(connection))
        connection.execute("ANALYZE")
    return Restored(manifest, upgrade(url))


def count_rows(connection: Connection) -> dict[str, int]:
    """How many rows each of our tables has, for a login that sees all of them."""
    return {name: _count(connection, name) for name in _tables(connection)}


def _count(connection: Connection, table: str) -> int:
    counted = connection.execute(
        sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("public", table))
    ).fetchone()
    assert counted is not None
    return int(counted[0])


def _counted_unbound(connection: Connection) -> dict[str, int]:
    """The same for the owner, whom the policies of tables bind as well: without that for the while,
    and with it again before anybody sees it.
    """
    with connection.transaction():
        forced = [
            name
            for (name,) in connection.execute(
                "SELECT c.relname " + _OURS + " AND c.relforcerowsecurity"
            )
        ]
        for name in forced:
            _force(connection, name, "NO FORCE")
        rows = count_rows(connection)
        for name in forced:
            _force(connection, name, "FORCE")
    return rows


def _force(connection: Connection, table: str, how: LiteralString) -> None:
    connection.execute(
        sql.SQL("ALTER TABLE {} " + how + " ROW LEVEL SECURITY").format(
            sql.Identifier("public", table)
        )
    )


def _tables(connection: Connection) -> list[str]:
    found = connection.execute(
        "SELECT c.relname "
        + _OURS
        + " AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1"
    )
    return [name for (name,) in found]


def _refuse_served(connection: Connection) -> None:
    row = connection.execute(_SERVING).fetchone()
    if row is not None and row[0]:
        raise Conflict(
            f"{row[0]} processes of MemLift work on the database: stop them first",
            code="database_served",
        )


def _drop_all(connection: Connection) -> None:
    """Tables with what hangs on them, then functions; extensions and grants on the schema stay."""
    with connection.transaction():
        connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER)))
        for name in _tables(connection):
            connection.execute(
                sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier("public", name))
            )
        functions = connection.execute("""
            SELECT p.oid::regprocedure::text FROM pg_proc p
            JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'public' AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
        """).fetchall()
        for (signature,) in functions:
            connection.execute(sql.SQL("DROP FUNCTION " + signature + " CASCADE"))


def _require_same(manifest: BackupManifest, found: Mapping[str, int]) -> None:
    if differing := sorted(
        name
        for name in manifest.rows.keys() | found.keys()
        if manifest.rows.get(name) != found.get(name)
    ):
        raise Unavailable(
            f"the restore ran, and these tables have other numbers of rows than the backup: "
            f"{', '.join(differing)}"
        )


def _dump(url: str, snapshot: str, beside: Path) -> DumpFacts:
    beside.unlink(missing_ok=True)
    beside.touch(mode=0o600, exist_ok=False)
    # Comments belong to the extension, and that belongs to the server.
    _run(
        "pg_dump",
        url,
        *("--format=custom", "--no-comments", "--exclude-extension=*"),
        *(f"--snapshot={snapshot}", f"--file={beside}"),
    )
    with beside.open("rb") as dump:
        return _facts_of(dump)


def _facts_of(dump: IO[bytes]) -> DumpFacts:
    size, digest = 0, hashlib.sha256()
    while block := dump.read(AT_A_TIME):
        size += len(block)
        digest.update(block)
    return DumpFacts(size, digest.hexdigest())


def _load(url: str, file: Path) -> None:
    with _opened(file) as tar:
        _read_manifest(tar)
        with _member(tar, DUMP) as dump:
            _run(
                "pg_restore",
                url,
                *("--no-owner", f"--role={OWNER}", "--exit-on-error", "--single-transaction"),
                given=dump,
            )


def _run(tool: str, url: str, *options: str, given: IO[bytes] | None = None) -> None:
    """Run a tool of Postgres to its end; the password travels in its environment."""
    place = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    password = place.pop("password", "")
    command = [client_tools() / tool, *options, f"--dbname={make_conninfo(**place)}"]
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PGPASSWORD": password}
    try:
        with subprocess.Popen(  # noqa: S603 - our own binaries, with arguments of our own making
            command,
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        ) as process:
            if given is not None and process.stdin is not None:
                _pour(given, process.stdin)
            said = process.stderr.read() if process.stderr is not None else b""
    except OSError as fault:
        raise Unavailable(f"{tool} could not be run: {fault.strerror}") from fault
    if process.returncode != 0:
        words = " ".join(said.decode(errors="replace").split())
        raise Unavailable(f"{tool} failed, and nothing of it was kept: {words}")


def _pour(given: IO[bytes], into: IO[bytes]) -> None:
    """Hand everything over; a reader that has ended says why by itself."""
    try:
        with into:
            shutil.copyfileobj(given, into, AT_A_TIME)
    except BrokenPipeError:
        return


@contextmanager
def _connected(url: str) -> Generator[Connection]:
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            yield connection
    except psycopg.Error as fault:
        words = " ".join(str(fault).split())
        raise Unavailable(f"the database does not answer as it should: {words}") from fault


@contextmanager
def _snapshot(url: str) -> Generator[Connection]:
    """A connection inside one snapshot, of a login that sees every row."""
    with _connected(url) as connection:
        row = connection.execute(POWER).fetchone()
        if row is None or not row[0]:
            raise Unavailable(
                f"the login {connection.info.user} sees one namespace at a time: name, by "
                "--login-file, a file with the URL of one that is superuser or has BYPASSRLS"
            )
        if "alembic_version" not in _tables(connection):
            raise Unavailable("the database is empty: there is nothing to back up")
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection


@contextmanager
def _opened(file: Path) -> Generator[tarfile.TarFile]:
    try:
        with file.open("rb") as packed:
            if packed.read(2) == GZIP:
                raise _an_export(file)
        with tarfile.open(file, "r:") as tar:
            yield tar
    except (tarfile.TarError, EOFError) as fault:
        raise Rejected(f"{file} is no backup, or cut short: {fault}", field="file") from fault
    except OSError as fault:
        raise Rejected(f"{file} cannot be read: {fault.strerror or fault}", field="file") from fault


@contextmanager
def _member(tar: tarfile.TarFile, name: str) -> Generator[IO[bytes]]:
    member = tar.next()
    # A link would be followed to wherever in the file it leads.
    if member is None or member.name != name or not member.isreg():
        opened = None
    else:
        opened = tar.extractfile(member)
    if opened is None:
        raise Rejected(f"{tar.name} is no backup: it holds no {name} in its place", field="file")
    with opened:
        yield opened


def _read_manifest(tar: tarfile.TarFile) -> BackupManifest:
    with _member(tar, MANIFEST) as member:
        text = member.read(MAX_MANIFEST_BYTES)
    try:
        told = json.loads(text)
        if "members" in told:
            raise _an_export(tar.name)
        form = told["format"]
        if form != FORMAT:
            raise Rejected(
                f"{tar.name} is of format {form}, and this version reads {FORMAT}",
                field="file",
                limit=FORMAT,
            )
        return TypeAdapter(BackupManifest).validate_json(text)
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError) as fault:
        raise Rejected(
            f"{tar.name} is no backup: its manifest is not that of one", field="file"
        ) from fault


def _an_export(file: object) -> Rejected:
    return Rejected(
        f"{file} is an export of a namespace, not a backup: `memlift import` reads it",
        field="file",
    )


def _add(tar: tarfile.TarFile, name: str, text: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(text)
    tar.addfile(_bare(info), io.BytesIO(text))


def _bare(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nothing of the machine that made it, and for its owner's eyes."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o600
    return info

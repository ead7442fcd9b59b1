"""`memlift export` and `memlift import`: a namespace as a file, by whoever reaches the database."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

import click
from rich.console import Console
from rich.markup import escape

from memory.inference.service import register_model
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.database import Database
from memory.kernel.postgres.migrate import heads
from memory.kernel.text import counted
from memory.transfer.entities import (
    MAX_BYTES,
    ExportSubject,
    Imported,
    ImportRequest,
    Manifest,
    OnConflict,
    SubjectKind,
)
from memory.transfer.service import (
    ExportRequest,
    export_namespace,
    import_namespace,
    read_manifest,
)
from server import hosting
from server.cli.files import data_option, file_path, new_file
from server.opening import open_from
from server.settings import load

Made = TypeVar("Made")


@click.command("export")
@click.argument("namespace")
@click.option(
    "--out",
    type=file_path,
    required=True,
    help="The file to write, which must not be there yet; packed where its name ends in .gz.",
)
@click.option(
    "--vectors/--no-vectors",
    default=True,
    help="Without vectors the file is smaller, and its import embeds the texts again.",
)
@click.option("--agent", help="Only what is about this agent; such a file cannot be imported.")
@click.option("--key-id", "key", type=click.UUID, help="Only what came through this key.")
@click.option("--task-id", "task", type=click.UUID, help="Only what is about this task.")
@data_option
def export_command(
    *, namespace: str, out: Path, vectors: bool, data: Path | None, **about: object
) -> None:
    """Write a namespace into a file, as it stands at one moment."""
    packed = out.suffix in (".gz", ".tgz")
    folder = out.absolute().parent
    request = ExportRequest(namespace, folder, gz=packed, vectors=vectors, about=_subject(about))

    async def export(database: Database, file: IO[bytes]) -> Manifest:
        return await export_namespace(database, request, file, datetime.now(UTC))

    with hosting.existing_database(load({"data": data})) as url, new_file(out) as file:
        _require_head(url)
        manifest = _run(url, lambda database: export(database, file), f"exporting {namespace}")
    size = counted(out.stat().st_size, "byte")
    click.echo(f"exported {namespace}: {counted(manifest.rows, 'row')}, {size}, to {out}")


def _subject(given: Mapping[str, object]) -> ExportSubject | None:
    kinds: Sequence[SubjectKind] = ("agent", "key", "task")
    named = [ExportSubject(kind, str(given[kind])) for kind in kinds if given[kind] is not None]
    if len(named) > 1:
        raise click.UsageError("name one of --agent, --key-id and --task-id")
    return named[0] if named else None


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--namespace", help="The name it gets here; else its own.")
@click.option(
    "--conflict",
    type=click.Choice([one.value for one in OnConflict]),
    default=OnConflict.FAIL.value,
    show_default=True,
    help="Into an empty namespace with the ids of the file (fail) or with new ones (new_ids), or "
    "beside what is there, which stays as it is (skip).",
)
@click.option("--dry-run", is_flag=True, help="Read and check everything, and keep nothing.")
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    default=MAX_BYTES,
    help="The largest file to read, unpacked.  [default: 64 GiB]",
)
@data_option
def import_command(
    *,
    file: Path,
    namespace: str | None,
    conflict: str,
    dry_run: bool,
    max_bytes: int,
    data: Path | None,
) -> None:
    """Read a namespace from a file: all of it, or nothing."""
    request = ImportRequest(namespace, OnConflict(conflict), dry_run, max_bytes)
    settings = load({"data": data})
    needs_model = not read_manifest(file).vectors

    async def read(database: Database) -> Imported:
        now, salt = datetime.now(UTC), secrets.randbits(62)
        if not needs_model:
            return await import_namespace(database, file, request, salt, now)
        engine = await open_from(settings)
        try:
            await register_model(engine, now)
            return await import_namespace(database, file, request, salt, now, engine)
        finally:
            await engine.close()

    with hosting.reached_database(settings) as url:
        hosting.migrated(url)
        done = _run(url, read, f"reading {file.name}")
    for counts, why in ((done.rows, ""), (done.skipped, " there already")):
        for table, rows in counts.items():
            if rows:
                click.echo(f"{table:20}{rows:>10}{why}")
    verb = "would import" if dry_run else "imported"
    click.echo(f"{verb} {counted(sum(done.rows.values()), 'row')} into {done.namespace}")


def _run(url: str, act: Callable[[Database], Awaitable[Made]], said: str) -> Made:
    """What it makes; on a terminal it is said meanwhile that the command is at work."""

    async def connected() -> Made:
        database = Database(url)
        try:
            return await act(database)
        finally:
            await database.close()

    with Console(stderr=True).status(escape(said)):
        return asyncio.run(connected())


def _require_head(url: str) -> None:
    current, head = heads(url)
    if current != head:
        raise Unavailable(
            f"the database is at {current}, and this version exports {head}: run `memlift migrate`",
            code="migration",
        )

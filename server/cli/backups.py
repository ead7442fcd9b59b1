"""`memlift backup` and `memlift restore`: the whole database as a file, by whoever reaches it."""

import contextlib
from collections.abc import Generator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from memory.kernel.errors import Rejected
from memory.kernel.postgres import backup as backups
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.embedded import EmbeddedPostgres, as_superuser
from memory.kernel.text import counted
from server import hosting
from server.cli.files import beside, data_option, file_path, new_file
from server.settings import Settings, load, meant


@click.command()
@click.option(
    "--out", type=file_path, required=True, help="The file to write, which must not be there yet."
)
@click.option(
    "--login-file",
    type=file_path,
    help="File with the URL of a login that sees every row, for a database of your own: a "
    "superuser, or one with BYPASSRLS.",
)
@data_option
def backup(*, out: Path, login_file: Path | None, data: Path | None) -> None:
    """Write the whole database into a file, as it stands at one moment, beside a running server.

    Keys are in it as hashes and keep working after a restore; operator.key and other secrets are
    not in it.
    """
    settings = load({"data": data})
    dump = beside(out, "dump")
    with _every_row(settings, login_file) as url, new_file(out) as file:
        try:
            made = backups.back_up(url, file, dump, _version(), datetime.now(UTC))
        finally:
            dump.unlink(missing_ok=True)
    rows, size = sum(made.rows.values()), out.stat().st_size
    held = f"{counted(rows, 'row')} at {made.schema}, {counted(size, 'byte')}"
    click.echo(f"backed up {held}, to {out}")


@contextlib.contextmanager
def _every_row(settings: Settings, login_file: Path | None) -> Generator[str]:
    if login_file is not None:
        yield _url_in(login_file)
        return
    with hosting.existing_database(settings) as url:
        own = settings.configured_database() is None
        yield as_superuser(settings.data, url) if own else url


def _url_in(file: Path) -> str:
    try:
        return meant(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise Rejected(f"{file} cannot be read", field="login-file") from fault


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--replace", is_flag=True, help="Drop what the database holds, and read FILE in.")
@data_option
def restore(*, file: Path, replace: bool, data: Path | None) -> None:
    """Read a backup into an empty data directory or database, all of it or nothing.

    The file is checked whole before anything is touched; a schema older than this version is
    brought to head. No server may run on the database.
    """
    settings = load({"data": data})
    manifest = backups.verify(file)
    with _unserved(settings) as url:
        compatibility.check(compatibility.facts(url))
        done = backups.restore(url, file, manifest, replace=replace)
    click.echo(
        f"restored {counted(sum(manifest.rows.values()), 'row')} of"
        f" {manifest.made_at:%Y-%m-%d %H:%M} UTC, made by memlift {manifest.memlift} at"
        f" {manifest.schema}; now at {done.revision}"
    )


@contextlib.contextmanager
def _unserved(settings: Settings) -> Generator[str]:
    """The database, with nobody else on it: the embedded one belongs to this command meanwhile."""
    if (url := settings.configured_database()) is not None:
        yield url
        return
    with EmbeddedPostgres(settings.data) as address:
        yield address.url


def _version() -> str:
    try:
        return version("memlift")
    except PackageNotFoundError:
        return "a source tree"

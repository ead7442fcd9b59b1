"""`memlift move`: a namespace to another deployment, by whoever reaches both databases."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isnan
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from memory.kernel.errors import Rejected, Unavailable
from memory.kernel.postgres.database import Database
from memory.kernel.postgres.migrate import heads
from memory.kernel.text import counted
from memory.transfer.calling_off import call_off, drop_remains, free_name
from memory.transfer.moving import PAUSE, MoveRequest, move_namespace
from server import hosting
from server.cli.files import data_option
from server.settings import load, meant


@dataclass(frozen=True, slots=True)
class _Given:
    """What the command was given."""

    namespace: str
    to: str | None
    address: str | None
    pause: float
    off: bool
    remains: bool
    free: bool
    data: Path | None


def _number(context: click.Context, option: click.Parameter, value: float) -> float:
    # No range keeps out what is neither less nor more.
    if isnan(value):
        raise click.BadParameter("nan is not a number of seconds.", context, option)
    return value


@click.command("move")
@click.argument("namespace")
@click.option(
    "--to",
    help="The database of the new deployment: a postgresql:// URL, or a file with it, which "
    "keeps it out of the list of processes.",
)
@click.option("--address", help="Where callers find it then, such as https://new.example.")
@click.option(
    "--pause",
    type=click.FloatRange(min=1, max=60),
    callback=_number,
    default=PAUSE.total_seconds(),
    show_default=True,
    help="For so many seconds at most it answers 503.",
)
@click.option(
    "--call-off",
    "off",
    is_flag=True,
    help="Call off a move that was begun: the namespace stays at the old place, and what was "
    "copied to the new one is deleted.",
)
@click.option(
    "--drop-remains",
    "remains",
    is_flag=True,
    help="Delete what a namespace that has moved left at the old place; its name stays taken "
    "there.",
)
@click.option(
    "--free-name",
    "free",
    is_flag=True,
    help="Delete that with its keys and its name: callers of the old place are told the new "
    "address no more. Needs --to.",
)
@data_option
def command(**given: Any) -> None:
    """Move a namespace to another deployment while it is used.

    All of it is copied and compared, and its beliefs are refolded from the ledger at the new place,
    before the old one gives it away. Interrupted, the same command goes on; run again with another
    --address, callers of the old place are told that one. Keys of the namespace open it at the new
    address; those of operators do not.
    """
    asked = _Given(**given)
    with hosting.existing_database(load({"data": asked.data})) as source:
        _require_head(source, "the old database")
        if asked.remains and not asked.free:
            asyncio.run(_drop(source, asked.namespace))
            return
        target = _target(asked.to)
        _require_head(target, "the new database")
        if asked.off:
            asyncio.run(_call_off(source, target, asked.namespace))
            return
        if asked.free:
            asyncio.run(_free(source, target, asked.namespace))
            return
        pause = timedelta(seconds=asked.pause)
        request = MoveRequest(asked.namespace, _address(asked.address), pause)
        asyncio.run(_move(source, target, request))


async def _move(source: str, target: str, request: MoveRequest) -> None:
    here, there = Database(source), Database(target)
    try:
        done = await move_namespace(here, there, request, datetime.now(UTC), click.echo)
    finally:
        await here.close()
        await there.close()
    if done.rounds:
        refolded = "; ledger refolded in the pause" if done.folded_in_pause else ""
        click.echo(
            f"moved {done.namespace} to {done.url}: {counted(done.rows, 'row')}; 503 for "
            f"{done.paused_seconds:.2f} s ({counted(done.last, 'row')} copied then){refolded}"
        )


async def _call_off(source: str, target: str, namespace: str) -> None:
    here, there = Database(source), Database(target)
    try:
        await call_off(here, there, namespace, datetime.now(UTC), click.echo)
    finally:
        await here.close()
        await there.close()


async def _free(source: str, target: str, namespace: str) -> None:
    here, there = Database(source), Database(target)
    try:
        url = await free_name(here, there, namespace, datetime.now(UTC))
    finally:
        await here.close()
        await there.close()
    click.echo(f"the name {namespace} is free at the old place, which no longer tells of {url}")


async def _drop(source: str, namespace: str) -> None:
    here = Database(source)
    try:
        gone = await drop_remains(here, namespace, datetime.now(UTC))
    finally:
        await here.close()
    click.echo(
        f"deleted {counted(gone, 'row')} that {namespace} left at the old place; its keys and name"
        " stay there, so that callers are told the new address (--free-name frees it)"
    )


def _target(to: str | None) -> str:
    """The URL itself, or what the file of that name holds."""
    if not to:
        raise Rejected("name the new database by --to", field="to")
    if to.startswith(("postgresql://", "postgres://")):
        return to
    try:
        return meant(Path(to).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise Rejected(
            "--to is neither a postgresql:// URL nor a file that can be read", field="to"
        ) from fault


def _address(address: str | None) -> str:
    parts = urlsplit(address or "")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise Rejected(
            "name the server of the new place by --address, an http:// or https:// URL without a "
            "password",
            field="address",
        )
    return str(address).rstrip("/")


def _require_head(url: str, what: str) -> None:
    current, head = heads(url)
    if current != head:
        raise Unavailable(
            f"{what} is at {current}, and this version moves {head}: run `memlift migrate` with "
            "this version there first",
            code="migration",
        )

"""`memlift rollback`: take back what a key or an agent reported, and undo that."""

from datetime import UTC, datetime
from typing import Any

import click
from memlift_client import RollbackResult, RollbackUndone

from memory.kernel.text import counted
from server.cli.remote import ServerOptions, namespace_option, speaking


@click.command()
@click.option("--key-id", help="What this key reported.")
@click.option("--agent", help="What this agent reported.")
@click.option("--since", type=click.DateTime(), help="From then on (UTC).")
@click.option("--until", type=click.DateTime(), help="Up to then (UTC).")
@click.option("--too-high", is_flag=True, help="Only what claimed more than its key may now.")
@click.option("--undo", metavar="ROLLBACK_ID", help="Undo this rollback, the newest that stands.")
@click.option("--dry-run", is_flag=True, help="Say what would change; nothing does.")
@namespace_option
@speaking
def rollback(
    server: ServerOptions,
    *,
    namespace: str,
    since: datetime | None,
    until: datetime | None,
    too_high: bool,
    undo: str | None,
    **given: Any,
) -> None:
    """Take back what a key or an agent reported: look with --dry-run first. Or undo that: what was
    given back can be taken back again, so that --undo needs no looking first and has none.
    """
    if undo is not None:
        _require_alone(since=since, until=until, too_high=too_high, **given)
        _undo(server, namespace, undo)
        return
    with server.connected(namespace) as client:
        done = client.rollback(
            **given,
            since=_utc(since),
            until=_utc(until),
            claims="too_high" if too_high else None,
        )
    undone_by = f"; to undo it: --undo {done.rollback_id}" if done.rollback_id else ""
    said = "would withdraw" if done.dry_run else "withdrew"
    server.print(
        done,
        f"{said} {_evidence(done)}, retire"
        f"{'' if done.dry_run else 'd'} {counted(len(done.retired), 'memory', 'memories')}, weaken"
        f"{'' if done.dry_run else 'ed'} {counted(len(done.weakened), 'constraint')}{undone_by}",
    )


def _require_alone(**given: object) -> None:
    named = [name.replace("_", "-") for name, value in given.items() if value]
    if named:
        why = ": take it back again if it is wrong" if named[0] == "dry-run" else ""
        raise click.UsageError(f"--undo goes alone, without --{named[0]}{why}")


def _undo(server: ServerOptions, namespace: str, rollback_id: str) -> None:
    with server.connected(namespace) as client:
        done = client.undo_rollback(rollback_id)
    left = f", left {len(done.left)} as they are" if done.left else ""
    server.print(
        done,
        f"gave back {_evidence(done)}, restored"
        f" {counted(len(done.restored), 'memory', 'memories')}{left}",
    )


def _evidence(done: RollbackResult | RollbackUndone) -> str:
    outcomes = counted(len(done.outcomes), "outcome")
    return f"{outcomes} and {counted(len(done.trajectories), 'run')}"


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)

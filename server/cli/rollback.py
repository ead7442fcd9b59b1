"""`memlift rollback`: withdraw what a key or an agent reported, and undo that."""

import contextlib
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import click
from memlift_client import BankDifference, MemLift, RollbackResult, RollbackUndone

from memory.kernel.errors import MemoryFault
from memory.kernel.text import counted
from server.cli.remote import ServerOptions, namespace_option, speaking, table

LISTED = 10
"""So many weights are shown; --json has more."""


class UnclearKey(MemoryFault):
    """A name that is none key's, or more than one's."""


@click.command()
@click.option("--key-id", metavar="KEY", help="What this key reported: its id, or its name.")
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
    """Withdraw what a key or an agent reported: look with --dry-run first. Or undo that: what then
    counts again can be withdrawn again, so that --undo needs no looking first and has none.
    """
    if undo is not None:
        _require_alone(since=since, until=until, too_high=too_high, **given)
        _undo(server, namespace, undo)
        return
    with server.connected(namespace) as client:
        if given["key_id"] is not None:
            given["key_id"] = _find_key(client, namespace, given["key_id"])
        done = client.rollback(
            **given,
            since=_utc(since),
            until=_utc(until),
            claims="too_high" if too_high else None,
        )
    undone_by = f"; to undo it: --undo {done.rollback_id}" if done.rollback_id else ""
    said = "would withdraw" if done.dry_run else "withdrew"
    text = (
        f"{said} {_evidence(done)}, retire"
        f"{'' if done.dry_run else 'd'} {counted(len(done.retired), 'memory', 'memories')}, weaken"
        f"{'' if done.dry_run else 'ed'} {counted(len(done.weakened), 'constraint')}{undone_by}"
    )
    server.print(done, text + (_say_weights(done.difference) if done.dry_run else ""))


def _find_key(client: MemLift, namespace: str, named: str) -> str:
    """The id itself, or that of the one key of this name that reaches the namespace."""
    with contextlib.suppress(ValueError):
        return str(UUID(named))
    reaching = (key for key in client.each_key() if key.namespace in {namespace, None})
    found = [key.id for key in reaching if key.name == named]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnclearKey(
            f"no key called {named} reaches {namespace}: `memlift key list` has names and ids"
        )
    raise UnclearKey(f"{len(found):,} keys are called {named}, name one: {', '.join(found)}")


def _say_weights(difference: BankDifference) -> str:
    """A line for each weight that would change most, under a line that counts them."""
    largest = difference.weights[:LISTED]
    if not largest:
        return "\nno weight would change"
    rows = ((one.memory_id, _weight(one.before), _weight(one.after)) for one in largest)
    total = counted(difference.total, "weight")
    most = "" if difference.total == len(largest) else f", these {len(largest)} most"
    return f"\n{total} would change{most}:\n{table(('MEMORY', 'FROM', 'TO'), rows)}"


def _weight(weight: float | None) -> str | None:
    return None if weight is None else f"{weight:.2f}"


def _require_alone(**given: object) -> None:
    named = [name.replace("_", "-") for name, value in given.items() if value]
    if named:
        why = ": withdraw it again if it is wrong" if named[0] == "dry-run" else ""
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

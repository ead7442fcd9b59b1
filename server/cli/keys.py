"""`memlift key`: who may call."""

from datetime import UTC, datetime
from typing import Any

import click
from memlift_client import Key

from server.cli.remote import SPACE, ServerOptions, minute, speaking, table

ROLES = ("agent", "evaluator", "reader", "admin", "operator")
VERIFIERS = ("human", "test", "judge", "self")


@click.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="agent", show_default=True)
@click.option("--namespace", help="What it reaches: 'default' unless named.")
@click.option(
    "--agent", "agents", multiple=True, help="It speaks for this agent alone; repeatable."
)
@click.option(
    "--verifies",
    type=click.Choice(VERIFIERS),
    help="The highest verifier that its reports may name.",
)
@click.option("--expires", type=click.DateTime(), help="Ends then (UTC), in the future.")
@speaking
def create(
    server: ServerOptions, *, namespace: str | None, expires: datetime | None, **given: Any
) -> None:
    """Make a key called NAME; its token, printed alone, is shown this once.

    A key reaches one namespace, an operator's all of them.
    """
    if namespace is None and given["role"] != "operator":
        namespace = SPACE
    given["agents"] = given["agents"] or None
    ends = None if expires is None else expires.replace(tzinfo=UTC)
    with server.connected() as client:
        made = client.create_key(**given, namespace=namespace, expires_at=ends)
    server.print(made, made.token)
    click.echo(f"key {made.id}, {made.role} of {made.namespace or 'all namespaces'}", err=True)


@click.command("list")
@speaking
def list_keys(server: ServerOptions) -> None:
    """List the keys that this one manages, without their tokens."""
    with server.connected() as client:
        keys = list(client.each_key())
    header = ("ID", "ROLE", "NAMESPACE", "NAME", "VERIFIES", "LAST USED", "STATE")
    server.print(keys, table(header, map(_row, keys)))


def _row(key: Key) -> tuple[object, ...]:
    ended = key.expires_at is not None and key.expires_at <= datetime.now(UTC)
    state = "revoked" if key.revoked_at else "expired" if ended else "active"
    used = minute(key.last_used_at)
    return key.id, key.role, key.namespace, key.name, key.verifies, used, state


@click.command()
@click.argument("key_id", metavar="ID")
@speaking
def revoke(server: ServerOptions, key_id: str) -> None:
    """End the key ID; what it wrote stays."""
    with server.connected() as client:
        client.revoke_key(key_id)
    server.print({"revoked": key_id}, f"revoked {key_id}")

"""`memlift status`: whether a server serves, for whom, and what it holds."""

import sys

import click

from server.cli.namespaces import learning_or_place
from server.cli.remote import ServerOptions, speaking, table


@click.command()
@speaking
def status(server: ServerOptions) -> None:
    """Say whether the server is ready and what the key reaches; exit code 1 while it is not."""
    with server.connected() as client:
        ready, me = client.ready(), client.me()
        namespaces = list(client.each_namespace())
    found = {
        "url": client.url,
        "status": ready.status,
        "checks": ready.checks,
        "key": me,
        "namespaces": namespaces,
    }
    checks = (
        f"  {'ok  ' if check.ok else 'FAIL'}  {name}: {check.detail}"
        for name, check in ready.checks.items()
    )
    reach = me.namespace or "all namespaces"
    rows = ((one.slug, learning_or_place(one), one.policy, one.bank_version) for one in namespaces)
    lines = [
        f"{client.url}: {ready.status.replace('_', ' ')}",
        *checks,
        f"key {me.key_id} ({me.name}): {me.role} of {reach}",
        table(("NAMESPACE", "LEARNING", "POLICY", "BANK VERSION"), rows),
    ]
    server.print(found, "\n".join(lines))
    if ready.status != "ready":
        sys.exit(1)

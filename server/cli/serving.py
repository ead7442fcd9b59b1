"""Commands of the machine that serves: start, migrate, examine, say what is set."""

import json
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path

import click

from memory.kernel.postgres.partitions import MOST as MOST_PARTITIONS
from server import hosting
from server.cli.files import data_option, named_url
from server.doctor import examine
from server.mcp.bridge import BridgeOptions, serve_mcp
from server.opening import needs_owner
from server.settings import explain, load, prepare_processes, publish


@click.command()
@click.option("--host", help="Address to listen on (MEMLIFT_HOST).")
@click.option("--port", type=int, help="Port to listen on (MEMLIFT_PORT).")
@click.option("--workers", type=int, help="Serving processes; one more holds the model for all.")
@click.option(
    "--insecure-local",
    is_flag=True,
    default=None,
    help="Serve without keys, on loopback only; for trying things out.",
)
@data_option
def serve(**given: object) -> None:
    """Serve; without a database URL, with a Postgres of its own in the data directory."""
    settings = load(given)
    publish(given)
    prepare_processes(settings.workers + needs_owner(settings))
    hosting.serve(settings)


@click.command()
@click.option(
    "--partitions",
    type=click.IntRange(1, MOST_PARTITIONS),
    help="Spread the tables of a new database over so many hash partitions, by namespace.",
)
@data_option
def migrate(partitions: int | None, data: Path | None) -> None:
    """Bring the database to the newest schema."""
    with hosting.reached_database(load({"data": data})) as url:
        at = hosting.migrated(url, partitions)
        many = "" if partitions == 1 else "s"
        spread = "" if partitions is None else f", {partitions} partition{many}"
        click.echo(f"at head, {at}{spread}")


@click.command()
@click.option("--port", type=int, help="Port that would be listened on.")
@data_option
def doctor(**given: object) -> None:
    """Say what is wrong and what to change, one line a check."""
    findings = []
    for finding in examine(load(given)):
        click.echo(str(finding))
        findings.append(finding)
    if not all(finding.ok for finding in findings):
        sys.exit(1)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As a JSON list.")
@data_option
def config(*, as_json: bool, data: Path | None) -> None:
    """Print the settings in force and where each comes from; secrets are not shown."""
    chosen = explain({"data": data})
    if as_json:
        click.echo(json.dumps([one._asdict() for one in chosen], indent=2))
        return
    width = max(len(one.variable) for one in chosen)
    for one in chosen:
        value = "not set" if one.value is None else f"{one.value}  ({one.source})"
        click.echo(f"{one.variable:{width}}  {value}")


@click.command()
@click.option(
    "--stdio",
    is_flag=True,
    required=True,
    expose_value=False,
    help="Speak over standard input and output.",
)
@click.option("--url", envvar="MEMLIFT_URL", help="The running server (MEMLIFT_URL).")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="File with the key; else MEMLIFT_KEY, else the operator's in the data directory.",
)
@click.option("--key", envvar="MEMLIFT_KEY", hidden=True)
@click.option("--namespace", envvar="MEMLIFT_NAMESPACE", help="Namespace (MEMLIFT_NAMESPACE).")
@data_option
def mcp(
    *,
    url: str | None,
    key: str | None,
    key_file: Path | None,
    namespace: str | None,
    data: Path | None,
) -> None:
    """Speak the Model Context Protocol for a running server, to a host that starts processes."""
    url = named_url(url, data)
    serve_mcp(load({"data": data}), BridgeOptions(url, key, key_file, namespace))


@click.command()
def version() -> None:
    """Say which version this is."""
    try:
        click.echo(installed_version("memlift"))
    except PackageNotFoundError:
        click.echo("a source tree that is not installed")

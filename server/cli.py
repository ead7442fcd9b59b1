"""The command line: `memlift serve | migrate | doctor | version`."""

import functools
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import ParamSpec

import click

from memory.kernel.errors import MemoryFault
from server import hosting
from server.doctor import examine
from server.settings import load, prepare_environment, publish

Arguments = ParamSpec("Arguments")


def told_in_one_line(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """A fault ends the command with its sentence, not with a traceback."""

    @functools.wraps(command)
    def telling(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except MemoryFault as fault:
            click.echo(f"memlift: {fault.detail}", err=True)
            sys.exit(1)

    return telling


data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Data directory (MEMLIFT_HOME)."
)


@click.group()
def main() -> None:
    """A memory server for agents that proves its lift."""
    prepare_environment()


@main.command()
@click.option("--host", help="Address to listen on (MEMLIFT_HOST).")
@click.option("--port", type=int, help="Port to listen on (MEMLIFT_PORT).")
@click.option("--workers", type=int, help="Processes, each with a model and an index of its own.")
@click.option(
    "--insecure-local",
    is_flag=True,
    default=None,
    help="Serve without keys, on loopback only; for trying things out.",
)
@data_option
@told_in_one_line
def serve(**given: object) -> None:
    """Serve; without a database URL, with a Postgres of its own in the data directory."""
    settings = load(given)
    publish(given)
    hosting.serve(settings)


@main.command()
@data_option
@told_in_one_line
def migrate(data: Path | None) -> None:
    """Bring the database to the newest schema."""
    with hosting.reached_database(load({"data": data})) as url:
        click.echo(f"at head, {hosting.migrated(url)}")


@main.command()
@click.option("--port", type=int, help="Port that would be listened on.")
@data_option
@told_in_one_line
def doctor(**given: object) -> None:
    """Say what is wrong and what to change, one line a check."""
    findings = []
    for finding in examine(load(given)):
        click.echo(str(finding))
        findings.append(finding)
    if not all(finding.ok for finding in findings):
        sys.exit(1)


@main.command()
def version() -> None:
    """Say which version this is."""
    try:
        click.echo(installed_version("memlift"))
    except PackageNotFoundError:
        click.echo("a source tree that is not installed")


if __name__ == "__main__":
    main()

"""`memlift job`: the timetable, runs by hand, and what they would do."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import click

from memory.kernel.errors import MemoryFault
from server.cli.remote import ServerOptions, as_json, minute, namespace_option, speaking, table

NAMED = 5
"""So many states that differ are named; the result has them all."""


class Inexact(MemoryFault):
    """States that are not what the ledger says."""


@click.group()
def job() -> None:
    """List jobs and their runs; run one, see what it would do, or stop it."""


@job.command("list")
@speaking
def list_jobs(server: ServerOptions) -> None:
    """List the timetable."""
    with server.connected() as client:
        jobs = client.list_jobs()
    rows = ((one.name, _often(one.every_seconds), one.description) for one in jobs)
    server.print(jobs, table(("JOB", "EVERY", "WHAT IT DOES"), rows))


def _often(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


@job.command()
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@namespace_option
@speaking
def runs(server: ServerOptions, *, limit: int, namespace: str) -> None:
    """List runs of jobs on a namespace, newest first."""
    with server.connected(namespace) as client:
        found = client.list_job_runs(limit=limit).items
    rows = (
        (r.id, r.job, r.state, "yes" if r.dry_run else "no", minute(r.started_at), r.reason)
        for r in found
    )
    server.print(found, table(("RUN", "JOB", "STATE", "DRY RUN", "BEGAN", "WHY IT FAILED"), rows))


@job.command()
@click.argument("name")
@namespace_option
@speaking
def run(server: ServerOptions, *, name: str, namespace: str) -> None:
    """Run the job NAME on a namespace now."""
    _run(server, name, namespace, dry_run=False)


@job.command("dry-run")
@click.argument("name")
@namespace_option
@speaking
def dry_run(server: ServerOptions, *, name: str, namespace: str) -> None:
    """Say what the job NAME would do on a namespace; nothing changes."""
    _run(server, name, namespace, dry_run=True)


@job.command()
@click.argument("run_id", metavar="RUN", type=click.UUID)
@namespace_option
@speaking
def stop(server: ServerOptions, *, run_id: UUID, namespace: str) -> None:
    """Stop RUN, the id of a run that works in parts; the next run of its job does the rest."""
    with server.connected(namespace) as client:
        done = client.stop_job_run(str(run_id))
    server.print(
        done, f"{done.job} is stopped; the next run does the rest:\n{as_json(done.result)}"
    )


def _run(server: ServerOptions, name: str, namespace: str, *, dry_run: bool) -> None:
    with server.connected(namespace) as client:
        done = client.run_job(name, dry_run=dry_run)
    said = "would do" if dry_run else "did"
    server.print(done, f"{name}, {done.state}; {said}:\n{as_json(done.result)}")
    if differing := (done.result or {}).get("differing"):
        raise Inexact(_say_inexact(cast("list[str]", differing)))
    if done.state == "failed":
        raise SystemExit(1)


def _say_inexact(differing: Sequence[str]) -> str:
    states = "1 state differs" if len(differing) == 1 else f"{len(differing):,} states differ"
    more = len(differing) - NAMED
    named = ", ".join(differing[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return f"{states} from the ledger: {named}"


@job.command()
@click.option("--retry", is_flag=True, help="Try those again that were set aside.")
@namespace_option
@speaking
def apply(server: ServerOptions, *, retry: bool, namespace: str) -> None:
    """Apply the outcomes that wait on a namespace."""
    with server.connected(namespace) as client:
        done = client.apply_outcomes(retry=retry)
    counts = f"{done.applied:,} applied, {done.pending:,} wait, {done.set_aside:,} set aside"
    server.print(done, f"{counts}; bank version {done.bank_version}")

"""`memlift re-embed`: another embedding model, while the server serves."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

from memory.inference.service import register_model
from memory.kernel.ports import tell_apart
from memory.kernel.postgres.database import Database
from memory.reembedding.entities import (
    DroppedVectors,
    ModelFit,
    MoveProgress,
    MoveState,
    NamespaceMove,
    NamespaceVectors,
    ReembedRequest,
)
from memory.reembedding.service import Report, drop_vectors, list_vectors, re_embed
from server import hosting
from server.cli.recovery import data_option
from server.cli.remote import table
from server.opening import open_from
from server.settings import Settings, load

Made = TypeVar("Made")


DTYPES = ("auto", "float32", "bfloat16", "float16")
STATES = {
    MoveState.SWITCHED: "switched",
    MoveState.PREPARED: "prepared, not switched",
    MoveState.CURRENT: "on this model already",
    MoveState.MISFIT: "not switched: the check refuses",
}


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """What the command was given."""

    model: str | None
    dtype: str | None
    namespace: tuple[str, ...]
    rate: float | None
    no_switch: bool
    switch_anyway: bool
    status: bool
    finish: bool
    discard: bool
    as_json: bool
    data: Path | None

    def request(self) -> ReembedRequest:
        return ReembedRequest(self.namespace, self.rate, not self.no_switch, self.switch_anyway)


@click.command("re-embed")
@click.option("--model", help="The model to move to, as in MEMLIFT_EMBEDDING_MODEL.")
@click.option(
    "--dtype", type=click.Choice(DTYPES), help="Its numbers, as in MEMLIFT_EMBEDDING_DTYPE."
)
@click.option("--namespace", multiple=True, help="Only this one; may be given several times.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Texts a second at most.")
@click.option("--no-switch", is_flag=True, help="Make the vectors; switch no namespace.")
@click.option("--switch-anyway", is_flag=True, help="Switch even where the check refuses.")
@click.option("--status", is_flag=True, help="Say which models each namespace has vectors of.")
@click.option("--finish", is_flag=True, help="Drop the former vectors of what was switched.")
@click.option("--discard", is_flag=True, help="Drop vectors of models that were not switched to.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON list.")
@data_option
def command(**given: Any) -> None:
    """Move namespaces to another embedding model while they are served.

    Texts are embedded beside the vectors in use. What was embedded stays when the command is ended;
    called again, it goes on from there. Then the model is compared with the one before, and each
    namespace switches in one transaction. From then on a server of the former model answers 503
    for that namespace. The former vectors stay until --finish; until then the same command with the
    former model goes back.

    It ends with 1 where the check refuses a namespace.
    """
    options = MoveOptions(**given)
    acts = (options.model is not None, options.status, options.finish, options.discard)
    if sum(acts) != 1:
        raise click.UsageError("give one of --model, --status, --finish and --discard")
    model = {"embedding_model": options.model, "embedding_dtype": options.dtype}
    settings = load({"data": options.data, **model})
    with hosting.existing_database(settings) as url:
        hosting.require_head(url)
        _act(options, settings, url)


def _act(options: MoveOptions, settings: Settings, url: str) -> None:
    slugs = options.namespace
    if options.model is not None:
        moves = asyncio.run(_move(settings, options.request()))
        _print(options, moves, _say_moves(moves))
        if any(one.state is MoveState.MISFIT for one in moves):
            raise SystemExit(1)
    elif options.status:
        found = _run(url, lambda database: list_vectors(database, slugs))
        _print(options, found, _say_vectors(found))
    else:
        state, now = "former" if options.finish else "prepared", datetime.now(UTC)
        dropped = _run(url, lambda database: drop_vectors(database, state, slugs, now))
        _print(options, dropped, _say_dropped(dropped))


async def _move(settings: Settings, request: ReembedRequest) -> list[NamespaceMove]:
    """With a model of this process's own, and nothing else that a server would load."""
    without = {"reranker_model": None, "llm_model": None, "llm_models": None}
    alone = settings.model_copy(update=without)
    engine = await open_from(alone)
    try:
        await register_model(engine, datetime.now(UTC))
        with _progress() as report:
            return await re_embed(engine, request, lambda: datetime.now(UTC), report)
    finally:
        await engine.close()


def _run(url: str, act: Callable[[Database], Awaitable[Made]]) -> Made:
    async def connected() -> Made:
        database = Database(url)
        try:
            return await act(database)
        finally:
            await database.close()

    return asyncio.run(connected())


@contextmanager
def _progress() -> Generator[Report]:
    """A bar for each namespace on standard error, where that is a terminal."""
    columns = (*Progress.get_default_columns()[:3], MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        known: dict[str, TaskID] = {}

        def report(progress: MoveProgress) -> None:
            if progress.namespace not in known:
                known[progress.namespace] = bars.add_task(progress.namespace)
            total = max(progress.missing, progress.done)
            bars.update(known[progress.namespace], total=total, completed=progress.done)

        yield report


def _print(options: MoveOptions, found: Sequence[Any], text: str) -> None:
    """The whole as JSON where that is asked for, else the text."""
    plain = [asdict(one) for one in found]
    click.echo(json.dumps(plain, indent=2, default=str) if options.as_json else text)


def _say_moves(moves: Sequence[NamespaceMove]) -> str:
    rows = [
        (one.namespace, one.model, one.embedded, *_say_fit(one.fit), STATES[one.state])
        for one in moves
    ]
    header = ("NAMESPACE", "MODEL", "EMBEDDED", "AGREEMENT", "ABOVE THE GATE", "STATE")
    misfits = [f"{one.namespace}: {why}" for one in moves if one.fit for why in one.fit.misfits]
    return "\n".join([table(header, rows), *misfits])


def _say_fit(fit: ModelFit | None) -> tuple[str | None, str | None]:
    """What both models find alike, and the share of memories above the gate, before and now."""
    if fit is None:
        return None, None
    agreement = None if fit.agreement is None else f"{fit.agreement:.0%}"
    if fit.reach is None or fit.reach_before is None:
        return agreement, None
    return agreement, f"{fit.reach_before:.0%}, now {fit.reach:.0%}"


def _say_vectors(found: Sequence[NamespaceVectors]) -> str:
    labels = iter(tell_apart([held.model for one in found for held in one.models]))
    rows = [
        (one.namespace, next(labels), held.model.width, held.vectors, held.state)
        for one in found
        for held in one.models
    ]
    return table(("NAMESPACE", "MODEL", "WIDTH", "VECTORS", "STATE"), rows)


def _say_dropped(dropped: Sequence[DroppedVectors]) -> str:
    rows = [(one.namespace, one.vectors, ", ".join(one.models) or None) for one in dropped]
    return table(("NAMESPACE", "DROPPED", "MODELS"), rows)

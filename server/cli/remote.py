"""How a command speaks to a running server and prints what it says: for people, or as JSON."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click
from memlift_client import MemLift, MemLiftError, MemLiftProblem
from memlift_client.command import connect, explain

from memory.kernel.errors import MemoryFault
from memory.kernel.text import escape_controls
from server.cli.files import named_url
from server.operator_key import require_loopback
from server.settings import load

SPACE = "default"


class RefusedByServer(MemoryFault):
    """What the client or its server says, in a sentence."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Which server, and by which key."""

    url: str | None
    key_file: Path | None
    key: str | None
    data: Path | None
    as_json: bool

    @contextmanager
    def connected(self, namespace: str = SPACE) -> Generator[MemLift]:
        """The client; its faults become ours."""
        try:
            with self._open(namespace) as client:
                yield client
        except MemLiftProblem as problem:
            raise RefusedByServer(problem.detail) from problem
        except MemLiftError as fault:
            raise RefusedByServer(explain(fault)) from fault
        except OSError as fault:
            raise RefusedByServer(
                f"{fault.filename or 'a file'}: {fault.strerror or fault}"
            ) from fault

    def _open(self, namespace: str) -> MemLift:
        file = self.key_file
        if file is None and self.key is None and self.data is None:
            file = load().operator_key_file
            if file is not None and self.url is not None:
                require_loopback(self.url)
        return connect(
            url=self.url,
            key_file=None if file is None else str(file),
            namespace=namespace,
            home=self.data,
        )

    def print(self, found: object, text: str) -> None:
        """The whole as JSON where that is asked for, else the text; what is stored in it moves
        nothing on the terminal.
        """
        click.echo(as_json(found) if self.as_json else escape_controls(text, kept="\n"))


def speaking(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that say which server."""

    @wraps(command)
    def run(**given: Any) -> None:
        given["url"] = named_url(given["url"], given["data"])
        names = ("url", "key_file", "key", "data", "as_json")
        command(ServerOptions(*(given.pop(name) for name in names)), **given)

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--data",
            type=click.Path(path_type=Path),
            help="Data directory of a server on this machine (MEMLIFT_HOME).",
        ),
        # Of the environment alone: as `--key` it would take the id of a key for a credential.
        click.option("--key-of-environment", "key", envvar="MEMLIFT_KEY", hidden=True),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path),
            help="File with the key; else MEMLIFT_KEY, else the operator's on this machine."
            " With --data, else the operator's of that directory.",
        ),
        click.option(
            "--url", envvar="MEMLIFT_URL", help="The server (MEMLIFT_URL), or one on this machine."
        ),
    ):
        run = option(run)
    return run


namespace_option = click.option(
    "--namespace",
    envvar="MEMLIFT_NAMESPACE",
    default=SPACE,
    show_default=True,
    help="Namespace (MEMLIFT_NAMESPACE).",
)


def as_json(found: object) -> str:
    return json.dumps(plain(found), indent=2, default=str)


def plain(found: object) -> object:
    """What the client read, as JSON has it."""
    if is_dataclass(found) and not isinstance(found, type):
        return plain(asdict(found))
    if isinstance(found, Mapping):
        return {str(name): plain(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    return found.isoformat() if isinstance(found, datetime) else found


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as what is in them; what there is none of is a dash."""
    cells = [tuple(header), *map(_cells, rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    lines = ("  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Sequence[object]) -> tuple[str, ...]:
    return tuple("-" if cell is None else escape_controls(str(cell)) for cell in row)


def minute(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M}"

"""Files that a command writes: whole, once, and for their owner alone."""

import contextlib
import os
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import IO

import click
from click.core import ParameterSource

from memory.kernel.errors import Conflict, Unavailable

file_path = click.Path(path_type=Path, dir_okay=False)
data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Data directory (MEMLIFT_HOME)."
)


def named_url(url: str | None, data: Path | None) -> str | None:
    """The address that was asked for; none of the environment's where a data directory names the
    server. Raises UsageError where options name both.
    """
    if data is None:
        return url
    source = click.get_current_context().get_parameter_source("url")
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--data names a server by its data directory, --url by its address: give one of the two"
        )
    return None


def beside(out: Path, kind: str) -> Path:
    """The name of a file beside it that no other command uses."""
    return out.with_name(f".{out.name}.{secrets.token_hex(4)}.{kind}")


def _publish(part: Path, out: Path) -> None:
    """Give it its name, unless another command was quicker."""
    try:
        out.hardlink_to(part)
    except FileExistsError:
        raise _taken(out) from None
    except OSError:
        # A file system without links.
        if out.exists():
            raise _taken(out) from None
        part.rename(out)


def _taken(out: Path) -> Conflict:
    return Conflict(f"there is a file {out} already", code="file_exists", field="out")


@contextlib.contextmanager
def new_file(out: Path) -> Generator[IO[bytes]]:
    """A file that only its owner reads, under its name once it is whole."""
    if out.exists():
        raise _taken(out)
    part = beside(out, "part")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(part, out)
    except OSError as fault:
        raise Unavailable(f"{out} cannot be written: {fault.strerror}") from fault
    finally:
        part.unlink(missing_ok=True)

"""Files that a command writes: whole, once, and for their owner alone."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import IO

import click

from memory.kernel.errors import Conflict, Unavailable

file_path = click.Path(path_type=Path, dir_okay=False)
data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Data directory (MEMLIFT_HOME)."
)


@contextlib.contextmanager
def new_file(out: Path) -> Generator[IO[bytes]]:
    """A file that only its owner reads, under its name once it is whole."""
    if out.exists():
        raise Conflict(f"there is a file {out} already", code="file_exists", field="out")
    part = out.with_name(f".{out.name}.part")
    try:
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.rename(out)
    except OSError as fault:
        raise Unavailable(f"{out} cannot be written: {fault.strerror}") from fault
    finally:
        part.unlink(missing_ok=True)

"""Where the processes of one server meet: a folder in its data directory, open to its user alone.

In it lie the socket of the process that holds the models, one socket a worker for its numbers, and
a file in which the parent says how often it had to start each of them again.
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

NAME = "workers-"
LOCK = "lock"
RESTARTS = "restarts.json"
OWNER = "owner"
# What a kernel takes as the name of a socket, less the end of the text.
SOCKET_PATH_LIMIT = 107
LONGEST = f"{NAME}12345678/worker-64.sock"


@dataclass(frozen=True, slots=True)
class Placement:
    """One worker among `count`: `index` counts from 1. So many `owners` hold the models, each on a
    card; a worker asks one of them.
    """

    folder: Path
    index: int
    count: int
    owners: int

    @property
    def model_socket(self) -> Path | None:
        """That of the owner which this worker asks; they take turns by their numbers."""
        if not self.owners:
            return None
        return owner_socket(self.folder, 1 + (self.index - 1) % self.owners)

    @property
    def model_sockets(self) -> list[Path]:
        return [owner_socket(self.folder, number) for number in range(1, self.owners + 1)]

    def page_socket(self, index: int | None = None) -> Path:
        """Where a worker, this one unless another is named, tells its numbers."""
        return self.folder / f"worker-{index or self.index}.sock"

    def others(self) -> list[int]:
        return [index for index in range(1, self.count + 1) if index != self.index]

    def restarts(self) -> Mapping[str, int]:
        """How often each process was started again, by the index of a worker or the name of an
        owner.
        """
        try:
            return json.loads((self.folder / RESTARTS).read_text(encoding="utf-8"))
        except OSError:
            return {}


def owner_socket(folder: Path, number: int) -> Path:
    """Where the owner of that number answers; they count from 1."""
    return folder / f"{owner_name(number)}.sock"


def owner_name(number: int) -> str:
    return OWNER if number == 1 else f"{OWNER}-{number}"


def write_restarts(folder: Path, counts: Mapping[str, int]) -> None:
    """For all workers to tell; a reader finds the old counts or the new ones."""
    beside = folder / f"{RESTARTS}.new"
    beside.write_text(json.dumps(dict(counts)), encoding="utf-8")
    beside.replace(folder / RESTARTS)


@contextlib.contextmanager
def meeting_folder(data: Path) -> Generator[Path]:
    """A folder for the sockets of one server, gone with it. Where the path of the data directory is
    too long for sockets, it lies among the system's temporary files, as closed as there.
    """
    data = data.expanduser().absolute()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    fits = len(os.fsencode(data / LONGEST)) <= SOCKET_PATH_LIMIT
    above = data if fits else Path(tempfile.gettempdir())
    if fits:
        _clear_leftovers(above)
    folder = Path(tempfile.mkdtemp(prefix=NAME, dir=above))
    lock = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _clear_leftovers(above: Path) -> None:
    """Those of servers that were killed: nobody holds their locks."""
    for folder in above.glob(f"{NAME}*"):
        if (lock := _locked(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """The lock of the folder, None where another process has it."""
    try:
        handle = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle

"""A run of the tests leaves no process and no folder behind, however it is ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.fixtures import keeper

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 90
# One with a Postgres, a folder and a process of its own, under the fixtures of every other run.
LONG_TEST = """
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def test_of_long_duration(run_folder, database_url):
    idle = [sys.executable, "-c", "import time; time.sleep(600)"]
    subprocess.Popen(idle, start_new_session=True)
    tempfile.mkdtemp()
    Path(__file__).with_name("begun").write_text(str(run_folder))
    time.sleep(600)
"""
TWO_WORKERS = ("-n", "2", "--dist", "loadfile")
Run = tuple[subprocess.Popen[bytes], Path]


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def begin(above: Path) -> Callable[..., Run]:
    """Start a run of that test; its process and its folder, once it is in the middle."""

    def start(*options: str) -> Run:
        file = above / "test_long.py"
        file.write_text(LONG_TEST)
        (above / "empty.ini").write_text("[pytest]\n")
        plugins = ("-p", "tests.fixtures.run", "-p", "tests.fixtures.database")
        command = [sys.executable, "-m", "pytest", *plugins, *options, "-c", above / "empty.ini"]
        process = subprocess.Popen(
            [*map(str, command), str(file)],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(above), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A run in the background of a shell would be born deaf to Ctrl-C.
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - sets a signal and takes no lock
        )
        begun = file.with_name("begun")
        assert eventually(lambda: begun.exists() and begun.read_text() != "")
        return process, Path(begun.read_text())

    return start


def nothing_is_left(folder: Path) -> bool:
    return not folder.exists() and keeper.processes(folder) == []


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (signal.SIGTERM, TWO_WORKERS),
        (signal.SIGINT, ()),
        (signal.SIGKILL, TWO_WORKERS),
    ],
    ids=lambda given: getattr(given, "name", None),
)
def test_a_run_ended_by_a_signal_leaves_nothing_behind(
    begin: Callable[..., Run], number: signal.Signals, options: tuple[str, ...]
) -> None:
    process, folder = begin(*options)
    names = {one.name() for one in keeper.processes(folder)}
    assert "postgres" in names
    assert len(names) > 1

    process.send_signal(number)

    assert process.wait(PATIENCE_SECONDS) != 0
    assert eventually(lambda: nothing_is_left(folder))


def test_what_a_killed_keeper_leaves_is_cleared_by_the_next_run(
    begin: Callable[..., Run], above: Path
) -> None:
    process, folder = begin()
    [beside] = [one for one in psutil.Process(process.pid).children() if is_keeper(one)]
    beside.kill()
    process.kill()
    process.wait()
    beside.wait(PATIENCE_SECONDS)
    assert len(keeper.processes(folder)) > 1

    following = above / f"{keeper.PREFIX}next"
    following.mkdir()
    subprocess.run(
        [sys.executable, keeper.__file__, following], stdin=subprocess.DEVNULL, check=True
    )

    assert nothing_is_left(folder)
    assert not following.exists()


def is_keeper(process: psutil.Process) -> bool:
    return keeper.__file__ in process.cmdline()


def test_a_folder_that_is_looked_after_is_left_alone(above: Path) -> None:
    ours, theirs = (above / f"{keeper.PREFIX}{name}" for name in ("ours", "theirs"))
    for folder in (ours, theirs):
        folder.mkdir()
    lock = keeper.hold(theirs)

    assert keeper.abandoned(ours) == []

    os.close(lock)
    assert keeper.abandoned(ours) == [theirs]

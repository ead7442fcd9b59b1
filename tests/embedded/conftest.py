"""A data directory that the account of Postgres can reach, and processes that die with the test."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.fixtures.clusters import CopyCluster

ROOT = Path(__file__).parents[2]


@pytest.fixture
def above() -> Generator[Path]:
    """A folder for data directories: short, so that a socket fits, and open enough for root."""
    folder = Path(tempfile.mkdtemp(prefix="memlift-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def data(above: Path) -> Path:
    """A data directory that is not there yet: what starts in it starts for the first time."""
    return above / "data"


@pytest.fixture
def used(data: Path, copy_cluster: CopyCluster) -> Path:
    """A data directory that a server has run in before."""
    return copy_cluster(data)


@pytest.fixture
def supervise() -> Generator[Callable[..., subprocess.Popen[str]]]:
    """Start a supervisor in a process of its own; returns when it serves or has refused."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "memory.kernel.postgres.embedded", *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()

"""Real processes on real data directories, none of which outlives its module."""

import shutil
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.acceptance.servers import Home, Server
from tests.fixtures.clusters import CopyCluster


@pytest.fixture(scope="module")
def above() -> Generator[Path]:
    """A folder for data directories: short, so that a socket fits, and open enough for root."""
    folder = Path(tempfile.mkdtemp(prefix="memlift-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def home(above: Path) -> Generator[Home]:
    """A data directory; whatever serves it when the module ends is stopped."""
    home = Home(above / "data")
    yield home
    home.clear()


@pytest.fixture(scope="module")
def used_home(home: Home, copy_cluster: CopyCluster) -> Home:
    """A data directory whose Postgres need not be made first; MemLift has not served it."""
    copy_cluster(home.data)
    return home


@pytest.fixture(scope="module")
def begin() -> Generator[Callable[..., Server]]:
    """Start `memlift serve` with these variables and no others of ours."""
    started: list[Server] = []

    def start(home: Home, *, warm: bool = True, **variables: object) -> Server:
        server = Server.of(home, variables, warm=warm)
        started.append(server)
        return server

    yield start
    for server in reversed(started):
        server.end()


@pytest.fixture(scope="module")
def url(migrated_database: Callable[[], str]) -> str:
    """A database that no serving process owns, so that any of them can be killed."""
    return migrated_database()


@pytest.fixture(scope="module")
def superuser(url: str, superuser_url: str) -> str:
    """The same database, past roles and rows."""
    name = str(conninfo_to_dict(url)["dbname"])
    return make_conninfo(superuser_url, dbname=name)

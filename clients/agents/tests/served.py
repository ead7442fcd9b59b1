"""`memlift serve` for these tests, run by the server's own Python: it says on one line where it
listens and its key, and ends when its standard input does.
"""

import json
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.acceptance.servers import Home, Server


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    above = Path(tempfile.mkdtemp(prefix="memlift-"))
    above.chmod(0o711)
    home = Home(above / "data")
    server = Server.of(home)
    try:
        server.await_ready()
        key = home.operator_key.read_text().strip()
        print(json.dumps({"url": server.url, "key": key}), flush=True)
        sys.stdin.read()
    finally:
        server.end()
        home.clear()
        shutil.rmtree(above)


if __name__ == "__main__":
    main()

"""Run Postgres from a data directory until told to stop.

    python -m memory.kernel.postgres.embedded DATA [--tcp]

Prints one line, the superuser's URL, once the server is ready; for tests that want a server by URL.
"""

import argparse
import signal
import sys
from pathlib import Path

from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.embedded.supervisor import EmbeddedPostgres


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the data directory")
    parser.add_argument("--tcp", action="store_true", help="listen on loopback, not on a socket")
    asked = parser.parse_args()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        with EmbeddedPostgres(asked.data, tcp=asked.tcp) as address:
            sys.stdout.write(address.superuser_url + "\n")
            sys.stdout.flush()
            signal.sigwait(ends)
    except MemoryFault as fault:
        sys.exit(fault.detail)


if __name__ == "__main__":
    main()

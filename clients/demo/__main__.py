"""Run the demonstration: `python -m clients.demo`, or `make demo`."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

from memlift_client import MemLiftError

from clients.demo.arguments import Asked, choose, parse
from clients.demo.server import LocalServer, ServerFailed, fresh_folder, start
from clients.demo.session import demonstrate, described, how_to_call
from clients.demo.streams import BadStream, Stream

INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    asked = parse(words)
    # Ended from outside, the demonstration still ends the server it started. (Not `getsignal`: a
    # shell that runs it in the background has SIGINT ignored.)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        stream = choose(asked, os.environ.get("MEMLIFT_DATA"))
        say(described(stream))
        if asked.url is None:
            _with_own_server(asked, stream)
        else:
            demonstrate(asked.url, asked.key, stream, say)
    except (BadStream, ServerFailed, MemLiftError) as fault:
        say(f"memlift demo: {fault}")
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return INTERRUPTED
    return 0


def _with_own_server(asked: Asked, stream: Stream) -> None:
    folder = fresh_folder("memlift-demo")
    say(f"Starting a server of its own in {folder}")
    try:
        _demonstrated(asked, stream, folder)
    finally:
        if asked.leave:
            rmtree(folder, ignore_errors=True)


def _demonstrated(asked: Asked, stream: Stream, folder: Path) -> None:
    server = start(folder, {}, say)
    try:
        demonstrate(server.url, server.key(), stream, say)
        if not asked.leave:
            _stay(server)
    except MemLiftError as fault:
        raise ServerFailed(
            f"{fault}\nThe log of the server ends with:\n{server.log_end()}"
        ) from fault
    finally:
        server.stop()


def _stay(server: LocalServer) -> None:
    for line in how_to_call(server.url, server.data):
        say(line)
    server.process.wait()
    raise ServerFailed(f"the server ended by itself:\n{server.log_end()}")


def say(line: str) -> None:
    """At once, so that progress also shows where the output is not a terminal."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the demonstration: `python -m clients.demo`, or `make demo`."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree

from memlift_client import MemLiftError

from clients.demo.arguments import Asked, choose, parse
from clients.demo.server import LocalServer, ServerFailed, fresh_folder, start
from clients.demo.session import demonstrate, described, how_to_call
from clients.demo.snippets import session as snippets
from clients.demo.streams import BadStream

INTERRUPTED = 130

Show = Callable[[str, str | None], str]
"""Shows what it has to on the server at this address, with this key, and gives the namespace that
learned.
"""


def main(words: Sequence[str]) -> int:
    asked = parse(words)
    # What similarity alone answers is frozen and unpaired on purpose: no warning is news here.
    logging.getLogger("memlift_client").setLevel(logging.ERROR)
    # Ended from outside, the demonstration still ends the server it started. (Not `getsignal`: a
    # shell that runs it in the background has SIGINT ignored.)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        show = _choose(asked)
        if asked.url is None:
            _with_own_server(show, leave=asked.leave)
        else:
            show(asked.url, asked.key)
    except (BadStream, ServerFailed, MemLiftError) as fault:
        say(f"memlift demo: {fault}")
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return INTERRUPTED
    return 0


def _choose(asked: Asked) -> Show:
    """What is to be shown, said in words."""
    if asked.stream is None:
        say(snippets.describe())
        return lambda url, key: snippets.demonstrate(url, key, asked.seed, say)
    stream = choose(asked, os.environ.get("MEMLIFT_DATA"))
    say(described(stream))
    return lambda url, key: demonstrate(url, key, stream, say)


def _with_own_server(show: Show, *, leave: bool) -> None:
    folder = fresh_folder("memlift-demo")
    say(f"Starting a server of its own in {folder}")
    try:
        _demonstrated(show, folder, leave=leave)
    finally:
        if leave:
            rmtree(folder, ignore_errors=True)


def _demonstrated(show: Show, folder: Path, *, leave: bool) -> None:
    server = start(folder, {}, say)
    try:
        namespace = show(server.url, server.key())
        if not leave:
            _stay(server, namespace)
    except MemLiftError as fault:
        raise ServerFailed(
            f"{fault}\nThe log of the server ends with:\n{server.log_end()}"
        ) from fault
    finally:
        server.stop()


def _stay(server: LocalServer, namespace: str) -> None:
    for line in how_to_call(server.url, server.data, namespace):
        say(line)
    server.process.wait()
    raise ServerFailed(f"the server ended by itself:\n{server.log_end()}")


def say(line: str) -> None:
    """At once, so that progress also shows where the output is not a terminal."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

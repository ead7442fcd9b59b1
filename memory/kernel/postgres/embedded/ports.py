"""A port of loopback for a server that starts a moment later."""

import random
import socket

FIRST, LAST = 15_000, 32_000
"""Below what systems hand out to outgoing connections, any of which could otherwise take the port
before its server listens: 32768 and up on Linux, 49152 and up elsewhere (RFC 6335, section 6).
"""

TRIES = 200


def find_free_port() -> int:
    """Drawn at random, so that two who look at one time hardly ever find the same; raises OSError
    where none of `TRIES` is free.
    """
    for _ in range(TRIES):
        port = random.SystemRandom().randint(FIRST, LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"None of {TRIES} ports between {FIRST} and {LAST} is free.")

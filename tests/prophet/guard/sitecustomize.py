"""Python reads this at its start where the folder is on its path: nothing beyond this machine."""

import socket
from typing import Any

LOCAL = ("127.0.0.1", "::1", "localhost")


def _local(host: object) -> None:
    if host is not None and host not in LOCAL:
        raise OSError(f"a test tried to reach {host!r}")


def _guarded() -> None:
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def connected(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple):
            _local(address[0])
        connect(self, address)

    def looked_up(host: Any, *given: Any, **named: Any) -> Any:
        _local(host)
        return lookup(host, *given, **named)

    socket.socket.connect = connected  # pyright: ignore[reportAttributeAccessIssue] - on purpose
    socket.getaddrinfo = looked_up


_guarded()

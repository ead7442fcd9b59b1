"""What becomes of a request whose caller leaves, and of the log of the process."""

import logging

from starlette.requests import ClientDisconnect

from server.mcp.tools import build_server
from server.metrics import Meters
from server.middleware import Accounts


async def test_a_caller_who_leaves_is_no_fault_of_the_server(caplog) -> None:
    async def leaves(scope, receive, send) -> None:
        raise ClientDisconnect

    sent: list[object] = []
    meters = Meters()
    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}

    await Accounts(leaves, meters)(scope, None, sent.append)

    assert sent == []
    assert "Traceback" not in caplog.text
    assert "internal" not in meters.text().decode()


def test_the_library_of_tools_leaves_the_log_of_the_process_alone() -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    build_server()

    assert (root.handlers, root.level) == (handlers, level)

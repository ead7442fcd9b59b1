"""One connection to the server: the head of a request has a size and a time, its body a time.

Applications see a request only when its head is complete, so what comes before is bounded here. A
body that is late is refused by the application (`middleware.py`); this closes the connections of
those who do not hear of it.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from memory.kernel.errors import MemoryFault
from server.errors import HeadTooLarge, TooSlow, UnreadableHead, problem_of
from server.middleware import HEAD_BYTES

# After an answer, what is left of its request may still arrive for so long: whoever closed at once
# would take the answer back from callers that are still sending.
LINGER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long a request may take to arrive: its head, and then its body."""

    head_seconds: float
    body_seconds: float


class BoundedConnection(HttpToolsProtocol):
    """A connection that does not wait for ever, and remembers no more of a head than is read."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = cast("ConnectionLimits", config.connection_limits)  # pyright: ignore[reportAttributeAccessIssue] - `hosting.Serving` has them
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None:
            self._expect_head()
        self._head_bytes += len(data)
        super().data_received(data)
        if not self._in_body and self._head_bytes > HEAD_BYTES and self._awaits_head():
            self._refuse(
                HeadTooLarge(
                    f"request line and headers have more than {HEAD_BYTES} bytes",
                    field="headers",
                    limit=HEAD_BYTES,
                )
            )

    def send_400_response(self, msg: str) -> None:
        """What uvicorn answers where bytes are no HTTP, as the problem document that it is."""
        self._refuse(
            UnreadableHead(
                f"{msg} The request line or a header has a byte that may not stand there.",
                field="headers",
            )
        )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_body = True
        self._await(self._limits.body_seconds + LINGER_SECONDS, self.transport.close)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_body = False
        self._head_bytes = 0
        self._forget_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body:
            self._await(LINGER_SECONDS, self.transport.close)

    def _awaits_head(self) -> bool:
        return self._deadline is not None and not self.transport.is_closing()

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._await(self._limits.head_seconds, self._give_up_head)

    def _give_up_head(self) -> None:
        if not self._head_bytes:
            self.transport.close()
            return
        seconds = self._limits.head_seconds
        self._refuse(
            TooSlow(
                f"the headers were not here within {seconds:g} seconds",
                field="headers",
                limit=seconds,
            )
        )

    def _refuse(self, fault: MemoryFault) -> None:
        """Answers a request whose head never came; there is no application to do so."""
        if self.transport.is_closing():
            return
        self._forget_deadline()
        if self.cycle and not self.cycle.response_complete:
            self.transport.close()
            return
        problem = problem_of(fault, None)
        body = problem.model_dump_json(exclude_none=True).encode()
        head = (
            f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: application/problem+json"
            f"\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()

    def _await(self, seconds: float, then: Any) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(seconds, then)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

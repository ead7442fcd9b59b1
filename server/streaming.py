"""Server-sent events: a stream that ends by itself, and well, when its server stops."""

from collections.abc import AsyncIterator

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent

SEND_SECONDS = 30
ENDING_SECONDS = 5.0
"""So long whoever writes events may take to end once the server stops; less than that waits."""


def streamed(
    events: AsyncIterator[ServerSentEvent], ending: anyio.Event, heartbeat: float
) -> EventSourceResponse:
    """The answer. `ending` is set when the server stops: then `events` are to end. A stream that is
    cut off instead is an error in the log of the server.
    """
    return EventSourceResponse(
        events,
        ping=heartbeat,
        send_timeout=SEND_SECONDS,
        shutdown_event=ending,
        shutdown_grace_period=ENDING_SECONDS,
    )

"""Notices that a caller has left, where something of its call waits in a queue."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.kernel.departure import Departure, departing

LEFT: Message = {"type": "http.disconnect"}


class Departures:
    """Gives each request a departure: what waits in queues for callers who left is dropped."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = _Caller(receive)
        try:
            with departing(connection.departure):
                await self._app(scope, connection.receive, send)
        finally:
            await connection.close()


class _Caller:
    """One request's caller. Once the body has come, all that can still come is that it leaves."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._has_come = False
        self._listening: asyncio.Task[None] | None = None
        self.departure = Departure(self._listen)

    async def receive(self) -> Message:
        if self._listening is not None:
            await asyncio.shield(self._listening)
            return LEFT
        message = await self._receive()
        self._has_come = not message.get("more_body", False)
        return message

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    def _listen(self) -> bool:
        """Not before the body has come, which is somebody else's to read."""
        if self._has_come:
            self._listening = asyncio.create_task(self._wait_for_leaving())
        return self._has_come

    async def _wait_for_leaving(self) -> None:
        while (await self._receive())["type"] != LEFT["type"]:
            """Nothing else is expected."""
        self.departure.leave()

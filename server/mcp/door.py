"""`/mcp`: the protocol over HTTP, stateless, with JSON answers.

Nothing is kept between two requests: a server that was restarted, an idle hour or another process
makes no difference to a client. The key is known before (`KeyFirst`, as for every route of the
API); here Host and Origin are looked at, and which namespace is meant.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from urllib.parse import urlsplit

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from memory.kernel.errors import Forbidden, MemoryFault, Overloaded, Rejected, Unavailable
from server.authentication import MCP, enter_namespace, in_turn
from server.errors import fault_response, problem_of_status, problem_response
from server.hosting import is_loopback as listens_on_loopback
from server.mcp.calling import CALLER, ToolCaller
from server.mcp.messages import error_response, read_whole, require_message
from server.mcp.tools import build_server
from server.middleware import is_loopback, is_readable, request_id_of
from server.shared import Shared


class McpDoor:
    """Lets requests of the protocol in, one by one."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._protocol: ASGIApp | None = None

    @property
    def route(self) -> Route:
        """To be added to the application's."""
        return Route(MCP, endpoint=self, name="mcp", include_in_schema=False)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """While the application runs; each time with a protocol of its own."""
        server = build_server(_version())
        made = server.streamable_http_app(
            streamable_http_path=MCP,
            json_response=True,
            stateless_http=True,
            max_request_body_size=self._shared.settings.max_body_bytes,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        started, ending = asyncio.Event(), asyncio.Event()
        running = asyncio.create_task(_run(server, started, ending))
        await started.wait()
        self._protocol = made.router
        try:
            yield
        finally:
            self._protocol = None
            ending.set()
            await running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._require_own(Headers(scope=scope))
            caller = await self._caller(scope)
            protocol = self._opened()
        except MemoryFault as fault:
            await self._refuse(fault, scope, receive, send)
            return
        if scope["method"] != "POST":
            await _only_post(scope, receive, send)
            return
        body, receive = await read_whole(receive)
        try:
            require_message(body)
        except Rejected as fault:
            self._shared.meters.faults.labels(fault.kind).inc()
            await error_response(fault, body)(scope, receive, send)
            return
        token = CALLER.set(caller)
        try:
            async with in_turn(scope, self._shared):
                await protocol(scope, receive, send)
        except (Overloaded, Unavailable) as fault:
            await self._refuse(fault, scope, receive, send)
        finally:
            CALLER.reset(token)

    async def _refuse(self, fault: MemoryFault, scope: Scope, receive: Receive, send: Send) -> None:
        self._shared.meters.faults.labels(fault.kind).inc()
        await fault_response(fault, request_id_of(scope))(scope, receive, send)

    def _opened(self) -> ASGIApp:
        if self._protocol is None:
            raise Unavailable("the server is starting or stopping", code="not_open", retry_after=1)
        return self._protocol

    def _require_own(self, headers: Headers) -> None:
        """A page of another site must not reach a server through its visitor's browser: neither by
        a name that it made point here, nor by a request across origins.
        """
        settings = self._shared.settings
        host, origin = headers.get("host", ""), headers.get("origin")
        near = listens_on_loopback(settings.host) and not settings.proxies
        if near and not is_loopback(f"//{host}"):
            raise Forbidden("this server answers loopback only", code="foreign_host", field="Host")
        if origin is None:
            return
        same = is_readable(origin) and urlsplit(origin).netloc == host
        if not same and not (near and is_loopback(origin)):
            raise Forbidden(
                "a page of another site may not call this server",
                code="foreign_origin",
                field="Origin",
            )

    async def _caller(self, scope: Scope) -> ToolCaller:
        """Who calls, in the namespace of its key, or in the one that a header names."""
        call = await enter_namespace(scope, self._shared)
        headers = Headers(scope=scope)
        return ToolCaller(
            self._shared.opened(), call, self._shared.meters, self._shared.tracing, headers
        )


async def _only_post(scope: Scope, receive: Receive, send: Send) -> None:
    """A server that keeps nothing has no stream to listen to and no session to end."""
    refusal = HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, f"{MCP} takes POST alone")
    problem = problem_of_status(refusal, request_id_of(scope))
    await problem_response(problem, {"Allow": "POST"})(scope, receive, send)


async def _run(server: MCPServer, started: asyncio.Event, ending: asyncio.Event) -> None:
    """In a task of its own: what runs requests has to be left by the task that entered it, which
    who opens and closes an application need not be.
    """
    async with server.session_manager.run():
        started.set()
        await ending.wait()


def _version() -> str:
    try:
        return installed_version("memlift")
    except PackageNotFoundError:
        return ""

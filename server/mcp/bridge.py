"""`memlift mcp --stdio`: a host that starts a process instead of calling an address.

The process does nothing itself: it hands each line to `/mcp` of a running server and its answer
back, so that both ways behave alike. A server that is away, or that refuses the key or the
namespace, is an error of the request, in its own words; the next request tries again. Standard
output is the protocol's; what is logged goes to standard error.
"""

import json
import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import httpx2
import mcp_types as types
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)

from memory.kernel.errors import Rejected
from server.authentication import MCP, NAMESPACE
from server.hosting import ADDRESS_FILE, near_url
from server.mcp.messages import id_of, members_of
from server.operator_key import FILE as OPERATOR_KEY
from server.operator_key import require_loopback
from server.settings import Settings

LOG = logging.getLogger(__name__)
PATIENCE = 300.0
"""Seconds for an answer."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server to hand on to."""

    url: str
    key: str | None = field(repr=False)
    namespace: str | None = None

    def headers(self) -> dict[str, str]:
        """Whose key it is, and which namespace is meant."""
        known = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return known | ({NAMESPACE: self.namespace} if self.namespace else {})


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """What the command line names; what it leaves open is found in the data directory."""

    url: str | None = None
    key: str | None = field(default=None, repr=False)
    key_file: Path | None = None
    namespace: str | None = None


def serve_mcp(settings: Settings, chosen: BridgeOptions) -> None:
    """Hand on to the server that is named, else to the one that runs in the data directory, until
    standard input ends. Raises Rejected naming what to change.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="memlift: %(message)s")
    own = _read(settings.data / ADDRESS_FILE) or near_url(settings)
    url = chosen.url or own
    if not (chosen.key or chosen.key_file) and url.rstrip("/") != own.rstrip("/"):
        require_loopback(url)
    upstream = Upstream(url, _key(settings, chosen), chosen.namespace)
    if not "".join(upstream.headers().values()).isascii():
        raise Rejected("key and namespace must be plain ASCII", field="MEMLIFT_KEY")
    anyio.run(serve_stdio, upstream)


def _key(settings: Settings, chosen: BridgeOptions) -> str | None:
    """What a file holds that is named; else the key that is given, else the operator's."""
    if chosen.key_file is None:
        return chosen.key or _read(settings.operator_key_file or settings.data / OPERATOR_KEY)
    key = _read(chosen.key_file)
    if key is None:
        raise Rejected(f"{chosen.key_file} cannot be read, or is empty", field="--key-file")
    return key


def _read(path: Path) -> str | None:
    """The text of a file; None where there is none."""
    try:
        return path.expanduser().read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


async def serve_stdio(upstream: Upstream) -> None:
    """Until standard input ends, and what was asked by then is answered."""
    timeout = httpx2.Timeout(PATIENCE, connect=10.0)
    async with (
        httpx2.AsyncClient(headers=upstream.headers(), timeout=timeout) as http,
        anyio.create_task_group() as tasks,
    ):
        bridge = Bridge(http, f"{upstream.url.rstrip('/')}{MCP}")
        async for line in anyio.wrap_file(sys.stdin.buffer):
            if line.strip() and not bridge.gave_up(line):
                tasks.start_soon(bridge.hand_on, line)


class Bridge:
    """Hands lines on, several at once, and writes what comes back."""

    def __init__(self, http: httpx2.AsyncClient, place: str) -> None:
        self._http = http
        self._place = place
        self._writing = anyio.Lock()
        self._asked: dict[str | int, anyio.CancelScope] = {}
        self._version: str | None = None
        """As `initialize` settled it; later generations say it with each request."""

    def gave_up(self, line: bytes) -> bool:
        """Whether a line gives a request up, which ends it: closing it tells the server."""
        message = members_of(line)
        if message.get("method") != "notifications/cancelled":
            return False
        scope = self._asked.get(_key_of(_members(message.get("params")).get("requestId")))
        if scope is not None:
            scope.cancel()
        return True

    async def hand_on(self, line: bytes) -> None:
        """One line, and the answer to it."""
        identity = id_of(line)
        with anyio.CancelScope() as scope:
            if identity is not None:
                self._asked[identity] = scope
            try:
                answer = await self._answer(line)
            finally:
                if identity is not None and self._asked.get(identity) is scope:
                    del self._asked[identity]
            if answer:
                async with self._writing:
                    await anyio.to_thread.run_sync(_write, answer)

    async def _answer(self, line: bytes) -> bytes | None:
        """What the server says, or why there is no answer of it; None to a notification."""
        message = members_of(line)
        if message.get("method") == "subscriptions/listen":
            return _error(line, "there is no stream to listen to", types.METHOD_NOT_FOUND)
        try:
            answer = await self._http.post(
                self._place, content=line, headers=self._headers(message)
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
            said = str(fault) or type(fault).__name__
            return _error(line, f"{self._place} does not answer: {said}")
        document = members_of(answer.content)
        if "jsonrpc" not in document:
            return None if answer.is_success else _error(line, *self._refusal(answer, document))
        if message.get("method") == "initialize":
            settled = _members(document.get("result")).get("protocolVersion")
            self._version = settled if isinstance(settled, str) else None
        return b" ".join(answer.content.splitlines())

    def _refusal(
        self, answer: httpx2.Response, problem: Mapping[str, object]
    ) -> tuple[str, int, Mapping[str, object]]:
        """The server's own words, where it is ours that answers."""
        if "code" not in problem:
            said = f"{self._place} answers {answer.status_code}, and is no server of MemLift"
            return said, types.INTERNAL_ERROR, {}
        said = f"{answer.status_code} {problem['code']}: {problem.get('detail')}"
        named = {name: problem[name] for name in ("field", "limit") if problem.get(name)}
        code = types.INTERNAL_ERROR if answer.is_server_error else types.INVALID_REQUEST
        return said, code, named

    def _headers(self, message: Mapping[str, object]) -> dict[str, str]:
        """What the protocol has said over HTTP beside the message."""
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        params = _members(message.get("params"))
        method = str(message.get("method", ""))
        version = _members(params.get("_meta")).get(types.PROTOCOL_VERSION_META_KEY)
        if isinstance(version, str):
            headers[MCP_METHOD_HEADER] = encode_header_value(method)
            name = params.get(NAME_BEARING_METHODS.get(method, ""))
            if isinstance(name, str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
        elif method != "initialize":
            version = self._version
        if isinstance(version, str):
            headers[MCP_PROTOCOL_VERSION_HEADER] = encode_header_value(version)
        return headers


def _error(
    line: bytes,
    said: str,
    code: int = types.INTERNAL_ERROR,
    data: Mapping[str, object] | None = None,
) -> bytes | None:
    """The protocol's error of a request; a notification has none, and is told in the log alone."""
    LOG.warning("%s", said)
    message = members_of(line)
    if "method" in message and "id" not in message:
        return None
    error = {"code": code, "message": said} | ({"data": data} if data else {})
    return json.dumps({"jsonrpc": "2.0", "id": id_of(line), "error": error}).encode()


def _write(answer: bytes) -> None:
    sys.stdout.buffer.write(answer + b"\n")
    sys.stdout.buffer.flush()


def _members(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _key_of(value: object) -> str | int:
    return value if isinstance(value, str | int) else ""

"""What a client of the protocol may rely on, asked by the SDK's own client.

The client itself refuses answers that are not of the protocol's shapes, and structured content that
a tool's own schema does not allow; a check fails where it raises.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http import HTTPStatus
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from benchmarks.bench import Served

TOOLS = {"ask", "report", "remember", "why", "search"}
TASK = "Refund invoice 8812 for a customer"
NOBODY = "01900000-0000-7000-8000-000000000000"
NAMESPACE = "mcp"
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
PINNED = "2026-07-28"
"""The client is told the version, and asks nothing before its first call."""
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

Check = Callable[[Client], Awaitable[bool]]
Connect = Callable[[], AbstractAsyncContextManager[Client]]


async def _tools(client: Client) -> bool:
    tools = (await client.list_tools()).tools
    schemas = all(one.input_schema.get("properties") and one.output_schema for one in tools)
    told = all(one.description and one.annotations for one in tools)
    return {one.name for one in tools} >= TOOLS and schemas and told


async def _instructions(client: Client) -> bool:
    return "`ask`" in (client.instructions or "")


async def _loop(client: Client) -> bool:
    asked = await client.call_tool("ask", {"task": TASK, "agent": "bot"})
    receipt = (asked.structured_content or {})["receipt"]
    told = await client.call_tool("report", {"receipt": receipt, "reward": 1})
    why = await client.call_tool("why", {"receipt": receipt})
    resource = await client.read_resource(f"memlift://receipts/{receipt}")
    read: Any = json.loads(getattr(resource.contents[0], "text", "{}"))
    [outcome] = (told.structured_content or {})["outcomes"]
    same = receipt == read["retrieval_id"] == outcome["receipt"]
    return same and outcome["status"] == "accepted" and not why.is_error


async def _twice(client: Client) -> bool:
    lesson = {"situation": TASK, "lesson": "Ask for the number of the order first"}
    first = await client.call_tool("remember", lesson)
    again = await client.call_tool("remember", lesson)
    ids = [(one.structured_content or {})["memory_id"] for one in (first, again)]
    return ids[0] == ids[1] and (again.structured_content or {})["stored"] is False


async def _refusal(client: Client) -> bool:
    answer = await client.call_tool("ask", {"task": " "})
    after = await client.call_tool("search", {"text": TASK})
    return answer.is_error is True and "field: task" in str(answer.content) and not after.is_error


async def _unknown_tool(client: Client) -> bool:
    try:
        answer = await client.call_tool("forget", {})
    except MCPError:
        return True
    return answer.is_error is True


async def _unknown_resource(client: Client) -> bool:
    try:
        await client.read_resource(f"memlift://memories/{NOBODY}")
    except MCPError:
        return True
    return False


async def _prompt(client: Client) -> bool:
    [prompt] = (await client.list_prompts()).prompts
    filled = await client.get_prompt(prompt.name, {"task": TASK})
    return TASK in str(filled.messages)


async def _templates(client: Client) -> bool:
    found = (await client.list_resource_templates()).resource_templates
    return {one.uri_template.split("/")[2] for one in found} == {"receipts", "memories"}


CHECKS: Mapping[str, Check] = {
    "tools with schemas and annotations": _tools,
    "instructions": _instructions,
    "loop, structured": _loop,
    "the same again stores once": _twice,
    "a refusal is the tool's error": _refusal,
    "an unknown tool": _unknown_tool,
    "an unknown resource": _unknown_resource,
    "prompt": _prompt,
    "resource templates": _templates,
}


async def check_all(connect: Connect, *, discovers: bool = True) -> dict[str, float]:
    """1 for each check that passed, 0 for others. `discovers`: the client asks who the server is,
    which one that was told the version need not.
    """
    found: dict[str, float] = {}
    for name, check in CHECKS.items():
        if check is _instructions and not discovers:
            continue
        try:
            async with connect() as client:
                found[name] = float(await check(client))
        except Exception as fault:  # noqa: BLE001 - whatever goes wrong, the check did not pass
            print(f"{name}: {fault!r}")
            found[name] = 0.0
    return found


def check_over_http(server: Served) -> dict[str, float]:
    """All checks by each generation of the protocol, and what only HTTP has."""
    return asyncio.run(_check_over_http(server))


async def _check_over_http(server: Served) -> dict[str, float]:
    headers = {"authorization": f"Bearer {server.key}", "memlift-namespace": NAMESPACE}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=60) as http:
        await http.post("/v1/namespaces", json={"slug": NAMESPACE})
        found: dict[str, float] = {}
        for mode in (PINNED, "auto", "legacy"):

            @asynccontextmanager
            async def connect(mode: str = mode) -> AsyncGenerator[Client]:
                place = streamable_http_client(f"{server.url}/mcp", http_client=http)
                async with Client(place, mode=mode) as client:
                    yield client

            passed = await check_all(connect, discovers=mode != PINNED)
            found |= {f"{mode}: {name}": value for name, value in passed.items()}
        return found | await _check_transport(http)


async def _check_transport(http: httpx2.AsyncClient) -> dict[str, float]:
    stream = await http.get("/mcp", headers=HEADERS)
    bare = await http.post("/mcp", json=LIST, headers=HEADERS | {"authorization": ""})
    stale = await http.post("/mcp", json=LIST, headers=HEADERS | {"mcp-session-id": "gone"})
    foreign = await http.post("/mcp", json=LIST, headers=HEADERS | {"origin": "http://evil.test"})
    torn = await http.post("/mcp", content="{", headers=HEADERS)
    statuses = {
        "no stream to listen to": (stream, HTTPStatus.METHOD_NOT_ALLOWED),
        "no key": (bare, HTTPStatus.UNAUTHORIZED),
        "a session of before is served": (stale, HTTPStatus.OK),
        "a page of another site": (foreign, HTTPStatus.FORBIDDEN),
        "what is no JSON": (torn, HTTPStatus.BAD_REQUEST),
    }
    return {name: float(one.status_code == wanted) for name, (one, wanted) in statuses.items()}

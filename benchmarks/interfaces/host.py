"""A host of the Model Context Protocol, with a script in the place of its model.

`python -m benchmarks.interfaces.host CONFIG.json`: the file names the server, as hosts have it.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from benchmarks.interfaces.agent import TASKS, act, cited, judge

VARIABLE = re.compile(r"\$\{(\w+)\}")


@asynccontextmanager
async def connected(server: dict[str, Any]) -> AsyncGenerator[Client]:
    """By address, or by starting its command."""
    if "url" not in server:
        words, variables = server["args"], dict(os.environ)
        command = sys.executable if server["command"] == "python" else server["command"]
        parameters = StdioServerParameters(command=command, args=words, env=variables)
        async with Client(parameters) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(headers=server["headers"], timeout=60) as http,
        Client(streamable_http_client(server["url"], http_client=http)) as client,
    ):
        yield client


async def main(config: str) -> None:
    """What a model that reads the server's instructions does with the tools."""
    text = VARIABLE.sub(lambda one: os.environ[one[1]], config)
    async with connected(json.loads(text)["mcpServers"]["memlift"]) as tools:
        for task in TASKS:
            served = await tools.call_tool("ask", {"task": task, "agent": "bot"})
            asked = served.structured_content or {}
            answer = act(task, asked["guideline"])
            told = {"receipt": asked["receipt"], "reward": judge(answer), "used": cited(answer)}
            await tools.call_tool("report", told)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8")))

"""The protocol's checks without HTTP: the SDK's client beside the tools, in one process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from mcp.client.client import Client

from benchmarks.bench import Served
from benchmarks.interfaces.conformance import check_all
from memory.inference.service import keep_registering
from memory.tenancy.entities import Call
from memory.tenancy.service import authenticate, open_namespace
from server.mcp.calling import CALLER, ToolCaller
from server.mcp.tools import build_server
from server.metrics import Meters
from server.opening import open_from
from server.settings import Settings

DEFAULT = "default"


def check_in_process(server: Served) -> dict[str, float]:
    """Empty where the server's database is not at hand: then nothing was checked."""
    url = server.database_url()
    return {} if url is None else asyncio.run(_check(url, server.key))


async def _check(url: str, token: str) -> dict[str, float]:
    engine = await open_from(Settings.model_validate({"database_url": url}))
    try:
        await keep_registering(engine, datetime.now(UTC))
        key = await authenticate(engine, token, datetime.now(UTC))
        namespace = await open_namespace(engine, key, DEFAULT)
        caller = ToolCaller(engine, Call(key, namespace, datetime.now(UTC)), Meters())

        @asynccontextmanager
        async def connect() -> AsyncGenerator[Client]:
            held = CALLER.set(caller)
            try:
                async with Client(build_server()) as client:
                    yield client
            finally:
                CALLER.reset(held)

        return await check_all(connect)
    finally:
        await engine.close()

"""The first request to a process finds routes and contract complete."""

import ast
from pathlib import Path
from unittest.mock import patch

import httpx
import pytest

from memory.kernel.engine import Engine
from server.app import create_app
from server.settings import Settings


async def never_opened(_: Settings) -> Engine:
    raise AssertionError


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/health/live"])
async def test_no_source_is_parsed_within_a_request(path: str, tmp_path: Path):
    app = create_app(Settings(data=tmp_path), never_opened, has_process=True)
    transport = httpx.ASGITransport(app)

    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        with patch.object(ast, "parse", wraps=ast.parse) as parse:
            answer = await client.get(path, headers={"accept": "text/html"})

    assert answer.status_code < 400
    assert parse.call_count == 0

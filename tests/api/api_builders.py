"""Bodies and requests for the tests of the API: valid by default."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Response
from pydantic import BaseModel

from memory.kernel.errors import MemoryFault
from server.app import guard
from server.metrics import Meters
from server.routing import router_at
from server.schemas.base import In, Number
from server.settings import Settings
from server.shared import Shared

NOON = "2026-03-01T12:00:00Z"
LATER = "2026-03-02T12:00:00Z"


def an_experience(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "agent": "solver",
        "situation": "A forecast of rain for a dry month",
        "lesson": "Start from the base rate of the month",
    }
    return body | changes


def a_task(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"text": "Will it rain in June?", "category": "weather"}
    return body | changes


def an_ask(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"agent": "solver", "task": a_task(), "arm": "on"}
    return body | changes


def an_outcome(**changes: object) -> dict[str, object]:
    return {"reward": 0.8} | changes


class Thing(In):
    """A body for the tiny app."""

    name: str
    size: Number = 1.0


class Echo(BaseModel):
    name: str


def a_shared(tmp_path: Path, **changes: object) -> Shared:
    settings = Settings(**({"data": tmp_path, "max_body_bytes": 1024} | changes))
    return Shared.of(settings, Meters())


def a_tiny_app(shared: Shared, fault: Exception | None = None) -> FastAPI:
    """One route behind everything that stands around routes; it raises `fault` if there is one."""
    router = router_at("/things", "things")

    @router.post("", response_model=Echo)
    async def make(body: Thing) -> Response:
        if fault is not None:
            raise fault
        return Response(body.name)

    @router.get("/{name}")
    async def get(name: str) -> Response:
        return Response(name)

    app = FastAPI()
    app.state.shared = shared
    app.include_router(router)
    guard(app, shared)
    return app


@asynccontextmanager
async def asking(app: FastAPI, host: str = "localhost") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        yield client


async def answer_to(app: FastAPI, content: str | bytes) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    async with asking(app) as client:
        return await client.post("/things", content=content, headers=headers)


def a_fault(kind: type[MemoryFault], **parts: object) -> MemoryFault:
    return kind("it happened", **parts)


def inside(slug: str, path: str) -> str:
    return f"/v1/namespaces/{slug}{path}"


async def remembered(client: httpx.AsyncClient, slug: str, **changes: object) -> str:
    """The id of an experience that was just added."""
    answer = await client.post(inside(slug, "/experiences"), json=an_experience(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def retrieved(client: httpx.AsyncClient, slug: str, **changes: object) -> dict[str, Any]:
    answer = await client.post(inside(slug, "/retrievals"), json=an_ask(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()


async def everything(client: httpx.AsyncClient, path: str, **query: object) -> list[dict[str, Any]]:
    """The items of all pages of a list."""
    items: list[dict[str, Any]] = []
    params: dict[str, Any] = {"limit": 200, **query}
    while True:
        answer = await client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        items += answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return items
        params["cursor"] = answer.json()["next_cursor"]


def problem(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and field of a problem document."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    return answer.status_code, body["code"], body.get("field")

"""People at the dashboard: a browser with a cookie, and what it reads from a page."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx
from fastapi import FastAPI

from memory.kernel.engine import Engine
from server.app import guard
from server.dashboard import PAGES
from server.metrics import Meters
from server.settings import Settings
from server.shared import Shared

# A Secure cookie is kept over HTTPS alone, as by a browser.
SITE = "https://memlift.test"
FROM_HERE = {"origin": SITE}
VOID = {"meta", "link", "input", "br", "img", "line", "circle", "rect", "path", "hr"}


def a_dashboard(engine: Engine, data: Path, **changes: object) -> FastAPI:
    """The dashboard alone, with what its processes share as the test wants it."""
    settings = Settings(data=data)
    shared = Shared.of(settings, Meters())
    for name, value in ({"engine": engine} | changes).items():
        setattr(shared, name, value)
    app = FastAPI()
    app.state.shared = shared
    for router in PAGES:
        app.include_router(router)
    guard(app, shared)
    return app


@asynccontextmanager
async def a_browser(app: FastAPI, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A browser at the dashboard; logged in where there is a token."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=SITE, headers=FROM_HERE) as browser:
        if token is not None:
            answer = await browser.post("/dashboard/login", data={"key": token})
            assert answer.status_code == 303, answer.text
        yield browser


def token_of(client: httpx.AsyncClient) -> str:
    """The token that a client of the API shows."""
    return client.headers["authorization"].removeprefix("Bearer ")


def csrf_in(text: str) -> str:
    """The token in a page's forms."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', text)
    assert found is not None, "the page has no form"
    return found[1]


async def csrf_of(browser: httpx.AsyncClient, slug: str) -> str:
    return csrf_in((await browser.get(f"/dashboard/ns/{slug}/")).text)


def at(slug: str, path: str = "/") -> str:
    return f"/dashboard/ns/{slug}{path}"


class Markup(HTMLParser):
    """What a browser would make of a page: its tags and their attributes, and the text of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        here = self.inside[-1] if self.inside else ""
        {"script": self.scripts, "style": self.styles}.get(here, self.text).append(data)

    def attributes(self, name: str) -> list[str | None]:
        return [attrs[name] for _, attrs in self.tags if name in attrs]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def said(self) -> str:
        return " ".join(" ".join(self.text).split())


def inline_parts(text: str) -> list[str]:
    """Whatever the content security policy would refuse to run or to apply."""
    markup = Markup(text)
    handlers = [
        f"{tag} {name}" for tag, attrs in markup.tags for name in attrs if name.startswith("on")
    ]
    links = [
        f"{tag} {value}"
        for tag, attrs in markup.tags
        for name in ("href", "src", "action")
        if (value := attrs.get(name)) is not None and not value.startswith(("/dashboard", "#", "?"))
    ]
    return [
        *(f"style={value}" for value in markup.attributes("style")),
        *(part for part in (*markup.scripts, *markup.styles) if part.strip()),
        *handlers,
        *links,
    ]

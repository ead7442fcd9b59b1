"""One server with the real model, filled once, and a browser that reports whatever goes wrong."""

import os
import shutil
from collections.abc import Callable, Generator

import psycopg
import pytest
from memlift_client import MemLift
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, sync_playwright

from tests.acceptance.servers import Server
from tests.browser import story

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
WIDE = {"width": 1280, "height": 900}
HOW = "the browser tests need Chromium: apt-get install chromium"


@pytest.fixture(scope="package")
def server(shared_server: Server) -> Server:
    return shared_server


@pytest.fixture(scope="package")
def operator_key(server: Server) -> str:
    return server.home.operator_key.read_text().strip()


@pytest.fixture(scope="package")
def shop_told(server: Server) -> story.Story:
    return story.told(server.client())


@pytest.fixture(scope="package")
def shop(server: Server, shop_told: story.Story) -> MemLift:
    return server.client(story.SHOP)


@pytest.fixture(scope="package")
def bank_ids(server: Server) -> list[str]:
    return story.many(server.client())


@pytest.fixture(scope="package")
def bank(server: Server, bank_ids: list[str]) -> MemLift:
    return server.client(story.BANK)


@pytest.fixture
def database(server: Server) -> Generator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(server.home.url(), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    """Ended with its module: while it runs, no other loop can run in this thread."""
    found = shutil.which("chromium")
    if found is None:
        # Where everything has to be there, a skipped test would pass for one that held.
        assert "CI" not in os.environ, HOW
        pytest.skip(HOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


class Watched:
    """What a browser was told while its pages ran; `expected` are statuses a test provokes."""

    def __init__(self, origin: str) -> None:
        self.origins = {origin}
        self.expected: set[int] = set()
        self.faults: list[str] = []
        self.abroad: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        context.on("request", self._asked)
        context.on("response", self._answered)
        context.on("console", lambda told: self._said(told.type, told.text))
        context.on("weberror", lambda fault: self.faults.append(str(fault.error)))

    def _asked(self, request: Request) -> None:
        near = tuple(f"{origin}/" for origin in self.origins)
        if not request.url.startswith((*near, "data:", "about:")):
            self.abroad.append(request.url)

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.faults.append(f"{response.status} {response.url}")

    def _said(self, kind: str, text: str) -> None:
        # Chromium writes every status of 400 and above to the console; those are counted above.
        if kind == "error" and "Failed to load resource" not in text:
            self.faults.append(text)


Open = Callable[..., BrowserContext]


@pytest.fixture
def watched(server: Server) -> Generator[Watched]:
    """At the end of each test: nothing went wrong, and nothing was asked of anyone else."""
    seen = Watched(server.url)
    yield seen
    assert seen.abroad == []
    assert seen.faults == []


@pytest.fixture
def open_browser(
    chromium: Browser, server: Server, watched: Watched, operator_key: str
) -> Generator[Open]:
    """A browser of its own, logged in with a key; with none where `key` is None."""
    opened: list[BrowserContext] = []

    def open_with(key: str | None = operator_key, **options: object) -> BrowserContext:
        told = {"base_url": server.url, "viewport": WIDE, **options}
        context = chromium.new_context(**told)  # pyright: ignore[reportArgumentType] - by name
        context.set_default_timeout(20_000)
        watched.watch(context)
        opened.append(context)
        if key is not None:
            page = context.new_page()
            log_in(page, key)
            page.close()
        return context

    yield open_with
    for context in opened:
        context.close()


def log_in(page: Page, key: str, path: str = "/dashboard/login") -> None:
    page.goto(path)
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "/login" not in url)


@pytest.fixture
def page(open_browser: Open) -> Page:
    """A page of the operator's."""
    return open_browser().new_page()

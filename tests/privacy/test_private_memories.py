"""Words and ids of a private memory reach only keys that may read it: every surface, every role.

The surfaces are those that are published: the operations of the contract with its own examples, the
routes of the dashboard, and whatever its pages link to. One that is not asked here fails the test.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from html import unescape
from itertools import islice, product
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from private_bank import (
    KEYS,
    MAY_READ,
    OWNER,
    SITE,
    STORY_ID,
    TASK,
    WORDS,
    Bank,
    a_bank,
)
from starlette.types import Message, Receive, Scope, Send

from server.dashboard import PAGES
from server.dashboard.categories import FREE
from server.dashboard.navigation import NAVIGATION

STRANGERS = [name for name in KEYS if name not in MAY_READ]
PLACEHOLDER = re.compile(r"{(\w+)(?::path)?}")

QUERIES = {
    "get_difference": {"from_bank_version": 0},
    "delete_namespace": {"confirmation": "none"},
}
"""What a route asks for beside its path."""

LAST = ("erase_experience", "revoke_key", "delete_namespace")
"""Operations that take the bank away: they come when all others were asked."""


@pytest.fixture(scope="module")
async def bank(database_url, operator_token, language_model, tmp_path_factory):
    """For tests that leave its private memories as they are."""
    data = tmp_path_factory.mktemp("data")
    async for made in a_bank(database_url, operator_token, language_model, data):
        yield made


@pytest.fixture
async def doomed(database_url, operator_token, language_model, tmp_path):
    """One that a test may take away."""
    async for made in a_bank(database_url, operator_token, language_model, tmp_path):
        yield made


def operations(bank: Bank) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of each operation of the published contract."""
    for path, methods in bank.app.openapi()["paths"].items():
        for method, described in methods.items():
            yield method.upper(), path, described


def filled(bank: Bank, path: str) -> Iterator[str]:
    """The path with each of the bank's ids; KeyError where the bank has none of a kind."""
    names = PLACEHOLDER.findall(path)
    for values in product(*(bank.ids[name] for name in names)):
        made = path
        for name, value in zip(names, values, strict=True):
            made = re.sub(rf"{{{name}(?::path)?}}", value, made)
        yield made


def bodies(bank: Bank, operation: str, described: dict[str, Any]) -> list[object]:
    """The contract's own example about a private memory, and what else is worth asking."""
    if "requestBody" not in described:
        return [None]
    example = described["requestBody"]["content"]["application/json"]["example"]
    about = STORY_ID.sub(bank.secret[0], json.dumps(example))
    return [json.loads(about), *ASKED.get(operation, lambda _: [])(bank)]


def _again(bank: Bank) -> list[object]:
    """The private memory once more, by whoever may not know of it."""
    private = {"agent": OWNER, "visibility": "agent", "category": "weather"}
    text = {"situation": "a forecast of rain zephyrquilt"}
    return [private | text | {"lesson": "a forecast of obsidianfern rain"}]


ASKED = {
    "add_experience": _again,
    "add_experiences": lambda bank: [{"items": _again(bank)}],
    "create_retrieval": lambda _: [
        {"agent": agent, "task": TASK, "k": 8, "arm": "on", **more}
        for agent in (OWNER, "other")
        for more in (
            {},
            {"format": "memories"},
            {"explain": True},
            {"past_error": True},
            {"filter": {"kinds": ["experience"]}},
            {"purpose": "preview", "explain": True},
        )
    ],
    "create_retrievals": lambda _: [{"items": [{"agent": OWNER, "task": TASK, "arm": "on"}]}],
    "report_outcome": lambda bank: [{"reward": 0.5, "helpful": bank.secret[:1]}],
    "rollback": lambda bank: [{"agent": OWNER, "dry_run": True}],
    "erase": lambda bank: [
        {"agent": OWNER, "dry_run": True},
        {"memory_id": bank.secret[0], "dry_run": True},
    ],
    "claim_tickets": lambda _: [{"agent": "other", "limit": 64}, {"agent": OWNER, "limit": 64}],
    "merge_experience": lambda bank: [{"into": bank.secret[0]}],
    "change_memories": lambda bank: [{"ids": bank.secret, "action": "suspend"}],
}
"""More to ask than the example says, by operation."""

HARMLESS = {"erase": {"dry_run": True}, "rollback": {"dry_run": True}}
"""Of these the example would take the bank away."""


def calls(bank: Bank, method: str, path: str, described: dict[str, Any]) -> Iterator[httpx.Request]:
    """Every call of an operation that this test makes."""
    operation = described["operationId"]
    for place in filled(bank, path):
        for body in bodies(bank, operation, described):
            harmless = HARMLESS.get(operation, {})
            yield httpx.Request(
                method,
                f"http://memlift.test{place}",
                params=QUERIES.get(operation, {"limit": 200} if _pages(described) else None),
                json={**body, **harmless} if isinstance(body, dict) else body,
                headers={"If-Match": '"1"'},
            )


def _pages(described: dict[str, Any]) -> bool:
    return any(one.get("name") == "limit" for one in described.get("parameters", ()))


async def answered(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    return await client.request(
        request.method,
        request.url,
        content=request.content,
        headers={"content-type": "application/json", "if-match": '"1"'},
    )


def asked_with(request: httpx.Request) -> str:
    return f"{request.url} {request.content.decode()}"


async def read_all(bank: Bank, who: str) -> tuple[dict[str, int], dict[str, str]]:
    """The best status of each GET, by operation, and what was answered, by call."""
    statuses: dict[str, int] = {}
    texts: dict[str, str] = {}
    async with bank.client(who) as client:
        for method, path, described in operations(bank):
            if method != "GET":
                continue
            for request in calls(bank, method, path, described):
                answer = await answered(client, request)
                known = statuses.get(described["operationId"], 999)
                statuses[described["operationId"]] = min(known, answer.status_code)
                texts[asked_with(request)] = answer.text
    return statuses, texts


async def change_all(
    bank: Bank, who: str, some: list[tuple[str, str, dict[str, Any]]]
) -> dict[str, list[str]]:
    """What private things any of these operations told, by call."""
    leaks: dict[str, list[str]] = {}
    async with bank.client(who) as client:
        for method, path, described in some:
            for request in calls(bank, method, path, described):
                answer = await answered(client, request)
                assert answer.status_code < 500, (method, path, answer.text)
                if told := bank.told(answer.text, asked_with(request)):
                    leaks[f"{method} {asked_with(request)}"] = told
    return leaks


async def test_a_receipt_says_that_a_private_memory_stood_there_and_keeps_its_numbers(bank):
    receipt = bank.path(f"/retrievals/{bank.ids['retrieval_id'][0]}")
    nobody = "00000000-0000-0000-0000-000000000000"
    async with bank.client(OWNER) as owner, bank.client("admin") as admin:
        own, shown = (await owner.get(receipt)).json(), (await admin.get(receipt)).json()

    assert len(shown["items"]) == len(own["items"])
    for mine, theirs in zip(own["items"], shown["items"], strict=True):
        private = mine["memory_id"] in bank.secret
        assert theirs["memory_id"] == (nobody if private else mine["memory_id"])
        assert theirs | {"memory_id": 0} == mine | {"memory_id": 0}
    lines = zip(own["guideline"]["lines"], shown["guideline"]["lines"], strict=True)
    hidden = 0
    for mine, theirs in lines:
        private = set(mine["memory_ids"]) & set(bank.secret)
        hidden += bool(private)
        assert theirs["text"] == ("- (a private memory)" if private else mine["text"])
    assert 0 < hidden < len(own["guideline"]["lines"])
    assert shown["guideline"]["text"].count("(a private memory)") == hidden
    header = own["guideline"]["text"].split("\n")[0]
    assert shown["guideline"]["text"].startswith(header)
    assert shown["guideline"]["tokens"] == own["guideline"]["tokens"]


async def test_a_private_memory_is_written_only_by_a_key_that_may_read_it(bank):
    known = {
        "agent": OWNER,
        "situation": "a forecast of rain zephyrquilt",
        "lesson": "a forecast of obsidianfern rain",
        "category": "weather",
        "visibility": "agent",
    }
    async with bank.client("agent") as unbound, bank.client(OWNER) as owner:
        refused = await unbound.post(bank.path("/experiences"), json=known)
        unread = await unbound.post(bank.path("/experiences"), json=known | {"agent": "keyless"})
        same = await owner.post(bank.path("/experiences"), json=known)

    # An agent with a key of its own is spoken for by that key; of any other it may not be private.
    assert (refused.status_code, refused.json()["field"]) == (403, "agent")
    assert (unread.status_code, unread.json()["field"]) == (403, "visibility")
    assert (same.status_code, same.json()["id"]) == (200, bank.secret[0])


# Outside the namespaces, or no page of their own: files, the way in and out, and what is not there.
APART = ("/dashboard/static", "/dashboard/login", "/dashboard/logout", "/dashboard/{rest:path}")

FORMS: dict[str, Any] = {
    "/memories/review": lambda bank: {"ids": bank.secret, "action": "suspend"},
    "/memories/bulk": lambda bank: {"ids": bank.secret, "action": "suspend"},
    "/memories/{memory_id}/edit": lambda _: {"situation": "x", "lesson": "y", "version": "2"},
    "/memories/{memory_id}/pin": lambda _: {"pinned": "yes", "version": "2"},
    "/memories/{memory_id}/status/{action}": lambda _: {"reason": "why"},
    "/memories/{memory_id}/merge": lambda bank: {"into": bank.secret[0]},
    "/memories/{memory_id}/trust": lambda _: {"trust": "trusted"},
    "/memories/{memory_id}/apart/{action}": lambda _: {},
    "/memories/{memory_id}/erasure/preview": lambda _: {},
    "/memories/{memory_id}/erasure": None,
    "/time-travel/rollback/preview": lambda _: {"agent": OWNER},
    "/time-travel/rollback": None,
    "/time-travel/rollbacks/{rollback_id}/undo": None,
    "/playground": lambda _: {"task": TASK["text"], "agent": OWNER, "k": "8", "max_tokens": "1000"},
    "/receipts/{retrieval_id}/retry": lambda _: {},
    "/receipts/{retrieval_id}/outcome": lambda _: {
        "reward": "0.5",
        "verifier": "human",
        "evaluator": "me",
    },
    "/candidates/lessons/{outcome_id}/retry": lambda _: {},
    "/candidates/changesets/{changeset_id}/undo": lambda _: {},
    "/candidates/changesets/{changeset_id}/retry": lambda _: {},
    "/candidates/{ticket_id}/approval": lambda _: {"reason": "why"},
    "/candidates/{ticket_id}/rejection": lambda _: {"reason": "why"},
    "/candidates/{ticket_id}/retry": lambda _: {},
    "/categories/{category_id}/measure": lambda _: {"measure": FREE},
    "/taxonomy/{category_id}/name": lambda _: {"name": "renamed"},
    "/constraints/bulk": lambda bank: {
        "ids": bank.secret,
        "action": "approve",
        "reason": "why",
    },
    "/constraints/{memory_id}/vouch": lambda _: {"reason": "why"},
    "/constraints/{memory_id}/{action}": lambda _: {"reason": "why"},
    "/contradictions/{contradiction_id}/resolution": lambda _: {"keep": "both"},
    "/jobs/{job}/dry-run": lambda _: {},
    "/jobs/{job}/runs": lambda _: {},
    "/jobs/runs/{run_id}/stop": lambda _: {},
    "/settings": lambda _: {"coins": "off", "version": "0"},
    "/settings/policy": lambda _: {"policy": "steps", "version": "0"},
    "/settings/learning": lambda _: {"learning": "frozen", "version": "0"},
    "/keys": lambda _: {"role": "reader", "name": "another"},
    "/keys/{key_id}/revocation": None,
    "/webhooks": lambda _: {"url": "https://example.com", "kinds": "ticket.open"},
    "/webhooks/{webhook_id}/test": None,
    "/webhooks/{webhook_id}/deletion": None,
    "namespaces": lambda _: {"slug": "never", "clock": "neither"},
}
"""What a form of each page sends; None: it takes the bank away, and answers with no page."""

FORMS_SENT = 2
"""About so many ids of a kind a form is sent: the first is private."""

ADDRESSES = {
    "/settings/what-if": ["?policy=delta"],
    "/time-travel": ["?bank_version=3", "?as_of=2100-01-01T00:00"],
    "/time-travel/difference": ["?from_bank_version=0"],
    "/memories": ["?status=retired", "?limit=200"],
}
"""Filters with which a page shows more."""


def pages() -> list[tuple[str, str]]:
    """Method and path of every page of the dashboard."""
    return sorted(
        (method, route.path)
        for router in PAGES
        for route in router.routes
        if isinstance(route, APIRoute) and not route.path.startswith(APART)
        for method in route.methods
        if route.path not in ("/dashboard", "/dashboard/")
    )


def suffix_of(path: str) -> str:
    return path.removeprefix("/dashboard/ns/{namespace}").removeprefix("/dashboard/")


class UntilFirstEvent:
    """The app, of whose stream of events only the first is read: httpx waits for the end of an
    answer, and that has none.
    """

    def __init__(self, bank: Bank) -> None:
        self._app = bank.app
        self._stream = f"/dashboard/ns/{bank.slug}/events"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != self._stream:
            await self._app(scope, receive, send)
            return
        left = asyncio.Event()

        async def leaving() -> Message:
            await left.wait()
            return {"type": "http.disconnect"}

        async def sending(message: Message) -> None:
            if left.is_set():
                return
            if b"event:" in message.get("body", b""):
                left.set()
                message = {**message, "more_body": False}
            await send(message)

        await self._app(scope, leaving, sending)


@asynccontextmanager
async def logged_in(bank: Bank, who: str) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=UntilFirstEvent(bank), raise_app_exceptions=False)
    here = {"origin": SITE}
    async with httpx.AsyncClient(transport=transport, base_url=SITE, headers=here) as browser:
        entered = await browser.post("/dashboard/login", data={"key": bank.tokens[who]})
        assert entered.status_code == 303, entered.text
        yield browser


async def look_at_all(bank: Bank, who: str) -> tuple[dict[str, str], dict[str, int]]:
    """Every page as it is shown to this key, whatever it links to, and what its forms answer; with
    the best status of each page.
    """
    texts: dict[str, str] = {}
    statuses: dict[str, int] = {}
    async with logged_in(bank, who) as browser:
        csrf = await _csrf(browser, bank)
        for method, path in pages():
            suffix = suffix_of(path)
            for place in islice(filled(bank, path), None if method == "GET" else FORMS_SENT):
                if method == "GET":
                    for query in ("", *ADDRESSES.get(suffix, ())):
                        answer = await browser.get(place + query)
                        known = statuses.get(path, 999)
                        statuses[path] = min(known, answer.status_code)
                        texts[f"GET {place}{query}"] = answer.text
                elif (form := FORMS[suffix]) is not None:
                    answer = await browser.post(place, data={"csrf": csrf, **form(bank)})
                    assert answer.status_code < 500, answer.text
                    texts[f"POST {place} {form(bank)}"] = answer.text
        # Whoever may most is offered most.
        links = (
            set[str]()
            if who != "operator"
            else {one for text in texts.values() for one in _links(bank, text)}
        )
        for link in links:
            if f"GET {link}" not in texts:
                texts[f"GET {link}"] = (await browser.get(link)).text
    return texts, statuses


async def _csrf(browser: httpx.AsyncClient, bank: Bank) -> str:
    page = await browser.get(f"/dashboard/ns/{bank.slug}/")
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text)
    assert found is not None
    return found[1]


def _links(bank: Bank, text: str) -> set[str]:
    inside = f"/dashboard/ns/{bank.slug}"
    return {unescape(link) for link in re.findall(r'href="([^"#]+)"', text) if inside in link}


async def test_every_page_tells_private_words_to_those_alone_who_may_read_them(bank, subtests):
    bank.ids["action"] = ["suspend"]
    # What the owner's admin sees comes first, before anybody changes anything.
    async with logged_in(bank, "admin of the owner's") as browser:
        seen, unseen = "", {path for method, path in pages() if method == "GET"}
        for method, path in pages():
            if method == "GET":
                for place in filled(bank, path):
                    answer = await browser.get(place)
                    unseen -= {path} if answer.is_success else set()
                    seen += answer.text
    assert {"zephyrquilt", "obsidianfern", "velvetotter", "indigotapir"} <= set(bank.told(seen))
    assert set(bank.secret) <= set(bank.told(seen))

    for who in STRANGERS:
        texts, statuses = await look_at_all(bank, who)
        told = {call: bank.told(text, call) for call, text in texts.items()}
        with subtests.test(f"pages as {who}"):
            assert {call: some for call, some in told.items() if some} == {}
        unseen -= {path for path, status in statuses.items() if status < 300}
    paths = {path for _, path in pages()}
    assert unseen == set()
    assert {f"/dashboard/ns/{{namespace}}{entry.path}" for entry in NAVIGATION} <= paths


async def test_pages_say_that_a_private_memory_stood_there(bank):
    receipt = bank.ids["retrieval_id"][0]
    async with logged_in(bank, "admin") as browser:
        shown = (await browser.get(f"/dashboard/ns/{bank.slug}/receipts/{receipt}")).text
        preview = await browser.post(
            f"/dashboard/ns/{bank.slug}/time-travel/rollback/preview",
            data={"csrf": await _csrf(browser, bank), "agent": OWNER},
        )

    assert "a private memory" in shown
    assert "that this key may not read" in preview.text


async def test_every_route_tells_private_words_to_those_alone_who_may_read_them(doomed, subtests):
    bank = doomed
    found: dict[str, set[str]] = {}
    refused = {described["operationId"] for _, _, described in operations(bank)}
    for who in KEYS:
        statuses, texts = await read_all(bank, who)
        refused -= {operation for operation, status in statuses.items() if status < 300}
        told = {call: bank.told(text, call) for call, text in texts.items()}
        if who in MAY_READ:
            found[who] = {one for some in told.values() for one in some}
            continue
        with subtests.test(f"GET as {who}"):
            assert {call: some for call, some in told.items() if some} == {}
    reads = {one[2]["operationId"] for one in operations(bank) if one[0] == "GET"}
    assert refused & reads == set()
    # All of it is there to be found, so that finding nothing says something.
    assert found["admin of the owner's"] >= {*WORDS.values(), *bank.secret}
    assert {"obsidianfern", "velvetotter", bank.secret[0]} <= found[OWNER]

    rest = [one for one in operations(bank) if one[0] != "GET"]
    ordered = sorted(rest, key=lambda one: one[2]["operationId"] in LAST)
    kept = [one for one in ordered if one[2]["operationId"] not in LAST]
    for part in (kept, ordered[len(kept) :]):
        for who in STRANGERS:
            with subtests.test(f"changes as {who}, {len(part)} operations"):
                assert await change_all(bank, who, part) == {}
        if part is kept:
            async with bank.client(OWNER) as owner:
                place = bank.path(f"/experiences/{bank.secret[0]}")
                assert "obsidianfern" in (await owner.get(place)).text

"""What pages are told as it changes: over real HTTP, and the bounds on those who watch."""

import asyncio
import json
import logging
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from uuid import uuid4

import pytest
from dashboard_builders import a_browser, at, token_of
from loop_pages import remembered, served, shown

from memory.insight.pulse_entities import Pulse
from memory.kernel.errors import Moved, Overloaded
from server.dashboard import live
from server.watching import MAX_OF_NAMESPACE, MAX_OF_PROCESS, MAX_OF_SESSION, Watches

PATIENCE = 180


@asynccontextmanager
async def events_of(app, cookie, slug):
    """The events of a namespace, as the server sends them: httpx waits for the end of an answer."""
    told, left = asyncio.Queue(), asyncio.Event()

    async def receive():
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        await told.put(message)

    path = at(slug, "/events")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"memlift.test"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("memlift.test", 443),
        "state": {},
    }
    task = asyncio.create_task(app(scope, receive, send))
    try:
        yield Told(told)
    finally:
        left.set()
        await asyncio.wait_for(task, PATIENCE)


class Told:
    def __init__(self, messages):
        self.messages, self.text = messages, ""

    async def head(self):
        message = await asyncio.wait_for(self.messages.get(), PATIENCE)
        assert message["type"] == "http.response.start"
        headers = {name.decode(): value.decode() for name, value in message["headers"]}
        return message["status"], headers

    async def event(self):
        """The next event's name and what it brings."""
        while "\r\n\r\n" not in self.text or self.text.startswith(":"):
            if "\r\n\r\n" in self.text:
                self.text = self.text.partition("\r\n\r\n")[2]
                continue
            message = await asyncio.wait_for(self.messages.get(), PATIENCE)
            self.text += message.get("body", b"").decode()
        block, _, self.text = self.text.partition("\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        return lines["event"], lines["data"]


def cookie_of(browser):
    return "; ".join(f"{one.name}={one.value}" for one in browser.cookies.jar)


async def test_a_page_is_told_everything_once_and_then_what_changed(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    places = app.state.shared.places
    async with a_browser(app, operator_token) as browser:
        async with events_of(app, cookie_of(browser), namespace) as told:
            status, headers = await told.head()
            name, data = await told.event()
            first = json.loads(data)
            # Whoever only waits holds no place.
            assert places.taken == 0
            receipt = await served(client, namespace)
            changed = json.loads((await told.event())[1])
        page = await shown(browser, namespace, "/")

    assert (status, name) == (200, "changed")
    assert headers["content-type"].startswith("text/event-stream")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert (first["memories"], first["receipts"]) == (1, [])
    assert changed["receipts"][0]["retrieval_id"] == receipt["retrieval_id"]
    assert "memories" not in changed
    assert at(namespace, "/events") in page.attributes("data-live")
    assert at(namespace, f"/receipts/{receipt['retrieval_id']}") in {
        a["href"] for a in page.of("a")
    }
    assert len(app.state.shared.watches) == 0


async def test_the_events_end_with_the_session(app, client, agent_client, namespace, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT", 0.2)
    admin = await agent_client("admin")
    async with (
        a_browser(app, token_of(admin)) as browser,
        events_of(app, cookie_of(browser), namespace) as told,
    ):
        await told.head()
        await told.event()
        me = (await admin.get("/v1/me")).json()
        await client.delete(f"/v1/keys/{me['key_id']}")
        assert (await told.event())[0] == "over"


async def test_a_stranger_is_sent_to_the_login_and_a_foreign_namespace_is_not_there(
    app, agent_client, namespace, replay
):
    async with a_browser(app) as browser:
        answer = await browser.get(at(namespace, "/events"))
        assert answer.status_code == 303
    agent = await agent_client()
    async with a_browser(app, token_of(agent)) as browser:
        assert (await browser.get(at(replay, "/events"))).status_code == 404


def pulse(version):
    return Pulse(0, version, 0, (), ())


async def test_one_task_looks_for_all_who_watch_a_namespace_and_ends_with_the_last():
    looks, watches, here = [], Watches(every=0.01), uuid4()

    async def look():
        looks.append(1)
        return pulse(len(looks))

    async with watches.join(here, look) as one:
        async with watches.join(here, look) as other:
            assert one is other
            seen = await other.after(None, PATIENCE)
            assert (await one.after(seen, PATIENCE)) != seen
        assert len(watches) == 1
    assert len(watches) == 0
    before = len(looks)
    await asyncio.sleep(0.05)
    assert len(looks) == before


async def test_a_look_that_fails_is_tried_again():
    looks, watches = [], Watches(every=0.01)

    async def look():
        looks.append(1)
        if len(looks) == 1:
            raise Overloaded("the pool is exhausted")
        return pulse(7)

    async with watches.join(uuid4(), look) as watch:
        assert await watch.after(None, PATIENCE) == pulse(7)


async def test_nobody_waits_for_what_a_namespace_that_moved_would_show(caplog):
    caplog.set_level(logging.INFO, "memlift.dashboard")
    looks, watches, here = [], Watches(every=0.01), uuid4()

    async def look():
        looks.append(1)
        if len(looks) > 1:
            raise Moved("https://there.example")
        return pulse(7)

    async with watches.join(here, look) as watch:
        seen = await watch.after(None, PATIENCE)
        for _ in range(2):
            with pytest.raises(Moved, match="there"):
                await watch.after(seen, PATIENCE)
        await watch.task
    assert len(looks) == 2
    assert len([one for one in caplog.messages if "nobody sees" in one]) == 1
    assert len(watches) == 0


def test_a_session_watches_only_so_many_pages():
    watches = Watches()
    with ExitStack() as held:
        for _ in range(MAX_OF_SESSION):
            held.enter_context(watches.place(uuid4(), "a"))
        with pytest.raises(Overloaded, match="this session watches 4 pages already") as refused:
            held.enter_context(watches.place(uuid4(), "a"))
        assert (refused.value.kind, refused.value.limit) == ("too_many_watchers", MAX_OF_SESSION)
        with watches.place(uuid4(), "b"):
            assert watches.taken == MAX_OF_SESSION + 1
    with watches.place(uuid4(), "a"):
        assert watches.taken == 1


def test_the_watchers_of_one_namespace_leave_places_to_those_of_others():
    watches, here = Watches(), uuid4()
    with ExitStack() as held:
        for number in range(MAX_OF_NAMESPACE):
            held.enter_context(watches.place(here, number))
        with pytest.raises(Overloaded, match="sessions of this namespace watch 50") as refused:
            held.enter_context(watches.place(here, "another"))
        assert refused.value.limit == MAX_OF_NAMESPACE
        for number in range(MAX_OF_PROCESS - MAX_OF_NAMESPACE):
            held.enter_context(watches.place(uuid4(), f"elsewhere {number}"))
        with pytest.raises(Overloaded, match="sessions of this server watch 200"):
            held.enter_context(watches.place(uuid4(), "another"))
    assert watches.taken == 0


async def test_pages_that_come_together_are_refused_before_their_events_begin(
    app, operator_token, namespace, caplog
):
    async with a_browser(app, operator_token) as browser, AsyncExitStack() as streams:
        cookie = cookie_of(browser)
        told = [
            await streams.enter_async_context(events_of(app, cookie, namespace))
            for _ in range(MAX_OF_SESSION + 2)
        ]
        statuses = sorted([(await one.head())[0] for one in told])
        assert app.state.shared.watches.taken == MAX_OF_SESSION

    assert statuses == [200] * MAX_OF_SESSION + [429] * 2
    assert app.state.shared.watches.taken == 0
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_without_a_session_a_stream_is_refused_and_not_led_to_the_login(
    app, operator_token, namespace
):
    async with a_browser(app, operator_token) as browser:
        browser.cookies.clear()
        stream = {"accept": "text/event-stream"}
        answer = await browser.get(at(namespace, "/events"), headers=stream)

    assert answer.status_code == 401
    assert "location" not in answer.headers

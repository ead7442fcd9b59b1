"""The feed of changes over the API: by pages, and as server-sent events that end well."""

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from api_builders import inside, problem, remembered
from sse_starlette.sse import AppStatus

from memory.tenancy.store.moves import MoveStore
from server import watching
from server.cursors import Cursors
from server.routes import changes
from server.watching import MAX_OF_SESSION

PATIENCE = 180
STREAM = {"accept": "text/event-stream"}


class Told:
    """What a stream has sent, as events."""

    def __init__(self, messages):
        self.messages, self.text, self.ended = messages, "", False

    async def head(self):
        message = await asyncio.wait_for(self.messages.get(), PATIENCE)
        headers = {name.decode(): value.decode() for name, value in message["headers"]}
        return message["status"], headers

    async def block(self):
        """The next event's lines; None at the end of the stream."""
        while "\r\n\r\n" not in self.text:
            if self.ended:
                return None
            message = await asyncio.wait_for(self.messages.get(), PATIENCE)
            self.text += message.get("body", b"").decode()
            self.ended = not message.get("more_body", False)
        block, _, self.text = self.text.partition("\r\n\r\n")
        lines = [line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")]
        return dict(lines)

    async def event(self):
        """The next one that a browser would hear of."""
        while (block := await self.block()) is not None and "event" not in block:
            pass
        return block


@asynccontextmanager
async def stream_of(app, token, slug, last=None):
    messages, left = asyncio.Queue(), asyncio.Event()
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        if asked:
            return asked.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    path = inside(slug, "/changes")
    headers = [(b"host", b"memlift.test"), (b"accept", b"text/event-stream")]
    headers += [(b"authorization", f"Bearer {token}".encode())]
    headers += [] if last is None else [(b"last-event-id", last.encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("memlift.test", 80),
        "state": {},
    }
    task = asyncio.create_task(app(scope, receive, messages.put))
    try:
        yield Told(messages)
    finally:
        left.set()
        await asyncio.wait_for(task, PATIENCE)


async def test_changes_come_in_pages_after_a_place(client, namespace):
    path = inside(namespace, "/changes")
    begin = (await client.get(path)).json()
    memory_id = await remembered(client, namespace)

    page = (await client.get(path, params={"after": begin["after"], "limit": 1})).json()
    whole = (await client.get(path, params={"after": begin["after"]})).json()
    rest = (await client.get(path, params={"after": page["after"]})).json()

    assert (begin["items"], begin["has_more"]) == ([], False)
    assert (len(page["items"]), page["has_more"], whole["has_more"]) == (1, True, False)
    assert page["items"] + rest["items"] == whole["items"]
    assert {i for one in whole["items"] for i in one["memory_ids"]} == {memory_id}
    last = (await client.get(path, params={"after": whole["after"]})).json()
    assert last["items"] == []


async def test_a_place_is_one_of_this_feed(client, namespace, replay):
    elsewhere = (await client.get(inside(replay, "/changes"))).json()["after"]
    path = inside(namespace, "/changes")

    foreign = await client.get(path, params={"after": elsewhere})
    altered = await client.get(path, params={"after": "x" * 40}, headers=STREAM)
    last = await client.get(path, headers=STREAM | {changes.NEXT: elsewhere})

    assert problem(foreign) == (422, "bad_cursor", "after")
    assert problem(altered) == (422, "bad_cursor", "after")
    assert problem(last) == (422, "bad_cursor", "Last-Event-ID")
    assert last.json()["detail"].startswith("Last-Event-ID is altered, or from the feed of another")


async def test_a_place_of_another_secret_is_gone(app, client, namespace, monkeypatch):
    path = inside(namespace, "/changes")
    place = (await client.get(path)).json()["after"]
    monkeypatch.setattr(app.state.shared, "cursors", Cursors(b"another data directory".ljust(32)))

    page = await client.get(path, params={"after": place})
    stream = await client.get(path, headers=STREAM | {changes.NEXT: place})
    mine = (await client.get(path)).json()["after"]

    assert problem(page) == (410, "changes_gone", "after")
    assert problem(stream) == (410, "changes_gone", "Last-Event-ID")
    assert "read what you follow anew" in page.json()["detail"]
    assert app.state.shared.followers.taken == 0
    assert (await client.get(path, params={"after": mine})).status_code == 200
    cut = await client.get(path, params={"after": mine[:-1]})
    assert problem(cut) == (422, "bad_cursor", "after")


async def test_times_are_told_to_the_second(client, namespace):
    path = inside(namespace, "/changes")
    begin = (await client.get(path)).json()["after"]
    await remembered(client, namespace)

    told = (await client.get(path, params={"after": begin})).json()["items"]

    assert told
    assert {datetime.fromisoformat(one["recorded_at"]).microsecond for one in told} == {0}


async def test_a_stream_tells_what_comes_and_goes_on_after_the_last_event(
    app, client, operator_token, namespace
):
    async with stream_of(app, operator_token, namespace) as told:
        status, headers = await told.head()
        begin = await told.event()
        # Whoever only waits holds no place, and no connection.
        assert app.state.shared.places.taken == 0
        first = await remembered(client, namespace)
        event = await told.event()
        # What a first lesson brings beside itself, its agent and its category, is about no memory.
        while not json.loads(event["data"])["memory_ids"]:
            event = await told.event()
    assert (status, begin["event"], event["event"]) == (200, "begin", "change")
    assert headers["content-type"].startswith("text/event-stream")
    assert json.loads(event["data"])["memory_ids"] == [first]
    assert len(app.state.shared.followers) == 0

    second = await remembered(client, namespace, lesson="salt the steps before the frost")
    heard = []
    async with stream_of(app, operator_token, namespace, last=event["id"]) as told:
        await told.head()
        while not heard or heard[-1][1] != [second]:
            event = await told.event()
            heard.append((event["event"], json.loads(event["data"])["memory_ids"]))
    assert {name for name, _ in heard} == {"change"}


async def test_a_stream_ends_with_its_key(app, client, agent_client, namespace, monkeypatch):
    monkeypatch.setattr(changes, "HEARTBEAT", 0.2)
    agent = await agent_client("agent")
    token = agent.headers["authorization"].removeprefix("Bearer ")
    async with stream_of(app, token, namespace) as told:
        await told.head()
        assert (await told.event())["event"] == "begin"
        me = (await agent.get("/v1/me")).json()
        await client.delete(f"/v1/keys/{me['key_id']}")
        over = await told.event()
        assert (over["event"], json.loads(over["data"])) == ("over", {"code": "unauthenticated"})
        assert await told.event() is None


async def test_a_stream_ends_with_its_namespace(app, client, operator_token, namespace):
    path = inside(namespace, "")
    async with stream_of(app, operator_token, namespace) as told:
        await told.head()
        await told.event()
        asked = (await client.post(f"{path}/deletion")).json()
        await client.delete(path, params={"confirmation": asked["confirmation"]})
        while (event := await told.event())["event"] == "change":
            pass
        assert event["event"] == "over"
        assert json.loads(event["data"]) == {"code": "namespace_not_found"}
        assert await told.event() is None


async def test_a_stream_ends_when_its_namespace_has_moved(
    app, client, operator_token, namespace, engine
):
    space = (await client.get(inside(namespace, ""))).json()
    async with stream_of(app, operator_token, namespace) as told:
        await told.head()
        assert (await told.event())["event"] == "begin"
        async with engine.database.transaction() as connection:
            store = MoveStore(connection)
            await store.pause(UUID(space["id"]), "https://there.example", timedelta(minutes=1))
            assert await store.leave(UUID(space["id"]))
        over = await told.event()
        assert (over["event"], json.loads(over["data"])) == ("over", {"code": "namespace_moved"})
        assert await told.event() is None
    async with engine.database.transaction() as connection:
        await MoveStore(connection).open(UUID(space["id"]))


async def test_a_stream_ends_whole_when_the_server_stops(
    app, operator_token, namespace, monkeypatch
):
    async with stream_of(app, operator_token, namespace) as told:
        await told.head()
        await told.event()
        monkeypatch.setattr(AppStatus, "should_exit", True)
        # Its last part comes: the answer is complete, so that no server calls it an error.
        assert await told.event() is None
        assert told.ended


async def test_a_key_follows_only_so_many_streams(app, client, operator_token, namespace):
    async with AsyncExitStack() as streams:
        for _ in range(MAX_OF_SESSION):
            told = await streams.enter_async_context(stream_of(app, operator_token, namespace))
            await told.head()
            await told.event()
        refused = await client.get(inside(namespace, "/changes"), headers=STREAM)

    assert problem(refused)[:2] == (429, "too_many_watchers")
    assert "this key watches 4 streams of changes already" in refused.json()["detail"]


async def test_streams_that_come_together_are_refused_before_they_begin(
    app, operator_token, namespace, caplog
):
    async with AsyncExitStack() as streams:
        told = [
            await streams.enter_async_context(stream_of(app, operator_token, namespace))
            for _ in range(MAX_OF_SESSION + 3)
        ]
        statuses = sorted([(await one.head())[0] for one in told])
        assert app.state.shared.followers.taken == MAX_OF_SESSION

    assert statuses == [200] * MAX_OF_SESSION + [429] * 3
    assert app.state.shared.followers.taken == 0
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_the_keys_of_one_namespace_leave_streams_to_those_of_others(
    *, app, client, agent_client, operator_token, namespace, replay, monkeypatch
):
    monkeypatch.setattr(watching, "MAX_OF_NAMESPACE", 1)
    agent = await agent_client("agent")
    async with stream_of(app, operator_token, namespace) as told:
        await told.head()
        refused = await agent.get(inside(namespace, "/changes"), headers=STREAM)
        async with stream_of(app, operator_token, replay) as elsewhere:
            assert (await elsewhere.head())[0] == 200

    assert problem(refused)[:2] == (429, "too_many_watchers")
    assert "the keys of this namespace watch 1 streams" in refused.json()["detail"]


@pytest.mark.parametrize("after", ["", "x" * 5000])
async def test_a_place_has_a_length(client, namespace, after):
    answer = await client.get(inside(namespace, "/changes"), params={"after": after})

    assert problem(answer)[0] == 422

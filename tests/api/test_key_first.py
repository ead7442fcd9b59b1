"""No work before the key is known: no body read, no connection taken, no large head."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID, uuid4

import httpx
import pytest
from api_builders import a_shared, a_tiny_app, an_experience, asking, inside, problem

from memory.kernel.errors import Overloaded, Unauthenticated, Unavailable
from memory.tenancy.entities import Token
from server import callers
from server.app import create_app
from server.callers import Callers, address_of, is_near
from server.limits import Limits, Places
from server.login_bodies import WAITED_FOR
from server.middleware import HEAD_BYTES
from server.settings import Settings
from server.shared import Shared
from tests.fixtures.http import BASE, a_client

JSON = {"Content-Type": "application/json"}


def unknown() -> str:
    return str(Token.fresh(uuid4()))


class Wire:
    """A request by hand: what is asked of it, and what is answered."""

    def __init__(self, path: str, token: str | None, method: str = "POST") -> None:
        headers = [(b"host", b"memlift.test"), (b"content-type", b"application/json")]
        headers.append((b"content-length", b"1900000"))
        if token is not None:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        self.scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "client": ("203.0.113.9", 4000),
            "server": ("memlift.test", 80),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        self.asked = 0
        self.status = 0

    async def receive(self) -> dict[str, object]:
        self.asked += 1
        return {"type": "http.request", "body": b"{", "more_body": False}

    async def send(self, message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            assert isinstance(status, int)
            self.status = status


@pytest.mark.parametrize(
    "token",
    [None, "x", "ml_1_2", str(Token.fresh(UUID(int=7)))],
    ids=["none", "x", "malformed", "unknown"],
)
@pytest.mark.parametrize("path", ["/v1/keys", "/v1/namespaces/default/experiences", "/v1/nowhere"])
async def test_without_a_key_no_byte_of_a_body_is_read(app, token, path):
    wire = Wire(path, token)

    await app(wire.scope, wire.receive, wire.send)

    assert (wire.status, wire.asked) == (401, 0)


async def test_without_a_session_no_byte_of_a_form_is_read(app):
    wire = Wire("/dashboard/ns/default/memories", None)
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    wire.scope["headers"] = [kind, (b"host", b"memlift.test"), (b"content-length", b"1900000")]

    await app(wire.scope, wire.receive, wire.send)

    assert (wire.status, wire.asked) == (303, 0)


async def test_a_login_larger_than_a_key_is_refused_unread(app):
    wire = Wire("/dashboard/login", None)
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    wire.scope["headers"] = [kind, (b"host", b"memlift.test"), (b"content-length", b"1900000")]

    await app(wire.scope, wire.receive, wire.send)

    assert (wire.status, wire.asked) == (413, 0)


def half_a_login(client: str = "203.0.113.9") -> Wire:
    """A login that declares 200 bytes and sends five."""
    wire = Wire("/dashboard/login", None)
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    wire.scope["headers"] = [kind, (b"host", b"memlift.test"), (b"content-length", b"200")]
    wire.scope["client"] = (client, 4000)

    async def receive() -> dict[str, object]:
        wire.asked += 1
        if wire.asked > 1:
            await asyncio.sleep(60)
        return {"type": "http.request", "body": b"key=m", "more_body": True}

    wire.receive = receive
    return wire


async def test_logins_that_are_half_sent_hold_no_place_and_keep_no_stranger_out(
    engine, operator_token, tmp_path
):
    made = create_app(Settings(data=tmp_path, max_requests=4))
    shared: Shared = made.state.shared
    shared.engine = engine
    wires = [half_a_login() for _ in range(100)]
    wires += [half_a_login(f"198.51.100.{number}") for number in range(20)]
    attack = [asyncio.create_task(made(one.scope, one.receive, one.send)) for one in wires]
    await asyncio.sleep(0.2)

    assert all(one.asked for one in wires)
    assert (shared.places.taken, shared.places.strangers) == (0, 0)
    transport = httpx.ASGITransport(app=made, client=("203.0.113.9", 4001))
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as stranger:
        shown = await stranger.get("/dashboard/login")
        keyed = {"authorization": f"Bearer {operator_token}"}
        measured = await stranger.get("/metrics", headers=keyed)
        called = await stranger.get("/v1/me", headers=keyed)
        entered = await stranger.post("/dashboard/login", data={"key": operator_token})

    assert (shown.status_code, measured.status_code) == (200, 200)
    assert (called.status_code, entered.status_code) == (200, 303)
    assert [one.status for one in wires].count(408) == 100 - WAITED_FOR + 1
    assert 'memlift_faults_total{code="too_slow"} 92.0' in measured.text
    for one in attack:
        one.cancel()
    await asyncio.gather(*attack, return_exceptions=True)


async def test_a_login_whose_body_does_not_come_is_not_waited_for(engine, tmp_path):
    made = create_app(Settings(data=tmp_path, body_timeout="0.05"))
    made.state.shared.engine = engine
    late = half_a_login()

    await made(late.scope, late.receive, late.send)

    assert late.status == 408


class CountedDatabase:
    """The database of an engine, and how often a transaction was opened."""

    def __init__(self, real: object) -> None:
        self._real = real
        self.opened = 0

    @asynccontextmanager
    async def transaction(self, *inside: object):
        self.opened += 1
        async with self._real.transaction(*inside) as connection:
            yield connection

    async def exchange(self, *asked: object):
        self.opened += 1
        return await self._real.exchange(*asked)


@pytest.fixture
def counted(engine, operator_token, tmp_path):
    """An app of its own over the same database, which counts transactions."""
    made = create_app(Settings(data=tmp_path, request_rate=1e6, request_burst=10**6))
    shared: Shared = made.state.shared
    counting = CountedDatabase(engine.database)
    shared.engine = replace(engine, database=counting)
    return made, counting


async def test_a_text_that_is_no_token_costs_no_connection(counted):
    made, database = counted
    async with a_client(made, None) as stranger:
        for token in ("x", "ml_", "ml_1_2", "ml_" + "0" * 32 + "_é"):
            header = f"Bearer {token}".encode()
            answer = await stranger.get("/v1/me", headers={b"authorization": header})
            assert answer.status_code == 401

    assert database.opened == 0


async def test_an_unknown_key_is_looked_up_once_and_then_refused_from_memory(counted):
    made, database = counted
    async with a_client(made, unknown()) as stranger:
        seen = [(await stranger.get("/v1/me")).status_code for _ in range(50)]

    assert set(seen) == {401}
    assert database.opened == 1


async def test_an_address_that_guesses_is_refused_while_a_known_key_beside_it_is_served(
    counted, operator_token
):
    made, database = counted
    made.state.shared.callers = Callers(rate=0.001, burst=5)
    async with a_client(made, operator_token) as known, a_client(made, None) as stranger:
        assert (await known.get("/v1/me")).status_code == 200
        before = database.opened
        answers = await asyncio.gather(
            *(
                stranger.get("/v1/me", headers={"authorization": f"Bearer {unknown()}"})
                for _ in range(500)
            )
        )
        after = database.opened
        assert (await known.get("/v1/me")).status_code == 200

    statuses = [answer.status_code for answer in answers]
    assert statuses.count(401) == 5
    assert statuses.count(429) == 495
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert problem(refused)[1] == "rate_limited"
    assert int(refused.headers["retry-after"]) >= 1
    assert after - before == 5


async def test_good_keys_of_one_address_do_not_use_up_its_guesses(counted, client, namespace):
    made, _ = counted
    made.state.shared.callers = Callers(rate=0.001, burst=1)
    for number in range(3):
        body = {"role": "reader", "name": str(number), "namespace": namespace}
        token = (await client.post("/v1/keys", json=body)).json()["token"]
        async with a_client(made, token) as fresh:
            assert (await fresh.get("/v1/me")).status_code == 200


async def test_a_revoked_key_is_out_at_once_though_it_was_known(client, agent_client):
    reader = await agent_client("reader")
    key_id = (await reader.get("/v1/me")).json()["key_id"]

    await client.delete(f"/v1/keys/{key_id}")

    assert (await reader.get("/v1/me")).status_code == 401


async def test_only_a_few_unknown_keys_are_looked_up_at_once(monkeypatch):
    known, inside_now, most = Callers(rate=1e6, burst=10**6), 0, 0

    async def look() -> None:
        nonlocal inside_now, most
        inside_now += 1
        most = max(most, inside_now)
        await asyncio.sleep(0)
        inside_now -= 1
        raise Unauthenticated("no")

    seen = await asyncio.gather(
        *(known.look_up(f"guess {n}", "192.0.2.1", look) for n in range(200)),
        return_exceptions=True,
    )

    assert most <= callers.LOOKED_UP_AT_ONCE
    assert {type(one) for one in seen} == {Unauthenticated, Unavailable}
    assert sum(isinstance(one, Unavailable) for one in seen) == 200 - callers.WAITING


async def test_a_refusal_is_forgotten_after_a_while(monkeypatch):
    known, looked, clock = Callers(rate=1.0, burst=9), 0, [0.0, 1.0, callers.REFUSED_SECONDS]
    monkeypatch.setattr(callers, "monotonic", lambda: clock[0])

    async def look() -> None:
        nonlocal looked
        looked += 1
        raise Unauthenticated("the session is over", code="session_over")

    while clock:
        with pytest.raises(Unauthenticated) as refusal:
            await known.look_up("guess", "192.0.2.1", look)
        assert refusal.value.kind == "session_over"
        clock.pop(0)

    assert looked == 2


def test_strangers_hold_a_share_of_the_places_and_the_known_all_of_them():
    places = Places(8)
    held = [places.hold(known=False) for _ in range(3)]
    held[0].__enter__()
    held[1].__enter__()
    with pytest.raises(Unavailable) as refusal:
        held[2].__enter__()

    assert (refusal.value.kind, refusal.value.retry_after) == ("server_busy", 1)
    known = [places.hold(known=True) for _ in range(6)]
    for one in known:
        one.__enter__()
    with pytest.raises(Unavailable):
        places.hold(known=True).__enter__()
    for one in (*held[:2], *known):
        one.__exit__(None, None, None)
    assert (places.taken, places.strangers) == (0, 0)


def test_a_stranger_who_is_recognised_gives_the_strangers_place_back():
    places = Places(4)
    with places.hold(known=False) as place:
        places.recognise(place)
        places.recognise(place)
        with places.hold(known=False):
            assert (places.taken, places.strangers) == (2, 1)

    assert (places.taken, places.strangers) == (0, 0)


async def test_a_full_server_says_when_to_come_back(tmp_path):
    shared = a_shared(tmp_path, max_requests=4)
    async with asking(a_tiny_app(shared)) as client:
        with shared.places.hold(known=False):
            full = await client.get("/things/x")
        free = await client.get("/things/x")

    assert problem(full)[:2] == (503, "server_busy")
    assert full.headers["retry-after"] == "1"
    assert free.status_code == 200


def scope_of(client: str, **headers: str) -> dict[str, object]:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "client": (client, 1), "headers": named}


@pytest.mark.parametrize(
    ("client", "forwarded", "proxies", "address"),
    [
        ("203.0.113.9", "198.51.100.1", 0, "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1", 1, "198.51.100.1"),
        ("127.0.0.1", "6.6.6.6, 198.51.100.1", 1, "198.51.100.1"),
        ("127.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.1", 2, "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1", 2, "127.0.0.1"),
        ("127.0.0.1", "nonsense", 1, "127.0.0.1"),
        ("2001:db8:1:2:3::4", "", 0, "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "", 0, "203.0.113.9"),
    ],
)
def test_an_address_is_believed_of_trusted_proxies_alone(client, forwarded, proxies, address):
    scope = scope_of(client, x_forwarded_for=forwarded) if forwarded else scope_of(client)

    assert address_of(scope, proxies) == address


@pytest.mark.parametrize(
    ("client", "headers", "near"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("203.0.113.9", {}, False),
        ("127.0.0.1", {"x_forwarded_for": "127.0.0.1"}, False),
        ("127.0.0.1", {"forwarded": "for=127.0.0.1"}, False),
    ],
)
def test_a_proxy_on_this_machine_is_not_this_machine(client, headers, near):
    assert is_near(scope_of(client, **headers)) is near


async def test_a_head_above_sixteen_kilobytes_is_refused_with_the_limit(tmp_path):
    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        large = await client.get("/things/x", headers={"X-Large": "x" * HEAD_BYTES})
        long = await client.get("/things/x", params={"q": "x" * HEAD_BYTES})
        small = await client.get("/things/x", headers={"X-Large": "x" * (HEAD_BYTES - 1024)})

    for answer in (large, long):
        assert problem(answer) == (431, "head_too_large", "headers")
        assert answer.json()["limit"] == HEAD_BYTES
    assert small.status_code == 200


@pytest.mark.parametrize("host", [b"[::1", b"a:b:c", b"a:99999999"])
async def test_a_host_that_is_none_is_refused(tmp_path, host):
    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        answer = await client.get("/things/x", headers={b"host": host})

    assert problem(answer) == (422, "rejected", "Host")


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path):
    async def half():
        yield b'{"name": '
        await asyncio.sleep(5)
        yield b'"x"}'

    app = a_tiny_app(a_shared(tmp_path, body_timeout="0.05"))
    async with asking(app) as client:
        answer = await client.post("/things", content=half(), headers=JSON)

    assert problem(answer) == (408, "too_slow", "body")
    assert answer.json()["limit"] == 0.05


async def test_guesses_at_the_login_do_not_count_as_requests_nor_the_other_way(engine, tmp_path):
    made = create_app(Settings(data=tmp_path))
    shared: Shared = made.state.shared
    shared.engine, shared.logins = engine, Limits(0.001, 2)
    transport = httpx.ASGITransport(app=made)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as browser:
        seen = [
            (await browser.post("/dashboard/login", data={"key": "ml_x"})).status_code
            for _ in range(3)
        ]
        api = await browser.get("/v1/me", headers={"authorization": f"Bearer {unknown()}"})

    assert seen == [401, 401, 429]
    assert api.status_code == 401


async def test_good_logins_are_no_guesses(engine, operator_token, tmp_path):
    made = create_app(Settings(data=tmp_path))
    shared: Shared = made.state.shared
    shared.engine, shared.logins = engine, Limits(0.001, 1)
    transport = httpx.ASGITransport(app=made)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as browser:
        for _ in range(3):
            answer = await browser.post("/dashboard/login", data={"key": operator_token})
            assert answer.status_code == 303


@pytest.mark.parametrize("origin", ["http://[::1", "null", "http://", "//", "http://a:b"])
async def test_an_origin_that_cannot_be_read_is_a_foreign_one(app, origin):
    async with a_client(app, None) as browser:
        answer = await browser.post(
            "/dashboard/login", data={"key": "ml_x"}, headers={"Origin": origin}
        )

    assert answer.status_code == 403


async def test_a_key_may_be_used_on_any_path_of_its_namespace(client, namespace):
    made = await client.post(inside(namespace, "/experiences"), json=an_experience())

    assert made.status_code == 201
    gone = await client.get(inside("no-such", "/experiences"))
    assert problem(gone) == (404, "namespace_not_found", "namespace")


def test_an_address_has_a_limit_of_its_own_words():
    with pytest.raises(Overloaded, match="unknown keys"):
        Limits(1.0, 0, "unknown keys are looked up for one address").take("192.0.2.1", 0.0)

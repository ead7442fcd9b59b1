"""What strangers do to a served process: little, and not for long."""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from uuid import UUID, uuid4

import httpx
import psutil
import pytest

from memory.kernel.ids import new_id
from memory.tenancy.entities import Token
from server.middleware import HEAD_BYTES
from tests.acceptance.servers import Home, Server

HEAD = b"POST /v1/namespaces/default/experiences HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY_BYTES = 1_900_000
BODIES = 100
# Far more than the buffers of both ends hold.
ENDLESS = 256 * 1024**2
PATIENCE = 30.0


@pytest.fixture(scope="module")
def server(used_home: Home, begin: Callable[..., Server]) -> Server:
    quick = {"MEMLIFT_HEAD_TIMEOUT": 3, "MEMLIFT_BODY_TIMEOUT": 3}
    return begin(used_home, **quick).await_led()


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def answer_of(sender: socket.socket) -> bytes:
    """All that comes until the server closes; nothing where it only closes."""
    parts: list[bytes] = []
    try:
        while part := sender.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_head_that_grows_for_ever_is_refused_and_its_connection_closed(server: Server):
    with closing(connected(server)) as sender:
        sender.sendall(HEAD + b"X-Large: ")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            sender.sendall(b"x" * ENDLESS)


def test_a_head_a_little_too_large_is_answered_by_a_problem_document(server: Server):
    with closing(connected(server)) as sender:
        sender.sendall(HEAD + b"X-Large: " + b"x" * HEAD_BYTES)
        answer = answer_of(sender)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'"code":"head_too_large"' in answer


def test_a_head_that_is_no_http_is_answered_by_a_problem_document(server: Server):
    with closing(connected(server)) as sender:
        sender.sendall(HEAD + b"X-Name: a\x01b\r\n\r\n")
        head, _, body = answer_of(sender).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json")
    assert json.loads(body)["code"] == "unreadable_head"
    assert json.loads(body)["field"] == "headers"


def test_heads_and_bodies_that_are_half_sent_are_closed(server: Server):
    token = server.home.operator_key.read_text().strip().encode()
    silent, half_head, half_body, keyed = (connected(server) for _ in range(4))
    half_head.sendall(HEAD)
    entity = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    half_body.sendall(HEAD + entity)
    keyed.sendall(HEAD + b"Authorization: Bearer " + token + b"\r\n" + entity)

    answers = [answer_of(sender) for sender in (silent, half_head, half_body, keyed)]

    assert answers[0] == b""
    assert answers[1].startswith(b"HTTP/1.1 408 ")
    assert answers[2].startswith(b"HTTP/1.1 401 ")
    assert answers[3].startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answers[3]
    for sender in (silent, half_head, half_body, keyed):
        sender.close()


def test_bodies_without_a_key_are_answered_before_they_are_sent(server: Server):
    """None of them is held: what the process keeps is far less than what it was sent."""
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss
    entity = f"Content-Type: application/json\r\nContent-Length: {BODY_BYTES}\r\n\r\n".encode()
    senders = [connected(server) for _ in range(BODIES)]
    for sender in senders:
        sender.sendall(HEAD + entity + b"x" * 1_000)

    firsts = [sender.recv(65_536) for sender in senders]

    assert all(first.startswith(b"HTTP/1.1 401 ") for first in firsts)
    for sender in senders:
        with suppress(OSError):
            sender.sendall(b"x" * 500_000)
    assert process.memory_info().rss - before < BODIES * BODY_BYTES / 4
    for sender in senders:
        sender.close()


def test_logins_that_are_half_sent_keep_nobody_out(server: Server):
    token = server.home.operator_key.read_text().strip()
    head = b"POST /dashboard/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\n\r\nkey=m"
    senders = [connected(server) for _ in range(BODIES)]
    for sender in senders:
        sender.sendall(head + form)

    with httpx.Client(base_url=server.url) as stranger:
        shown = stranger.get("/dashboard/login").status_code
        measured = stranger.get("/metrics", headers={"authorization": f"Bearer {token}"})
        entered = stranger.post("/dashboard/login", data={"key": token}).status_code

    assert (shown, measured.status_code, entered) == (200, 200, 303)
    assert all(answer_of(sender).startswith(b"HTTP/1.1 408 ") for sender in senders)
    for sender in senders:
        sender.close()


@pytest.mark.parametrize(("make_id", "limited"), [(uuid4, False), (new_id, True)])
def test_a_flood_of_unknown_keys_does_not_keep_out_a_known_one(
    server: Server, make_id: Callable[[], UUID], *, limited: bool
):
    """Ids that no key can have cost no look-up; those that could be new are limited."""
    token = server.home.operator_key.read_text().strip()

    async def flood() -> tuple[list[int], list[int]]:
        # Few enough that, on a busy machine too, each sends its head in time.
        limits = httpx.Limits(max_connections=50)
        known = httpx.AsyncClient(base_url=server.url, headers={"authorization": f"Bearer {token}"})
        stranger = httpx.AsyncClient(base_url=server.url, limits=limits, timeout=PATIENCE)
        async with known, stranger:
            assert (await known.get("/v1/me")).status_code == 200
            guesses = [f"Bearer {Token.fresh(make_id())}" for _ in range(300)]
            attack = asyncio.gather(
                *(stranger.get("/v1/me", headers={"authorization": one}) for one in guesses)
            )
            served: list[int] = []
            while not attack.done():
                served.append((await known.get("/v1/me")).status_code)
                await asyncio.sleep(0.02)
            return served, [answer.status_code for answer in await attack]

    served, refused = asyncio.run(flood())

    assert set(served) == {200}
    assert set(refused) <= ({401, 429, 503} if limited else {401, 503})
    assert (refused.count(429) > refused.count(401)) is limited


def test_what_was_found_is_told_on_this_machine_alone(server: Server):
    def checks(**headers: str) -> dict[str, dict[str, object]]:
        return httpx.get(f"{server.url}/health/ready", headers=headers).json()["checks"]

    token = server.home.operator_key.read_text().strip()
    near = checks()
    far = checks(**{"X-Forwarded-For": "203.0.113.9"})
    keyed = checks(**{"X-Forwarded-For": "203.0.113.9", "Authorization": f"Bearer {token}"})

    assert str(server.process.pid) in str(near["leader"]["detail"])
    assert {str(check["detail"]) for check in far.values()} <= {"met", "not met"}
    assert far.keys() == near.keys() == keyed.keys()
    assert str(server.process.pid) in str(keyed["leader"]["detail"])


def test_the_server_is_still_ready_and_lets_go_of_all_of_them(server: Server):
    process = psutil.Process(server.process.pid)
    deadline = time.monotonic() + PATIENCE
    while len([c for c in process.net_connections("tcp") if c.status == "ESTABLISHED"]) > 20:
        assert time.monotonic() < deadline, process.net_connections("tcp")
        time.sleep(0.1)

    assert server.readiness()[0] == 200


def test_a_key_is_served_after_a_restart_while_a_stranger_of_its_address_tries_keys(
    server: Server, begin: Callable[..., Server]
):
    token = server.home.operator_key.read_text().strip()
    server.end()
    restarted = begin(server.home).await_ready()
    with httpx.Client(base_url=restarted.url) as stranger:
        while True:
            guess = {"authorization": f"Bearer {Token.fresh(new_id())}"}
            if stranger.get("/v1/me", headers=guess).status_code == 429:
                break
        seen = [
            stranger.get("/v1/me", headers={"authorization": f"Bearer {token}"}).status_code
            for _ in range(20)
        ]

    assert set(seen) == {200}

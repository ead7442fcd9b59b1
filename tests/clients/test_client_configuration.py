"""What is our own fault is named as such: no failed connection, and never with the key in it."""

import asyncio
import traceback
from collections.abc import Callable

import httpx
import memlift_client
import pytest
from memlift_client import (
    AsyncMemLift,
    ConfigurationError,
    ConnectionFailed,
    KeyRefused,
    Me,
    MemLift,
    MemLiftProblem,
)
from memlift_client._connection import Connection
from scripted_server import QUICK, Script, a_problem, an_answer

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.fixtures.answers import a_document

URL = "http://memlift.test"
SECRET = "ml_" + "0" * 32 + "_" + "5ec4e7" * 10 + "5ec4"
KINDS = pytest.mark.parametrize("kind", [MemLift, AsyncMemLift])
ME = a_document(Me)


def asked(kind: type, script: Script | None = None, url: str = URL, key: str | None = SECRET):
    """`me` through a client of this kind."""
    transport = None if script is None else script.transport()
    memory = kind(url, key, retry_policy=QUICK, transport=transport)
    if isinstance(memory, MemLift):
        with memory:
            return memory.me()

    async def awaited():
        async with memory:
            return await memory.me()

    return asyncio.run(awaited())


def told(fault: BaseException) -> str:
    """All that a log would hold of a fault, and of those behind it."""
    return "".join(traceback.format_exception(fault)) + repr(fault)


@KINDS
@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", "  {}\t", "\n{}"])
def test_a_key_from_a_file_comes_without_the_lines_end(kind, around):
    script = Script(an_answer(200, ME))

    asked(kind, script, key=around.format(SECRET))

    assert script.heads("authorization") == [f"Bearer {SECRET}"]


@KINDS
def test_a_url_from_a_file_comes_without_the_lines_end(kind):
    script = Script(an_answer(200, ME))

    asked(kind, script, url=f" {URL}/\n")

    assert [str(request.url) for request in script.requests] == [f"{URL}/v1/me"]


@KINDS
@pytest.mark.parametrize("key", [SECRET + "\n" + SECRET, SECRET + "é", SECRET + "\x00x", "a b"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(kind, key):
    with pytest.raises(ConfigurationError, match="characters that no key has") as raised:
        asked(kind, key=key)

    assert "5ec4e7" not in told(raised.value)
    assert not isinstance(raised.value, ConnectionFailed)


@KINDS
@pytest.mark.parametrize("key", ["", " \n"])
def test_an_empty_key_is_no_key(kind, key):
    with pytest.raises(ConfigurationError, match="empty"):
        asked(kind, key=key)


@KINDS
@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("127.0.0.1:8000", "scheme"),
        ("localhost:8000", "scheme"),
        ("memlift.test", "scheme"),
        ("ftp://memlift.test", "scheme"),
        ("http:memlift.test", "scheme"),
        ("", "scheme"),
        (SECRET, "scheme"),
        ("http://", "host"),
        ("http://mem lift.test", "host"),
        ("http://[::1", "cannot be read"),
        ("http://memlift.test:http", "cannot be read"),
        (f"user:{SECRET}@memlift.test", "scheme"),
    ],
)
def test_a_url_that_is_none_is_named_before_anything_is_sent(kind, url, named):
    with pytest.raises(ConfigurationError, match=named) as raised:
        asked(kind, url=url)

    assert "5ec4e7" not in told(raised.value)


@KINDS
@pytest.mark.parametrize(
    "fault",
    [
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {SECRET}'"),
        httpx.UnsupportedProtocol("Request URL is missing a protocol"),
    ],
)
def test_a_request_that_cannot_be_sent_is_not_tried_again_nor_quoted(kind, fault):
    script = Script(fault)

    with pytest.raises(ConfigurationError, match=type(fault).__name__) as raised:
        asked(kind, script)

    assert len(script.requests) == 1
    assert "5ec4e7" not in told(raised.value)


@KINDS
def test_a_key_that_the_server_does_not_know_is_a_problem_and_a_wrong_configuration(kind):
    script = Script(a_problem(401, "unauthenticated"))

    with pytest.raises(KeyRefused) as raised:
        asked(kind, script)

    assert isinstance(raised.value, MemLiftProblem)
    assert isinstance(raised.value, ConfigurationError)
    assert (raised.value.status, raised.value.code) == (401, "unauthenticated")
    assert len(script.requests) == 1


@KINDS
def test_nobody_listening_is_a_failed_connection(kind):
    with pytest.raises(ConnectionFailed) as raised:
        asked(kind, url=f"http://127.0.0.1:{find_free_port()}")

    assert not isinstance(raised.value, ConfigurationError)
    assert "5ec4e7" not in told(raised.value)


@pytest.mark.parametrize("show", [repr, str])
def test_nothing_of_a_client_prints_its_key(show: Callable[[object], str]):
    connection = Connection(URL, SECRET, "acme", QUICK)

    with MemLift(URL, SECRET) as memory:
        assert "5ec4e7" not in show(memory)
        assert "5ec4e7" not in show(memory._http.headers)
    assert "5ec4e7" not in show(connection)
    assert "5ec4e7" not in show(connection.within("other"))


@pytest.mark.parametrize("name", ["ConfigurationError", "KeyRefused"])
def test_the_faults_can_be_imported(name):
    assert name in memlift_client.__all__

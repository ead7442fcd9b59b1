"""What stands around every request."""

import pytest
from api_builders import a_shared, a_tiny_app, answer_to, asking

from server.middleware import accepted_id, is_of_type

JSON = {"Content-Type": "application/json"}


async def test_every_answer_carries_a_request_id(tmp_path):
    app = a_tiny_app(a_shared(tmp_path))

    async with asking(app) as client:
        found = await client.get("/things/x")
        missing = await client.get("/nowhere")

    assert found.headers["x-request-id"] != missing.headers["x-request-id"]
    assert missing.json()["request_id"] == missing.headers["x-request-id"]


async def test_a_callers_request_id_is_kept(tmp_path):
    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        answer = await client.get("/things/x", headers={"X-Request-Id": "run-7.a"})

    assert answer.headers["x-request-id"] == "run-7.a"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "line\nbreak", "é", "<script>"])
def test_a_request_id_that_would_soil_a_log_is_replaced(given):
    assert accepted_id(given) != given


async def test_a_body_above_the_limit_is_refused_by_its_declared_length(tmp_path):
    answer = await answer_to(a_tiny_app(a_shared(tmp_path)), b" " * 1025)

    assert answer.status_code == 413
    assert (answer.json()["code"], answer.json()["limit"]) == ("too_large", 1024)


async def test_a_body_that_grows_above_the_limit_is_refused_as_it_arrives(tmp_path):
    async def stream():
        for _ in range(5):
            yield b" " * 512

    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        answer = await client.post("/things", content=stream(), headers=JSON)

    assert answer.status_code == 413
    assert answer.json()["limit"] == 1024


async def test_a_body_at_the_limit_is_taken(tmp_path):
    body = b'{"name": "x"}'.ljust(1024)

    assert (await answer_to(a_tiny_app(a_shared(tmp_path)), body)).status_code == 200


@pytest.mark.parametrize("length", ["-1", "x", "1 2"])
async def test_a_length_that_is_no_number_is_refused(tmp_path, length):
    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        answer = await client.post(
            "/things", content=b"{}", headers=JSON | {"Content-Length": length}
        )

    assert (answer.status_code, answer.json()["field"]) == (422, "Content-Length")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_that_is_not_declared_as_json_is_refused(tmp_path, kind):
    async with asking(a_tiny_app(a_shared(tmp_path))) as client:
        answer = await client.post("/things", content=b"{}", headers={"Content-Type": kind})

    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=UTF-8", True),
        ('application/json; charset="utf-8"', True),
        ("application/json; charset=utf-16", False),
        ("application/json-seq", False),
    ],
)
def test_json_is_json_in_utf_8(content_type, taken):
    assert is_of_type(content_type, "application/json") is taken


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000"])
async def test_without_keys_programs_of_this_machine_are_served(tmp_path, host):
    app = a_tiny_app(a_shared(tmp_path, insecure_local=True))

    async with asking(app, host) as client:
        assert (await client.get("/things/x")).status_code == 200


@pytest.mark.parametrize(
    ("host", "headers", "code"),
    [
        ("evil.example", {}, "foreign_host"),
        ("localhost.evil.example", {}, "foreign_host"),
        ("localhost", {"Origin": "https://evil.example"}, "foreign_origin"),
        ("localhost", {"Origin": "null"}, "foreign_origin"),
    ],
)
async def test_without_keys_websites_are_turned_away(tmp_path, host, headers, code):
    app = a_tiny_app(a_shared(tmp_path, insecure_local=True))

    async with asking(app, host) as client:
        answer = await client.get("/things/x", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, code)


async def test_with_keys_any_host_is_served(tmp_path):
    async with asking(a_tiny_app(a_shared(tmp_path)), "memory.example") as client:
        assert (await client.get("/things/x")).status_code == 200

"""The protocol by a host: a process over standard input, and an address whose server goes away."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.servers import ROOT, Home, Server, environment

SITUATION = "A customer asks to have an invoice refunded"
LESSON = "Ask for the number of the order before any money is moved"


def a_namespace(server: Server) -> str:
    slug = f"n{uuid4().hex[:12]}"
    settings = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
    server.client().create_namespace(slug, settings=settings)
    return slug


def host_of(server: Server, *more: str, **variables: str) -> StdioServerParameters:
    """As a host is told to start it: it finds the server in the data directory."""
    named = {"MEMLIFT_HOME": str(server.home.data), "PYTHONPATH": str(ROOT)} | variables
    arguments = ["-m", "server.cli", "mcp", "--stdio", *more]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment(named))


async def test_a_host_that_starts_a_process_has_the_whole_loop(shared_server: Server):
    slug = a_namespace(shared_server)

    async with Client(host_of(shared_server, "--namespace", slug)) as tools:
        named = {tool.name for tool in (await tools.list_tools()).tools}
        instructions = tools.instructions or ""
        kept = await tools.call_tool("remember", {"situation": SITUATION, "lesson": LESSON})
        asked = await tools.call_tool("ask", {"task": "Refund invoice 8812 for a customer"})
        told = {"receipt": (asked.structured_content or {})["receipt"], "reward": 1, "used": ["m1"]}
        reported = await tools.call_tool("report", told)
        refused = await tools.call_tool("report", told | {"reward": 2})
        memory_id = (kept.structured_content or {})["memory_id"]
        memory = await tools.read_resource(f"memlift://memories/{memory_id}")

    trials = {"claim_trial", "report_trial"}
    assert named == {"ask", "report", "remember", "why", "search"} | trials
    assert "`ask` once" in instructions
    assert LESSON in (asked.structured_content or {})["guideline"]
    assert (reported.structured_content or {})["outcomes"][0]["status"] == "accepted"
    assert refused.is_error
    assert LESSON in str(memory.contents)
    client = shared_server.client(slug)
    client.apply_outcomes()
    assert client.get_experience(memory_id).effective_weight > 1


def test_standard_output_holds_the_protocol_and_nothing_else(shared_server: Server):
    parameters = host_of(shared_server)
    hello = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nothing","arguments":{}}}\n'
    )

    process = subprocess.Popen(
        [parameters.command, *parameters.args],
        cwd=ROOT,
        env=parameters.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(hello)
    process.stdin.flush()
    lines = [process.stdout.readline() for _ in range(2)]
    rest, _ = process.communicate(timeout=120)

    assert all(line.startswith(b'{"jsonrpc":"2.0"') for line in lines)
    assert rest == b""
    assert process.returncode == 0


def spoken(parameters: StdioServerParameters, *lines: str) -> list[dict[str, Any]]:
    """What a process answers to lines, until it has answered all."""
    ended = subprocess.run(
        [parameters.command, *parameters.args],
        cwd=ROOT,
        env=parameters.env,
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_what_is_no_message_is_answered_as_it_is_over_http(shared_server: Server):
    lines = {
        '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask",'
        '"arguments":{"task":"fix \\ud800"}}}': ("a", -32602, "params.arguments.task"),
        '{"jsonrpc":"2.0","id":null,"method":"ping"}': (None, -32600, "id"),
        '{"jsonrpc":"2.0","id":1.5,"method":"ping"}': (None, -32600, "id"),
        "{bad": (None, -32700, "body"),
        "[1]": (None, -32600, "body"),
    }

    answers = spoken(host_of(shared_server), *lines)

    said = [(one["id"], one["error"]["code"], one["error"]["data"]["field"]) for one in answers]
    assert sorted(said, key=str) == sorted(lines.values(), key=str)


PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


def test_a_server_that_is_away_is_an_error_of_each_request(shared_server: Server):
    away = host_of(shared_server, "--url", "http://127.0.0.1:9")

    answers = spoken(away, PING, NOTICE, PING)

    assert [one["id"] for one in answers] == [1, 1]
    for one in answers:
        assert one["error"]["message"].startswith("http://127.0.0.1:9/mcp does not answer: ")


def test_a_key_and_a_namespace_that_are_refused_are_told_in_the_servers_words(
    shared_server: Server,
):
    [key] = spoken(host_of(shared_server, MEMLIFT_KEY="ml_x"), PING)
    [place] = spoken(host_of(shared_server, MEMLIFT_NAMESPACE="nope"), PING)

    assert key["error"]["message"] == "401 unauthenticated: the key is malformed"
    assert place["error"]["message"].startswith("404 namespace_not_found: ")
    assert place["error"]["data"] == {"field": "MemLift-Namespace"}


async def test_a_client_goes_on_after_the_server_was_started_again(
    used_home: Home, begin: Callable[..., Server]
):
    first = begin(used_home).await_ready()
    key = used_home.operator_key.read_text().strip()
    headers = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{first.url}/mcp", http_client=http)) as tools,
        Client(host_of(first)) as started,
    ):
        asked = await tools.call_tool("ask", {"task": SITUATION, "task_key": "o-17"})
        handed_on = await started.call_tool("ask", {"task": SITUATION, "task_key": "o-18"})
        first.stop()
        again = begin(used_home, MEMLIFT_PORT=first.port)
        again.port = first.port
        again.await_ready()
        told = {"receipt": (asked.structured_content or {})["receipt"], "reward": 1}

        reported = await tools.call_tool("report", told)
        told = {"receipt": (handed_on.structured_content or {})["receipt"], "reward": 1}
        by_process = await started.call_tool("report", told)

    assert not reported.is_error
    assert not by_process.is_error

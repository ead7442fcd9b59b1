"""The protocol's tools by the SDK's own client, in process and over HTTP."""

import asyncio
import json
import re
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx2
import pytest
from api_builders import an_experience, inside, remembered
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from memory.tenancy.entities import Call
from memory.tenancy.service import authenticate, open_namespace
from server.mcp.calling import CALLER, ToolCaller
from server.mcp.tools import build_server

SITUATION = "a customer asks to cancel an order"
LESSON = "ask for the number of the order first"
NOBODY = "01900000-0000-7000-8000-000000000001"
BASE = "http://127.0.0.1:8000"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def token_of(client):
    return client.headers["authorization"].removeprefix("Bearer ")


@asynccontextmanager
async def in_process(app, token, slug):
    shared = app.state.shared
    key = await authenticate(shared.engine, token, datetime.now(UTC))
    namespace = await open_namespace(shared.engine, key, slug)
    caller = ToolCaller(shared.engine, Call(key, namespace, datetime.now(UTC)), shared.meters)
    reset = CALLER.set(caller)
    try:
        async with Client(build_server()) as client:
            yield client
    finally:
        CALLER.reset(reset)


@asynccontextmanager
async def over_http(app, token, slug, mode="auto"):
    async with asking(app, token, slug) as http:
        place = streamable_http_client(f"{BASE}/mcp", http_client=http)
        async with Client(place, mode=mode) as client:
            yield client


def asking(app, token, slug=None, **headers):
    named = {} if token is None else {"authorization": f"Bearer {token}"}
    named |= {} if slug is None else {"memlift-namespace": slug}
    transport = httpx2.ASGITransport(app=app)
    return httpx2.AsyncClient(transport=transport, base_url=BASE, headers=named | headers)


EITHER = pytest.mark.parametrize("reach", [in_process, over_http])


@EITHER
async def test_the_loop_by_tools_moves_a_weight(app, client, namespace, reach):
    async with reach(app, token_of(client), namespace) as tools:
        kept = await tools.call_tool("remember", {"situation": SITUATION, "lesson": LESSON})
        asked = await tools.call_tool("ask", {"task": SITUATION, "agent": "solver"})
        told = {"receipt": asked.structured_content["receipt"], "reward": 1, "used": ["[m1]"]}
        reported = await tools.call_tool("report", told)
        again = await tools.call_tool("report", told)
        why = await tools.call_tool("why", {"receipt": told["receipt"]})

    assert kept.structured_content["stored"] is True
    assert LESSON in asked.structured_content["guideline"]
    memory_id = kept.structured_content["memory_id"]
    assert asked.structured_content["citations"] == {"m1": memory_id}
    assert reported.structured_content == again.structured_content
    [outcome] = reported.structured_content["outcomes"]
    assert (outcome["status"], outcome["evidence"]) == ("accepted", "single")
    assert why.structured_content["memories"][0]["memory_id"] == memory_id
    assert why.structured_content["memories"][0]["why"]
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()
    assert memory["effective_weight"] > 1.0


@EITHER
async def test_a_candidate_is_claimed_tried_and_let_in_by_tools(app, client, namespace, reach):
    task = {"text": "Cancel order 17", "key": "t"}
    lesson = an_experience(situation=SITUATION, lesson=LESSON, verify=True, task=task)
    memory_id = (await client.post(inside(namespace, "/experiences"), json=lesson)).json()["id"]

    async with reach(app, token_of(client), namespace) as tools:
        mine = {"agent": "tester"}
        claimed = (await tools.call_tool("claim_trial", mine)).structured_content
        nothing = (await tools.call_tool("claim_trial", mine)).structured_content
        trial, *others = claimed["trials"]
        told = mine | {"ticket": claimed["ticket"], "slot": trial["slot"], "reward": 1}
        lacking = await tools.call_tool("report_trial", told)
        unlike = await tools.call_tool("report_trial", told | {"value": {"p": 1}, "without": 0})
        twice = {"without": 0, "value_without": {"p": 1}}
        both = await tools.call_tool("report_trial", told | twice)
        first = await tools.call_tool("report_trial", told | {"without": 0})
        for other in others:
            last = told | {"slot": other["slot"], "without": 0}
            done = await tools.call_tool("report_trial", last)
        again = await tools.call_tool("report_trial", told | {"without": 0})

    assert LESSON in claimed["guideline"]
    assert (trial["task"], trial["purpose"], trial["needs_without"]) == (
        "Cancel order 17",
        "source",
        True,
    )
    assert (nothing["ticket"], nothing["trials"]) == (None, [])
    assert "(field: trials.0.without)" in lacking.content[0].text
    assert "(field: trials.0.value)" in unlike.content[0].text
    assert "(field: without)" in both.content[0].text
    assert lacking.is_error
    assert first.structured_content["trials"] == others
    assert (done.structured_content["decision"], done.structured_content["trials"]) == (
        "admitted",
        [],
    )
    assert again.structured_content == done.structured_content
    memory = (await client.get(inside(namespace, f"/experiences/{memory_id}"))).json()
    assert memory["status"] == "active"


@EITHER
async def test_tools_say_what_they_take_answer_and_do(app, client, namespace, reach):
    async with reach(app, token_of(client), namespace) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        instructions = session.instructions
        [prompt] = (await session.list_prompts()).prompts
        filled = await session.get_prompt(prompt.name, {"task": "Refund 8812"})
        templates = (await session.list_resource_templates()).resource_templates

    trials = {"claim_trial", "report_trial"}
    assert set(tools) == {"ask", "report", "remember", "why", "search"} | trials
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema["properties"]
        assert tool.annotations.destructive_hint in (None, False)
        silent = [n for n, p in tool.input_schema["properties"].items() if "description" not in p]
        assert silent == []
    reads = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reads == {"why", "search"}
    assert "`ask` once before you begin" in instructions
    assert "`report` when you know how it went" in instructions
    assert filled.messages[0].content.text.endswith("Task: Refund 8812")
    assert {one.uri_template for one in templates} == {
        "memlift://receipts/{receipt}",
        "memlift://memories/{memory_id}",
    }


@EITHER
async def test_a_refusal_is_the_tools_error_with_field_and_limit(
    app, client, agent_client, namespace, reach
):
    await remembered(client, namespace, situation=SITUATION)
    agent = await agent_client("agent", ["bot"])
    async with reach(app, token_of(agent), namespace) as tools:
        asked = await tools.call_tool("ask", {"task": SITUATION})
        receipt = asked.structured_content["receipt"]
        wrong = {
            "claim_too_high: this key may claim self at most, not human (field: verifier;"
            " limit: self)": ("report", {"receipt": receipt, "reward": 1, "verifier": "human"}),
            "(field: agent)": ("ask", {"task": SITUATION, "agent": "stranger"}),
            "the limit is 4000 (field: lesson; limit: 4000)": (
                "remember",
                {"situation": SITUATION, "lesson": "x" * 4001},
            ),
            f"retrieval_not_found: no such retrieval: {NOBODY} (field: receipt)": (
                "why",
                {"receipt": NOBODY},
            ),
            f"no such retrieval: {NOBODY} (field: receipt)": (
                "report",
                {"receipt": NOBODY, "reward": 1},
            ),
            "(field: ticket)": ("report_trial", {"ticket": NOBODY, "slot": 0, "reward": 1}),
            "not 'm9' (field: used)": (
                "report",
                {"receipt": receipt, "reward": 1, "used": ["m9"]},
            ),
            "(field: reward; limit: 1.0)": ("report", {"receipt": receipt, "reward": 2}),
            "(field: visibility; limit: [": (
                "remember",
                {"situation": SITUATION, "lesson": "Bring a coat", "visibility": "agent"},
            ),
            "rejected: must not be true or false (field: reward": (
                "report",
                {"receipt": receipt, "reward": True},
            ),
            "(field: receipt)": ("report", {"receipt": "x", "reward": 1}),
            "there is no tool 'forget' (field: name; limit: ['ask',": ("forget", {}),
            "task is blank (field: task)": ("ask", {"task": " "}),
            "white space at an end": ("ask", {"task": "x", "task_key": " o-1"}),
            "(field: task)": ("ask", {}),
            "(field: filter.tags; limit: 16)": (
                "ask",
                {"task": SITUATION, "filter": {"tags": ["x"] * 17}},
            ),
            "is blank (field: filter.tags.0)": (
                "ask",
                {"task": SITUATION, "filter": {"tags": [""]}},
            ),
            "exactly one of receipt, task_key and trace_id (field: receipt)": (
                "report",
                {"reward": 1},
            ),
        }
        for said, (name, arguments) in wrong.items():
            answer = await tools.call_tool(name, arguments)
            assert answer.is_error, (name, arguments)
            assert said in answer.content[0].text
            assert "pydantic" not in answer.content[0].text
            assert re.match("[a-z_]+: ", answer.content[0].text)
        fine = await tools.call_tool("report", {"receipt": receipt, "reward": 1, "used": ["m1"]})

    assert not fine.is_error


@EITHER
async def test_a_result_by_key_and_a_look_around(app, client, namespace, reach):
    memory_id = await remembered(client, namespace, situation=SITUATION, lesson=LESSON)
    async with reach(app, token_of(client), namespace) as tools:
        found = await tools.call_tool("search", {"text": SITUATION})
        await tools.call_tool("ask", {"task": SITUATION, "agent": "solver", "task_key": "o-17"})
        told = await tools.call_tool("report", {"task_key": "o-17", "reward": 0})
        memory = await tools.read_resource(f"memlift://memories/{memory_id}")
        [outcome] = told.structured_content["outcomes"]
        receipt = await tools.read_resource(f"memlift://receipts/{outcome['receipt']}")
        with pytest.raises(MCPError, match="memory_not_found"):
            await tools.read_resource("memlift://memories/01900000-0000-7000-8000-000000000001")

    assert [one["memory_id"] for one in found.structured_content["memories"]] == [memory_id]
    assert json.loads(memory.contents[0].text)["lesson"] == LESSON
    assert json.loads(receipt.contents[0].text)["retrieval_id"] == outcome["receipt"]
    listed = await client.get(inside(namespace, "/retrievals"))
    assert listed.json()["total"] == 1


async def test_what_is_private_stays_private_to_who_may_not_read_it(app, agent_client, namespace):
    alice, other = await agent_client("agent", ["alice"]), await agent_client("agent", ["bob"])
    secret = "the phrase of the vault is obsidianfern"
    body = {"agent": "alice", "situation": SITUATION, "lesson": secret, "visibility": "agent"}
    made = await alice.post(inside(namespace, "/experiences"), json=body)
    async with over_http(app, token_of(alice), None) as tools:
        asked = (await tools.call_tool("ask", {"task": SITUATION})).structured_content
        assert secret in asked["guideline"]
    receipt = asked["receipt"]

    async with over_http(app, token_of(other), None) as tools:
        seen = [
            str(await tools.call_tool("why", {"receipt": receipt})),
            str(await tools.call_tool("search", {"text": secret})),
            str(await tools.call_tool("ask", {"task": SITUATION})),
            str(await tools.read_resource(f"memlift://receipts/{receipt}")),
        ]
        with pytest.raises(MCPError):
            await tools.read_resource(f"memlift://memories/{made.json()['id']}")

    assert all("obsidianfern" not in one and made.json()["id"] not in one for one in seen)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_every_generation_of_the_protocol_that_the_sdk_speaks_is_served(
    app, client, namespace, mode
):
    async with over_http(app, token_of(client), namespace, mode) as tools:
        found = await tools.call_tool("search", {"text": SITUATION})

    assert found.structured_content == {"memories": []}


async def test_two_clients_with_one_key_do_not_meet(app, agent_client, namespace):
    token = token_of(await agent_client("agent", ["bot"]))

    async def loop(number):
        async with over_http(app, token, None) as tools:
            asked = await tools.call_tool("ask", {"task": f"Order {number}: cancel it"})
            return asked.structured_content["receipt"]

    receipts = await asyncio.gather(*map(loop, range(4)))

    assert len(set(receipts)) == 4


async def test_who_has_no_key_or_comes_from_another_site_is_not_served(app, client, namespace):
    token = token_of(client)

    async def post(http, **headers):
        async with http:
            answer = await http.post("/mcp", json=LIST, headers=HEADERS | headers)
            return answer.status_code, answer.json().get("code")

    assert await post(asking(app, None)) == (401, "unauthenticated")
    assert await post(asking(app, f"ml_{'0' * 32}_{'0' * 64}")) == (401, "unauthenticated")
    assert await post(asking(app, token), host="evil.example") == (403, "foreign_host")
    assert await post(asking(app, token), origin="http://evil.example") == (403, "foreign_origin")
    assert (await post(asking(app, token, namespace), origin=BASE))[0] == 200


async def test_a_namespace_that_the_key_does_not_reach_is_not_there(
    app, client, agent_client, namespace
):
    agent = token_of(await agent_client())

    async def post(token, slug, **headers):
        async with asking(app, token, slug) as http:
            return await http.post("/mcp", json=LIST, headers=HEADERS | headers)

    for token, slug in ((token_of(client), "nowhere"), (agent, "default")):
        answer = await post(token, slug)
        assert (answer.status_code, answer.json()["code"]) == (404, "namespace_not_found")
        assert answer.json()["field"] == "MemLift-Namespace"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_a_server_that_keeps_nothing_has_no_stream_to_hold_open(
    app, client, namespace, method
):
    async with asking(app, token_of(client), namespace) as http:
        answer = await http.request(method, "/mcp", headers=HEADERS)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["code"] == "method_not_allowed"


def a_call(method="tools/call", **params):
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


@pytest.mark.parametrize(
    ("body", "code", "field", "words"),
    [
        ("{", -32700, "body", "the body is not JSON"),
        ("[]", -32600, "body", "must be one object"),
        ("{}", -32600, "jsonrpc", "is missing"),
        ('{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, "jsonrpc", "must be '2.0'"),
        ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "id", "must be a text or a whole"),
        ('{"jsonrpc":"2.0","id":7,"method":7}', -32600, "method", "must be a text"),
        ('{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', -32600, "id", "stands twice"),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32600, "params", "an object"),
        (a_call(), -32602, "params.name", "is missing"),
        (a_call(name=7), -32602, "params.name", "must be a text"),
        (a_call(name="ask", arguments=[]), -32602, "params.arguments", "must be an object"),
        (
            a_call(name="ask", arguments={"task": "\ud800"}),
            -32602,
            "params.arguments.task",
            "lone surrogate",
        ),
        (a_call("resources/read", uri=5), -32602, "params.uri", "must be a text"),
        (a_call("initialize"), -32602, "params.protocolVersion", "is missing"),
        (a_call("prompts/get", name="x"), -32602, "params.name", "no prompt 'x'"),
        (
            a_call("prompts/get", name="with_memory"),
            -32602,
            "params.arguments.task",
            "is missing",
        ),
    ],
)
async def test_what_is_no_message_is_told_its_field_in_plain_words(
    app, client, body, code, field, words
):
    async with asking(app, token_of(client)) as http:
        answer = await http.post("/mcp", content=body, headers=HEADERS)

    error = answer.json()["error"]
    assert (error["code"], error["data"]["field"]) == (code, field)
    assert field in error["message"]
    assert words in error["message"]
    assert answer.json()["id"] == (7 if code == -32602 else answer.json()["id"])


async def test_an_unknown_version_is_told_which_there_are(app, agent_client, namespace):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with asking(app, token_of(await agent_client())) as http:
        headers = HEADERS | {"mcp-protocol-version": "1999-01-01", "mcp-method": "tools/list"}
        answer = await http.post("/mcp", json=LIST | {"params": {"_meta": meta}}, headers=headers)

    assert answer.status_code == 400
    assert "2026-07-28" in answer.text


@EITHER
async def test_a_call_that_is_given_up_leaves_the_server_as_it_was(
    app, client, namespace, reach, monkeypatch
):
    begun = asyncio.Event()

    async def retrieve_for_ever(*_):
        begun.set()
        await asyncio.Event().wait()

    async with reach(app, token_of(client), namespace) as tools:
        with monkeypatch.context() as while_it_runs:
            while_it_runs.setattr("server.mcp.tools.retrieve", retrieve_for_ever)
            given_up = asyncio.create_task(tools.call_tool("ask", {"task": SITUATION}))
            await begun.wait()
            given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)
        assert given_up.cancelled()
        after = await tools.call_tool("search", {"text": SITUATION})

    assert not after.is_error
    listed = await client.get(inside(namespace, "/retrievals"))
    assert listed.json()["total"] == 0


async def test_a_cancellation_of_a_call_that_is_over_is_taken_and_changes_nothing(
    app, client, namespace
):
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    async with asking(app, token_of(client), namespace) as http:
        told = cancelled | {"params": {"requestId": 1, "reason": "enough"}}
        answer = await http.post("/mcp", json=told, headers=HEADERS)
        after = await http.post("/mcp", json=LIST, headers=HEADERS)

    assert (answer.status_code, after.status_code) == (202, 200)


async def test_a_session_of_before_the_idle_hour_is_served_like_any(app, client, namespace):
    """No session is given out, so none can be over: whatever a client kept of one is passed by."""
    async with asking(app, token_of(client), namespace) as http:
        first = await http.post("/mcp", json=LIST, headers=HEADERS)
        later = await http.post("/mcp", json=LIST, headers=HEADERS | {"mcp-session-id": "gone"})

    assert "mcp-session-id" not in first.headers
    assert later.status_code == 200
    assert later.json()["result"] == first.json()["result"]


async def test_an_outcome_by_a_client_that_came_later_counts_for_the_receipt_of_another(
    app, client, namespace
):
    """Nothing that a call needs is kept between two clients."""
    async with over_http(app, token_of(client), namespace) as tools:
        asked = await tools.call_tool("ask", {"task": SITUATION})
    async with over_http(app, token_of(client), namespace, "legacy") as tools:
        told = {"receipt": asked.structured_content["receipt"], "reward": 1}
        reported = await tools.call_tool("report", told)

    assert reported.structured_content["outcomes"][0]["status"] == "accepted"

"""Spans of memory operations, by the library's exporter in memory, and the trace of a request."""

import json
import os
import subprocess
import sys

import pytest
from api_builders import an_ask, an_experience, inside, problem, remembered
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from memory.kernel.errors import Rejected
from server.hosting import refuse_missing_library
from server.otel_door import OtelTracing
from server.settings import Settings
from tests.fixtures.http import a_client, an_app

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
SECRET = "the vault code is 9911"
TASK = {"text": SECRET, "category": "support"}


@pytest.fixture(scope="session")
async def traced_app(database_url, operator_token, tmp_path_factory):
    async with an_app(database_url, tmp_path_factory.mktemp("traced")) as made:
        yield made


@pytest.fixture
def exporter(traced_app):
    return sending(traced_app)


def sending(app, *, with_text=False):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    app.state.shared.tracing = OtelTracing(provider, with_text=with_text)
    return exporter


@pytest.fixture
async def client(traced_app, operator_token):
    async with a_client(traced_app, operator_token) as opened:
        yield opened


def span_of(exporter):
    [span] = exporter.get_finished_spans()
    return span


async def ask(client, slug, headers=None, **changes):
    body = an_ask(task=TASK, **changes)
    answer = await client.post(inside(slug, "/retrievals"), json=body, headers=headers or {})
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def trace_of(client, slug, receipt):
    answer = await client.get(inside(slug, f"/retrievals/{receipt['retrieval_id']}"))
    return answer.json()["trace_id"]


async def test_a_retrieval_is_a_search_in_the_callers_trace(client, namespace, exporter):
    await remembered(client, namespace, situation=SECRET)
    exporter.clear()

    receipt = await ask(client, namespace, TRACEPARENT)

    span = span_of(exporter)
    assert (span.name, span.kind) == ("search_memory", SpanKind.SERVER)
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "memlift",
        "gen_ai.memory.store.id": namespace,
        "gen_ai.memory.record.count": 1,
        "gen_ai.agent.name": "solver",
        "memlift.receipt": receipt["retrieval_id"],
        "memlift.arm": receipt["arm"],
    }
    assert await trace_of(client, namespace, receipt) == TRACE


async def test_a_search_without_a_trace_begins_one_and_a_named_one_is_kept(
    client, namespace, exporter
):
    own = await ask(client, namespace)
    span = span_of(exporter)
    named = await ask(client, namespace, TRACEPARENT, trace_id="mine")

    assert await trace_of(client, namespace, own) == f"{span.context.trace_id:032x}"
    assert await trace_of(client, namespace, named) == "mine"


async def test_what_is_remembered_edited_and_erased_has_a_span_each(client, namespace, exporter):
    note = await remembered(client, namespace, situation=SECRET)
    place = inside(namespace, f"/experiences/{note}")
    edited = await client.patch(place, json={"lesson": "a"}, headers={"if-match": '"1"'})
    assert edited.status_code == 200, edited.text
    await client.post(f"{place}/retire", json={})
    items = {"items": [an_experience(situation=f"case {n}") for n in range(3)]}
    await client.post(inside(namespace, "/experiences/batch"), json=items)
    await client.delete(place)

    told = [
        (
            span.name,
            span.attributes.get("gen_ai.memory.record.id"),
            span.attributes.get("gen_ai.memory.record.count"),
        )
        for span in exporter.get_finished_spans()
    ]
    assert told == [
        ("create_memory", None, 1),
        ("update_memory", note, None),
        ("update_memory", note, None),
        ("create_memory", None, 3),
        ("delete_memory", note, None),
    ]


async def test_a_batch_belongs_to_the_trace_as_a_whole(client, namespace, exporter):
    body = {"items": [an_ask(task=TASK), an_ask(task=TASK, trace_id="mine")]}

    answer = await client.post(
        inside(namespace, "/retrievals/batch"), json=body, headers=TRACEPARENT
    )

    receipts = [one["retrieval"] for one in answer.json()["items"]]
    assert [await trace_of(client, namespace, one) for one in receipts] == [TRACE, "mine"]
    assert span_of(exporter).attributes["gen_ai.memory.record.count"] == 0


async def test_a_refusal_is_told_by_its_code_alone(client, namespace, exporter):
    body = an_ask(agent="x" * 300, task=TASK)

    wrong = await client.post(inside(namespace, "/retrievals"), json=body)
    missing = await client.post(inside("nowhere", "/experiences"), json=an_experience())

    assert problem(missing)[:2] == (404, "namespace_not_found")
    assert problem(wrong)[:2] == (413, "too_large")
    spans = exporter.get_finished_spans()
    assert [span.status.status_code for span in spans] == [StatusCode.ERROR] * 2
    assert [one.attributes["error.type"] for one in spans] == ["too_large", "namespace_not_found"]
    assert [span.events for span in spans] == [(), ()]
    assert SECRET not in "".join(span.to_json() for span in spans)


async def test_texts_are_sent_only_where_the_operator_says_so(client, namespace, traced_app):
    silent = sending(traced_app)
    note = await remembered(client, namespace, situation=SECRET, lesson="turn it left")
    await ask(client, namespace)
    telling = sending(traced_app, with_text=True)
    await ask(client, namespace)
    await remembered(client, namespace, situation="a new case", lesson="ask first")

    assert SECRET not in "".join(span.to_json() for span in silent.get_finished_spans())
    search, creation = (span.attributes for span in telling.get_finished_spans())
    assert search["gen_ai.memory.query.text"] == SECRET
    [found] = json.loads(search["gen_ai.memory.records"])
    assert found["id"] == note
    assert found["content"] == {"situation": SECRET, "lesson": "turn it left"}
    assert found["score"] >= 0
    contents = [{"content": {"situation": "a new case", "lesson": "ask first"}}]
    assert json.loads(creation["gen_ai.memory.records"]) == contents


async def test_without_spans_the_header_alone_names_the_trace(client, namespace, traced_app):
    traced_app.state.shared.tracing = None

    known = await ask(client, namespace, TRACEPARENT)
    unknown = [
        await ask(client, namespace, {"traceparent": wrong})
        for wrong in (
            f"ff-{TRACE}-{PARENT}-01",
            f"00-{'0' * 32}-{PARENT}-01",
            f"00-{TRACE}-{'0' * 16}-01",
            f"00-{TRACE.upper()}-{PARENT}-01",
            "nonsense",
        )
    ]

    assert await trace_of(client, namespace, known) == TRACE
    assert [await trace_of(client, namespace, one) for one in unknown] == [None] * 5


async def test_a_result_of_the_span_finds_the_retrieval(client, namespace, exporter):
    receipt = await ask(client, namespace)
    trace = f"{span_of(exporter).context.trace_id:032x}"

    told = await client.post(
        inside(namespace, "/outcomes"), json={"trace_id": trace, "reward": 1.0}
    )

    assert [one["retrieval_id"] for one in told.json()["items"]] == [receipt["retrieval_id"]]


@pytest.mark.parametrize("within", ["header", "protocol"])
async def test_a_tool_belongs_to_the_trace_of_its_call(client, namespace, exporter, within):
    headers = {
        "accept": "application/json, text/event-stream",
        "host": "127.0.0.1:8000",
        "memlift-namespace": namespace,
    }
    said = {"name": "ask", "arguments": {"task": SECRET, "agent": "solver"}}
    if within == "header":
        headers |= TRACEPARENT
    else:
        said["_meta"] = TRACEPARENT
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": said}

    answer = await client.post("/mcp", json=body, headers=headers)

    told = answer.json()["result"]["structuredContent"]
    span = span_of(exporter)
    assert (span.name, f"{span.context.trace_id:032x}") == ("search_memory", TRACE)
    assert span.attributes["gen_ai.memory.store.id"] == namespace
    assert await trace_of(client, namespace, {"retrieval_id": told["receipt"]}) == TRACE


def test_a_server_without_spans_imports_nothing_that_sends_them():
    code = (
        "import sys, server.app; names = ('opentelemetry.sdk', 'opentelemetry.proto', 'google.'); "
        "print([name for name in sys.modules if name.startswith(names)])"
    )
    variables = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("setting", [{"tracing": True}, {"evaluations": "*"}])
def test_a_setting_without_its_library_is_found_out_before_anything_starts(
    setting, tmp_path, monkeypatch
):
    refuse_missing_library(Settings(data=tmp_path, **setting))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    [name] = setting
    with pytest.raises(Rejected, match=f"MEMLIFT_{name.upper()} needs the extra otel"):
        refuse_missing_library(Settings(data=tmp_path, **setting))

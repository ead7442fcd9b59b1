"""Spans of the client by OpenTelemetry's exporter in memory, and what a process without it pays."""

import json
import os
import subprocess
import sys

import httpx
import pytest
from memlift_client import (
    AsyncMemLift,
    ConnectionFailed,
    MemLift,
    MemLiftProblem,
    Retrieval,
    RetryPolicy,
)
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from scripted_server import QUICK, REMEMBERED, Script, a_problem, an_answer

from tests.fixtures.answers import a_document

URL = "https://memlift.test"
TEXT = "the vault code is 9911"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SERVED = a_document(Retrieval, retrieval_id="r-1", arm="on")


@pytest.fixture
def exporter(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # What a process sets once, for one test.
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def a_client(script, retry_policy=QUICK):
    transport = script.transport()
    return MemLift(URL, "ml_k", "shop", retry_policy=retry_policy, transport=transport)


def span_of(exporter):
    [span] = exporter.get_finished_spans()
    return span


def test_a_retrieval_is_a_span_whose_trace_goes_to_the_server(exporter):
    script = Script(an_answer(201, SERVED))
    with trace.get_tracer("agent").start_as_current_span("run") as outer:
        a_client(script).retrieve(TEXT, agent="bot")
    inner, _ = exporter.get_finished_spans()

    assert (inner.name, inner.kind) == ("search_memory", SpanKind.CLIENT)
    assert inner.parent.span_id == outer.get_span_context().span_id
    assert dict(inner.attributes) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "memlift",
        "gen_ai.memory.store.id": "shop",
        "gen_ai.agent.name": "bot",
        "server.address": "memlift.test",
        "server.port": 443,
        "gen_ai.memory.record.count": len(SERVED["memories"]),
        "memlift.receipt": "r-1",
        "memlift.arm": "on",
    }
    trace_id, span_id = inner.context.trace_id, inner.context.span_id
    flags = int(inner.context.trace_flags)
    named = f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"
    assert script.heads("traceparent") == [named]


async def test_the_async_client_does_the_same(exporter):
    script = Script(an_answer(201, REMEMBERED))
    transport = httpx.MockTransport(script)
    async with AsyncMemLift(URL, "ml_k", retry_policy=QUICK, transport=transport) as memory:
        await memory.remember(agent="bot", situation=TEXT, lesson="turn it left")

    span = span_of(exporter)
    assert (span.name, span.attributes["gen_ai.memory.record.count"]) == ("create_memory", 1)
    assert script.heads("traceparent")[0].split("-")[1] == f"{span.context.trace_id:032x}"


def test_a_repeated_attempt_is_inside_one_span(exporter):
    script = Script(a_problem(503, "server_busy"), an_answer(201, SERVED))

    a_client(script).retrieve(TEXT)

    assert span_of(exporter).status.status_code is StatusCode.UNSET
    assert len(set(script.heads("traceparent"))) == 1


def test_what_goes_wrong_is_told_by_its_code_alone(exporter):
    refused = a_client(Script(a_problem(404, "memory_not_found", detail=TEXT)))
    with pytest.raises(MemLiftProblem):
        refused.retire("m-1")
    silent = a_client(Script(httpx.ConnectError(TEXT)), RetryPolicy(attempts=1))
    with pytest.raises(ConnectionFailed):
        silent.erase_experience("m-2")

    told = [
        (span.name, span.attributes["gen_ai.memory.record.id"], span.attributes["error.type"])
        for span in exporter.get_finished_spans()
    ]
    assert told == [
        ("update_memory", "m-1", "memory_not_found"),
        ("delete_memory", "m-2", "ConnectionFailed"),
    ]
    assert TEXT not in "".join(span.to_json() for span in exporter.get_finished_spans())


@pytest.mark.parametrize(("setting", "told"), [("", False), ("no_content", False), ("true", True)])
def test_texts_are_in_spans_only_where_the_environment_says_so(
    exporter, monkeypatch, setting, told
):
    monkeypatch.setenv(CONTENT, setting)

    a_client(Script(an_answer(201, SERVED))).retrieve(TEXT)

    attributes = span_of(exporter).attributes
    assert (attributes.get("gen_ai.memory.query.text") == TEXT) is told
    assert ("gen_ai.memory.records" in attributes) is told
    if told:
        ids = [one["id"] for one in json.loads(attributes["gen_ai.memory.records"])]
        assert ids == [one["memory_id"] for one in SERVED["memories"]]


def test_other_calls_are_no_memory_operations_and_stay_in_the_trace(exporter):
    script = Script(an_answer(200, {"items": []}))
    with trace.get_tracer("agent").start_as_current_span("run") as outer:
        a_client(script).list_jobs()

    assert span_of(exporter).name == "run"
    named = f"{outer.get_span_context().span_id:016x}"
    assert script.heads("traceparent")[0].split("-")[2] == named


def test_a_process_without_opentelemetry_imports_nothing_of_it():
    code = (
        "import sys, httpx, memlift_client as c; "
        "t = httpx.MockTransport(lambda r: httpx.Response(200, json={'items': []})); "
        "c.MemLift('http://m', transport=t).list_jobs(); "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    variables = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr

"""Results of evaluations over OTLP/HTTP: what is taken, what is refused, and how that is said."""

import gzip
import json
from collections.abc import AsyncGenerator

import pytest
from api_builders import inside, problem, remembered, retrieved
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from tests.fixtures.http import a_client, an_app

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER = "0af7651916cd43dd8448eb211c80319c"
SITUATION = "a customer asks to cancel an order"
PROTOBUF = "application/x-protobuf"


@pytest.fixture(scope="session")
async def sink_app(database_url, operator_token, tmp_path_factory):
    data = tmp_path_factory.mktemp("sink")
    limits = {"max_body_bytes": 64 * 1024, "evaluations": "Correctness, Tone"}
    async with an_app(database_url, data, **limits) as made:
        yield made


@pytest.fixture
async def sink(sink_app, operator_token, namespace) -> AsyncGenerator:
    """The operator's client; what it exports goes to the fresh namespace."""
    async with a_client(sink_app, operator_token) as opened:
        opened.headers["MemLift-Namespace"] = namespace
        yield opened


def a_record(trace=TRACE, name="Correctness", **said):
    """A record in the JSON of OTLP."""
    given = {"gen_ai.evaluation.name": name} | said
    kinds = {str: "stringValue", float: "doubleValue", bool: "boolValue", int: "intValue"}
    return {
        "eventName": "gen_ai.evaluation.result",
        "traceId": trace,
        "spanId": "00f067aa0ba902b7",
        "attributes": [
            {"key": key, "value": {kinds[type(value)]: value}} for key, value in given.items()
        ],
    }


def scored(value=1.0, **changes):
    return a_record(**changes, **{"gen_ai.evaluation.score.value": value})


def labelled(label, **changes):
    return a_record(**changes, **{"gen_ai.evaluation.score.label": label})


def a_request(*records):
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [*records]}]}]}


def in_protobuf(*records):
    request = ExportLogsServiceRequest()
    logs = request.resource_logs.add().scope_logs.add().log_records
    for record in records:
        made = logs.add(
            event_name=record["eventName"],
            trace_id=bytes.fromhex(record["traceId"]),
            span_id=bytes.fromhex(record["spanId"]),
        )
        for one in record["attributes"]:
            [(kind, value)] = one["value"].items()
            pair = made.attributes.add(key=one["key"])
            setattr(pair.value, kind.replace("Value", "_value"), value)
    return request.SerializeToString()


async def export(client, *records, **headers):
    """The partial success of an answer, which is empty where all were taken."""
    content = in_protobuf(*records)
    answer = await client.post(
        "/v1/logs", content=content, headers={"content-type": PROTOBUF} | headers
    )
    assert (answer.status_code, answer.headers["content-type"]) == (200, PROTOBUF), answer.text
    said = ExportLogsServiceResponse.FromString(answer.content)
    assert said.HasField("partial_success") == bool(said.partial_success.rejected_log_records)
    return said.partial_success


async def a_run(client, slug, trace=TRACE, **changes):
    task = {"text": SITUATION, "category": "support"}
    return await retrieved(client, slug, task=task, arm="on", trace_id=trace, **changes)


async def rewards(client, slug):
    items = (await client.get(inside(slug, "/outcomes"))).json()["items"]
    return sorted(one["reward"] for one in items)


async def counted(client, result):
    text = (await client.get("/metrics")).text
    lines = [
        line for line in text.splitlines() if f'evaluations_total{{result="{result}"}}' in line
    ]
    return float(lines[0].split()[-1]) if lines else 0.0


async def test_a_result_moves_what_was_served_in_its_trace(sink, namespace):
    note = await remembered(sink, namespace, situation=SITUATION)
    await a_run(sink, namespace)

    refused = await export(sink, scored(0.9))

    assert refused.rejected_log_records == 0
    await sink.post(inside(namespace, "/outcomes/apply"), json={})
    memory = (await sink.get(inside(namespace, f"/experiences/{note}"))).json()
    assert memory["effective_weight"] > 1.0
    [outcome] = (await sink.get(inside(namespace, "/outcomes"))).json()["items"]
    assert (outcome["verifier"], outcome["evaluator"]) == ("judge", "Correctness")


async def test_an_export_that_is_repeated_does_nothing_more(sink, namespace):
    await a_run(sink, namespace)

    first = await export(sink, scored(0.9))
    again = await export(sink, scored(0.9))

    assert (first.rejected_log_records, again.rejected_log_records) == (0, 0)
    assert await rewards(sink, namespace) == [0.9]


async def test_json_is_taken_and_answered_in_kind(sink, namespace):
    await a_run(sink, namespace, TRACE)
    await a_run(sink, namespace, OTHER)
    older = labelled("fail", trace=OTHER.upper())
    older.pop("eventName")
    event = {"key": "event.name", "value": {"stringValue": "gen_ai.evaluation.result"}}
    older["attributes"].append(event)
    body = a_request(scored(1), older, labelled("pass", trace="")) | {"someday": 1}

    answer = await sink.post("/v1/logs", json=body)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    told = answer.json()["partialSuccess"]
    assert told == {"rejectedLogRecords": "1", "errorMessage": "1 no_trace: it belongs to no trace"}
    assert await rewards(sink, namespace) == [0.0, 1.0]
    assert (await sink.post("/v1/logs", json=a_request())).json() == {}


async def test_what_is_refused_is_counted_with_the_reason_and_holds_up_nothing(sink, namespace):
    await a_run(sink, namespace, TRACE)
    for agent in ("solver", "other"):
        await a_run(sink, namespace, OTHER, agent=agent)
    odd = scored() | {"eventName": "http.request"}
    failed = scored(**{"error.type": "timeout"})
    records = [
        *(odd, odd, scored(name="Speed"), a_record(), labelled("so-so"), failed),
        *(scored(4.0), scored("high"), scored(float("nan")), scored(trace=OTHER)),
        *(scored(trace="f" * 32), scored(0.25)),
    ]
    before = await counted(sink, "out_of_range"), await counted(sink, "taken")

    refused = await export(sink, *records)

    assert refused.rejected_log_records == 11
    said = refused.error_message
    for words in (
        "2 other_event: only events gen_ai.evaluation.result are taken",
        "1 other_name: gen_ai.evaluation.name must be one of Correctness, Tone",
        "2 no_score: without gen_ai.evaluation.score.value, gen_ai.evaluation.score.label must be",
        "1 evaluation_failed",
        "3 out_of_range: gen_ai.evaluation.score.value must lie in 0…1",
        "1 ambiguous_key",
        "1 retrieval_not_found",
    ):
        assert words in said
    assert await rewards(sink, namespace) == [0.25]
    after = await counted(sink, "out_of_range"), await counted(sink, "taken")
    assert (after[0] - before[0], after[1] - before[1]) == (3, 1)


async def test_a_key_of_one_namespace_needs_no_header_and_claims_no_more_than_it_may(
    sink_app, sink, namespace
):
    await a_run(sink, namespace)
    body = {"role": "agent", "name": "bot", "namespace": namespace}
    key = (await sink.post("/v1/keys", json=body)).json()["token"]

    async with a_client(sink_app, key) as own:
        stranger = await export(own, scored())
        await a_run(own, namespace, OTHER)
        mine = await export(own, scored(0.5, trace=OTHER))

    assert "retrieval_not_found" in stranger.error_message
    assert mine.rejected_log_records == 0
    [outcome] = (await sink.get(inside(namespace, "/outcomes"))).json()["items"]
    assert (outcome["reward"], outcome["verifier"]) == (0.5, "self")


async def test_gzip_is_read_within_the_limit_of_a_body(sink, namespace):
    await a_run(sink, namespace)
    zipped = {"content-type": PROTOBUF, "content-encoding": "gzip"}
    good, bomb = gzip.compress(in_protobuf(scored())), gzip.compress(b" " * 10**6)

    statuses = [
        (await sink.post("/v1/logs", content=content, headers=zipped)).status_code
        for content in (good, bomb, good[:-9], b"none")
    ]

    assert statuses == [200, 413, 400, 400]
    assert await rewards(sink, namespace) == [1.0]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"\xff\xff", PROTOBUF, 400),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"resourceLogs": 1}', "application/json", 400),
        (json.dumps(a_request({"timeUnixNano": "x"})).encode(), "application/json", 400),
        (b"[" * 20_000, "application/json", 400),
        (b'{"a":' * 10_000, "application/json", 400),
    ],
)
async def test_what_cannot_be_read_is_a_bad_request_in_the_form_it_came(
    sink, content, kind, status
):
    answer = await sink.post("/v1/logs", content=content, headers={"content-type": kind})

    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    text = (
        answer.json()["message"] if kind != PROTOBUF else Status.FromString(answer.content).message
    )
    assert text.startswith("the body is ")
    assert "literal" not in text
    assert "iterable" not in text


@pytest.mark.parametrize("bad", ["zz", "abcd", 5, TRACE[1:], f"{TRACE}00"])
async def test_a_record_whose_trace_is_none_is_refused_alone(sink, namespace, bad):
    await a_run(sink, namespace)
    odd_span = scored(0.5) | {"spanId": "zz"}

    answer = await sink.post("/v1/logs", json=a_request(scored(trace=bad), odd_span))

    assert answer.status_code == 200
    assert answer.json()["partialSuccess"] == {
        "rejectedLogRecords": "1",
        "errorMessage": "1 bad_trace: traceId must be 32 hexadecimal digits",
    }
    assert await rewards(sink, namespace) == [0.5]


async def test_a_trace_of_another_length_is_refused_in_protobuf_too(sink):
    said = await export(sink, scored(trace="abcd"))

    assert said.error_message == "1 bad_trace: traceId must be 32 hexadecimal digits"


async def test_more_records_than_a_request_may_hold_are_refused_with_the_limit(sink, namespace):
    await a_run(sink, namespace)
    record = ExportLogsServiceRequest.FromString(in_protobuf({**scored(), "attributes": []}))
    content = [record.resource_logs[0].scope_logs[0].log_records[0]] * 513
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.extend(content)
    headers = {"content-type": PROTOBUF}

    answer = await sink.post("/v1/logs", content=request.SerializeToString(), headers=headers)

    assert answer.status_code == 413
    said = Status.FromString(answer.content).message
    assert said == "logRecords: 513 in one request; the limit is 512"


async def test_a_caller_that_has_left_has_no_more_of_its_records_taken(
    sink_app, sink, namespace, operator_token
):
    await a_run(sink, namespace)
    named = {
        "content-type": PROTOBUF,
        "authorization": f"Bearer {operator_token}",
        "memlift-namespace": namespace,
        "host": "127.0.0.1",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/logs",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8000),
        "scheme": "http",
    }
    body = {"type": "http.request", "body": in_protobuf(scored(0.5)), "more_body": False}
    messages = [body, {"type": "http.disconnect"}]

    async def receive():
        return messages.pop(0) if len(messages) > 1 else messages[0]

    async def send(_):
        """Nobody listens."""

    await sink_app(scope, receive, send)

    assert messages == [{"type": "http.disconnect"}]
    assert await rewards(sink, namespace) == []


async def test_who_may_not_report_is_turned_away(sink_app, sink, namespace):
    headers = {"content-type": PROTOBUF}
    body = {"role": "reader", "name": "eye", "namespace": namespace}
    key = (await sink.post("/v1/keys", json=body)).json()["token"]

    async with a_client(sink_app, key) as reader, a_client(sink_app, None) as nobody:
        forbidden = await reader.post("/v1/logs", content=in_protobuf(scored()), headers=headers)
        unknown = await nobody.post("/v1/logs", content=in_protobuf(scored()), headers=headers)
    elsewhere = headers | {"MemLift-Namespace": "nowhere"}
    missing = await sink.post("/v1/logs", content=in_protobuf(scored()), headers=elsewhere)
    packed = headers | {"content-encoding": "br"}
    brotli = await sink.post("/v1/logs", content=b"x", headers=packed)

    statuses = [one.status_code for one in (forbidden, unknown, missing, brotli)]
    assert statuses == [403, 401, 404, 415]
    assert "MemLift-Namespace" in Status.FromString(missing.content).message


async def test_other_bodies_and_methods_are_refused(sink):
    text = await sink.post("/v1/logs", content=b"x", headers={"content-type": "text/plain"})

    assert problem(text)[:2] == (415, "unsupported_media_type")
    assert "application/x-protobuf or application/json" in text.json()["detail"]
    assert (await sink.get("/v1/logs")).status_code == 405


async def test_without_the_setting_there_is_no_such_route(client):
    headers = {"content-type": PROTOBUF}

    answer = await client.post("/v1/logs", content=in_protobuf(scored()), headers=headers)

    assert answer.status_code == 404

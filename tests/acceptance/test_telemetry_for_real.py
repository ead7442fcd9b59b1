"""Real server, real model, OpenTelemetry's own exporters: a run is traced from the agent through
the server, and its evaluation comes back by the trace.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from memlift_client import MemLift
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import Home, Server

TASK = "Refund invoice 8812 for a customer"
LESSON = "Ask for the number of the order before any money is moved"


@contextmanager
def collecting() -> Generator[tuple[str, list[Span]]]:
    """A collector of spans, and its address."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", find_free_port()), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> trace.Tracer:
    """As a process sets it once, for one test."""
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return provider.get_tracer("agent")


def evaluate(server: Server, context: trace.SpanContext, score: float) -> None:
    """What a library of evaluations does: an event inside the span that it judges."""
    key = server.home.operator_key.read_text().strip()
    exporter = OTLPLogExporter(
        endpoint=f"{server.url}/v1/logs",
        headers={"authorization": f"Bearer {key}", "memlift-namespace": "shop"},
        compression=Compression.Gzip,
    )
    provider = LoggerProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    provider.get_logger("evaluator").emit(
        event_name="gen_ai.evaluation.result",
        context=trace.set_span_in_context(trace.NonRecordingSpan(context)),
        attributes={
            "gen_ai.evaluation.name": "Correctness",
            "gen_ai.evaluation.score.value": score,
        },
    )
    provider.shutdown()


def test_a_run_is_traced_through_the_server_and_its_evaluation_moves_a_weight(
    used_home: Home, begin: Callable[..., Server], tracer: trace.Tracer
):
    with collecting() as (place, spans):
        server = begin(
            used_home,
            MEMLIFT_EVALUATIONS="Correctness",
            MEMLIFT_TRACING="true",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=place,
            OTEL_SERVICE_NAME="memory",
        ).await_ready()
        settings = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0}
        with server.client() as operator:
            operator.create_namespace("shop", settings=settings)
        with MemLift.from_home(used_home.data, "shop", agent="bot") as memory:
            note = memory.remember(agent="author", situation=TASK, lesson=LESSON)
            with tracer.start_as_current_span("run") as run:
                receipt = memory.retrieve(TASK, arm="on").receipt
            context = run.get_span_context()
            evaluate(server, context, 0.9)
            memory.apply_outcomes()
            [outcome] = memory.list_outcomes(retrieval_id=receipt).items
            weight = memory.get_experience(note.id).effective_weight
        assert server.stop() == 0

    assert (outcome.reward, outcome.evaluator) == (0.9, "Correctness")
    assert weight > 1
    [search] = [span for span in spans if span.name == "search_memory"]
    assert search.trace_id.hex() == f"{context.trace_id:032x}"
    said = {pair.key: pair.value.string_value for pair in search.attributes}
    assert said["memlift.receipt"] == receipt
    assert TASK not in str(spans)

"""The door to OpenTelemetry's library; needs the extra `otel`, and is imported where spans are
sent alone.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memory.kernel.errors import MemoryFault
from server.tracing import Attributes

NAME = "memlift"
PROPAGATOR = TraceContextTextMapPropagator()


class OtelTracing:
    """Spans by a provider of its own; `OTEL_…` variables say where they go and how many."""

    def __init__(self, provider: TracerProvider, *, with_text: bool = False) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME)
        self._with_text = with_text

    @classmethod
    def configured(cls, *, with_text: bool) -> "OtelTracing":
        """As the environment says, by OTLP over HTTP."""
        resource = Resource.create()
        if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: NAME}))
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider, with_text=with_text)

    @property
    def with_text(self) -> bool:
        return self._with_text

    @contextmanager
    def operation(
        self, name: str, carrier: Mapping[str, str], attributes: Attributes
    ) -> Generator[None]:
        """A fault is told by its code alone: its sentence may hold what a caller wrote."""
        inside = trace.get_current_span().get_span_context().is_valid
        with self._tracer.start_as_current_span(
            name,
            context=None if inside else PROPAGATOR.extract(carrier),
            kind=SpanKind.INTERNAL if inside else SpanKind.SERVER,
            attributes={"gen_ai.operation.name": name, "gen_ai.provider.name": NAME, **attributes},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except MemoryFault as fault:
                _fail(span, fault.kind)
                raise
            except Exception as fault:
                _fail(span, type(fault).__name__)
                raise

    def note(self, attributes: Attributes) -> None:
        """More of the operation that is under way."""
        trace.get_current_span().set_attributes(attributes)

    def trace_id(self) -> str | None:
        """The trace of the operation that is under way, in 32 hexadecimal digits."""
        context = trace.get_current_span().get_span_context()
        return trace.format_trace_id(context.trace_id) if context.is_valid else None

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)

"""Who calls a tool, and how a refusal is told to the model."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from opentelemetry.trace import format_trace_id, get_current_span
from pydantic import Field

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.fields import Nested
from memory.memories.filter_entities import RetrievalFilter
from memory.tenancy.entities import Call
from memory.tenancy.namespace_settings import Rerank
from server.metrics import Meters
from server.tracing import STORE, Tracing, trace_named

ANYBODY = "agent"
"""Who asks, where neither the call nor the key says."""

AgentParameter = Annotated[
    str | None, Field(description="Who acts; by default the agent that the key is bound to.")
]
CategoryParameter = Annotated[
    str | None, Field(description="The kind of task; by default the nearest.")
]
RerankParameter = Annotated[
    Rerank | None,
    Field(description="fused: shared words find and order notes too; none: meaning alone."),
]


FilterParameter = Annotated[
    Annotated[RetrievalFilter, Nested] | None,
    Field(description="Only memories that match it; by default all that the agent may see."),
]
Reward = Annotated[float, Field(ge=0, le=1, description="How it went: 0 failed … 1 succeeded.")]


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls a tool, and where."""

    engine: Engine
    call: Call
    meters: Meters
    tracing: Tracing | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @contextmanager
    def operation(self, name: str) -> Generator[None]:
        """A span around what a tool does, where spans are sent."""
        if self.tracing is None:
            yield
            return
        store = {STORE: self.call.namespace.slug}
        with self.tracing.operation(name, self.headers, store):
            yield

    def trace(self) -> str | None:
        """The trace that the call belongs to: what the protocol says of it, or the request."""
        context = get_current_span().get_span_context()
        own = format_trace_id(context.trace_id) if context.is_valid else None
        return own or trace_named(self.headers)

    def agent(self, named: str | None) -> str:
        """The agent that is named, else the only one that the key speaks for."""
        if named is not None:
            return named
        agents = self.call.key.agents
        if agents is not None and len(agents) > 1:
            raise Rejected(
                f"this key speaks for several agents: name one of {', '.join(agents)}",
                field="agent",
                limit=list(agents),
            )
        return next(iter(agents or ()), ANYBODY)


CALLER: ContextVar[ToolCaller] = ContextVar("memlift_tool_caller")
"""Set around each request by who let it in."""


@contextmanager
def told_to_the_model(**arguments: str) -> Generator[ToolCaller]:
    """Who calls; a refusal becomes the tool's error, in one line. `arguments`: what the tool calls
    fields that have another name in the noun.
    """
    caller = CALLER.get()
    try:
        yield caller
    except MemoryFault as fault:
        if fault.field in arguments:
            fault.under(arguments[fault.field])
        caller.meters.faults.labels(fault.kind).inc()
        raise ToolError(in_words(fault)) from fault


def in_words(fault: MemoryFault) -> str:
    parts = [
        f"{name}: {value}"
        for name, value in (("field", fault.field), ("limit", fault.limit))
        if value is not None
    ]
    return f"{fault.kind}: {fault.detail}" + (f" ({'; '.join(parts)})" if parts else "")

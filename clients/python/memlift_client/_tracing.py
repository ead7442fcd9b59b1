"""The caller's trace of OpenTelemetry: a span around each memory operation, and the trace's name in
the header of each request, which makes it the `trace_id` of a retrieval.

Nothing is imported: a process that does not use OpenTelemetry itself has no spans and pays nothing.
Texts are in spans only where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from memlift_client import _models as m
from memlift_client._answers import BatchItem
from memlift_client._faults import MemLiftProblem
from memlift_client._wire import Request

API = "opentelemetry.trace"
NAME = "memlift"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
WITH_CONTENT = ("true", "span_only", "span_and_event")
INSIDE = re.compile(r"/v1/namespaces/([^/]+)(/.*)")
OPERATIONS = (
    ("search_memory", re.compile(r"POST /retrievals(/batch)?")),
    (
        "create_memory",
        re.compile(r"POST /(experiences(/batch|/import)?|constraints|meta-guidelines)"),
    ),
    (
        "update_memory",
        re.compile(
            r"PATCH /(experiences|meta-guidelines)/(?P<id>[^/]+)"
            r"|POST /[a-z-]+/(?P<its>[^/]+)/(suspend|retire|restore|merge|trust)"
            r"|POST /memories/bulk"
        ),
    ),
    ("delete_memory", re.compile(r"DELETE /experiences/(?P<id>[^/]+)")),
)
Found = Callable[[object], None]


def trace_headers() -> dict[str, str]:
    """Of the span that is under way, by W3C Trace Context; none without one."""
    api: Any = sys.modules.get(API)
    context = None if api is None else api.get_current_span().get_span_context()
    if context is None or not context.is_valid:
        return {}
    flags = int(context.trace_flags)
    named = {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"}
    state = context.trace_state.to_header()
    return named | ({"tracestate": state} if state else {})


@contextmanager
def traced(request: Request, url: str) -> Generator[Found]:
    """A span around a memory operation; what is given is to be called with its result."""
    api: Any = sys.modules.get(API)
    known = None if api is None else _operation(request)
    if api is None or known is None:
        yield _nothing
        return
    name, attributes = known
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    attributes |= {"server.address": str(place.hostname), "server.port": port}
    with api.get_tracer(NAME).start_as_current_span(
        name,
        kind=api.SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield lambda result: span.set_attributes(_of_result(result))
        except Exception as fault:
            kind = fault.code if isinstance(fault, MemLiftProblem) else type(fault).__name__
            span.set_attribute("error.type", kind)
            span.set_status(api.StatusCode.ERROR)
            raise


def _nothing(_: object) -> None:
    """Nobody asks."""


def _operation(request: Request) -> tuple[str, dict[str, str | int]] | None:
    """The name of what is asked, by the conventions, and what is known of it before."""
    inside = INSIDE.fullmatch(request.path)
    if inside is None:
        return None
    for name, pattern in OPERATIONS:
        if found := pattern.fullmatch(f"{request.method} {inside[2]}"):
            said: dict[str, str | int] = {
                "gen_ai.operation.name": name,
                "gen_ai.provider.name": NAME,
                "gen_ai.memory.store.id": inside[1],
            }
            for one in filter(None, found.groupdict().values()):
                said["gen_ai.memory.record.id"] = one
            return name, said | _of_request(name, request)
    return None


def _of_request(name: str, request: Request) -> dict[str, str | int]:
    body = cast("Mapping[str, Any]", json.loads(request.content or b"{}"))
    said: dict[str, str | int] = {}
    if name == "create_memory":
        said["gen_ai.memory.record.count"] = len(body.get("items", (1,)))
    if "agent" in body:
        said["gen_ai.agent.name"] = body["agent"]
    if name == "search_memory" and _with_content() and (task := body.get("task")):
        said["gen_ai.memory.query.text"] = task["text"]
    return said


def _of_result(result: object) -> dict[str, str | int]:
    """What was found, where it was a search."""
    rows = cast("tuple[object, ...]", result) if isinstance(result, tuple) else (result,)
    values = [one.value if isinstance(one, BatchItem) else one for one in rows]
    searches = [one for one in values if isinstance(one, m.Retrieval)]
    if not searches:
        return {}
    memories = [memory for one in searches for memory in one.memories]
    said: dict[str, str | int] = {"gen_ai.memory.record.count": len(memories)}
    if isinstance(result, m.Retrieval):
        said |= {"memlift.arm": result.arm}
        said |= {"memlift.receipt": result.retrieval_id} if result.retrieval_id else {}
    if _with_content():
        records = [
            {
                "id": one.memory_id,
                "content": {"situation": one.situation, "lesson": one.lesson},
                "score": one.score,
            }
            for one in memories
        ]
        said["gen_ai.memory.records"] = json.dumps(records)
    return said


def _with_content() -> bool:
    return os.environ.get(CONTENT, "").lower() in WITH_CONTENT

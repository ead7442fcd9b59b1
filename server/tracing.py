"""Spans of memory operations, and the trace that a request belongs to.

What is said of an operation is named by OpenTelemetry's conventions for memory (`gen_ai.memory.*`);
texts only where the operator says so. The library stands behind a port, and is imported where spans
are sent alone; the trace of a request is read without it.
"""

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from memory.memories.entities import ExperienceDraft
from memory.retrieval.entities import Advice, RetrievalRequest
from server.settings import Settings

TRACEPARENT = "traceparent"
# W3C Trace Context: version, trace, parent, flags; later versions may add more behind.
CONTEXT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?"
)

SEARCH, CREATE, UPDATE, DELETE = "search_memory", "create_memory", "update_memory", "delete_memory"
OPERATIONS: Mapping[str, str] = {
    "create_retrieval": SEARCH,
    "create_retrievals": SEARCH,
    "add_experience": CREATE,
    "add_experiences": CREATE,
    "import_experiences": CREATE,
    "add_constraint": CREATE,
    "add_meta_guideline": CREATE,
    "edit_experience": UPDATE,
    "edit_meta_guideline": UPDATE,
    "merge_experience": UPDATE,
    "change_trust": UPDATE,
    "change_memories": UPDATE,
    **{
        f"{action}_{kind}": UPDATE
        for action in ("suspend", "retire", "restore")
        for kind in ("experience", "constraint", "meta_guideline")
    },
    "erase_experience": DELETE,
}
"""Routes that are memory operations; the others have no name in the conventions."""

STORE = "gen_ai.memory.store.id"
RECORD = "gen_ai.memory.record.id"
COUNT = "gen_ai.memory.record.count"
QUERY = "gen_ai.memory.query.text"
RECORDS = "gen_ai.memory.records"
AGENT = "gen_ai.agent.name"
RECEIPT = "memlift.receipt"
ARM = "memlift.arm"
# Of paths, the names of the conventions.
PATH_NAMES = {"namespace": STORE, "memory_id": RECORD}

Attributes = Mapping[str, str | int]


class Tracing(Protocol):
    """Sends spans."""

    @property
    def with_text(self) -> bool:
        """Whether they may hold texts."""
        ...

    def operation(
        self, name: str, carrier: Mapping[str, str], attributes: Attributes
    ) -> AbstractContextManager[None]:
        """A span around a memory operation, in the trace that the headers name."""
        ...

    def note(self, attributes: Attributes) -> None:
        """More of the operation that is under way."""
        ...

    def trace_id(self) -> str | None:
        """The trace of the operation that is under way."""
        ...

    def close(self) -> None:
        """Send what is left; waits."""
        ...


def open_tracing(settings: Settings) -> Tracing | None:
    """None where no spans are sent."""
    if not settings.tracing:
        return None
    door: Any = importlib.import_module("server.otel_door")
    return door.OtelTracing.configured(with_text=settings.tracing_text)


def trace_named(headers: Mapping[str, str]) -> str | None:
    """The trace of a request by its header, in 32 hexadecimal digits."""
    found = CONTEXT.fullmatch(headers.get(TRACEPARENT, "").strip())
    return None if found is None else found.group(1)


def attributes_of(path: Mapping[str, object]) -> Attributes:
    """What the parameters of a path say."""
    return {PATH_NAMES[name]: str(value) for name, value in path.items() if name in PATH_NAMES}


def note_search(
    tracing: Tracing | None, requests: Sequence[RetrievalRequest], advices: Sequence[Advice]
) -> None:
    """What was asked and found."""
    if tracing is None:
        return
    found = [memory for advice in advices for memory in advice.memories]
    said: dict[str, str | int] = {COUNT: len(found)}
    if len(requests) == 1:
        said[AGENT] = requests[0].agent
    if len(advices) == 1 and not advices[0].receipt.is_preview:
        said |= {RECEIPT: str(advices[0].receipt.retrieval_id), ARM: advices[0].receipt.arm}
    if tracing.with_text:
        task = requests[0].task if len(requests) == 1 else None
        said |= {} if task is None else {QUERY: task.text}
        said[RECORDS] = json.dumps(
            [
                {
                    "id": str(one.memory_id),
                    "content": {"situation": one.situation, "lesson": one.lesson},
                    "score": one.score,
                }
                for one in found
            ]
        )
    tracing.note(said)


def note_creation(tracing: Tracing | None, drafts: Sequence[ExperienceDraft]) -> None:
    """What was to be remembered."""
    if tracing is None:
        return
    said: dict[str, str | int] = {COUNT: len(drafts)}
    if tracing.with_text:
        contents = [{"situation": one.situation, "lesson": one.lesson} for one in drafts]
        said[RECORDS] = json.dumps([{"content": one} for one in contents])
    tracing.note(said)

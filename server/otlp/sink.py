"""`POST /v1/logs`: results of evaluations from an OpenTelemetry exporter or collector.

A record is bound by its trace, as a report by key is, with the rules of every report: whose word
counts, what is ambiguous, what was said before. A record that is refused is counted in the answer
and never holds up the others; one that cannot be taken just now turns the whole request away, to be
sent again, and what was taken by then is recognised.
"""

import asyncio
import importlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memory.kernel.errors import MemoryFault, Overloaded, Rejected, TooLarge, Unavailable
from memory.outcomes.by_key import report_by_key
from memory.tenancy.claims import Verifier
from memory.tenancy.entities import Act, Call
from server.authentication import enter_namespace, in_turn
from server.errors import UnsupportedMedia, fault_headers, status_of
from server.middleware import LOGS, media_type
from server.otlp.evaluations import LogRecord, read_names, to_report
from server.routing import PARSED_HERE
from server.shared import Shared

ENCODING = "Content-Encoding"
MAX_RECORDS = 512
"""Records of a request: as many as OpenTelemetry's exporters send at once unless told otherwise."""
MAX_MESSAGE = 2_000
"""Signs of the sentence on what was refused."""


@dataclass(slots=True)
class Taken:
    """What became of the records: a count for each code of refusal, and the first one's words."""

    refused: Counter[str] = field(default_factory=Counter[str])
    words: dict[str, str] = field(default_factory=dict[str, str])

    def refuse(self, fault: MemoryFault) -> None:
        self.refused[fault.kind] += 1
        self.words.setdefault(fault.kind, fault.detail)

    def reasons(self) -> str:
        """`3 other_event: only …; 1 ambiguous_key: …`."""
        parts = [f"{n} {code}: {self.words[code]}" for code, n in self.refused.most_common()]
        return "; ".join(parts)[:MAX_MESSAGE]


class EvaluationSink:
    """Takes results of the evaluations that are named."""

    def __init__(self, shared: Shared, names: str) -> None:
        self._shared = shared
        self._names = read_names(names)
        # Typed by the module it is; it is there where the extra is.
        self._wire: Any = importlib.import_module("server.otlp.wire")

    @property
    def route(self) -> Route:
        """To be added to the application's."""
        return Route(LOGS, endpoint=self, methods=["POST"], name="logs", include_in_schema=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        media = media_type(Headers(scope=scope))
        try:
            call = await enter_namespace(scope, self._shared)
            call.key.require(Act.REPORT)
            request = Request(scope, receive)
            await request.body()
            async with in_turn(scope, self._shared):
                records = await self._records(request, media)
                taken = await self._take(call, records, request)
        except MemoryFault as fault:
            self._shared.meters.faults.labels(fault.kind).inc()
            # What cannot be read is a bad request here, and nothing else is.
            plain = isinstance(fault, Rejected) and not isinstance(fault, TooLarge)
            status = 400 if plain and not isinstance(fault, UnsupportedMedia) else status_of(fault)
            content = self._wire.write_fault(fault.detail, media)
            answer = Response(content, status, fault_headers(fault), media)
        else:
            total = taken.refused.total()
            content = self._wire.write_answer(total, taken.reasons(), media)
            answer = Response(content, media_type=media)
        await answer(scope, receive, send)

    async def _records(self, request: Request, media: str) -> list[LogRecord]:
        encoding = request.headers.get(ENCODING, "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise UnsupportedMedia(f"{ENCODING} must be gzip or identity", field=ENCODING)
        limit = self._shared.settings.max_body_bytes
        body = await request.body()
        if encoding == "gzip":
            body = self._wire.unpacked(body, limit)
        if len(body) <= PARSED_HERE:
            records = self._wire.read_records(body, media)
        else:
            records = await asyncio.to_thread(self._wire.read_records, body, media)
        if len(records) > MAX_RECORDS:
            raise TooLarge(
                f"logRecords: {len(records)} in one request; the limit is {MAX_RECORDS}",
                field="logRecords",
                limit=MAX_RECORDS,
            )
        return records

    async def _take(self, call: Call, records: list[LogRecord], request: Request) -> Taken:
        """What became of the records; the rest is left where the caller has left."""
        taken, engine, meters = Taken(), self._shared.opened(), self._shared.meters
        verifier: Verifier = "self" if call.key.verifies == "self" else "judge"
        for record in records:
            if await request.is_disconnected():
                break
            try:
                bound = await report_by_key(engine, call, to_report(record, self._names, verifier))
            except (Overloaded, Unavailable):
                raise
            except MemoryFault as fault:
                taken.refuse(fault)
                meters.evaluations.labels(fault.kind).inc()
                continue
            meters.evaluations.labels("taken").inc()
            for one in bound:
                meters.count(one.reported)
        return taken

"""What changed in a namespace, by pages and as it happens."""

import json
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from time import monotonic
from typing import Annotated

import anyio
from fastapi import Query, Request, Response
from sse_starlette import ServerSentEvent

from memory.insight.change_entities import BankChange, ChangePage, FeedPosition, ReadChanges
from memory.insight.changes import find_head, gone, has_changes, read_changes
from memory.kernel.engine import Engine
from memory.kernel.errors import Gone, MemoryFault, Rejected
from memory.tenancy.entities import Call
from memory.tenancy.service import require_living
from server.answers import answered, written
from server.authentication import held_until_done, release_place
from server.cursors import SIGNER_BYTES, Cursors, place_of
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.changes import ChangesQuery
from server.shared import Shared, shared_of
from server.streaming import streamed

HEARTBEAT = 15.0
"""Seconds between signs of life, and between looks whether the key still lives."""
STREAM = "text/event-stream"
NEXT = "Last-Event-ID"
PLACE = re.compile(rf"([0-9a-f]{{{2 * SIGNER_BYTES}}})\.([A-Za-z0-9_-]+)")
"""Which key signed a place, and the place."""

changes_router = router_at(f"{INSIDE}/changes", "changes")


@changes_router.get("", response_model=ChangePage)
async def list_changes(
    request: Request, engine: EngineDep, call: Reads, query: Annotated[ChangesQuery, Query()]
) -> Response:
    """What changed after a place; as server-sent events where `Accept` asks for them."""
    places = FeedPlaces(shared_of(request).cursors, call)
    is_stream = STREAM in request.headers.get("accept", "")
    last = request.headers.get(NEXT) if is_stream else None
    try:
        position = places.read(query.after if last is None else last)
        if is_stream:
            return await _stream(request, call, places, position, query.limit)
        found = await read_changes(engine, call, position, query.limit)
    except MemoryFault as fault:
        if last is not None and fault.field == "after":
            fault.under(NEXT)
        raise
    return answered(ChangePage(found.changes, places.write(found.reached), found.has_more))


class FeedPlaces:
    """Places in the feed of a namespace as readers hold them: signed, and good for it alone."""

    def __init__(self, cursors: Cursors, call: Call) -> None:
        self._cursors = cursors
        self._name = place_of(str(call.namespace.id), "changes", [])

    def write(self, position: FeedPosition) -> str:
        until_at = None if position.until_at is None else position.until_at.isoformat()
        read = (position.seen, position.version, position.at.isoformat())
        reading = (position.until, position.until_version, until_at, position.last)
        return f"{self._cursors.signer}.{self._cursors.write((*read, *reading), self._name)}"

    def read(self, text: str | None) -> FeedPosition | None:
        """Raises Rejected for what is no place in this feed, and Gone for a place that a server
        with another secret has given.
        """
        if text is None:
            return None
        signed = PLACE.fullmatch(text)
        if signed is not None and signed[1] != self._cursors.signer:
            raise gone("a server with another secret gave this place")
        try:
            found = self._cursors.read(signed[2] if signed else "", self._name)
        except Rejected as fault:
            said = "after is altered, or from the feed of another namespace"
            raise Rejected(said, code=fault.kind, field="after") from fault
        seen, version, at, until, until_version, until_at, last = found
        return FeedPosition(
            seen=str(seen),
            version=int(str(version)),
            at=datetime.fromisoformat(str(at)),
            until=None if until is None else str(until),
            until_version=int(str(until_version)),
            until_at=None if until_at is None else datetime.fromisoformat(str(until_at)),
            last=int(str(last)),
        )


async def _stream(
    request: Request, call: Call, places: FeedPlaces, position: FeedPosition | None, limit: int
) -> Response:
    shared = shared_of(request)
    place = shared.followers.place(call.namespace.id, call.key.id)
    held_until_done(request.scope).enter_context(place)
    # What cannot be followed any more is refused before the stream begins.
    first = await read_changes(shared.opened(), call, position, limit)
    ending = anyio.Event()
    events = Follower(shared, call, places, limit).events(first, ending, is_new=position is None)
    # From here on it waits, and whoever waits is not served.
    release_place(request.scope)
    return streamed(events, ending, HEARTBEAT)


class Follower:
    """One reader of a stream. Between changes it holds no connection of the pool."""

    def __init__(self, shared: Shared, call: Call, places: FeedPlaces, limit: int) -> None:
        self._shared = shared
        self._engine = shared.opened()
        self._call = call
        self._places = places
        self._limit = limit

    async def events(
        self, found: ReadChanges, ending: anyio.Event, *, is_new: bool
    ) -> AsyncGenerator[ServerSentEvent]:
        """The changes found first, and then what comes, until the reader leaves, its key ends, it
        was too late (`gap`), or the server stops.
        """
        call, seen, checked = self._call, None, monotonic()
        if is_new:
            yield ServerSentEvent("{}", event="begin", id=self._places.write(found.reached))
        look = _Look(self._engine, call)
        async with self._shared.followers.join(call.namespace.id, look) as watch:
            try:
                for event in self._told(found):
                    yield event
                while not ending.is_set():
                    tick = await watch.after(seen, HEARTBEAT, ending)
                    if monotonic() - checked >= HEARTBEAT:
                        await require_living(self._engine, call.key.id, datetime.now(UTC))
                        checked = monotonic()
                        # No event, but where the reader goes on if it comes again.
                        yield ServerSentEvent(id=self._places.write(found.reached))
                    if tick is None and not found.has_more:
                        continue
                    found = await read_changes(self._engine, call, found.reached, self._limit)
                    for event in self._told(found):
                        yield event
                    seen = seen if found.has_more else tick
            except MemoryFault as fault:
                name = "gap" if isinstance(fault, Gone) else "over"
                yield ServerSentEvent(json.dumps({"code": fault.kind}), event=name)

    def _told(self, found: ReadChanges) -> list[ServerSentEvent]:
        return [
            _event_of(change, self._places.write(position))
            for change, position in zip(found.changes, found.positions, strict=True)
        ]


def _event_of(change: BankChange, place: str) -> ServerSentEvent:
    return ServerSentEvent(written(change).decode(), event="change", id=place)


class _Look:
    """Counts how often something was written, for all who follow a namespace."""

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._here = call.namespace.id
        self._position: FeedPosition | None = None
        self._ticks = 0

    async def __call__(self) -> int:
        now = await find_head(self._engine, self._here)
        if now is None:
            # Who follows what is gone is to notice.
            self._ticks += 1
            return self._ticks
        before, self._position = self._position, now
        if before is not None and await has_changes(self._engine, self._here, before.up_to(now)):
            self._ticks += 1
        return self._ticks

"""What changes, as it changes: events for the pages that are looked at."""

import json
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any

import anyio
from fastapi import Response
from sse_starlette import ServerSentEvent

from memory.insight.pulse import get_pulse
from memory.insight.pulse_entities import Pulse
from memory.jobs.service import JOBS
from memory.kernel.errors import MemoryFault, Moved
from memory.tenancy.service import require_session
from server.answers import adapter_of
from server.authentication import held_until_done, release_place
from server.dashboard.guarding import guarded_at, session_of
from server.dashboard.viewer import PageViewer, Reads
from server.shared import shared_of
from server.streaming import streamed
from server.watching import Watches

HEARTBEAT = 15
"""Seconds between signs of life, and between looks whether the session is over."""
NAMES = tuple(job.name for job in JOBS)

router = guarded_at("/dashboard/ns/{namespace}/events")


async def pulse_of(viewer: PageViewer) -> Pulse:
    """What a page shows before any event comes."""
    return await get_pulse(viewer.engine, viewer.call.namespace.id, NAMES)


@router.get("")
async def watch(viewer: Reads) -> Response:
    """Everything once, then what changed, until the page is left, the session is over or the
    namespace has moved.
    """
    request, session_id = viewer.request, session_of(viewer.request)
    watches = shared_of(request).watches
    place = watches.place(viewer.call.namespace.id, sha256(session_id.encode()).digest())
    held_until_done(request.scope).enter_context(place)
    ending = anyio.Event()
    events = _events(viewer, watches, session_id, ending)
    # From here on it waits, and whoever waits is not served.
    release_place(request.scope)
    return streamed(events, ending, HEARTBEAT)


async def _events(
    viewer: PageViewer, watches: Watches[Pulse], session_id: str, ending: anyio.Event
) -> AsyncGenerator[ServerSentEvent]:
    engine, namespace = viewer.engine, viewer.call.namespace
    look = partial(get_pulse, engine, namespace.id, NAMES)
    seen: Pulse | None = None
    checked = monotonic()
    async with watches.join(namespace.id, look) as joined:
        while True:
            try:
                pulse = await joined.after(seen, HEARTBEAT, ending)
            except Moved as fault:
                yield ServerSentEvent(fault.kind, event="over")
                return
            if ending.is_set():
                return
            if monotonic() - checked >= HEARTBEAT:
                try:
                    await require_session(engine, session_id, datetime.now(UTC))
                except MemoryFault as fault:
                    yield ServerSentEvent(fault.kind, event="over")
                    return
                checked = monotonic()
            if pulse is not None:
                yield ServerSentEvent(json.dumps(changes(seen, pulse)), event="changed")
                seen = pulse


def changes(before: Pulse | None, now: Pulse) -> Mapping[str, Any]:
    """The parts that differ, all of them where nothing was seen before."""
    fields = adapter_of(Pulse).dump_python(now, mode="json")
    if before is None:
        return fields
    return {
        name: value for name, value in fields.items() if getattr(before, name) != getattr(now, name)
    }

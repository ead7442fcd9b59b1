"""Watchers of a namespace: one task asks for all of them, and only while somebody watches.

A watcher holds neither a connection of the pool nor a place among the requests; it waits in memory.
How many there are is bounded, by session, by namespace and in the process.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from memory.kernel.errors import MemoryFault, Moved, Overloaded

EVERY_SECONDS = 3.0
MAX_OF_SESSION = 4
"""A browser opens six connections to one server: the pages themselves need the rest."""
MAX_OF_PROCESS = 200
MAX_OF_NAMESPACE = MAX_OF_PROCESS // 4
"""No namespace keeps the watchers of the others out."""

Seen = TypeVar("Seen")
logger = logging.getLogger("memlift.dashboard")


class ServerEnding(Protocol):
    """That the server stops."""

    def is_set(self) -> bool: ...

    async def wait(self) -> object: ...


@dataclass(slots=True, eq=False)
class Watch(Generic[Seen]):
    """What one namespace is seen to be, by a task that looks again and again."""

    latest: Seen | None = None
    watchers: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    ended: Moved | None = None
    """Why nothing more will be seen."""

    async def after(
        self, seen: Seen | None, seconds: float, ending: ServerEnding | None = None
    ) -> Seen | None:
        """What differs from `seen`, as soon as there is one; None where nothing came in time, or
        the server stops. Raises Moved once the namespace has.
        """
        until = monotonic() + seconds
        while self.latest is None or self.latest == seen:
            if self.ended is not None:
                raise Moved(self.ended.url)
            events: list[ServerEnding] = (
                [self.changed] if ending is None else [self.changed, ending]
            )
            left = until - monotonic()
            if left <= 0 or (ending is not None and ending.is_set()):
                return None
            await _first_of(events, left)
        return self.latest

    def see(self, found: Seen) -> None:
        """Wake everybody where something changed."""
        if found != self.latest:
            self.latest = found
            self._wake()

    def end(self, why: Moved) -> None:
        """All who watch are told, and whoever comes later."""
        self.ended = why
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


async def _first_of(events: list[ServerEnding], seconds: float) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


class Watches(Generic[Seen]):
    """The watches of a process, by namespace."""

    def __init__(
        self, every: float = EVERY_SECONDS, watcher: str = "session", watched: str = "pages"
    ) -> None:
        self._every = every
        self._watcher, self._watched = watcher, watched
        self._open: dict[UUID, Watch[Seen]] = {}
        self._by_session: Counter[Hashable] = Counter()
        self._by_namespace: Counter[UUID] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def taken(self) -> int:
        """How many places are taken."""
        return self._by_session.total()

    @contextmanager
    def place(self, namespace_id: UUID, session: Hashable) -> Generator[None]:
        """A place for one watcher, for the block. Raises Overloaded where one more would be too
        many; so it is taken before an answer begins.
        """
        self._require_place(namespace_id, session)
        self._by_session[session] += 1
        self._by_namespace[namespace_id] += 1
        try:
            yield
        finally:
            self._by_session -= Counter([session])
            self._by_namespace -= Counter([namespace_id])

    @asynccontextmanager
    async def join(
        self, namespace_id: UUID, look: Callable[[], Awaitable[Seen]]
    ) -> AsyncGenerator[Watch[Seen]]:
        """The watch of a namespace for the block, for a watcher who has a place."""
        watch = self._open.setdefault(namespace_id, Watch[Seen]())
        watch.watchers += 1
        if watch.task is None:
            watch.task = asyncio.create_task(self._keep_looking(watch, look))
        try:
            yield watch
        finally:
            self._leave(namespace_id, watch)

    def _require_place(self, namespace_id: UUID, session: Hashable) -> None:
        for held, limit, who in (
            (self._by_session[session], MAX_OF_SESSION, f"this {self._watcher} watches"),
            (
                self._by_namespace[namespace_id],
                MAX_OF_NAMESPACE,
                f"the {self._watcher}s of this namespace watch",
            ),
            (self.taken, MAX_OF_PROCESS, f"the {self._watcher}s of this server watch"),
        ):
            if held >= limit:
                raise Overloaded(
                    f"{who} {limit} {self._watched} already",
                    code="too_many_watchers",
                    limit=limit,
                    retry_after=30,
                )

    def _leave(self, namespace_id: UUID, watch: Watch[Seen]) -> None:
        watch.watchers -= 1
        if not watch.watchers and watch.task is not None:
            watch.task.cancel()
            watch.task = None
            self._open.pop(namespace_id, None)

    async def _keep_looking(self, watch: Watch[Seen], look: Callable[[], Awaitable[Seen]]) -> None:
        """A look that fails is tried again: what was seen last stays true of its time. Of a
        namespace that has moved nothing more is to be seen.
        """
        while True:
            try:
                watch.see(await look())
            except Moved as fault:
                logger.info("nobody sees what changes any more: %s", fault.detail)
                watch.end(fault)
                return
            except MemoryFault as fault:
                logger.info(
                    "what changed could not be looked up; open streams show nothing new: %s",
                    fault.detail,
                )
            except Exception:
                logger.exception("looking at what changes failed")
            await asyncio.sleep(self._every)

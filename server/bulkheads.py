"""How many requests of one namespace are worked on at once, so that its callers, however many, do
not fill the process.

There are as many places as transactions at once. A namespace that is alone may have three quarters
of them; while others ask, a few. Who finds none waits here, in the order of coming, and not for a
row, a connection or the processor, where nobody could tell whose turn it is. Where all places are
taken, namespaces take turns. A request that waits for a model steps aside meanwhile
(`kernel.turns.aside`).
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

from memory.kernel.departure import given_up
from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.turns import Askers, placed

BUSY = "namespace_busy"
FULL = "server_busy"
QUARTER = 4

Admission = asyncio.Future[object]


@dataclass(slots=True)
class _Queue:
    """Those of one namespace who wait: who comes back is before who is new."""

    returning: deque[Admission] = field(default_factory=deque[Admission])
    new: deque[Admission] = field(default_factory=deque[Admission])

    def __len__(self) -> int:
        return len(self.returning) + len(self.new)

    def pop(self) -> Admission:
        return (self.returning or self.new).popleft()

    def forget(self, turn: Admission) -> None:
        for waiting in (self.returning, self.new):
            if turn in waiting:
                waiting.remove(turn)


class Bulkheads:
    """The places of one process. All of it runs on the event loop, so nothing needs a lock."""

    def __init__(
        self, total: int, few: int, seconds: float, now: Callable[[], float] = monotonic
    ) -> None:
        self._total = total
        self._most = max(1, total - max(1, total // QUARTER))
        self._few = min(few, self._most)
        self._seconds = seconds
        self._now = now
        self._held: Counter[UUID] = Counter()
        self._queues: OrderedDict[UUID, _Queue] = OrderedDict()
        self._askers: Askers[UUID] = Askers()
        self.under_way = 0
        self.refused = 0
        """How many were refused since the start."""

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return sum(map(len, self._queues.values()))

    def gauges(self) -> dict[str, float]:
        """Requests that are worked on, that wait for a place, and that were refused one."""
        return {
            "calls_under_way": float(self.under_way),
            "calls_waiting": float(self.waiting),
            "calls_refused": float(self.refused),
        }

    @asynccontextmanager
    async def hold(self, namespace_id: UUID) -> AsyncGenerator[None]:
        """A place for the block. Raises Overloaded where the namespace's own requests hold what it
        may have for too long, Unavailable where all places are taken, or where the caller left.
        """
        place = _HeldPlace(self, namespace_id)
        self._askers.note(namespace_id, self._now())
        if self._queues.get(namespace_id) or not self._may_take(namespace_id):
            await self._wait_in_order(namespace_id)
        else:
            self._take(namespace_id)
        place.is_held = True
        try:
            with placed(place):
                yield
        finally:
            place.end()

    async def come_back(self, namespace_id: UUID) -> None:
        """A place for who had one: before those of its namespace who have not begun."""
        if self._may_take(namespace_id):
            self._take(namespace_id)
        else:
            await self._wait(namespace_id, is_new=False)

    def _may_take(self, namespace_id: UUID) -> bool:
        most = self._few if self._askers.are_several(self._now()) else self._most
        return self._held[namespace_id] < most and self.under_way < self._total

    def _take(self, namespace_id: UUID) -> None:
        self._held[namespace_id] += 1
        self.under_way += 1

    def take_at_once(self, namespace_id: UUID) -> None:
        """A place beyond what there is, for who ends in a moment."""
        self._take(namespace_id)

    def give_back(self, namespace_id: UUID) -> None:
        self._held[namespace_id] -= 1
        if not self._held[namespace_id]:
            del self._held[namespace_id]
        self.under_way -= 1
        self._askers.note(namespace_id, self._now())
        self._grant()

    async def _wait_in_order(self, namespace_id: UUID) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._wait(namespace_id, is_new=True)
        except TimeoutError:
            raise self._refusal(namespace_id) from None

    async def _wait(self, namespace_id: UUID, *, is_new: bool) -> None:
        turn: Admission = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(namespace_id, _Queue())
        (queue.new if is_new else queue.returning).append(turn)
        try:
            # Who has begun is worked on to the end, though its caller may leave.
            with given_up(turn) if is_new else nullcontext():
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # It came as its caller went.
                self.give_back(namespace_id)
            raise
        finally:
            queue.forget(turn)
            if not queue and self._queues.get(namespace_id) is queue:
                del self._queues[namespace_id]

    def _grant(self) -> None:
        """Give what is free to who waits, one of each namespace in turn."""
        while (namespace_id := self._next()) is not None:
            queue = self._queues[namespace_id]
            turn = queue.pop()
            if queue:
                self._queues.move_to_end(namespace_id)
            else:
                del self._queues[namespace_id]
            if not turn.done():
                self._take(namespace_id)
                turn.set_result(None)

    def _next(self) -> UUID | None:
        return next((one for one in self._queues if self._may_take(one)), None)

    def _refusal(self, namespace_id: UUID) -> Overloaded | Unavailable:
        self.refused += 1
        if self.under_way < self._total:
            held = self._held[namespace_id]
            return Overloaded(
                f"{held} requests of this namespace are being worked on, which is as many as it may"
                " have just now: come back soon",
                code=BUSY,
                limit=held,
                retry_after=1,
            )
        return Unavailable(
            f"{self._total} requests are being worked on; come back soon",
            code=FULL,
            limit=self._total,
            retry_after=1,
        )


class _HeldPlace:
    """One request's place, which it may leave for a while."""

    def __init__(self, bulkheads: Bulkheads, namespace_id: UUID) -> None:
        self._bulkheads = bulkheads
        self._namespace_id = namespace_id
        self._asides = 0
        self._has_ended = False
        self.is_held = False

    @asynccontextmanager
    async def aside(self) -> AsyncGenerator[None]:
        """Without the place for the block, which may stand in several tasks of the request."""
        self._asides += 1
        if self.is_held:
            self.is_held = False
            self._bulkheads.give_back(self._namespace_id)
        try:
            yield
        except BaseException:
            self._asides -= 1
            if self._is_to_return():
                self._bulkheads.take_at_once(self._namespace_id)
                self.is_held = True
            raise
        self._asides -= 1
        if self._is_to_return():
            await self._bulkheads.come_back(self._namespace_id)
            self.is_held = True

    def end(self) -> None:
        self._has_ended = True
        if self.is_held:
            self.is_held = False
            self._bulkheads.give_back(self._namespace_id)

    def _is_to_return(self) -> bool:
        return not (self._asides or self.is_held or self._has_ended)

"""Who gets the next connection of the pool: namespaces take turns, and none takes all.

A namespace may hold half of the connections, and more while others are idle: a quarter stays free
for the rest. Work of no namespace (keys are looked up so) is bounded by the pool alone.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from memory.kernel.departure import given_up
from memory.kernel.errors import Overloaded, Unavailable

POOL_EXHAUSTED = "pool_exhausted"
SHARE_EXHAUSTED = "namespace_busy"
HALF, QUARTER = 2, 4

Turn = asyncio.Future[object]


class PoolShares:
    """The connections of one pool. All of it runs on the event loop, so nothing needs a lock."""

    def __init__(self, total: int, seconds: float) -> None:
        self._total = total
        self._seconds = seconds
        self._share = max(1, -(-total // HALF))
        self._reserve = total // QUARTER
        self._held: Counter[UUID | None] = Counter()
        self._taken = 0
        self._queues: OrderedDict[UUID | None, deque[Turn]] = OrderedDict()
        self.refused = 0
        """How often a namespace was refused for what it held itself."""

    @property
    def waiting(self) -> int:
        """How many wait for a connection."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def hold(self, namespace_id: UUID | None) -> AsyncGenerator[None]:
        """A connection's place for the block. Raises Overloaded where the namespace holds its share
        for too long, Unavailable where all do, or where the caller left.
        """
        if self._queues.get(namespace_id) or not self._may_take(namespace_id):
            await self._wait(namespace_id)
        else:
            self._take(namespace_id)
        try:
            yield
        finally:
            self._give_back(namespace_id)

    def _may_take(self, namespace_id: UUID | None) -> bool:
        free = self._total - self._taken
        return free > (self._reserve if self._has_share(namespace_id) else 0)

    def _take(self, namespace_id: UUID | None) -> None:
        self._held[namespace_id] += 1
        self._taken += 1

    async def _wait(self, namespace_id: UUID | None) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(namespace_id, deque())
        queue.append(turn)
        try:
            with given_up(turn):
                async with asyncio.timeout(self._seconds):
                    await turn
        except BaseException as fault:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # It came as its caller went.
                self._give_back(namespace_id)
            if isinstance(fault, TimeoutError):
                raise self._refusal(namespace_id) from None
            raise
        finally:
            self._forget(namespace_id, turn)

    def _give_back(self, namespace_id: UUID | None) -> None:
        self._held[namespace_id] -= 1
        if not self._held[namespace_id]:
            del self._held[namespace_id]
        self._taken -= 1
        self._grant()

    def _forget(self, namespace_id: UUID | None, turn: Turn) -> None:
        queue = self._queues.get(namespace_id)
        if queue is not None and turn in queue:
            queue.remove(turn)
        if not queue:
            self._queues.pop(namespace_id, None)

    def _grant(self) -> None:
        """Give what is free to who waits, one of each namespace in turn."""
        while queue := self._next_queue():
            turn = queue.turns.popleft()
            if queue.turns:
                self._queues.move_to_end(queue.namespace_id)
            else:
                del self._queues[queue.namespace_id]
            if not turn.done():
                self._take(queue.namespace_id)
                turn.set_result(None)

    def _next_queue(self) -> "_Queue | None":
        """Of those who may go on: who holds less than its share comes before who holds more."""
        able = [_Queue(*one) for one in self._queues.items() if self._may_take(one[0])]
        return min(able, key=lambda queue: self._has_share(queue.namespace_id), default=None)

    def _has_share(self, namespace_id: UUID | None) -> bool:
        return namespace_id is not None and self._held[namespace_id] >= self._share

    def _refusal(self, namespace_id: UUID | None) -> Overloaded | Unavailable:
        if self._taken < self._total:
            self.refused += 1
            held = self._held[namespace_id]
            return Overloaded(
                f"this namespace holds {held} of {self._total} database connections, which is its"
                " share: come back soon",
                code=SHARE_EXHAUSTED,
                limit=held,
                retry_after=1,
            )
        return Unavailable("every database connection is busy", code=POOL_EXHAUSTED, retry_after=1)


@dataclass(frozen=True, slots=True)
class _Queue:
    """Those of one namespace that wait."""

    namespace_id: UUID | None
    turns: deque[Turn]

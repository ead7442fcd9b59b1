"""Whether whoever asked still waits: work that only stands in a queue is dropped when they left.

What was begun is never broken off: a transaction ends as if they were there.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from memory.kernel.errors import Unavailable

CALLER_LEFT = "caller_left"


class Departure:
    """Of one call: that its caller left, and whom to tell. `listen` is called when somebody waits:
    it begins to look for that where it can, and says whether it has.
    """

    def __init__(self, listen: Callable[[], bool]) -> None:
        self._listen = listen
        self._is_watched = False
        self._task = asyncio.current_task()
        self._waiting: set[asyncio.Future[object]] = set()
        self.has_left = False

    @property
    def is_here(self) -> bool:
        """Whether it is the call's own task that asks, and not work that it left to others."""
        return asyncio.current_task() is self._task

    def leave(self) -> None:
        """The caller left: who waits for it in a queue need not."""
        self.has_left = True
        for future in self._waiting:
            if not future.done():
                future.set_exception(caller_left())

    @contextmanager
    def ends(self, futures: "list[asyncio.Future[object]]") -> Generator[None]:
        """Inside the block these are given up when the caller leaves."""
        self._is_watched = self._is_watched or self._listen()
        if self.has_left:
            raise caller_left()
        self._waiting.update(futures)
        try:
            yield
        finally:
            self._waiting.difference_update(futures)


_departure: ContextVar[Departure | None] = ContextVar("departure", default=None)


@contextmanager
def departing(departure: Departure) -> Generator[None]:
    """The block is the call whose caller may leave."""
    token = _departure.set(departure)
    try:
        yield
    finally:
        _departure.reset(token)


@contextmanager
def given_up(*futures: "asyncio.Future[object]") -> Generator[None]:
    """Inside the block these fail with `caller_left` when the caller leaves. Raises Unavailable
    where it has left.
    """
    departure = _departure.get()
    if departure is None or not departure.is_here:
        yield
        return
    with departure.ends(list(futures)):
        yield


def caller_left() -> Unavailable:
    """Nobody reads it; it stands in the metrics."""
    return Unavailable("the caller left before its turn came", code=CALLER_LEFT)

"""For whom work stands in a queue: which namespace, and whether a caller waits for it or a job.

Queues of what all namespaces share serve them in turn by this. Whoever lets a call or a job begin
says it once; what waits further down reads it.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Generic, Protocol, TypeVar
from uuid import UUID

Asker = TypeVar("Asker")
Item = TypeVar("Item")

LATELY = 30.0
"""Seconds after which who was silent counts as asking no more."""


class TurnClass(StrEnum):
    """Who waits: somebody who called, or a job that nobody waits for."""

    CALL = "call"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Turn:
    """A share of what is divided; None: work of no namespace, such as a calibration."""

    namespace_id: UUID | None = None
    of: TurnClass = TurnClass.CALL


_turn: ContextVar[Turn] = ContextVar("turn", default=Turn())  # noqa: B039 - it is frozen


def current_turn() -> Turn:
    """Whose work this is."""
    return _turn.get()


def enter_turn(turn: Turn) -> None:
    """From here to the end of the task, work is that turn's."""
    _turn.set(turn)


@contextmanager
def taking_turn(turn: Turn) -> Generator[None]:
    """Work of the block is that turn's."""
    token = _turn.set(turn)
    try:
        yield
    finally:
        _turn.reset(token)


class Askers(Generic[Asker]):
    """Who has asked lately: one who is alone may have all, several leave room for each other, also
    for who pauses. `now`: seconds of a monotonic clock.
    """

    def __init__(self) -> None:
        self._asked: OrderedDict[Asker, float] = OrderedDict()

    def note(self, asker: Asker, now: float) -> None:
        """It asks now."""
        self._asked[asker] = now
        self._asked.move_to_end(asker)
        while next(iter(self._asked.values())) < now - LATELY:
            self._asked.popitem(last=False)

    def are_several(self, now: float) -> bool:
        """Whether more than one has asked lately."""
        recent = list(islice(reversed(self._asked.values()), 2))
        return len(recent) > 1 and recent[1] >= now - LATELY


def in_parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items, so many at a time: work on all of them at once would keep the event loop from
    others, and between two parts something is waited for.
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


class Workplace(Protocol):
    """What a request holds while it is worked on."""

    def aside(self) -> AbstractAsyncContextManager[None]:
        """The block goes without it."""
        ...


_place: ContextVar[Workplace | None] = ContextVar("place", default=None)


@contextmanager
def placed(place: Workplace) -> Generator[None]:
    """The block is worked on at that place."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


@asynccontextmanager
async def aside() -> AsyncGenerator[None]:
    """The block waits for what has a queue of its own, or is done elsewhere: another request of the
    namespace has the place meanwhile. No transaction may be open, for the way back is a wait.
    """
    place = _place.get()
    if place is None:
        yield
        return
    async with place.aside():
        yield

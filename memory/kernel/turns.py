"""For whom work stands in a queue: which namespace, and whether a caller waits for it or a job.

Queues of what all namespaces share serve them in turn by this. Whoever lets a call or a job begin
says it once; what waits further down reads it.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

Item = TypeVar("Item")


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


def in_parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items, so many at a time: work on all of them at once would keep the event loop from
    others, and between two parts something is waited for.
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]

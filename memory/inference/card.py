"""The card beside its model: rows that lie on it, and what searches them in turn with embedding.

`segments` holds what needs torch; a card of another process is reached by `shared`. Whoever has
rows keeps them here too, and searches these when the card cannot.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from memory.kernel.errors import MemoryFault

P = ParamSpec("P")
Result = TypeVar("Result")

SMALLEST = 2_048
"""Fewer rows are searched by a processor before a card has been reached."""

MOST_PROBES = 64
"""So many probes are compared in one product: what they need beside the rows is a part of these."""


class NoCard(Exception):
    """The card cannot do this now: it has no room, failed, or lost its rows."""


class RowsLost(NoCard):
    """The rows are no longer there; they can be sent again at once."""


class Segment(Protocol):
    """Rows of one width on a card, by number; all but `bytes` blocks, in the card's thread."""

    @property
    def bytes(self) -> int:
        """What it takes of the card."""
        ...

    def write(
        self, start: int, vectors: npt.NDArray[np.float32], scales: npt.NDArray[np.float64]
    ) -> None:
        """Rows from number `start` on, (rows, width), and one over their lengths (0 for zeros).
        Raises NoCard where there is no room.
        """
        ...

    def nearest(
        self,
        asked: npt.NDArray[np.float16],
        seen: npt.NDArray[np.bool_],
        size: int,
        margin: float,
    ) -> list[npt.NDArray[np.intp]]:
        """Of each of the probes `asked`, (probes, width), the numbers of the `size` rows of largest
        cosine, clamped at 0, among those that are `seen`, and of all within `margin` of the last;
        all that are seen where they are fewer. Computed in single precision, for which `margin`
        is the error. `seen` has a place for each of the first rows, and is not written to after.
        """
        ...


@dataclass(frozen=True, slots=True)
class Card:
    """A card, by the thread that computes there. `open` makes a segment, in that thread;
    `smallest`: from so many rows on it is worth the way.
    """

    worker: Executor
    open: Callable[[], Segment]
    smallest: int = SMALLEST

    async def run(self, compute: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """In the card's thread. Raises NoCard whatever goes wrong there."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self.worker, lambda: compute(*args, **kwargs))
        except (RuntimeError, MemoryFault) as fault:
            raise NoCard(f"{type(fault).__name__}: {fault}") from fault


@runtime_checkable
class HoldsCard(Protocol):
    """A model that computes on a card, or knows the process that does."""

    def card(self, worker: Executor) -> Card | None:
        """The card; `worker` is the thread of the model. None where it computes elsewhere."""
        ...

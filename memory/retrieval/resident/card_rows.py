"""The vectors of a copy on a card, as far as they were copied there.

They are copied before they are searched, in slices, so that whoever embeds has a turn in between.
Nothing is lost with them: while the card does not take them, the processor searches.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from memory.inference.card import Card, NoCard, RowsLost, Segment
from memory.retrieval.resident.rows import FieldView, Flags, ResidentRows, Slots
from memory.retrieval.store.search import Probe

log = logging.getLogger(__name__)

SLICE = 16_384
"""So many rows are copied at a time: some 25 MB, a few milliseconds."""

REST = 60.0
"""Seconds until a card that failed is tried again."""


@dataclass(slots=True)
class CardCounts:
    """What happened on the card since the process started."""

    searches: int = 0
    failures: int = 0
    """Copies that it did not take or lost, which the processor searched meanwhile."""


@dataclass(slots=True)
class _OnCard:
    """The segments by field, and how many slots each has."""

    segments: dict[str, Segment] = field(default_factory=dict[str, Segment])
    slots: int = 0


class CardRows:
    """Of one copy."""

    def __init__(self, rows: ResidentRows, card: Card, counts: CardCounts) -> None:
        self._rows = rows
        self._card = card
        self._counts = counts
        self._there = _OnCard()
        self._lock = asyncio.Lock()
        self._rests_until = 0.0

    def __len__(self) -> int:
        """The slots that lie on the card."""
        return self._there.slots

    @property
    def bytes(self) -> int:
        """What it takes of the card."""
        return sum(one.bytes for one in list(self._there.segments.values()))

    @property
    def is_worth_it(self) -> bool:
        """Whether to search there at present."""
        return self._rows.size >= self._card.smallest and monotonic() >= self._rests_until

    async def nearest(
        self, probes: Sequence[Probe], seen: Flags, size: int, margin: float
    ) -> list[Slots]:
        """Of each of these probes, of one field and `MOST_PROBES` at most, the slots of the `size`
        most similar that are seen, and of all within `margin` of the last. Raises NoCard.
        """
        asked = np.stack([probe.vector for probe in probes])
        there = self._there
        try:
            await self._catch_up(there, len(seen))
            segment = there.segments[probes[0].field]
            found = await self._card.run(segment.nearest, asked, seen, size, margin)
        except NoCard as fault:
            # Of several calls that fail by the same segments one says so.
            if there is self._there:
                self._rest(fault)
            raise
        self._counts.searches += 1
        return found

    async def _catch_up(self, there: _OnCard, size: int) -> None:
        async with self._lock:
            while there.slots < size:
                end = min(size, there.slots + SLICE)
                views = {name: self._rows.view(name) for name in self._rows.fields}
                await self._card.run(self._write, there, views, end)
                there.slots = end

    def _write(self, there: _OnCard, views: Mapping[str, FieldView], end: int) -> None:
        """In the card's thread: what stands in a slot does not change."""
        some = slice(there.slots, end)
        for name, view in views.items():
            if name not in there.segments:
                there.segments[name] = self._card.open()
            there.segments[name].write(some.start, view.vectors[some], view.scales[some])

    def _rest(self, fault: NoCard) -> None:
        """Leave the card alone for a while; its rows are copied anew after that."""
        log.warning("a copy is searched by the processor, not on the card: %s", fault)
        self._counts.failures += 1
        self._there = _OnCard()
        if not isinstance(fault, RowsLost):
            self._rests_until = monotonic() + REST

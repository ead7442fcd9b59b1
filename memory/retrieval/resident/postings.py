"""Which slots of a copy hold a term and how often, by term: what no term of a task is in is not
read. No I/O.

Terms are numbers. They stand in blocks, each sorted by term and never changed but by what is taken
out. What is put in is gathered until somebody asks, becomes a block, and joins the one before while
that is not much larger; so a look goes through few blocks, and no write sorts all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.retrieval.head import Double

Keys = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint16]
Places = npt.NDArray[np.intp]


FULL = 131_072
"""So many pairs of a term and a slot a block has at most; sorting them takes some milliseconds."""


SLOT_BITS = 32
SLOT = (1 << SLOT_BITS) - 1


TERM_BYTES = 32
"""What a term takes that waits for its block, about."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Of the terms that were asked for, by place, who holds them and how often; a term and a slot
    meet once.
    """

    places: Places
    slots: Places
    counts: Double

    def among(self, slots: npt.NDArray[np.bool_]) -> "Hits":
        """Those of these slots."""
        some = slots[self.slots]
        if some.all():
            return self
        return Hits(self.places[some], self.slots[some], self.counts[some])


@dataclass(frozen=True, slots=True)
class _Block:
    """Term and slot in one number, ascending, and how often the one is in the other."""

    keys: Keys
    counts: Counts

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def slots(self) -> Places:
        return (self.keys & SLOT).astype(np.intp, copy=False)


class SlotPostings:
    """The terms of the texts of a copy."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._fresh: dict[int, Sequence[int]] = {}
        self._n_fresh = 0

    def __len__(self) -> int:
        """How many pairs of a term and a slot there are; of what waits, how many terms."""
        return self._n_fresh + sum(len(block.keys) for block in self._blocks)

    @property
    def bytes(self) -> int:
        """What they take, about."""
        kept = sum(block.keys.nbytes + block.counts.nbytes for block in self._blocks)
        return kept + TERM_BYTES * self._n_fresh

    def put(self, slot: int, terms: Sequence[int]) -> None:
        """The terms of a slot that has none, as often as they occur."""
        if terms:
            self._fresh[slot] = terms
            self._n_fresh += len(terms)
        if self._n_fresh >= FULL:
            self._settle()

    def drop(self, slot: int) -> list[int]:
        """Take out what a slot holds; its terms, each once."""
        if slot in self._fresh:
            terms = self._fresh.pop(slot)
            self._n_fresh -= len(terms)
            return sorted(set(terms))
        for place, block in enumerate(self._blocks):
            held = block.slots == slot
            if held.any():
                self._blocks[place] = _Block(block.keys[~held], block.counts[~held])
                return (block.keys[held] >> SLOT_BITS).tolist()
        return []

    def find(self, terms: Sequence[int]) -> Hits:
        """Who holds these terms."""
        self._settle()
        runs = [run for block in self._blocks for run in _find(block, terms)]
        keys = np.concatenate([np.zeros(0, np.int64), *(run.keys for run in runs)])
        counts = np.concatenate([np.zeros(0, np.uint16), *(run.counts for run in runs)])
        places = np.tile(np.arange(len(terms)), len(self._blocks))
        return Hits(
            np.repeat(places, [len(run.keys) for run in runs]),
            (keys & SLOT).astype(np.intp, copy=False),
            counts.astype(np.float64),
        )

    def counts(self, terms: Sequence[int], slots: Places) -> Double:
        """How often each of these slots holds each of these terms, (slots, terms)."""
        self._settle()
        numbers = np.array(terms, dtype=np.int64)
        # What ascends is found in one way through a block.
        by_term, by_slot = np.argsort(numbers), np.argsort(slots)
        wanted = (numbers[by_term] << SLOT_BITS)[:, None] | slots[by_slot]
        found = np.zeros(wanted.shape)
        for block in filter(len, self._blocks):
            places = np.minimum(np.searchsorted(block.keys, wanted), len(block.keys) - 1)
            found += block.counts[places] * (block.keys[places] == wanted)
        counts = np.empty((len(slots), len(terms)))
        counts[np.ix_(by_slot, by_term)] = found.T
        return counts

    def _settle(self) -> None:
        """What was put in becomes a block."""
        if not self._fresh:
            return
        slots = np.repeat(list(self._fresh), [len(terms) for terms in self._fresh.values()])
        terms = np.concatenate([np.array(terms, np.int64) for terms in self._fresh.values()])
        keys, counts = np.unique((terms << SLOT_BITS) | slots, return_counts=True)
        self._blocks.append(_Block(keys, counts.astype(np.uint16)))
        self._fresh, self._n_fresh = {}, 0
        while len(self._blocks) > 1 and _join(*self._blocks[-2:]):
            last, before = self._blocks.pop(), self._blocks.pop()
            self._blocks.append(_joined(before, last))


def _join(before: _Block, last: _Block) -> bool:
    """Whether two blocks are to be one."""
    return len(before.keys) < 2 * len(last.keys) and len(before.keys) + len(last.keys) <= FULL


def _joined(before: _Block, last: _Block) -> _Block:
    keys = np.concatenate([before.keys, last.keys])
    order = np.argsort(keys, kind="stable")
    return _Block(keys[order], np.concatenate([before.counts, last.counts])[order])


def _find(block: _Block, terms: Sequence[int]) -> list[_Block]:
    """The run of each term."""
    wanted = np.array(terms, dtype=np.int64)
    first = np.searchsorted(block.keys, wanted << SLOT_BITS).tolist()
    behind = np.searchsorted(block.keys, (wanted + 1) << SLOT_BITS).tolist()
    bounds = zip(first, behind, strict=True)
    return [_Block(block.keys[one:other], block.counts[one:other]) for one, other in bounds]

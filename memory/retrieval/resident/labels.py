"""By which names the memories of a copy are found: category, author, tags, identifiers. No I/O.

The same as `memory.memories.store.filtering` and the search ask in the database.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from memory.memories.filter_entities import RetrievalFilter, tags_in
from memory.retrieval.store.found_rows import FoundRow

IDENTIFIER = "identifier"


Label = tuple[str, str]
"""What it is, and its name."""


class ResidentLabels:
    """The slots that hold a label, by label."""

    def __init__(self) -> None:
        self._slots: dict[Label, set[int]] = {}

    def put(self, slot: int, labels: Iterable[Label]) -> None:
        for label in labels:
            self._slots.setdefault(label, set()).add(slot)

    def drop(self, slot: int, labels: Iterable[Label]) -> None:
        """These labels, with which it was put, are no longer its own."""
        for label in labels:
            some = self._slots[label]
            some.discard(slot)
            if not some:
                del self._slots[label]

    def holding_any(self, labels: Iterable[Label], size: int) -> npt.NDArray[np.bool_]:
        """Which of the first `size` slots hold one of these."""
        holding = np.zeros(size, dtype=np.bool_)
        for label in labels:
            some = self._slots.get(label, set())
            holding[np.fromiter(some, dtype=np.intp, count=len(some))] = True
        return holding

    def slots_of(self, label: Label, among: npt.NDArray[np.bool_]) -> list[int]:
        """Those of these that hold it."""
        return [slot for slot in self._slots.get(label, ()) if slot < len(among) and among[slot]]


def labels_of(row: FoundRow) -> Iterator[Label]:
    """Each once."""
    yield "category", row.category
    if row.subcategory is not None:
        yield "subcategory", row.subcategory
    yield "author", row.agent
    yield from (("tag", tag) for tag in tags_in(row.metadata))
    yield from ((IDENTIFIER, name) for name in row.identifiers)


def labels_wanted(wanted: RetrievalFilter) -> list[list[Label]]:
    """Of each of these a memory has one."""
    named = {
        "category": () if wanted.category is None else (wanted.category,),
        "subcategory": () if wanted.subcategory is None else (wanted.subcategory,),
        "author": wanted.authors,
        "tag": wanted.tags,
    }
    return [[(what, name) for name in names] for what, names in named.items() if names]

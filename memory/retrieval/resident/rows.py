"""The memories of a namespace that may be served now, in arrays that are searched whole. No I/O.

A slot is one version of one memory; its vectors never change. An array only grows at its end and
moves when it is full, so that whoever holds one with a length reads what was there. Cosines are
taken in single precision, here of all slots or on a card (`scan`), and every row within the margin
of the last one wanted is handed over (`memory.retrieval.head`), where double precision decides.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.memories.entities import ANY_AGENT, Kind
from memory.memories.filter_entities import RetrievalFilter
from memory.retrieval.head import Double, Stack, Stored
from memory.retrieval.resident.labels import (
    IDENTIFIER,
    ResidentLabels,
    labels_of,
    labels_wanted,
)
from memory.retrieval.resident.words import CountedWords, ResidentWords, TextWords
from memory.retrieval.store.found_rows import FoundRow
from memory.retrieval.store.search import MOST_NAMED, Half, Head, Probe, Scope, names_at_most

Single = npt.NDArray[np.float32]
Scalar = TypeVar("Scalar", bound=np.generic)
Flags = npt.NDArray[np.bool_]
Slots = npt.NDArray[np.intp]

SMALLEST = 1_024
"""A copy has room for so many memories at least."""


BLOCK = 256
"""So many cosines are looked at through their largest."""


FEW = 4
"""So many probes are compared one by one."""


MASKS = 32
"""So many masks are kept: who else asks for the same may be about to."""


ROW_BYTES = 2_500
"""What a row takes beside its vectors and texts, about: objects of its fields."""


STATE_BYTES = 400
"""What a state of one memory for one agent or party takes, about."""


NAME_BYTES = 400
"""What an identifier takes, about."""


class UnequalWidths(Exception):
    """A vector has other components than those before it: there is no one array for them."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state of one memory for one agent or party, and when it was last touched."""

    memory_id: UUID
    holder_id: UUID
    state: tuple[float, ...]
    touched_at: datetime | None


@dataclass(frozen=True, slots=True)
class LoadedRow:
    """A memory as it stands: whose it is (`*`: everybody's), and all but what one agent or party
    feels of it. Its vectors, by field, lie apart. `words`: of its texts, where the copy has them.
    """

    owner: str
    row: FoundRow
    vectors: Mapping[str, Half]
    words: TextWords | None = None


@dataclass(slots=True)
class _Field:
    """Vectors of one field by slot, one over their lengths, and which slots have one."""

    vectors: Single
    scales: Double
    present: Flags


@dataclass(slots=True)
class _Held:
    """What agents or parties feel of one memory."""

    deviations: dict[UUID, StoredState] = field(default_factory=dict[UUID, StoredState])
    influences: dict[UUID, StoredState] = field(default_factory=dict[UUID, StoredState])


class ResidentRows:
    """Memories of one namespace and model; the first vector says how wide they are."""

    def __init__(
        self, fields: Collection[str], words: ResidentWords | None = None, *, expected: int = 0
    ) -> None:
        """`expected`: so many memories will come, about."""
        self._expected = expected
        self._width = 0
        self.words = words
        """Those of the texts, where they are held."""
        self._size, self._capacity = 0, 0
        self._slots: dict[UUID, int] = {}
        self._rows: list[FoundRow | None] = []
        self._held: dict[UUID, _Held] = {}
        self._states = 0
        # One object for each agent or party, however many memories it feels something of.
        self._holders: dict[UUID, UUID] = {}
        self._owners: dict[str, int] = {ANY_AGENT: 0}
        self._living = np.zeros(0, dtype=np.bool_)
        self._owner = np.zeros(0, dtype=np.int32)
        self._learned = np.zeros(0, dtype=np.float64)
        self._labels = ResidentLabels()
        self._fields = {name: self._empty() for name in fields}
        self._text = 0
        self._masks: dict[Hashable, Flags] = {}
        """By what is asked: who sees what, until a row changes."""

    def _empty(self) -> _Field:
        return _Field(
            np.zeros((0, self._width), dtype=np.float32),
            np.zeros(0, dtype=np.float64),
            np.zeros(0, dtype=np.bool_),
        )

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, memory_id: UUID) -> bool:
        return memory_id in self._slots

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(self._fields)

    @property
    def bytes(self) -> int:
        """What it takes, about."""
        arrays = len(self._fields) * self._size * (4 * self._width + 9) + 13 * self._size
        words = 0 if self.words is None else self.words.bytes
        objects = ROW_BYTES * len(self._slots) + STATE_BYTES * self._states
        return arrays + self._text + words + objects

    @property
    def size(self) -> int:
        """How many slots there are, those of the dead too."""
        return self._size

    @property
    def is_sparse(self) -> bool:
        """Whether most slots hold what is no longer there."""
        return self._size > 2 * len(self._slots) + 1_024

    def put(self, loaded: LoadedRow) -> None:
        """As the memory stands from now on."""
        self._masks.clear()
        slot = self._slots.get(loaded.row.id)
        known = None if slot is None else self._rows[slot]
        if slot is None or known is None or not self._is_same(slot, known, loaded):
            self.drop([loaded.row.id])
            slot = self._append(loaded)
            if self.words is not None:
                assert loaded.words is not None
                self.words.put(slot, loaded.words)
        else:
            self._forget(slot, known)
        self._rows[slot] = loaded.row
        self._text += _text_bytes(loaded.row)
        self._labels.put(slot, labels_of(loaded.row))
        self._owner[slot] = self._owners.setdefault(loaded.owner, len(self._owners))
        self._learned[slot] = loaded.row.learned_at.timestamp()

    def _is_same(self, slot: int, known: FoundRow, loaded: LoadedRow) -> bool:
        """Whether it has the texts that the slot has."""
        if known.version != loaded.row.version:
            return False
        words = loaded.words
        return self.words is None or (words is not None and self.words.holds(slot, words))

    def drop(self, memory_ids: Iterable[UUID]) -> None:
        """These may no longer be served."""
        self._masks.clear()
        for memory_id in memory_ids:
            if (slot := self._slots.pop(memory_id, None)) is None:
                continue
            known = self._rows[slot]
            assert known is not None
            self._forget(slot, known)
            self._rows[slot] = None
            self._living[slot] = False
            if self.words is not None:
                self.words.drop(slot)

    def _forget(self, slot: int, row: FoundRow) -> None:
        self._text -= _text_bytes(row)
        self._labels.drop(slot, labels_of(row))

    def feel(
        self,
        memory_ids: Iterable[UUID],
        deviations: Iterable[StoredState],
        influences: Iterable[StoredState],
    ) -> None:
        """All that agents and parties feel of these memories, in place of what was known."""
        for memory_id in memory_ids:
            if (gone := self._held.pop(memory_id, None)) is not None:
                self._states -= len(gone.deviations) + len(gone.influences)
        for one in deviations:
            if one.memory_id in self._slots:
                self._hold(one, self._held.setdefault(one.memory_id, _Held()).deviations)
        for one in influences:
            if one.memory_id in self._slots:
                self._hold(one, self._held.setdefault(one.memory_id, _Held()).influences)

    def _hold(self, one: StoredState, states: dict[UUID, StoredState]) -> None:
        known = self._rows[self._slots[one.memory_id]]
        assert known is not None
        holder = self._holders.setdefault(one.holder_id, one.holder_id)
        self._states += holder not in states
        states[holder] = replace(one, memory_id=known.id, holder_id=holder)

    def _append(self, loaded: LoadedRow) -> int:
        slot = self._size
        if not self._width:
            self._begin(max(map(len, loaded.vectors.values())))
        if any(len(vector) != self._width for vector in loaded.vectors.values()):
            raise UnequalWidths
        if slot == self._capacity:
            self._grow()
        for name, stored in self._fields.items():
            vector = loaded.vectors.get(name)
            if vector is not None:
                stored.vectors[slot] = vector
                [stored.scales[slot]] = scales_of(vector[None])
                stored.present[slot] = True
        self._rows.append(None)
        self._living[slot] = True
        self._slots[loaded.row.id] = slot
        self._size += 1
        return slot

    def _begin(self, width: int) -> None:
        self._width = width
        self._fields = {name: self._empty() for name in self._fields}

    def _grow(self) -> None:
        """Room for twice as many: memory that nothing was written to takes up no room."""
        self._capacity = max(SMALLEST, self._expected + self._expected // 2, 2 * self._size)
        self._living = self._longer(self._living)
        self._owner = self._longer(self._owner)
        self._learned = self._longer(self._learned)
        for name, stored in self._fields.items():
            self._fields[name] = _Field(
                self._longer(stored.vectors),
                self._longer(stored.scales),
                self._longer(stored.present),
            )

    def _longer(self, array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        longer = np.zeros((self._capacity, *array.shape[1:]), dtype=array.dtype)
        longer[: self._size] = array[: self._size]
        return longer

    def view(self, field_name: str) -> "FieldView":
        """One field as it is now, to be compared apart from what is written beside."""
        stored = self._fields[field_name]
        return FieldView(stored.vectors[: self._size], stored.scales[: self._size])

    def head(
        self,
        probes: Sequence[Probe],
        cosines: Sequence[Double],
        scope: Scope,
        size: int | None,
        margin: float,
        bank_version: int,
    ) -> Head:
        """What the agent may see of the `size` most similar (None: all), with every row within
        `margin` of the last. `cosines`: of each probe with the slots that there were when it was
        compared; those that came since are compared here.
        """
        best = np.full(self._size, HIDDEN)
        for probe, found in zip(probes, cosines, strict=True):
            seen = self.mask(probe.field, scope)
            np.maximum(best, self._extended(probe, found), out=best, where=seen)
        return self._head(probes, near_best(best, size, margin), scope, size, bank_version)

    def head_among(
        self,
        probes: Sequence[Probe],
        slots: Slots,
        scope: Scope,
        size: int,
        margin: float,
        bank_version: int,
    ) -> Head:
        """The same where all of it is known to be among these slots."""
        best = np.full(len(slots), HIDDEN)
        for probe in probes:
            stored = self._fields[probe.field]
            [found] = FieldView(stored.vectors[slots], stored.scales[slots]).cosines([probe])
            np.maximum(best, found, out=best, where=self.mask(probe.field, scope)[slots])
        places = slots[near_best(best, size, margin)]
        return self._head(probes, places, scope, size, bank_version)

    def _head(
        self,
        probes: Sequence[Probe],
        places: Slots,
        scope: Scope,
        size: int | None,
        bank_version: int,
    ) -> Head:
        """With what names and words find beside it."""
        fields = sorted({probe.field for probe in probes})
        matches = np.logical_or.reduce([self.mask(name, scope) for name in fields])
        matching = int(np.count_nonzero(matches))
        named = self._named(scope.names, matches, names_at_most(matching))
        slots = set(places.tolist()) | named.keys()
        counted = None
        if scope.words is not None and self.words is not None:
            counted = self.words.count(scope.words, matches)
            slots.update(self._best(counted, size or self._size))
        ordered = sorted(slots, key=lambda slot: self._id(slot).int)
        chosen = np.array(ordered, dtype=np.intp)
        by_name = {self._id(slot): names for slot, names in named.items()}
        shared = None
        if counted is not None and scope.words is not None and self.words is not None:
            shared = self.words.share(scope.words, counted, chosen)
        rows = tuple(self._found(slot, scope) for slot in ordered)
        stored = self._stored(rows, chosen, {probe.field for probe in probes})
        return Head(rows, stored, matching, bank_version, by_name, shared)

    def _best(self, counted: CountedWords, size: int) -> list[int]:
        """Those above the last place by words, and of those that have as much the first by id."""
        above, equal = counted.above_last(size)
        return [*above.tolist(), *sorted(equal.tolist(), key=self._id)[:size]]

    def _stored(
        self, rows: Sequence[FoundRow], slots: npt.NDArray[np.intp], fields: Collection[str]
    ) -> Stored:
        """Their vectors of these fields."""
        stacks: dict[str, Stack] = {}
        for name in fields:
            stored = self._fields[name]
            places = np.flatnonzero(stored.present[slots])
            if len(places):
                stacks[name] = Stack.of(places, stored.vectors[slots[places]])
        return Stored([row.id for row in rows], stacks)

    def _named(
        self, names: Sequence[str], among: npt.NDArray[np.bool_], most: int
    ) -> dict[int, tuple[str, ...]]:
        """The slots of these that hold one of these identifiers that at most so many hold."""
        found: dict[int, list[str]] = {}
        for name in sorted(names):
            slots = self._labels.slots_of((IDENTIFIER, name), among)
            for slot in slots if len(slots) <= most else ():
                found.setdefault(slot, []).append(name)
        first = sorted(found, key=lambda slot: (-len(found[slot]), self._id(slot)))
        return {slot: tuple(found[slot]) for slot in first[:MOST_NAMED]}

    def _id(self, slot: int) -> UUID:
        row = self._rows[slot]
        assert row is not None
        return row.id

    def _extended(self, probe: Probe, found: Double) -> Double:
        if len(found) == self._size:
            return found
        stored = self._fields[probe.field]
        since = slice(len(found), self._size)
        [rest] = FieldView(stored.vectors[since], stored.scales[since]).cosines([probe])
        return np.concatenate([found, rest])

    def mask(self, field_name: str, scope: Scope) -> Flags:
        """Which slots have a vector of the field and may be seen. The same object while nothing has
        changed; not to be written to.
        """
        own = self._owners.get(str(scope.agent_id)) if scope.private else None
        asked = (field_name, own, scope.as_of, scope.filter)
        if asked not in self._masks:
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[asked] = (
                self._seen(own, scope) & self._fields[field_name].present[: self._size]
            )
        return self._masks[asked]

    def _seen(self, own: int | None, scope: Scope) -> Flags:
        n = self._size
        seen = self._owner[:n] == 0
        if own is not None:
            seen |= self._owner[:n] == own
        seen &= self._living[:n] & (self._learned[:n] <= scope.as_of.timestamp())
        return seen if scope.filter is None else seen & self._wanted(scope.filter)

    def _wanted(self, wanted: RetrievalFilter) -> npt.NDArray[np.bool_]:
        """Which slots a filter matches; all of them are experiences."""
        matching = np.full(self._size, wanted.allows(Kind.EXPERIENCE))
        for some in labels_wanted(wanted):
            matching &= self._labels.holding_any(some, self._size)
        return matching

    def _found(self, slot: int, scope: Scope) -> FoundRow:
        row = self._rows[slot]
        assert row is not None
        if (held := self._held.get(row.id)) is None:
            return row
        deviation = held.deviations.get(scope.agent_id)
        influence = None if scope.party_id is None else held.influences.get(scope.party_id)
        if deviation is None and influence is None:
            return row
        return replace(
            row,
            deviation=None if deviation is None else deviation.state,
            deviation_touched_at=None if deviation is None else deviation.touched_at,
            influence=None if influence is None else influence.state,
            influence_touched_at=None if influence is None else influence.touched_at,
        )


HIDDEN = -1.0
"""In place of a cosine: what may not be seen."""


def near_best(best: Double, size: int | None, margin: float) -> Slots:
    """The places within `margin` of the `size`-th largest that is not hidden (None: all of them).

    Where there are many, the `size`-th of the largest of each block lies at or below it, so that
    few are left to be ordered.
    """
    if size is None:
        return np.flatnonzero(best >= 0)
    floor, blocks = 0.0, len(best) // BLOCK
    if blocks > size:
        tops = best[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        floor = max(0.0, float(np.partition(tops, blocks - size)[blocks - size]) - margin)
    places = np.flatnonzero(best >= floor)
    if len(places) <= size:
        return places
    values = best[places]
    cutoff = np.partition(values, len(values) - size)[len(values) - size]
    return places[values >= cutoff - margin]


def _text_bytes(row: FoundRow) -> int:
    """Of its texts, and of the names by which it is found."""
    return 2 * (len(row.situation) + len(row.lesson)) + NAME_BYTES * len(row.identifiers)


def scales_of(vectors: npt.NDArray[np.float16]) -> Double:
    """One by the length of each; 0 for a vector of zeros, whose cosines are 0."""
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


@dataclass(frozen=True, slots=True)
class FieldView:
    """Vectors by slot and their scales."""

    vectors: Single
    scales: Double

    def cosines(self, probes: Sequence[Probe]) -> list[Double]:
        """Of each probe with each slot, clamped at 0; of more than a few in one product."""
        if not len(self.vectors):
            return [np.zeros(0) for _ in probes]
        asked = np.stack([probe.vector for probe in probes])
        cosines = self._dots(asked.astype(np.float32)) * self.scales
        cosines *= scales_of(asked)[:, None]
        return list(np.maximum(cosines, 0.0, out=cosines))

    def _dots(self, asked: Single) -> Single:
        """Of a few probes one by one: that reads as fast as memory gives, a product does not."""
        if len(asked) > FEW:
            return asked @ self.vectors.T
        return np.stack([np.einsum("ij,j->i", self.vectors, one) for one in asked])

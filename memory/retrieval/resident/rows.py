"""The memories of a namespace that may be served now, in arrays that are searched whole. No I/O.

A slot is one version of one memory; its vectors never change. An array only grows at its end and
moves when it is full, so that whoever holds one with a length reads what was there. Cosines are
taken in single precision, and every row within the margin of the last one wanted is handed over
(`memory.retrieval.head`), where double precision decides.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.memories.entities import ANY_AGENT, Kind
from memory.memories.filter_entities import RetrievalFilter
from memory.retrieval.head import Double
from memory.retrieval.resident.labels import (
    IDENTIFIER,
    ResidentLabels,
    labels_of,
    labels_wanted,
)
from memory.retrieval.resident.words import CountedWords, ResidentWords, TextWords
from memory.retrieval.store.search import (
    MOST_NAMED,
    FoundRow,
    Head,
    Probe,
    Scope,
    names_at_most,
)
from memory.retrieval.words import SharedWords, TaskWords

Single = npt.NDArray[np.float32]

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
    feels of it. `words`: of its texts, where the copy has them.
    """

    owner: str
    row: FoundRow
    words: TextWords | None = None


@dataclass(slots=True)
class _Field:
    """Vectors of one field by slot, their lengths, and which slots have one."""

    vectors: Single
    lengths: Double
    present: npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Held:
    """What agents or parties feel of one memory."""

    deviations: dict[UUID, StoredState] = field(default_factory=dict[UUID, StoredState])
    influences: dict[UUID, StoredState] = field(default_factory=dict[UUID, StoredState])


_NONE = _Held()


class ResidentRows:
    """Memories of one namespace and model; the first vector says how wide they are."""

    def __init__(self, fields: Collection[str], words: ResidentWords | None = None) -> None:
        self._width = 0
        self.words = words
        """Those of the texts, where they are held."""
        self._size, self._capacity = 0, 0
        self._slots: dict[UUID, int] = {}
        self._rows: list[LoadedRow | None] = []
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
        arrays = len(self._fields) * self._capacity * (4 * self._width + 9) + 13 * self._capacity
        words = 0 if self.words is None else self.words.bytes
        objects = ROW_BYTES * len(self._slots) + STATE_BYTES * self._states
        return arrays + self._text + words + objects

    @property
    def is_sparse(self) -> bool:
        """Whether most slots hold what is no longer there."""
        return self._size > 2 * len(self._slots) + 1_024

    def put(self, loaded: LoadedRow) -> None:
        """As the memory stands from now on."""
        slot = self._slots.get(loaded.row.id)
        known = None if slot is None else self._rows[slot]
        if slot is None or known is None or not self._is_same(slot, known, loaded):
            self.drop([loaded.row.id])
            slot = self._append(loaded.row)
            if self.words is not None:
                assert loaded.words is not None
                self.words.put(slot, loaded.words)
        else:
            self._forget(slot, known.row)
        self._rows[slot] = LoadedRow(loaded.owner, replace(loaded.row, vectors={}))
        self._text += _text_bytes(loaded.row)
        self._labels.put(slot, labels_of(loaded.row))
        self._owner[slot] = self._owners.setdefault(loaded.owner, len(self._owners))
        self._learned[slot] = loaded.row.learned_at.timestamp()

    def _is_same(self, slot: int, known: LoadedRow, loaded: LoadedRow) -> bool:
        """Whether it has the texts that the slot has."""
        if known.row.version != loaded.row.version:
            return False
        words = loaded.words
        return self.words is None or (words is not None and self.words.holds(slot, words))

    def drop(self, memory_ids: Iterable[UUID]) -> None:
        """These may no longer be served."""
        for memory_id in memory_ids:
            if (slot := self._slots.pop(memory_id, None)) is None:
                continue
            known = self._rows[slot]
            assert known is not None
            self._forget(slot, known.row)
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
        states[holder] = replace(one, memory_id=known.row.id, holder_id=holder)

    def _append(self, row: FoundRow) -> int:
        slot = self._size
        if not self._width:
            self._begin(max(len(vector) for vector in row.vectors.values()))
        if any(len(vector) != self._width for vector in row.vectors.values()):
            raise UnequalWidths
        if slot == self._capacity:
            self._grow()
        for name, stored in self._fields.items():
            vector = row.vectors.get(name)
            if vector is not None:
                wide = vector.astype(np.float64)
                stored.vectors[slot] = vector
                stored.lengths[slot] = np.sqrt(wide @ wide)
                stored.present[slot] = True
        self._rows.append(None)
        self._living[slot] = True
        self._slots[row.id] = slot
        self._size += 1
        return slot

    def _begin(self, width: int) -> None:
        self._width = width
        self._fields = {name: self._empty() for name in self._fields}

    def _grow(self) -> None:
        more = max(1_024, self._capacity // 2)
        self._capacity += more

        def longer(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            added = np.zeros((more, *array.shape[1:]), dtype=array.dtype)
            return np.concatenate([array, added])

        self._living = longer(self._living).astype(np.bool_, copy=False)
        self._owner = longer(self._owner).astype(np.int32, copy=False)
        self._learned = longer(self._learned).astype(np.float64, copy=False)
        for name, stored in self._fields.items():
            self._fields[name] = _Field(
                longer(stored.vectors).astype(np.float32, copy=False),
                longer(stored.lengths).astype(np.float64, copy=False),
                longer(stored.present).astype(np.bool_, copy=False),
            )

    def view(self, field_name: str) -> "FieldView":
        """One field as it is now, to be compared apart from what is written beside."""
        stored = self._fields[field_name]
        return FieldView(stored.vectors[: self._size], stored.lengths[: self._size])

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
        seen = self._seen(scope)
        best = np.full(self._size, -1.0, dtype=np.float64)
        matches = np.zeros(self._size, dtype=np.bool_)
        for probe, found in zip(probes, cosines, strict=True):
            there = self._fields[probe.field].present[: self._size] & seen
            matches |= there
            best = np.where(there, np.maximum(best, self._extended(probe, found)), best)
        places = np.flatnonzero(matches)
        if size is not None and len(places) > size:
            values = best[places]
            cutoff = np.partition(values, len(values) - size)[len(values) - size]
            places = places[values >= cutoff - margin]
        matching = int(matches.sum())
        named = self._named(scope.names, matches, names_at_most(matching))
        fields = sorted({probe.field for probe in probes})
        places = np.union1d(places, np.array(list(named), dtype=np.intp))
        counted = None
        if scope.words is not None and self.words is not None:
            counted = self.words.count(scope.words, matches)
            best = np.array(self._best(counted, size or self._size), dtype=np.intp)
            places = np.union1d(places, best)
        rows = tuple(self._found(int(slot), fields, scope) for slot in places)
        by_name = {self._id(slot): names for slot, names in named.items()}
        shared = None if counted is None else self._share(scope.words, counted, places)
        return Head(rows, matching, bank_version, by_name, shared)

    def _best(self, counted: CountedWords, size: int) -> list[int]:
        """Those above the last place by words, and of those that have as much the first by id."""
        above, equal = counted.above_last(size)
        return [*map(int, above), *sorted(map(int, equal), key=self._id)[:size]]

    def _share(
        self, asked: TaskWords | None, counted: CountedWords, places: npt.NDArray[np.intp]
    ) -> SharedWords:
        assert asked is not None
        assert self.words is not None
        slots = places.tolist()
        shared = zip(map(self._id, slots), self.words.shared(slots, counted), strict=True)
        pieces, raw = counted.pieces.statistics, counted.raw.statistics
        return SharedWords(asked, pieces, raw, dict(shared))

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
        loaded = self._rows[slot]
        assert loaded is not None
        return loaded.row.id

    def _extended(self, probe: Probe, found: Double) -> Double:
        if len(found) == self._size:
            return found
        stored = self._fields[probe.field]
        since = slice(len(found), self._size)
        [rest] = FieldView(stored.vectors[since], stored.lengths[since]).cosines([probe])
        return np.concatenate([found, rest])

    def _seen(self, scope: Scope) -> npt.NDArray[np.bool_]:
        n = self._size
        seen = self._owner[:n] == 0
        own = self._owners.get(str(scope.agent_id)) if scope.private else None
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

    def _found(self, slot: int, fields: Sequence[str], scope: Scope) -> FoundRow:
        loaded = self._rows[slot]
        assert loaded is not None
        row = loaded.row
        held = self._held.get(row.id, _NONE)
        deviation = held.deviations.get(scope.agent_id)
        influence = None if scope.party_id is None else held.influences.get(scope.party_id)
        return replace(
            row,
            vectors={
                name: self._fields[name].vectors[slot].astype(np.float16)
                for name in fields
                if self._fields[name].present[slot]
            },
            deviation=None if deviation is None else deviation.state,
            deviation_touched_at=None if deviation is None else deviation.touched_at,
            influence=None if influence is None else influence.state,
            influence_touched_at=None if influence is None else influence.touched_at,
        )


def _text_bytes(row: FoundRow) -> int:
    """Of its texts, and of the names by which it is found."""
    return 2 * (len(row.situation) + len(row.lesson)) + NAME_BYTES * len(row.identifiers)


@dataclass(frozen=True, slots=True)
class FieldView:
    """Vectors by slot and their lengths."""

    vectors: Single
    lengths: Double

    def cosines(self, probes: Sequence[Probe]) -> list[Double]:
        """Of each probe with each slot, clamped at 0; one product for all of them."""
        if not len(self.vectors):
            return [np.zeros(0) for _ in probes]
        asked = np.stack([probe.vector for probe in probes])
        wide = asked.astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        dots = asked.astype(np.float32) @ self.vectors.T
        with np.errstate(divide="ignore", invalid="ignore"):
            cosines = dots / (norms[:, None] * self.lengths[None, :])
        return list(np.maximum(np.nan_to_num(cosines, nan=0.0, posinf=0.0), 0.0))

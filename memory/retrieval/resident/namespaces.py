"""Which namespaces a process holds a copy of: filled at first touch, followed, evicted.

A call that comes waits for a look at the changes that begins after it came, and shares that look
with all who came meanwhile. So it sees whatever was acknowledged before it came, by any process.
"""

import asyncio
import gc
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from time import monotonic
from uuid import UUID

from memory.inference.card import Card
from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.database import Database
from memory.retrieval.resident.answers import Answers
from memory.retrieval.resident.card_rows import CardCounts, CardRows
from memory.retrieval.resident.constraints import ResidentConstraints
from memory.retrieval.resident.rows import ROW_BYTES, ResidentRows, UnequalWidths
from memory.retrieval.resident.store import (
    FILL,
    Loaded,
    ResidentStore,
    RowChange,
    SeenTransactions,
    load_versions,
)
from memory.retrieval.resident.words import ResidentWords
from memory.tenancy.identity import Proof

log = logging.getLogger(__name__)


FIELDS = ("situation", "lesson")


GAP = timedelta(hours=6)
"""A copy that was not followed for so long is filled anew, well before changes are forgotten."""


UNSEEN = 10.0
"""Seconds for which the database may be out of reach before copies of it are thrown away."""


SMALLEST_ROW = ROW_BYTES + 1_000
"""What a memory takes at least, about: where even that is too much, no copy is begun."""


SMALL = 1_000
"""A namespace of so many memories is filled before the call that came first is answered."""


FROZEN_AFTER = 4_000
"""After so many memories the collector is told to leave alone what is there: a full collection that
looked through a copy of 100,000 would hold up everybody for a second.
"""


class _Outdated(Exception):
    """The copy cannot be followed, and is filled anew."""


@dataclass(slots=True)
class ResidentNamespace:
    """The copy of one namespace for one model, as of `snapshot` or later in each of its parts."""

    model_id: UUID
    rows: ResidentRows
    snapshot: SeenTransactions
    limit: int
    """The most bytes that it may take."""
    on_card: CardRows | None = None
    """Its vectors once more, where there is a card."""
    answers: Answers = field(default_factory=Answers)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    constraints: ResidentConstraints | None = None
    """As they were read last, where there is room for them; whether that still holds, `answers`
    knows.
    """
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Of who reads the constraints anew."""
    followed: int = 0
    """The turn in which the last look began."""
    proofs: list[Proof] = field(default_factory=list[Proof])
    """Those that wait for the next look."""

    @property
    def bytes(self) -> int:
        return self.rows.bytes + (0 if self.constraints is None else self.constraints.bytes)

    @property
    def has_words(self) -> bool:
        return self.rows.words is not None


@dataclass(slots=True)
class ResidentCounts:
    """What happened to copies since the process started."""

    fills: int = 0
    follows: int = 0
    evictions: int = 0
    rebuilds: int = 0
    by_sql: int = 0
    """Calls that no copy answered: over the bound, or while it was filled."""


class ResidentNamespaces:
    """All copies of a process, `limit` bytes at most together; 0 holds none. What lies on the
    `card`, once there is one, is less than what its copy takes here, so the limit holds there too.
    """

    def __init__(
        self, database: Database, limit: int, card: Callable[[], Card | None] = lambda: None
    ) -> None:
        self._database = database
        self._limit = limit
        self._card = card
        self._copies: OrderedDict[UUID, ResidentNamespace] = OrderedDict()
        self._filling: dict[UUID, asyncio.Task[None]] = {}
        self._wordless: set[UUID] = set()
        """Namespaces whose copies are over the bound with their words."""
        self._too_large: dict[UUID, int] = {}
        """Namespaces that are over the bound in any case: so many memories were too many."""
        self._turns = count(1)
        self._renewed = monotonic()
        self.counts, self.on_card = ResidentCounts(), CardCounts()

    @property
    def is_on(self) -> bool:
        return self._limit > 0

    async def current(
        self,
        namespace_id: UUID,
        model_id: UUID,
        memories: int,
        *,
        words: bool = False,
        proof: Proof | None = None,
    ) -> ResidentNamespace | None:
        """The copy, as of a moment after the call; None where the database is to be asked.

        `memories`: how many the namespace holds, about. `words`: whether those of its texts are
        asked for; a copy that was filled without them is filled anew, and has them from then on,
        unless it is over the bound with them. `proof`: that of the call, for the look at the
        changes to judge; where there is no copy to follow it is left as it is.
        """
        if not self.is_on:
            return None
        words = words and namespace_id not in self._wordless
        came = next(self._turns)
        copy = self._copies.get(namespace_id)
        if copy is not None and (copy.model_id != model_id or (words and not copy.has_words)):
            self.drop(namespace_id)
            copy = None
        if copy is None:
            copy = await self._begin(namespace_id, model_id, memories, words=words)
        if copy is not None:
            copy = await self._follow(namespace_id, copy, came, proof)
        if copy is None:
            self.counts.by_sql += 1
        else:
            self._copies.move_to_end(namespace_id)
        return copy

    async def renew(self) -> None:
        """Take in what other processes wrote where nobody asks here: words that were erased do not
        stay. Copies of which that cannot be said for long are thrown away. One round trip finds
        the namespaces that have another version.
        """
        if not self._copies:
            self._renewed = monotonic()
            return
        try:
            versions = await load_versions(self._database, list(self._copies))
            for namespace_id, copy in list(self._copies.items()):
                found = versions.get(namespace_id)
                if found is not None and found.model_id not in (None, copy.model_id):
                    # It was moved to another model: nobody will ask for this copy.
                    self.drop(namespace_id)
                elif found is None or found.version != copy.snapshot.bank_version:
                    await self._follow(namespace_id, copy, next(self._turns))
        except MemoryFault:
            if monotonic() - self._renewed > UNSEEN:
                self._copies.clear()
            raise
        self._renewed = monotonic()

    async def _begin(
        self, namespace_id: UUID, model_id: UUID, memories: int, *, words: bool
    ) -> ResidentNamespace | None:
        """Fill a small namespace at once, a larger one beside the calls, none over the bound."""
        if memories * SMALLEST_ROW > self._limit:
            return None
        if memories >= self._too_large.get(namespace_id, memories + 1):
            return None
        if namespace_id not in self._filling:
            filling = asyncio.create_task(self._fill(namespace_id, model_id, memories, words=words))
            self._filling[namespace_id] = filling
            filling.add_done_callback(lambda _: self._filling.pop(namespace_id, None))
        if memories <= SMALL:
            await asyncio.shield(self._filling[namespace_id])
        return self._copies.get(namespace_id)

    async def _fill(
        self, namespace_id: UUID, model_id: UUID, memories: int, *, words: bool
    ) -> None:
        """The snapshot first: what is read after it may be newer, and is then read again."""
        store = ResidentStore(self._database, namespace_id, model_id, words=words)
        try:
            if (snapshot := await store.snapshot()) is None:
                return
            rows = ResidentRows(FIELDS, ResidentWords() if words else None, expected=memories)
            card = self._card()
            on_card = None if card is None else CardRows(rows, card, self.on_card)
            copy = ResidentNamespace(model_id, rows, snapshot, self._limit, on_card)
            unfrozen = 0
            async for loaded in store.load_all(FIELDS):
                _put(copy.rows, loaded, [one.row.id for one in loaded.rows])
                unfrozen += len(loaded.rows)
                if unfrozen >= FROZEN_AFTER:
                    gc.collect()
                    gc.freeze()
                    unfrozen = 0
                if copy.bytes > self._limit:
                    break
        except MemoryFault as fault:
            log.warning("a resident copy was not filled: %s", fault.detail)
            return
        except UnequalWidths:
            log.warning("a resident copy was not filled: its vectors are of several widths")
            return
        if copy.bytes <= self._limit:
            self._copies[namespace_id] = copy
            self.counts.fills += 1
            self._evict()
        elif words:
            self._wordless.add(namespace_id)
        else:
            self._too_large[namespace_id] = len(copy.rows)

    async def _follow(
        self,
        namespace_id: UUID,
        copy: ResidentNamespace,
        came: int,
        proof: Proof | None = None,
    ) -> ResidentNamespace | None:
        if proof is not None:
            copy.proofs.append(proof)
        async with copy.lock:
            if self._copies.get(namespace_id) is not copy:
                return None
            if copy.followed < came:
                turn = next(self._turns)
                try:
                    await self._catch_up(namespace_id, copy)
                except (_Outdated, UnequalWidths):
                    self.counts.rebuilds += 1
                    self.drop(namespace_id)
                    return None
                except BaseException:
                    # Whether all of it was taken in is not known.
                    self.drop(namespace_id)
                    raise
                copy.followed = turn
                self.counts.follows += 1
        self._evict()
        return copy if namespace_id in self._copies else None

    async def _catch_up(self, namespace_id: UUID, copy: ResidentNamespace) -> None:
        words = copy.has_words
        store = ResidentStore(self._database, namespace_id, copy.model_id, words=words)
        # Whoever brought one came before this look begins.
        proofs, copy.proofs = copy.proofs, []
        found = await store.changes(copy.snapshot, proofs)
        if found is None:
            raise _Outdated
        snapshot, changes = found
        if snapshot.oldest < copy.snapshot.oldest or snapshot.at - copy.snapshot.at > GAP:
            raise _Outdated
        await self._take_in(copy, store, changes)
        copy.snapshot = snapshot
        if copy.rows.is_sparse:
            raise _Outdated

    async def _take_in(
        self, copy: ResidentNamespace, store: ResidentStore, changes: list[RowChange]
    ) -> None:
        copy.answers.forget(change.kind for change in changes)
        ids = sorted({one for change in changes for one in change.memory_ids})
        for start in range(0, len(ids), FILL):
            some = ids[start : start + FILL]
            _put(copy.rows, await store.load(some, FIELDS), some)

    def _evict(self) -> None:
        """The one not asked for the longest goes first."""
        while sum(one.bytes for one in self._copies.values()) > self._limit:
            self._copies.popitem(last=False)
            self.counts.evictions += 1

    def drop(self, namespace_id: UUID) -> None:
        self._copies.pop(namespace_id, None)

    def gauges(self) -> Mapping[str, float]:
        """What is held, and what happened."""
        copies = list(self._copies.values())
        on_card = [one.on_card for one in copies if one.on_card is not None]
        return {
            "resident_namespaces": len(copies),
            "resident_memories": sum(len(one.rows) for one in copies),
            "resident_constraints": sum(len(one.constraints or ()) for one in copies),
            "resident_bytes": sum(one.bytes for one in copies),
            "resident_limit_bytes": self._limit,
            "resident_fills": self.counts.fills,
            "resident_follows": self.counts.follows,
            "resident_evictions": self.counts.evictions,
            "resident_rebuilds": self.counts.rebuilds,
            "resident_answers_by_sql": self.counts.by_sql,
            "resident_card_rows": sum(map(len, on_card)),
            "resident_card_bytes": sum(one.bytes for one in on_card),
            "resident_card_searches": self.on_card.searches,
            "resident_card_failures": self.on_card.failures,
        }

    async def settled(self) -> None:
        """Until what is being filled is filled."""
        while self._filling:
            await asyncio.gather(*self._filling.values(), return_exceptions=True)

    async def close(self) -> None:
        for task in list(self._filling.values()):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*self._filling.values(), return_exceptions=True)
        self._copies.clear()


def _put(rows: ResidentRows, loaded: Loaded, ids: list[UUID]) -> None:
    """These memories as they were loaded; what was not is not to be served."""
    there = {one.row.id for one in loaded.rows}
    rows.drop(one for one in ids if one not in there)
    for one in loaded.rows:
        rows.put(one)
    rows.feel(ids, loaded.deviations, loaded.influences)

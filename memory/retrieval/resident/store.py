"""What a resident copy reads: the memories, and which rows changed since one snapshot.

A snapshot is what one statement saw of all transactions. What a later statement sees beside it are
exactly the rows whose transactions are not visible in the first (`pg_visible_in_snapshot`),
whatever the order in which they began and ended: nothing is missed, and nobody waits for anybody.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.kernel.postgres.database import Connection, Database, Rows, Statement, execute
from memory.retrieval.resident.rows import LoadedRow, StoredState
from memory.retrieval.resident.words import TextWords
from memory.retrieval.store.found_rows import to_row, vectors_of
from memory.retrieval.store.search import COLUMNS, JOINED
from memory.tenancy.identity import Proof

FILL = 250
"""So many memories are read at a time, so that others are served in between."""


@dataclass(frozen=True, slots=True)
class SeenTransactions:
    """What was seen: as the database writes it, the version of the bank in it, and when, by the
    clock of the database.
    """

    text: str
    bank_version: int
    at: datetime

    @property
    def oldest(self) -> int:
        """Every transaction below this one was visible or will never be."""
        return int(self.text.partition(":")[0])


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows of one kind, and the memories that they are about."""

    kind: str
    memory_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Memories as they stand, with all that agents and parties feel of them; the last id that was
    looked at, None where nothing was found.
    """

    rows: Sequence[LoadedRow]
    deviations: Sequence[StoredState]
    influences: Sequence[StoredState]
    last: UUID | None


class ResidentStore:
    """Reads one namespace for its copy; each look is one round trip."""

    def __init__(
        self, database: Database, namespace_id: UUID, model_id: UUID, *, words: bool = False
    ) -> None:
        self._database = database
        self._words = words
        self._namespace_id = namespace_id
        self._model_id = model_id

    async def snapshot(self) -> SeenTransactions | None:
        """As things stand; None where there is no such namespace."""
        [rows] = await self._look(Statement(_SNAPSHOT, {"ns": self._namespace_id}))
        return _to_snapshot(rows[0]) if rows else None

    async def changes(
        self, since: SeenTransactions, proofs: Sequence[Proof] = ()
    ) -> tuple[SeenTransactions, list[RowChange]] | None:
        """As things stand, and what was changed since; None where there is no such namespace. The
        same look judges the proofs; those of one key share their statements.
        """
        values = {"ns": self._namespace_id, "since": since.text, "oldest": since.oldest}
        asked = {proof.name: proof.statements for proof in proofs}
        rows, *proven = await self._look(
            Statement(_CHANGES, values), *(one for some in asked.values() for one in some)
        )
        left = iter(proven)
        found_for = {name: [next(left) for _ in some] for name, some in asked.items()}
        for proof in proofs:
            proof.judge(found_for[proof.name])
        if not rows:
            return None
        found = [
            RowChange(r["kind"], tuple(r["memory_ids"])) for r in rows if r["kind"] is not None
        ]
        return _to_snapshot(rows[0]), found

    async def load_all(self, fields: Sequence[str]) -> AsyncGenerator[Loaded]:
        """All by id, the next ones being read while the caller works on those before."""
        reading = asyncio.create_task(self.load_after(None, fields))
        try:
            while (loaded := await reading).last is not None:
                reading = asyncio.create_task(self.load_after(loaded.last, fields))
                yield loaded
        finally:
            reading.cancel()

    async def load_after(self, last: UUID | None, fields: Sequence[str]) -> Loaded:
        """The next memories by id."""
        values = {"last": last, "most": FILL}
        return await self._load(_AFTER[self._words], values, fields)

    async def load(self, memory_ids: Sequence[UUID], fields: Sequence[str]) -> Loaded:
        """Those of these memories that may be served now."""
        return await self._load(_SOME[self._words], {"ids": list(memory_ids)}, fields)

    async def _load(
        self, statement: bytes, values: Mapping[str, object], fields: Sequence[str]
    ) -> Loaded:
        here: dict[str, object] = {"ns": self._namespace_id, "model": self._model_id}
        asked = {**here, **values, "agent": None, "party": None, "fields": sorted(fields)}
        [rows] = await self._look(Statement(statement, asked))
        ids = {**here, "ids": [row["id"] for row in rows]}
        felt = [Statement(_DEVIATIONS, ids), Statement(_INFLUENCES, ids)] if rows else []
        deviations, influences = await self._look(*felt) if felt else ([], [])
        found = [self._to_loaded(row) for row in rows if row["fields"] is not None]
        last = max((row["id"] for row in rows), default=None)
        return Loaded(found, _to_states(deviations), _to_states(influences), last)

    def _to_loaded(self, row: Mapping[str, Any]) -> LoadedRow:
        words = None
        if self._words:
            words = TextWords(tuple(row["pieces"]), tuple(row["raw_terms"] or ()))
        vectors = vectors_of(row)
        found = to_row({**row, "fields": (), "vectors": ()})
        return LoadedRow(row["owner"], found, vectors, words)

    async def _look(self, *statements: Statement) -> list[Rows]:
        return await self._database.exchange(statements, self._namespace_id)


@dataclass(frozen=True, slots=True)
class BankVersion:
    """The version of a bank, and the model that it is searched by."""

    version: int
    model_id: UUID | None


async def load_versions(
    database: Database, namespace_ids: Sequence[UUID]
) -> Mapping[UUID, BankVersion]:
    """The versions of these banks; a namespace that is no longer there has none."""
    [rows] = await database.exchange([Statement(_VERSIONS, {"ids": list(namespace_ids)})])
    return {row["id"]: BankVersion(row["bank_version"], row["model_id"]) for row in rows}


async def forget_changes(connection: Connection) -> None:
    """Which rows changed is kept for a day, by the clock of the database; whoever did not look for
    so long fills its copy anew.
    """
    await execute(connection, Statement(_FORGET, {}))


def _to_snapshot(row: Mapping[str, Any]) -> SeenTransactions:
    return SeenTransactions(row["snapshot"], row["bank_version"], row["at"])


def _to_states(rows: Rows) -> list[StoredState]:
    return [
        StoredState(row["memory_id"], row["holder_id"], tuple(row["state"]), row["touched_at"])
        for row in rows
    ]


_SNAPSHOT = b"""
    SELECT n.bank_version, pg_current_snapshot()::text AS snapshot, clock_timestamp() AS at
    FROM namespace n WHERE n.id = %(ns)s
"""


_VERSIONS = b"SELECT id, bank_version, model_id FROM namespace WHERE id = ANY(%(ids)s::uuid[])"


# A transaction below the oldest that ran then had ended: what it wrote was seen, or is gone.
_CHANGES = b"""
    SELECT n.bank_version, pg_current_snapshot()::text AS snapshot, clock_timestamp() AS at,
        c.kind, c.memory_ids
    FROM namespace n LEFT JOIN row_change c ON c.namespace_id = n.id AND c.xid >= %(oldest)s
        AND NOT pg_visible_in_snapshot(c.xid::text::xid8, %(since)s::pg_snapshot)
    WHERE n.id = %(ns)s
"""


_SERVED = """m.namespace_id = %(ns)s AND m.kind = 'experience' AND m.erased_at IS NULL
    AND m.trust <> 'quarantined' AND m.status IN ('active', 'probation')"""


def _pieces(field: str) -> str:
    return f"""coalesce((SELECT token_ids FROM embedding WHERE memory_id = h.id
        AND version = h.version AND model_id = %(model)s AND field = '{field}'), '{{}}')"""  # noqa: S608 - constants


_WORDS = f", v.raw_terms, {_pieces('situation')} || {_pieces('lesson')} AS pieces"


def _rows(condition: str, ending: str = "", words: str = "") -> bytes:
    return f"""
    SELECT m.owner, {COLUMNS}{words}
    FROM (SELECT m.id, m.version FROM memory m
        WHERE {_SERVED} AND {condition} {ending}) AS h {JOINED}
    """.encode()  # noqa: S608 - assembled from the constants above; every value is a parameter


_AFTER = {
    words: _rows(
        "m.id > coalesce(%(last)s::uuid, '00000000-0000-0000-0000-000000000000')",
        "ORDER BY m.id LIMIT %(most)s",
        _WORDS if words else "",
    )
    for words in (False, True)
}


_SOME = {
    words: _rows("m.id = ANY(%(ids)s::uuid[])", words=_WORDS if words else "")
    for words in (False, True)
}


_FORGET = b"DELETE FROM row_change WHERE recorded_at < clock_timestamp() - interval '1 day'"


_DEVIATIONS = b"""
    SELECT memory_id, agent_id AS holder_id, state, touched_at FROM weight_deviation
    WHERE namespace_id = %(ns)s AND memory_id = ANY(%(ids)s::uuid[])
"""


_INFLUENCES = b"""
    SELECT memory_id, party_id AS holder_id, state, touched_at FROM influence
    WHERE namespace_id = %(ns)s AND memory_id = ANY(%(ids)s::uuid[])
"""

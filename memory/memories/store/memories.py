"""MemoryStore: the bank on disk, seen through one namespace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.identifiers import find_identifiers, find_raw_terms
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import UniqueTextTaken
from memory.kernel.postgres.tables import change
from memory.kernel.turns import in_parts
from memory.memories.entities import (
    ANY_AGENT,
    ExperienceDraft,
    Kind,
    MemoryEdit,
    Status,
    Trust,
    Visibility,
    fingerprint,
    normal_fingerprint,
)
from memory.memories.rules import says_nothing
from memory.memories.tables import LIVING, embedding, memory, memory_version
from memory.tasks.entities import CategoryIds

TwinKey = tuple[str, str, UUID, bytes]


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A draft with everything it needs to become rows."""

    id: UUID
    draft: ExperienceDraft
    agent_id: UUID
    category_ids: CategoryIds
    task_id: UUID | None
    source_group: str
    learned_at: datetime
    vectors: Mapping[str, Embedding]
    kind: Kind = Kind.EXPERIENCE
    status: Status = Status.ACTIVE
    trust: Trust = Trust.UNVERIFIED
    status_reason: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict[str, object])
    contradicts: tuple[UUID, ...] = ()

    @property
    def owner(self) -> str:
        """Whose private memory it is; `*` where every agent may see it."""
        return str(self.agent_id) if self.draft.visibility is Visibility.AGENT else ANY_AGENT

    @property
    def twin_key(self) -> TwinKey:
        """What may stand in the living bank once."""
        return (self.owner, self.kind.value, self.category_ids.category, self.draft.digest)

    @property
    def first_version(self) -> "NewVersion":
        """Its words and vectors."""
        return NewVersion(
            memory_id=self.id,
            version=1,
            situation=self.draft.situation,
            lesson=self.draft.lesson,
            known_at=self.learned_at,
            vectors=self.vectors,
        )


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The words of a memory from one version on, with their vectors."""

    memory_id: UUID
    version: int
    situation: str
    lesson: str
    known_at: datetime
    vectors: Mapping[str, Embedding]

    @property
    def digest(self) -> bytes:
        return fingerprint(self.situation, self.lesson)

    @property
    def says_something(self) -> bool:
        return not says_nothing(self.situation, self.lesson)

    @property
    def normal_digest(self) -> bytes:
        return normal_fingerprint(self.situation, self.lesson)


@dataclass(frozen=True, slots=True)
class Twin:
    """A living memory that says the same."""

    id: UUID
    version: int
    status: Status


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who writes, when, and in which version of the bank."""

    key_id: UUID | None
    now: datetime
    bank_version: int


ROWS_AT_ONCE = 16
"""Memories that are written out for a statement; with more of them, other requests would wait."""
_TWIN = tuple_(memory.c.owner, memory.c.kind, memory.c.category_id, memory.c.sha256)


class MemoryStore:
    """Memories of one namespace. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def twins(self, memories: Sequence[NewMemory]) -> dict[TwinKey, Twin]:
        """Living memories that already say the same, by twin key."""
        if not memories:
            return {}
        rows = await self._connection.execute(
            select(
                memory.c.id,
                memory.c.version,
                memory.c.status,
                memory.c.owner,
                memory.c.kind,
                memory.c.category_id,
                memory.c.sha256,
            )
            .where(memory.c.namespace_id == self._namespace_id, text(LIVING))
            .where(_TWIN.in_([new.twin_key for new in memories]))
        )
        return {
            (row.owner, row.kind, row.category_id, row.sha256): Twin(
                row.id, row.version, Status(row.status)
            )
            for row in rows
        }

    async def add_evidence(self, memory_ids: Sequence[UUID]) -> None:
        """The same text came again: one more piece of evidence for each time."""
        for memory_id, times in sorted(Counter(memory_ids).items()):
            await self._connection.execute(
                update(memory)
                .where(memory.c.namespace_id == self._namespace_id, memory.c.id == memory_id)
                .values(evidence=memory.c.evidence + times)
            )

    async def add(self, memories: Sequence[NewMemory], stamp: Stamp) -> set[UUID]:
        """Insert; returns the ids that went in. The index on living text refuses the others."""
        kept: set[UUID] = set()
        statement = insert(memory).on_conflict_do_nothing().returning(memory.c.id)
        for part in in_parts(memories, ROWS_AT_ONCE):
            rows = [self._row(new, stamp) for new in part]
            kept.update(row.id for row in await self._connection.execute(statement, rows))
        fresh = [new for new in memories if new.id in kept]
        if fresh:
            await self._add_texts(fresh, stamp)
            await self.feed(stamp, "added", [new.id for new in fresh])
        return kept

    def _row(self, new: NewMemory, stamp: Stamp) -> dict[str, object]:
        draft = new.draft
        return {
            "id": new.id,
            "namespace_id": self._namespace_id,
            "kind": new.kind,
            "status": new.status,
            "status_reason": new.status_reason,
            "trust": new.trust,
            "visibility": draft.visibility,
            "pinned": draft.pinned,
            "owner": new.owner,
            "agent_id": new.agent_id,
            "category_id": new.category_ids.category,
            "subcategory_id": new.category_ids.subcategory,
            "task_id": new.task_id,
            "source_group": new.source_group,
            "detail": dict(new.detail),
            "contradicts": list(new.contradicts),
            "metadata": dict(draft.metadata),
            "version": 1,
            "sha256": draft.digest,
            "start_weight": draft.weight,
            "learned_at": new.learned_at,
            "recorded_at": stamp.now,
            "bank_version": stamp.bank_version,
            "key_id": stamp.key_id,
        }

    async def _add_texts(self, memories: Sequence[NewMemory], stamp: Stamp) -> None:
        for part in in_parts(memories, ROWS_AT_ONCE):
            rows = [self._version_row(new.first_version, stamp) for new in part]
            await self._connection.execute(insert(memory_version), rows)

    def _version_row(self, new: NewVersion, stamp: Stamp) -> dict[str, object]:
        words = f"{new.situation}\n{new.lesson}"
        return {
            "memory_id": new.memory_id,
            "version": new.version,
            "namespace_id": self._namespace_id,
            "situation": new.situation,
            "lesson": new.lesson,
            "identifiers": sorted(find_identifiers(words)),
            "raw_terms": find_raw_terms(words),
            "normal_sha256": new.normal_digest,
            "known_at": new.known_at,
            "recorded_at": stamp.now,
            "bank_version": stamp.bank_version,
            "key_id": stamp.key_id,
        }

    async def add_vectors(
        self, memory_id: UUID, version: int, model_id: UUID, vectors: Mapping[str, Embedding]
    ) -> None:
        """Vectors of one version, one a field."""
        await self._add_vectors(
            [
                self._vector_row(memory_id, version, model_id, field, made)
                for field, made in vectors.items()
            ]
        )

    async def add_first_vectors(self, memories: Sequence[NewMemory], model_id: UUID) -> None:
        """Vectors of the first version of each new memory."""
        for part in in_parts(memories, ROWS_AT_ONCE):
            await self._add_vectors(
                [
                    self._vector_row(new.id, 1, model_id, field, made)
                    for new in part
                    for field, made in new.vectors.items()
                ]
            )

    async def _add_vectors(self, rows: Sequence[Mapping[str, object]]) -> None:
        if rows:
            await self._connection.execute(insert(embedding), rows)

    def _vector_row(
        self, memory_id: UUID, version: int, model_id: UUID, field: str, made: Embedding
    ) -> dict[str, object]:
        return {
            "memory_id": memory_id,
            "version": version,
            "field": field,
            "model_id": model_id,
            "namespace_id": self._namespace_id,
            "vector": made.vector.tolist(),
            "token_ids": list(made.token_ids),
            "unknown_share": made.unknown_share,
        }

    async def edit(self, memory_id: UUID, values: Mapping[str, object], version: int) -> bool:
        """Write over version `version`; False where it is no longer current.

        Raises UniqueTextTaken where another living memory has the text.
        """
        here = (memory.c.id == memory_id) & (memory.c.version == version)
        return await self._update(here & memory.c.erased_at.is_(None), values) > 0

    async def _update(self, condition: ColumnElement[bool], values: Mapping[str, object]) -> int:
        """Rows written, inside the namespace."""
        statement = update(memory).where(memory.c.namespace_id == self._namespace_id, condition)
        try:
            async with self._connection.begin_nested():
                return (await self._connection.execute(statement.values(**values))).rowcount
        except IntegrityError as fault:
            raise UniqueTextTaken from fault

    async def add_version(self, new: NewVersion, model_id: UUID, stamp: Stamp) -> None:
        """The text as served from now on."""
        await self._connection.execute(insert(memory_version), [self._version_row(new, stamp)])
        await self.add_vectors(new.memory_id, new.version, model_id, new.vectors)

    async def set_status(
        self, memory_id: UUID, step: tuple[Status, Status], reason: str | None, stamp: Stamp
    ) -> bool:
        """From the first status to the second; False where it no longer has the first."""
        was, status = step
        changed = await self._update(
            (memory.c.id == memory_id) & (memory.c.status == was) & memory.c.erased_at.is_(None),
            {"status": status, "status_reason": reason, "bank_version": stamp.bank_version},
        )
        await self.feed(stamp, status.value, [memory_id])
        return changed > 0

    async def touch_category(self, category_id: UUID, bank_version: int) -> list[UUID]:
        """Marks the memories of a category, or of a subcategory, as changed, so that copies of them
        are read again; their ids.
        """
        here = (memory.c.category_id == category_id) | (memory.c.subcategory_id == category_id)
        rows = await self._connection.execute(
            update(memory)
            .where(memory.c.namespace_id == self._namespace_id, here)
            .values(bank_version=bank_version)
            .returning(memory.c.id)
        )
        return sorted(rows.scalars())

    async def feed(self, stamp: Stamp, kind: str, memory_ids: Sequence[UUID]) -> None:
        """Tell caches what changed in this version of the bank."""
        subjects = [str(memory_id) for memory_id in memory_ids]
        await self._connection.execute(
            insert(change)
            .values(
                namespace_id=self._namespace_id,
                bank_version=stamp.bank_version,
                kind=kind,
                subjects=subjects,
                recorded_at=stamp.now,
            )
            .on_conflict_do_nothing()
        )


def edited_columns(edit: MemoryEdit) -> dict[str, object]:
    """The columns that an edit changes beside the words, which make a new version."""
    given = {
        "metadata": None if edit.metadata is None else dict(edit.metadata),
        "pinned": edit.pinned,
    }
    return {name: value for name, value in given.items() if value is not None}

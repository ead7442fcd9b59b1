"""ConstraintStore: constraints near one another, and the vectors of the tasks they come from, seen
through one namespace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy import column, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.tables import task_embedding
from memory.kernel.ports import Embedding
from memory.kernel.postgres.rows import RowMapper
from memory.memories.entities import ANY_AGENT, Trust, Visibility
from memory.memories.store.memories import Stamp
from memory.memories.tables import LIVING, memory
from memory.tasks.entities import CategoryIds
from memory.tasks.tables import task

ROUNDING = 1e-3
"""What the database's half precision may take off a cosine."""


@dataclass(frozen=True, slots=True)
class PeerQuery:
    """Where near constraints are looked for: category and subcategory, and whose beside those that
    all agents see (None: anyone's); `above` is the least cosine of the triggers. What has the
    very text of `digest` is near wherever it stands in the category: a text stands there once.
    """

    category_ids: CategoryIds
    owner: str | None
    model_id: UUID
    above: float
    digest: bytes | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """A living constraint of a bucket, and the cosines of its parts to another's."""

    id: UUID
    status: str
    status_reason: str | None
    trust: str
    owner: str
    subcategory_id: UUID | None
    detail: dict[str, object]
    trigger: float
    lesson: float
    enforce: float | None
    avoid: float | None
    enforce_avoid: float | None
    avoid_enforce: float | None

    @property
    def shared(self) -> bool:
        """Whether every agent may see it."""
        return self.owner == ANY_AGENT


_to_peer = RowMapper(
    Peer,
    map(
        column,
        (
            *("id", "status", "status_reason", "trust", "owner", "subcategory_id", "detail"),
            *("trigger", "lesson", "enforce", "avoid", "enforce_avoid", "avoid_enforce"),
        ),
    ),
)


class ConstraintStore:
    """Constraints of one namespace; they are written as memories are. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def near(
        self, bucket: PeerQuery, vectors: Mapping[str, Embedding], but: UUID | None = None
    ) -> list[Peer]:
        """Living constraints of the bucket with a like trigger, the most alike first; `but` is
        left out.
        """
        values = {
            "ns": self._namespace_id,
            "first": bucket.category_ids.category,
            "second": bucket.category_ids.subcategory,
            "owners": None if bucket.owner is None else [ANY_AGENT, bucket.owner],
            "model": bucket.model_id,
            "above": bucket.above - ROUNDING,
            "but": but,
            "digest": bucket.digest,
        }
        written = {f"q_{field}": _literal(vectors.get(field)) for field in _FIELDS}
        rows = await self._connection.execute(_NEAR, values | written)
        return [_to_peer(row) for row in rows.mappings()]

    async def vectors(self, memory_id: UUID, model_id: UUID) -> dict[str, Embedding]:
        """The stored vectors of a constraint as it is worded now, by field."""
        rows = await self._connection.execute(
            _VECTORS, {"ns": self._namespace_id, "id": memory_id, "model": model_id}
        )
        return {row.field: _embedding(row.vector) for row in rows}

    async def find_rejected(self, owner: str, category_id: UUID, digest: bytes) -> UUID | None:
        """The rejected constraint that says the same, if there is one."""
        return await self._connection.scalar(
            select(memory.c.id)
            .where(memory.c.namespace_id == self._namespace_id, memory.c.kind == "constraint")
            .where(memory.c.status == "rejected", memory.c.erased_at.is_(None))
            .where(memory.c.owner == owner, memory.c.category_id == category_id)
            .where(memory.c.sha256 == digest)
            .order_by(memory.c.id)
            .limit(1)
        )

    async def open_up(
        self, memory_id: UUID, trust: Trust | None, stamp: Stamp
    ) -> CategoryIds | None:
        """Every agent may see it from now on; and `trust` is what is thought of its source. Answers
        where it is; None where another that all agents see says the same.
        """
        values: dict[str, object] = {
            "owner": ANY_AGENT,
            "visibility": Visibility.NAMESPACE,
            "bank_version": stamp.bank_version,
        }
        if trust is not None:
            values["trust"] = trust
        here = (memory.c.namespace_id == self._namespace_id) & (memory.c.id == memory_id)
        try:
            async with self._connection.begin_nested():
                opened = update(memory).where(here).values(**values)
                place = (memory.c.category_id, memory.c.subcategory_id)
                row = (await self._connection.execute(opened.returning(*place))).first()
        except IntegrityError:
            return None
        return None if row is None else CategoryIds(row.category_id, row.subcategory_id)

    async def tasks_without_vector(
        self, task_ids: Sequence[UUID], model_id: UUID
    ) -> dict[UUID, str]:
        """The texts of those tasks that have no vector yet."""
        rows = await self._connection.execute(
            select(task.c.id, task.c.text)
            .outerjoin(
                task_embedding,
                (task_embedding.c.task_id == task.c.id) & (task_embedding.c.model_id == model_id),
            )
            .where(task.c.namespace_id == self._namespace_id, task.c.id.in_(task_ids))
            .where(task.c.erased_at.is_(None), task_embedding.c.task_id.is_(None))
        )
        return {row.id: row.text for row in rows}

    async def add_task_vectors(self, vectors: Mapping[UUID, Embedding], model_id: UUID) -> None:
        """Vectors of tasks, one a task and model; what was erased meanwhile gets none."""
        rows = [
            {"ns": self._namespace_id, "id": task_id, "model": model_id, "v": _literal(made)}
            for task_id, made in sorted(vectors.items())
        ]
        if rows:
            await self._connection.execute(_KEEP_TASK, rows)


_FIELDS = ("situation", "lesson", "enforce", "avoid")


# The limit keeps the planner from joining: the vectors of few memories are read one by one by their
# key.
_VECTOR = """LEFT JOIN LATERAL (SELECT e.vector FROM embedding e WHERE e.memory_id = m.id
    AND e.version = m.version AND e.model_id = :model AND e.field || '' = '{field}' LIMIT 1) {field}
    ON true"""


def _cosine(field: str, query: str) -> str:
    return f"1 - ({field}.vector <=> CAST(:q_{query} AS halfvec))"


# Triggers have a field of their own, so that only constraints are gone through, and only what is
# alike is looked at any closer.
_NEAR = text(f"""
    WITH alike AS MATERIALIZED (
        SELECT e.memory_id, e.version, {_cosine("e", "situation")} AS trigger FROM embedding e
        WHERE e.namespace_id = :ns AND e.model_id = :model AND e.field = 'trigger'
    ),
    bucket AS MATERIALIZED (
        SELECT m.*, a.trigger FROM alike a
        JOIN memory m ON m.id = a.memory_id AND m.version = a.version
        WHERE a.trigger >= :above AND m.namespace_id = :ns AND {LIVING}
          AND m.category_id = :first
          AND (m.subcategory_id IS NOT DISTINCT FROM CAST(:second AS uuid)
            OR m.sha256 = CAST(:digest AS bytea))
          AND (CAST(:owners AS text[]) IS NULL OR m.owner = ANY(:owners))
          AND m.id IS DISTINCT FROM CAST(:but AS uuid)
    )
    SELECT m.id, m.status, m.status_reason, m.trust, m.owner, m.subcategory_id, m.detail,
        m.trigger,
        {_cosine("lesson", "lesson")} AS lesson, {_cosine("enforce", "enforce")} AS enforce,
        {_cosine("avoid", "avoid")} AS avoid, {_cosine("avoid", "enforce")} AS enforce_avoid,
        {_cosine("enforce", "avoid")} AS avoid_enforce
    FROM bucket m {" ".join(_VECTOR.format(field=field) for field in _FIELDS[1:])}
    ORDER BY m.owner <> '*', m.trigger + {_cosine("lesson", "lesson")} DESC, m.id
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_VECTORS = text("""
    SELECT e.field, CAST(CAST(e.vector AS vector) AS real[]) AS vector
    FROM memory m JOIN embedding e ON e.memory_id = m.id AND e.version = m.version
    WHERE m.namespace_id = :ns AND m.id = :id AND e.model_id = :model
""")


_KEEP_TASK = text("""
    INSERT INTO task_embedding (task_id, model_id, namespace_id, vector)
    SELECT id, :model, namespace_id, CAST(:v AS halfvec) FROM task
    WHERE namespace_id = :ns AND id = :id AND erased_at IS NULL
    ON CONFLICT DO NOTHING
""")


def _literal(made: Embedding | None) -> str | None:
    if made is None:
        return None
    return "[" + ",".join(map(repr, made.vector.astype(float).tolist())) + "]"


def _embedding(numbers: Sequence[float]) -> Embedding:
    return Embedding(np.asarray(numbers, np.float32), ())

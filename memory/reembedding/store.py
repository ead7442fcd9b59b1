"""ReembeddingStore: which texts have no vector of a model yet, and which models a namespace holds
vectors of.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.ports import UNKNOWN_LIMIT, Embedding, ModelIdentity
from memory.reembedding.entities import ModelVectors
from memory.reembedding.rules import SituationSample

DROPPED_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True, order=True)
class VectorKey:
    """Which vector of a memory; of a task where there is no field."""

    id: UUID
    version: int = 0
    field: str = ""


FIRST = VectorKey(UUID(int=0))


@dataclass(frozen=True, slots=True)
class UnembeddedText:
    """A text without a vector of the model."""

    key: VectorKey
    text: str


class ReembeddingStore:
    """The vectors of one namespace, beside those that it is searched by."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lacks(self, model_id: UUID) -> bool:
        """Whether a text that has a vector has none of this model."""
        here = {"ns": self._namespace_id, "model": model_id}
        return bool(await self._connection.scalar(_LACKS, here))

    async def count_missing(self, model_id: UUID) -> int:
        """Texts of memories and tasks that have vectors, and none of this model."""
        here = {"ns": self._namespace_id, "model": model_id}
        counts = [await self._connection.scalar(one, here) for one in _COUNTS]
        return sum(count or 0 for count in counts)

    async def list_missing(
        self, model_id: UUID, after: VectorKey, limit: int
    ) -> list[UnembeddedText]:
        """The next texts of memories, by key."""
        rows = await self._connection.execute(
            _MEMORIES_WITHOUT,
            {
                "ns": self._namespace_id,
                "model": model_id,
                "id": after.id,
                "version": after.version,
                "field": after.field,
                "limit": limit,
            },
        )
        return [
            UnembeddedText(VectorKey(row.memory_id, row.version, row.field), row.text)
            for row in rows
        ]

    async def list_missing_tasks(
        self, model_id: UUID, after: VectorKey, limit: int
    ) -> list[UnembeddedText]:
        """The next texts of tasks, by id."""
        rows = await self._connection.execute(
            _TASKS_WITHOUT,
            {"ns": self._namespace_id, "model": model_id, "id": after.id, "limit": limit},
        )
        return [UnembeddedText(VectorKey(row.task_id), row.text) for row in rows]

    async def add(
        self, texts: Sequence[UnembeddedText], made: Sequence[Embedding], model_id: UUID
    ) -> None:
        """Their vectors, unless the words are gone or another was faster."""
        rows = [_to_row(one.key, vector) for one, vector in zip(texts, made, strict=True)]
        for statement, some in (
            (_ADD, [row for row in rows if row["field"]]),
            (_ADD_TASKS, [row for row in rows if not row["field"]]),
        ):
            if some:
                here = {"ns": self._namespace_id, "model": model_id, "rows": json.dumps(some)}
                await self._connection.execute(statement, here)

    async def sample(
        self, model_id: UUID, other_id: UUID | None, q99: float, limit: int
    ) -> SituationSample | None:
        """The situations of memories that have vectors of both models, the same for both; None
        where there are none.
        """
        rows = await self._connection.execute(
            _SAMPLE,
            {
                "ns": self._namespace_id,
                "model": model_id,
                "other": other_id or model_id,
                "unknown": UNKNOWN_LIMIT,
                "limit": limit,
            },
        )
        found = rows.all()
        if not found:
            return None
        vectors = np.array([json.loads(row.vector) for row in found], dtype=np.float32)
        return SituationSample(vectors, q99, float(np.mean([row.unread for row in found])))

    async def switch(self, model_id: UUID) -> None:
        """The namespace is searched by this model; the one before is kept as a former one."""
        await self._connection.execute(_SWITCH, {"ns": self._namespace_id, "model": model_id})

    async def models(self) -> tuple[ModelVectors, ...]:
        """The models it holds vectors of, its own first."""
        rows = await self._connection.execute(_MODELS, {"ns": self._namespace_id})
        return tuple(_to_vectors(row) for row in rows.mappings())

    async def drop_some(self, model_id: UUID) -> int:
        """Vectors of a model that the namespace is not on, so many at once; returns how many."""
        here = {"ns": self._namespace_id, "model": model_id, "limit": DROPPED_AT_ONCE}
        dropped = 0
        for statement in _DROP:
            dropped += (await self._connection.execute(statement, here)).rowcount
        return dropped

    async def forget_former(self, model_id: UUID) -> None:
        """Nothing of this model is kept any more."""
        here = {"ns": self._namespace_id, "model": model_id}
        for statement in _FORGET:
            await self._connection.execute(statement, here)


def _to_row(key: VectorKey, made: Embedding) -> dict[str, object]:
    vector = ",".join(f"{number:.9g}" for number in made.vector.tolist())
    return {
        "id": str(key.id),
        "version": key.version,
        "field": key.field,
        "vector": f"[{vector}]",
        "token_ids": list(made.token_ids),
        "unknown_share": made.unknown_share,
    }


def _to_vectors(row: RowMapping) -> ModelVectors:
    state = "current" if row["is_current"] else "former" if row["is_former"] else "prepared"
    identity = ModelIdentity(row["name"], row["revision"], row["sha256"], row["width"])
    return ModelVectors(row["model_id"], identity, row["vectors"], state)


_WITHOUT = """
    FROM embedding e
    WHERE e.namespace_id = :ns AND e.model_id <> :model AND NOT EXISTS (
        SELECT FROM embedding x WHERE x.memory_id = e.memory_id AND x.version = e.version
            AND x.field = e.field AND x.model_id = :model
    )
"""


_TASKS = """
    FROM task_embedding e
    WHERE e.namespace_id = :ns AND e.model_id <> :model AND NOT EXISTS (
        SELECT FROM task_embedding x WHERE x.task_id = e.task_id AND x.model_id = :model
    )
"""


_COUNTS = (
    text(f"SELECT count(DISTINCT (e.memory_id, e.version, e.field)) {_WITHOUT}"),
    text(f"SELECT count(DISTINCT e.task_id) {_TASKS}"),
)


_LACKS = text(f"SELECT EXISTS (SELECT {_WITHOUT}) OR EXISTS (SELECT {_TASKS})")


# What each field is made of, as it is when it is first written.
_MEMORIES_WITHOUT = text(f"""
    SELECT w.memory_id, w.version, w.field, coalesce(CASE w.field
        WHEN 'lesson' THEN v.lesson WHEN 'enforce' THEN m.detail ->> 'enforce'
        WHEN 'avoid' THEN m.detail ->> 'avoid' ELSE v.situation END, '') AS text
    FROM (
        SELECT DISTINCT e.memory_id, e.version, e.field {_WITHOUT}
            AND (e.memory_id, e.version, e.field) > (:id, :version, :field)
        ORDER BY e.memory_id, e.version, e.field LIMIT :limit
    ) AS w
    JOIN memory m ON m.id = w.memory_id
    JOIN memory_version v ON v.memory_id = w.memory_id AND v.version = w.version
    ORDER BY w.memory_id, w.version, w.field
""")  # noqa: S608 - assembled from a constant; every value is a parameter


_TASKS_WITHOUT = text(f"""
    SELECT w.task_id, t.text
    FROM (
        SELECT DISTINCT e.task_id {_TASKS} AND e.task_id > :id ORDER BY e.task_id LIMIT :limit
    ) AS w JOIN task t ON t.id = w.task_id
    ORDER BY w.task_id
""")  # noqa: S608 - assembled from a constant; every value is a parameter


_ROWS = """jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
        id uuid, version integer, field text, vector text, token_ids integer[],
        unknown_share double precision
    )"""


# Words that went meanwhile took their vectors with them: then there is none to stand beside.
_ADD = text(f"""
    INSERT INTO embedding (
        memory_id, version, field, model_id, namespace_id, vector, token_ids, unknown_share
    )
    SELECT r.id, r.version, r.field, :model, :ns, CAST(r.vector AS halfvec), r.token_ids,
        r.unknown_share
    FROM {_ROWS} WHERE EXISTS (
        SELECT FROM embedding e WHERE e.namespace_id = :ns AND e.memory_id = r.id
            AND e.version = r.version AND e.field = r.field
    )
    ON CONFLICT DO NOTHING
""")  # noqa: S608 - assembled from a constant; every value is a parameter


_ADD_TASKS = text(f"""
    INSERT INTO task_embedding (task_id, model_id, namespace_id, vector)
    SELECT r.id, :model, :ns, CAST(r.vector AS halfvec)
    FROM {_ROWS} WHERE EXISTS (
        SELECT FROM task_embedding e WHERE e.namespace_id = :ns AND e.task_id = r.id
    )
    ON CONFLICT DO NOTHING
""")  # noqa: S608 - assembled from a constant; every value is a parameter


# In an order that has nothing to do with when they were written, and is the same each time.
_SAMPLE = text("""
    SELECT e.vector::text AS vector, e.unknown_share >= :unknown AS unread
    FROM memory m
    JOIN embedding e ON e.memory_id = m.id AND e.version = m.version AND e.field = 'situation'
        AND e.model_id = :model
    JOIN embedding o ON o.memory_id = m.id AND o.version = m.version AND o.field = 'situation'
        AND o.model_id = :other
    WHERE m.namespace_id = :ns AND m.kind = 'experience' AND m.erased_at IS NULL
        AND m.status NOT IN ('retired', 'rejected')
    ORDER BY md5(m.id::text), m.id LIMIT :limit
""")


_SWITCH = text("""
    UPDATE namespace SET model_id = :model, former_model_ids = array_remove(
        CASE WHEN model_id IS NULL THEN former_model_ids
            ELSE array_append(array_remove(former_model_ids, model_id), model_id) END, :model)
    WHERE id = :ns
""")


_MODELS = text("""
    SELECT v.model_id, m.name, m.revision, m.sha256, m.width, sum(v.one) AS vectors,
        v.model_id IS NOT DISTINCT FROM n.model_id AS is_current,
        v.model_id = ANY(n.former_model_ids) AS is_former
    FROM (
        SELECT model_id, 1 AS one FROM embedding WHERE namespace_id = :ns
        UNION ALL SELECT model_id, 1 FROM task_embedding WHERE namespace_id = :ns
        UNION ALL SELECT model_id, 0 FROM namespace WHERE id = :ns
        UNION ALL SELECT unnest(former_model_ids), 0 FROM namespace WHERE id = :ns
    ) AS v
    JOIN embedding_model m ON m.id = v.model_id
    JOIN namespace n ON n.id = :ns
    GROUP BY v.model_id, m.id, n.model_id, n.former_model_ids
    ORDER BY is_current DESC, is_former DESC, m.name, m.revision, v.model_id
""")


_NOT_ITS_OWN = """namespace_id = :ns AND model_id = :model
        AND model_id IS DISTINCT FROM (SELECT n.model_id FROM namespace n WHERE n.id = :ns)"""


_DROP = tuple(
    text(f"""
    DELETE FROM {table} WHERE namespace_id = :ns AND ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE {_NOT_ITS_OWN} LIMIT :limit
    ))
    """)  # noqa: S608 - constants; every value is a parameter
    for table in ("embedding", "task_embedding")
)


_FORGET = (
    text(f"DELETE FROM centroid WHERE {_NOT_ITS_OWN}"),  # noqa: S608 - constants
    text("""
    UPDATE namespace SET former_model_ids = array_remove(former_model_ids, :model) WHERE id = :ns
    """),
)

"""ExportStore: the rows of one namespace as lines of JSON, made by the database itself: numbers,
times and documents stand in them to the last bit.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.inference.tables import embedding_model
from memory.kernel.errors import NotFound
from memory.kernel.postgres.rows import RowMapper
from memory.transfer.entities import ExportSubject, ModelFacts, SubjectKind
from memory.transfer.shapes import ValueKind
from memory.transfer.store.catalogue import TransferTable
from memory.transfer.store.subjects import ABOUT

_AT_ONCE = 500


_to_model = RowMapper(ModelFacts, [embedding_model])


# What a vector is made of, where the vector itself stays behind.
_TEXTS = {
    "embedding": (
        """SELECT e.memory_id, e.version, e.field, e.model_id, coalesce(CASE e.field
             WHEN 'lesson' THEN v.lesson WHEN 'enforce' THEN m.detail ->> 'enforce'
             WHEN 'avoid' THEN m.detail ->> 'avoid' ELSE v.situation END, '') AS text
           FROM embedding e JOIN memory m ON m.id = e.memory_id
           JOIN memory_version v ON v.memory_id = e.memory_id AND v.version = e.version
           WHERE e.namespace_id = :ns ORDER BY e.memory_id, e.version, e.field, e.model_id"""
    ),
    "task_embedding": (
        """SELECT e.task_id, e.model_id, t.text
           FROM task_embedding e JOIN task t ON t.id = e.task_id
           WHERE e.namespace_id = :ns ORDER BY e.task_id, e.model_id"""
    ),
}


class ExportStore:
    """Reads one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def find(self, subject: ExportSubject) -> ExportSubject:
        """With its id. Raises NotFound."""
        here = {"ns": self._namespace_id, "name": subject.name}
        found = await self._connection.scalar(_FINDING[subject.kind], here)
        if found is None:
            raise NotFound(f"no {subject}", code=f"{subject.kind}_not_found", field=subject.kind)
        return replace(subject, id=found)

    async def lines(
        self, table: TransferTable, *, vectors: bool = True, about: ExportSubject | None = None
    ) -> AsyncGenerator[Sequence[str]]:
        """The rows of a table in the order of their keys, some at a time; with a subject those that
        are about it.
        """
        which = None if about is None else ABOUT[about.kind][table.name]
        rows = _TEXTS.get(table.name) if not vectors else None
        asked = f"SELECT row_to_json(x)::text FROM ({rows or _rows_of(table, which)}) AS x"  # noqa: S608 - names of the schema
        here = {"ns": self._namespace_id, **({} if about is None else {"subject": about.id})}
        found = await self._connection.stream(
            text(asked).execution_options(yield_per=_AT_ONCE), here
        )
        async for some in found.scalars().partitions(_AT_ONCE):
            yield some

    async def models(self) -> tuple[ModelFacts, ...]:
        """The models that rows of the namespace name."""
        rows = await self._connection.execute(_MODELS, {"ns": self._namespace_id})
        return tuple(_to_model(row) for row in rows.mappings())


def _rows_of(table: TransferTable, about: str | None) -> str:
    # As text, a document's own null differs from none.
    columns = ", ".join(
        f"{name}::text" if shape.kind is ValueKind.DOCUMENT else name
        for name, shape in table.shapes.items()
    )
    order = ", ".join(table.keys)
    which = "namespace_id = :ns" if about is None else f"namespace_id = :ns AND ({about})"
    return f"SELECT {columns} FROM {table.name} WHERE {which} ORDER BY {order}"  # noqa: S608 - names of the schema


# A key of an operator is of no namespace, and writes in all.
_FINDING: Mapping[SubjectKind, TextClause] = {
    "agent": text("SELECT id FROM agent WHERE namespace_id = :ns AND name = :name"),
    "key": text(
        "SELECT id FROM api_key WHERE coalesce(namespace_id, :ns) = :ns"
        " AND id = CAST(:name AS uuid)"
    ),
    "task": text("SELECT id FROM task WHERE namespace_id = :ns AND id = CAST(:name AS uuid)"),
}


_MODELS = text("""
    SELECT m.id, m.name, m.revision, m.sha256, m.width, m.calibration FROM embedding_model m
    WHERE m.id IN (SELECT model_id FROM namespace WHERE id = :ns)
    OR m.id IN (SELECT model_id FROM embedding WHERE namespace_id = :ns)
    OR m.id IN (SELECT model_id FROM task_embedding WHERE namespace_id = :ns)
    OR m.id IN (SELECT model_id FROM centroid WHERE namespace_id = :ns)
    OR m.id IN (SELECT model_id FROM retrieval WHERE namespace_id = :ns)
    ORDER BY m.id
""")

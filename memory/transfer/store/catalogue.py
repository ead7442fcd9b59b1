"""Which tables a file of a namespace holds, in an order in which they can be read in, and why the
others are not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.types import TypeEngine

from memory.schema import metadata
from memory.transfer.shapes import Holds, Shape, ValueKind

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "row_change": "follows the transactions of one database, and is fed by the import itself",
        "job_run": "is about the timetable of one server",
        "idempotency": "answers calls of keys that open nothing elsewhere",
        "namespace_move": "is about the place of a namespace, not about what is in it",
        "webhook": "holds a secret, and an address that hears of one server",
        "webhook_delivery": "waits for a webhook of one server",
        "writing_budget": "is what one server's language model may still take today",
    }
)
"""Tables with a namespace that no file holds, and why."""


VECTORS = ("embedding", "task_embedding")
"""Tables of vectors; a file without them has the texts in their place."""


CENTROIDS = "centroid"
"""Made of vectors, and so not in a file without them."""


_TEXT = {"text": Shape(ValueKind.TEXT)}
_MADE_OF_TEXT = frozenset({"vector", "token_ids", "unknown_share"})


SECRET_COLUMNS = MappingProxyType({"api_key": ("sha256",)})
"""Columns that never leave: with it, whoever holds the file could try tokens without being seen."""


# Documents that hold ids of rows; what callers bring is theirs, and is not looked into.
ID_DOCUMENTS = frozenset(
    {
        *("audit.detail", "change.subjects", "changeset.changes", "contrast.rejected"),
        *("health_sample.numbers", "memory.detail", "outcome.exposure", "outcome.stances"),
        *("retrieval.cut", "retrieval.lines", "retrieval.past_error", "retrieval.search"),
        *("rollback.source", "rollback.taken", "trajectory.examined"),
    }
)
OTHER_DOCUMENTS = frozenset(
    {
        *("memory.metadata", "outcome.answers", "outcome.lesson", "outcome.ranker_rewards"),
        *("outcome.raw", "prediction_revision.answers", "prediction_revision.probabilities"),
        *("prediction_revision.baseline_probabilities", "prediction_revision.full_probabilities"),
        *("ranker_record.by_ranker", "retrieval.rankers", "retrieval.timings"),
        *("retrieval_item.scores", "settlement.crowd", "settlement.resolutions", "task.metadata"),
        *("taxonomy.categories", "trajectory.steps", "trial.raw"),
        *("weight_event.by_ranker_before", "weight_event.by_ranker_after"),
    }
)
_ID_TEXTS = frozenset({"memory.owner", "memory.source_group", "audit.subject"})
_KEYS = frozenset(
    {
        *("api_key.id", "key_id", "party_id", "created_by", "leased_key_id"),
        *("preferred_key_id", "undone_by", "unpreferred_key_id"),
    }
)


@dataclass(frozen=True, slots=True)
class RowReference:
    """A column that names a row of a table in the file."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class TransferTable:
    """One table as the file has it."""

    name: str
    shapes: Mapping[str, Shape]
    """Its columns but the namespace, which is that of the place where it is read in."""
    keys: tuple[str, ...]
    """The columns that tell its rows apart inside a namespace."""
    in_namespace: bool
    """Whether its key begins with the namespace: else it is one for all namespaces."""
    references: tuple[RowReference, ...]


@cache
def transfer_tables(*, vectors: bool = True) -> tuple[TransferTable, ...]:
    """The tables of a file, parents first; those of a file without vectors have texts instead."""
    if not vectors:
        return tuple(
            _with_text(table) if table.name in VECTORS else table
            for table in transfer_tables()
            if table.name != CENTROIDS
        )
    found = [
        table
        for table in metadata.sorted_tables
        if "namespace_id" in table.c and table.name not in LEFT_OUT
    ]
    # Which keys the file has must be known before the rows that name them.
    found.sort(key=lambda table: table.name != "api_key")
    names = {table.name for table in found}
    return tuple(_described(table, names) for table in found)


def _with_text(table: TransferTable) -> TransferTable:
    kept = {name: one for name, one in table.shapes.items() if name not in _MADE_OF_TEXT}
    return replace(table, shapes=kept | _TEXT)


def _described(table: Table, names: set[str]) -> TransferTable:
    hidden = {"namespace_id", *SECRET_COLUMNS.get(table.name, ())}
    return TransferTable(
        table.name,
        {one.name: _shape(table.name, one) for one in table.c if one.name not in hidden},
        tuple(one.name for one in table.primary_key if one.name not in hidden),
        "namespace_id" in table.primary_key.columns,
        tuple(
            RowReference(one.name, target.column.table.name, target.column.name)
            for one in table.c
            for target in one.foreign_keys
            if one.name not in hidden and target.column.table.name in names
        ),
    )


_KINDS: tuple[tuple[type[TypeEngine[Any]], ValueKind], ...] = (
    (Uuid, ValueKind.ID),
    (Text, ValueKind.TEXT),
    (SmallInteger, ValueKind.SMALL),
    (BigInteger, ValueKind.BIG),
    (Integer, ValueKind.WHOLE),
    (DOUBLE_PRECISION, ValueKind.NUMBER),
    (Boolean, ValueKind.FLAG),
    (DateTime, ValueKind.MOMENT),
    (Date, ValueKind.DAY),
    (LargeBinary, ValueKind.BYTES),
    (JSONB, ValueKind.DOCUMENT),
    (HALFVEC, ValueKind.VECTOR),
)


def _shape(table: str, column: Column[Any]) -> Shape:
    many = isinstance(column.type, ARRAY)
    inner: TypeEngine[Any] = (
        column.type.item_type if isinstance(column.type, ARRAY) else column.type
    )
    kind = next(kind for type_, kind in _KINDS if isinstance(inner, type_))
    return Shape(
        kind,
        many=many,
        nullable=bool(column.nullable),
        may_lack=bool(column.nullable) or column.server_default is not None,
        holds=_holds(f"{table}.{column.name}", column.name, kind),
    )


def _holds(path: str, name: str, kind: ValueKind) -> Holds:
    if kind is ValueKind.ID:
        if name == "model_id":
            return Holds.MODEL
        return Holds.KEY if name in _KEYS or path in _KEYS else Holds.ID
    return Holds.IDS_INSIDE if path in ID_DOCUMENTS | _ID_TEXTS else Holds.NOTHING

"""Memories in quantity, in seconds: embedded once, kept in a file, and copied into the tables.

The rows of a few memories that a server stored are copied as they stand, under other ids, with
other texts and the vectors of these; so whatever the columns of a release are, they are filled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from benchmarks.kernels.embedding import embedded
from benchmarks.texts import experiences

Halves = npt.NDArray[np.float16]
Ids = npt.NDArray[np.int32]

TYPES = ("int4", "uuid", "uuid", "text", "text", "bytea", "halfvec", "halfvec", "int4[]", "int4[]")
FIELDS = ("situation", "lesson")
WIDTH_OF_IDS = 64
BEHIND = 1_000
NOISE = 0.3
"""Of a copy's vector: a random one of this length is added to it."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Experiences as the server takes them, with vectors and token ids (-1 where there is none) by
    field, a row each; as many rows as wanted may share a text.
    """

    items: Sequence[Mapping[str, object]]
    vectors: Mapping[str, Halves]
    token_ids: Mapping[str, Ids]

    def head(self, count: int) -> "Texts":
        return Texts(
            self.items[:count],
            {name: rows[:count] for name, rows in self.vectors.items()},
            {name: rows[:count] for name, rows in self.token_ids.items()},
        )


def made_texts(folder: Path, count: int, seed: int) -> Texts:
    """Made experiences with real embeddings, kept in `folder` from one suite to the next."""
    items = list(experiences(count, seed))
    file = folder / f"embedded-{count}-{seed}.npz"
    if not file.exists():
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name in FIELDS:
            made = embedded([str(item[name]) for item in items])
            arrays[name] = np.stack([one.vector for one in made]).astype(np.float16)
            arrays[f"{name}_ids"] = _padded([one.token_ids for one in made])
        np.savez(file, allow_pickle=False, **arrays)
    with np.load(file) as kept:
        return Texts(
            items,
            {name: kept[name] for name in FIELDS},
            {name: kept[f"{name}_ids"] for name in FIELDS},
        )


def _padded(rows: Sequence[Sequence[int]]) -> Ids:
    padded = np.full((len(rows), WIDTH_OF_IDS), -1, dtype=np.int32)
    for place, row in enumerate(rows):
        some = list(row)[:WIDTH_OF_IDS]
        padded[place, : len(some)] = some
    return padded


def multiplied(texts: Texts, count: int, seed: int) -> Texts:
    """`count` of them: the texts again and again, numbered, their vectors with noise added."""
    chance = np.random.default_rng(seed)
    places = np.arange(count) % len(texts.items)
    items = [
        {**texts.items[place], "situation": f"{texts.items[place]['situation']} Case {number}."}
        for number, place in enumerate(places.tolist())
    ]
    vectors: dict[str, Halves] = {}
    for name, known in texts.vectors.items():
        noisy = known[places].astype(np.float32)
        added = chance.standard_normal(noisy.shape, dtype=np.float32)
        noisy += NOISE / np.sqrt(noisy.shape[1]) * added
        noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
        vectors[name] = noisy.astype(np.float16)
    return Texts(items, vectors, {name: ids[places] for name, ids in texts.token_ids.items()})


def fill(database_url: str, namespace_id: UUID, texts: Texts) -> None:
    """Add them to a namespace that holds a memory of each agent and category, as these."""
    with psycopg.connect(database_url) as connection:
        enter(connection, namespace_id)
        rows = connection.execute(_PATTERNS).fetchall()
        patterns = {(str(agent), str(name)): UUID(str(one)) for agent, name, one in rows}
        connection.execute(_FILLED)
        copy_in(
            connection,
            TYPES,
            (_row(texts, place, patterns) for place in range(len(texts.items))),
        )
        for table, changes in _CHANGES.items():
            key = "id" if table == "memory" else "memory_id"
            clone(connection, table, changes, f"t.{key} = f.pattern")
        for name in FIELDS:
            changes = {
                "memory_id": "f.id",
                "vector": f"f.{name}_vector",
                "token_ids": f"f.{name}_ids",
            }
            where = f"t.memory_id = f.pattern AND t.field = '{name}'"
            clone(connection, "embedding", changes, where)
        # Each starts in the ledger as its pattern does, behind whatever that version holds.
        changes = {"memory_id": "f.id", "position": f"{BEHIND} + f.number"}
        clone(connection, "weight_event", changes, "t.memory_id = f.pattern")
        connection.execute(_COUNTED, {"ns": namespace_id})
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def enter(connection: "psycopg.Connection[Any]", namespace_id: UUID) -> None:
    """Until the transaction ends, rows of this namespace are seen."""
    connection.execute("SELECT set_config('memlift.namespace', %s, true)", [str(namespace_id)])


def copy_in(
    connection: "psycopg.Connection[Any]", types: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Rows of `filled`, of columns of these types."""
    register_vector(connection)
    statement = b"COPY filled FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def clone(
    connection: "psycopg.Connection[Any]", table: str, changes: Mapping[str, str], where: str
) -> None:
    """A row of `table` as `t` again for each row of `filled` as `f`, with these columns changed."""
    found = connection.execute(_COLUMNS, [table]).fetchall()
    columns = [str(name) for (name,) in found]
    taken = [changes.get(name, f't."{name}"') for name in columns]
    quoted = ", ".join(f'"{name}"' for name in columns)
    connection.execute(
        f"INSERT INTO {table} ({quoted}) SELECT {', '.join(taken)}"  # noqa: S608 - names of the schema
        f" FROM filled f JOIN {table} t ON {where}".encode()
    )


def _row(texts: Texts, place: int, patterns: Mapping[tuple[str, str], UUID]) -> Sequence[object]:
    item = texts.items[place]
    words = [str(item[name]) for name in FIELDS]
    return (
        place,
        uuid4(),
        patterns[str(item["agent"]), str(item["category"])],
        *words,
        sha256("\n".join(words).encode()).digest(),
        *(HalfVector(texts.vectors[name][place]) for name in FIELDS),
        *([int(one) for one in texts.token_ids[name][place] if one >= 0] for name in FIELDS),
    )


_PATTERNS = """SELECT a.name, c.name, (array_agg(m.id ORDER BY m.id))[1] FROM memory m
    JOIN agent a ON a.id = m.agent_id JOIN category c ON c.id = m.category_id
    WHERE m.kind = 'experience' GROUP BY 1, 2"""


_FILLED = """CREATE TEMPORARY TABLE filled (number int, id uuid, pattern uuid, situation text,
    lesson text, sha bytea, situation_vector halfvec, lesson_vector halfvec, situation_ids int[],
    lesson_ids int[])
    ON COMMIT DROP"""


_COLUMNS = """SELECT column_name FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = %s ORDER BY ordinal_position"""


_CHANGES: Mapping[str, Mapping[str, str]] = {
    "memory": {"id": "f.id", "sha256": "f.sha", "source_group": "f.id::text"},
    "memory_version": {
        "memory_id": "f.id",
        "situation": "f.situation",
        "lesson": "f.lesson",
        "normal_sha256": "f.sha",
    },
    "memory_weight": {"memory_id": "f.id"},
}


_COUNTED = """UPDATE namespace SET bank_version = bank_version + 1, n_memories = (SELECT count(*)
    FROM memory m WHERE m.namespace_id = %(ns)s) WHERE id = %(ns)s"""

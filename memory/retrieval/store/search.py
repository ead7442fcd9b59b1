"""SearchStore: the exact head of a search among what an agent may see, inside one namespace.

The planner is never left to choose an approximate index: which memories may be seen is decided
first, in a materialised step, and the distance is taken to each of them. The database compares in
single precision, so it returns every row within a rigorous margin of the last place of the head;
ranking takes the cosine again in double precision.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.postgres.database import driver_of
from memory.memories.filter_entities import RetrievalFilter
from memory.memories.store.filtering import condition_of, values_of
from memory.retrieval.head import HeadRow, Stored
from memory.retrieval.store.found_rows import FoundRow, to_row
from memory.retrieval.store.visibility import seen_now, seen_then
from memory.retrieval.store.words import (
    BEST_BY_WORDS,
    IN_HEAD,
    SHARED,
    to_shared_words,
    values_of_words,
)
from memory.retrieval.words import SharedWords, TaskWords

Half = npt.NDArray[np.float16]


EVERYTHING = datetime.max.replace(tzinfo=UTC)
"""Up to when what is known may be seen by who asks for the present. Another process may be ahead of
this one's clock: what it wrote and acknowledged is there all the same.
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """One query: its vector as the database compares it, and the field it is compared with."""

    vector: Half
    field: str


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be found: by whom, at which time, with which model's vectors.

    `private`: the agent's own memories too. `past`: as the texts were at `as_of`. `party_id`: the
    party whose influence on what it finds is read with it. Of `strangers`
    only what is verified or contrasted is seen, and nothing of `weaker`, agents in a category. Of
    all that only what the `filter` of the caller matches. `names`: identifiers of the task, by
    which memories are found beside their vectors. `words`: those of the task, where they count.
    """

    agent_id: UUID
    private: bool
    as_of: datetime
    model_id: UUID
    past: bool = False
    party_id: UUID | None = None
    strangers: tuple[UUID, ...] = ()
    weaker: tuple[tuple[UUID, UUID], ...] = ()
    filter: RetrievalFilter | None = None
    names: tuple[str, ...] = ()
    words: TaskWords | None = None

    @property
    def reserved(self) -> bool:
        """Whether anything is held back; where nothing is, no statement asks."""
        return bool(self.strangers)


@dataclass(frozen=True, slots=True)
class Head:
    """Rows that contain the head for certain, how many matched, and the bank they came from. Rows
    stand in the order of their ids, and `stored` has their vectors in that order.

    `named`: those of them that hold identifiers of the task, which, in one order; they need not be
    near. `words`: what the rows share with the task's words, where those were looked for; then the
    rows contain the best by them too.
    """

    rows: tuple[FoundRow, ...]
    stored: Stored
    matching: int
    bank_version: int
    named: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict[UUID, tuple[str, ...]])
    words: SharedWords | None = None


MOST_NAMED = 64
"""So many memories at most are found by identifiers: those that hold most of them, then by id."""


def names_at_most(matching: int) -> int:
    """An identifier that more of the `matching` memories hold names nothing: one of a hundred, at
    least 3 and at most 50.
    """
    return min(50, max(3, matching // 100))


class SearchStore:
    """Exact search in one namespace, on the driver's own cursor: vectors travel in binary."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def head(self, probes: Sequence[Probe], scope: Scope, size: int, margin: float) -> Head:
        """Every row within `margin` of the size-th most similar.

        It looks again where a memory was erased between finding and reading it: its place in the
        head belongs to the next.
        """
        values = self._values(scope, {probe.field for probe in probes})
        values |= {"last": size - 1, "margin": margin}
        for i, probe in enumerate(probes):
            values[f"q{i}"] = _literal(probe.vector)
            values[f"f{i}"] = probe.field
        statement = _near_in(scope, len(probes))
        near, found = await self._look(statement, values)
        for _ in range(AGAIN):
            if len(found) == len(near["ids"]):
                break
            near, found = await self._look(statement, values)
        gone = len(near["ids"]) - len(found)
        there = dict.fromkeys(row.id for row in found)
        named = {UUID(one): tuple(sorted(names)) for one, names in (near["named"] or {}).items()}
        named = {one: names for one, names in named.items() if one in there}
        asked, matching = scope.words, near["matching"] - gone
        words = None if asked is None else to_shared_words(asked, there, near["words"])
        return Head(found, _stored(found), matching, near["bank_version"], named, words)

    async def bank(self, fields: Collection[str], scope: Scope) -> Head:
        """Every row that may be seen and has a vector of one of these fields, in one look."""
        rows = await self._rows(_bank_in(scope), self._values(scope, fields))
        found = _to_rows(rows)
        return Head(found, _stored(found), len(found), rows[0]["bank_version"])

    def _values(self, scope: Scope, fields: Collection[str]) -> dict[str, object]:
        reserved: dict[str, object] = {}
        if scope.reserved:
            reserved = {
                "strangers": list(scope.strangers),
                "weak_agents": [agent_id for agent_id, _ in scope.weaker],
                "weak_categories": [category_id for _, category_id in scope.weaker],
            }
        return (
            reserved
            | values_of(scope.filter)
            | values_of_words(scope.words)
            | {
                "ns": self._namespace_id,
                "owners": ["*", str(scope.agent_id)] if scope.private else ["*"],
                "as_of": scope.as_of,
                "model": scope.model_id,
                "agent": scope.agent_id,
                "party": scope.party_id,
                "names": list(scope.names),
                "fields": sorted(fields),
            }
        )

    async def _look(
        self, statement: bytes, values: Mapping[str, object]
    ) -> tuple[Mapping[str, Any], tuple[FoundRow, ...]]:
        """What is near, and what of it is still there to be read."""
        await self._execute(_HASH)
        [near] = await self._rows(statement, values)
        await self._execute(_ANY)
        asked = {**values, "ids": near["ids"], "versions": near["versions"]}
        rows = await self._rows(_CONTENT, asked) if near["ids"] else []
        return near, _to_rows(rows)

    async def _rows(self, statement: bytes, values: Mapping[str, object]) -> list[dict[str, Any]]:
        driver = await driver_of(self._connection)
        async with driver.cursor(binary=True, row_factory=dict_row) as cursor:
            await cursor.execute(statement, values, prepare=True)
            return await cursor.fetchall()

    async def _execute(self, setting: bytes) -> None:
        await (await driver_of(self._connection)).execute(setting)


def _to_rows(rows: Sequence[dict[str, Any]]) -> tuple[FoundRow, ...]:
    found = [to_row(row) for row in rows if row["fields"] is not None]
    return tuple(sorted(found, key=attrgetter("id")))


def _stored(rows: Sequence[FoundRow]) -> Stored:
    return Stored.of(
        [HeadRow(row.id, field, vector) for row in rows for field, vector in row.vectors.items()]
    )


# Until statistics are taken of a namespace the planner thinks it empty, and would look through all
# its vectors for every memory.
_HASH = b"SET LOCAL enable_nestloop = off"


_ANY = b"SET LOCAL enable_nestloop TO DEFAULT"


_ANGLE = """
    SELECT m.id, m.version, greatest(1 - (e.vector <=> %(q{i})s::halfvec), 0) AS similarity
    FROM {memories} JOIN embedding e ON e.memory_id = m.id AND e.version = m.version
    WHERE e.namespace_id = %(ns)s AND e.model_id = %(model)s AND e.field = %(f{i})s {seen}
"""


# Who holds an identifier that is rare among all that may be found, and which. No index serves it:
# beside row-level security only operators that tell nothing may look before it, and every row is
# compared anyway.
_NAMED = f"""
    sharing AS MATERIALIZED (
        SELECT n.id, n.version, s.name FROM near n
        JOIN memory_version v ON v.memory_id = n.id AND v.version = n.version
            AND v.identifiers && %(names)s::text[]
        CROSS JOIN LATERAL unnest(v.identifiers) AS s (name)
        WHERE s.name = ANY(%(names)s::text[])
    ),
    rare AS (
        SELECT name FROM sharing GROUP BY name
        HAVING count(*) <= least(50, greatest(3, (SELECT count(*) FROM near) / 100))
    ),
    named AS MATERIALIZED (
        SELECT id, version, array_agg(name) AS names FROM sharing
        WHERE name IN (SELECT name FROM rare)
        GROUP BY id, version ORDER BY count(*) DESC, id LIMIT {MOST_NAMED}
    ),"""  # noqa: S608 - assembled from a constant; every value is a parameter


def _near(
    probes: int,
    *,
    past: bool,
    reserved: bool,
    wanted: str = "",
    named: bool = False,
    worded: bool = False,
) -> bytes:
    """The distance is taken in a materialised step that has no order, so that no index of
    vectors, which would find only some of the rows, can ever serve it.
    """
    where = (
        {"memories": "seen m", "seen": ""}
        if past
        else {"memories": "memory m", "seen": f"AND {seen_now(reserved=reserved)}{wanted}"}
    )
    angles = [_ANGLE.format(i=i, **where) for i in range(probes)]
    near = angles[0]
    if probes > 1:
        every = " UNION ALL ".join(angles)
        near = f"""SELECT id, version, max(similarity) AS similarity
            FROM ({every}) AS angles GROUP BY id, version"""  # noqa: S608 - constants
    seen = f"seen AS MATERIALIZED ({seen_then(reserved=reserved, wanted=wanted)})," if past else ""
    return f"""
    WITH {seen} near AS MATERIALIZED ({near}),
    {_NAMED if named else ""}
    {BEST_BY_WORDS if worded else ""}
    cutoff AS (SELECT similarity FROM near ORDER BY similarity DESC OFFSET %(last)s LIMIT 1),
    head AS MATERIALIZED (
        SELECT id, version FROM near
        WHERE similarity >= coalesce((SELECT similarity FROM cutoff), 0) - %(margin)s
        {"UNION SELECT id, version FROM named" if named else ""}
        {IN_HEAD if worded else ""}
    )
    SELECT n.bank_version, (SELECT count(*) FROM near) AS matching,
        {"(SELECT jsonb_object_agg(id, names) FROM named)" if named else "NULL"} AS named,
        {SHARED if worded else "NULL"} AS words,
        coalesce((SELECT array_agg(id ORDER BY id) FROM head), '{{}}') AS ids,
        coalesce((SELECT array_agg(version ORDER BY id) FROM head), '{{}}') AS versions
    FROM namespace n WHERE n.id = %(ns)s
    """.encode()  # noqa: S608 - assembled from the constants above; every value is a parameter


MARK = "%({})s"
"""How a parameter is written here."""


MAX_PROBES = 4
"""The most queries of a search: three of a model beside the task's text."""


AGAIN = 3
"""How often a search looks again where something was erased under it."""


_NEAR = {
    (probes, past, reserved): _near(probes, past=past, reserved=reserved)
    for probes in range(1, MAX_PROBES + 1)
    for past in (False, True)
    for reserved in (False, True)
}


def _near_in(scope: Scope, probes: int) -> bytes:
    if scope.filter is None and not scope.names and scope.words is None:
        return _NEAR[(probes, scope.past, scope.reserved)]
    return _near(
        probes,
        past=scope.past,
        reserved=scope.reserved,
        wanted=condition_of(scope.filter, MARK),
        named=bool(scope.names),
        worded=scope.words is not None,
    )


COLUMNS = """m.id, h.version, m.kind, m.status, m.source_group, v.situation, v.lesson,
        m.metadata, m.agent_id, a.name AS agent, k.party_id AS author, c.name AS category,
        sub.name AS subcategory,
        m.trust, m.start_weight, m.learned_at, m.contradicts, w.state, w.touched_at, w.n_credited,
        w.n_helpful, w.n_harmful, w.n_absent, m.pinned,
        d.state AS deviation, d.touched_at AS deviation_touched_at,
        f.state AS influence, f.touched_at AS influence_touched_at, v.identifiers,
        e.fields, e.vectors"""


# Vectors are found by their memory alone: without statistics of a namespace the planner would
# rather look through all that it has of a model and field, for each memory again.
JOINED = """
    JOIN memory m ON m.namespace_id = %(ns)s AND m.id = h.id
    JOIN memory_version v ON v.namespace_id = %(ns)s AND v.memory_id = h.id
        AND v.version = h.version
    JOIN agent a ON a.namespace_id = %(ns)s AND a.id = m.agent_id
    JOIN category c ON c.namespace_id = %(ns)s AND c.id = m.category_id
    JOIN memory_weight w ON w.namespace_id = %(ns)s AND w.memory_id = h.id
    LEFT JOIN category sub ON sub.namespace_id = %(ns)s AND sub.id = m.subcategory_id
    LEFT JOIN api_key k ON k.id = m.key_id
    LEFT JOIN weight_deviation d ON d.namespace_id = %(ns)s AND d.memory_id = h.id
        AND d.agent_id = %(agent)s
    LEFT JOIN influence f ON f.namespace_id = %(ns)s AND f.memory_id = h.id
        AND f.party_id = %(party)s
    CROSS JOIN LATERAL (
        SELECT array_agg(field ORDER BY field) FILTER (WHERE asked) AS fields,
            array_agg(halfvec_send(vector) ORDER BY field) FILTER (WHERE asked) AS vectors
        FROM (
            SELECT field, vector,
                model_id = %(model)s AND field = ANY(%(fields)s::text[]) AS asked
            FROM embedding
            WHERE namespace_id = %(ns)s AND memory_id = h.id AND version = h.version
        ) AS own
    ) AS e
"""


_CONTENT = f"""
    SELECT {COLUMNS} FROM unnest(%(ids)s::uuid[], %(versions)s::int[]) AS h(id, version) {JOINED}
""".encode()  # noqa: S608 - assembled from the constants above; every value is a parameter


def _bank(seen: str) -> bytes:
    """All of it in one statement, an empty bank's version too."""
    return f"""
    SELECT n.bank_version, b.* FROM namespace n
    LEFT JOIN (SELECT {COLUMNS} FROM ({seen}) AS h {JOINED}) AS b ON true WHERE n.id = %(ns)s
    """.encode()  # noqa: S608 - assembled from the constants above; every value is a parameter


_LIVE = "SELECT m.id, m.version FROM memory m WHERE "


_BANK = {(True, reserved): _bank(seen_then(reserved=reserved)) for reserved in (False, True)} | {
    (False, reserved): _bank(_LIVE + seen_now(reserved=reserved)) for reserved in (False, True)
}


def _bank_in(scope: Scope) -> bytes:
    if scope.filter is None:
        return _BANK[(scope.past, scope.reserved)]
    wanted = condition_of(scope.filter, MARK)
    if scope.past:
        return _bank(seen_then(reserved=scope.reserved, wanted=wanted))
    return _bank(_LIVE + seen_now(reserved=scope.reserved) + wanted)


def _literal(vector: Half) -> str:
    return "[" + ",".join(map(repr, vector.astype(float).tolist())) + "]"

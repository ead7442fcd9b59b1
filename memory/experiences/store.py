"""What may be echoed, and which living memories are near one another and become one; seen through
one namespace.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.identifiers import find_raw_terms
from memory.kernel.ports import UNKNOWN_LIMIT
from memory.kernel.postgres.database import Look, prepared
from memory.memories.entities import Status, normal_fingerprint

ECHO_SPAN = timedelta(days=30)


ECHO_RECEIPTS = 200


ECHO_TEXTS = 512


@dataclass(frozen=True, slots=True)
class ServedText:
    """A version of a memory as it was served; which version is current, and its status."""

    memory_id: UUID
    version: int
    current: int
    status: Status
    situation: str
    lesson: str


class EchoStore:
    """Texts that a new lesson may only repeat, in one namespace."""

    def __init__(self, look: Look, namespace_id: UUID) -> None:
        self._look = look
        self._namespace_id = namespace_id

    async def list_served(self, key_id: UUID, until: datetime) -> list[ServedText]:
        """Texts in the last receipts of this key, from 30 days before `until` on, each once.

        At most 200 receipts and 512 texts, the latest first; what was erased has no words left.
        """
        asked = _SERVED.of(
            ns=self._namespace_id,
            key=key_id,
            since=until - ECHO_SPAN,
            receipts=ECHO_RECEIPTS,
            texts=ECHO_TEXTS,
        )
        [rows] = await self._look([asked])
        for row in rows:
            row["status"] = Status(row["status"])
        return [ServedText(**row) for row in rows]


_SERVED = prepared("""
    WITH receipt AS (
        SELECT id FROM retrieval
        WHERE namespace_id = :ns AND key_id = :key AND known_at >= :since
        ORDER BY id DESC LIMIT :receipts
    ), item AS (
        SELECT i.memory_id, i.version, max(i.retrieval_id::text) AS last
        FROM receipt r JOIN retrieval_item i ON i.namespace_id = :ns AND i.retrieval_id = r.id
        WHERE i.served AND i.cited GROUP BY i.memory_id, i.version
        ORDER BY last DESC, i.memory_id LIMIT :texts
    )
    SELECT i.memory_id, i.version, m.version AS current, m.status, v.situation, v.lesson
    FROM item i
    JOIN memory m ON m.namespace_id = :ns AND m.id = i.memory_id AND m.erased_at IS NULL
    JOIN memory_version v ON v.namespace_id = :ns AND v.memory_id = i.memory_id
        AND v.version = i.version
    ORDER BY i.last DESC, i.memory_id
""")


NEIGHBOURS = 8
"""How many of the nearest of a changed memory are looked at."""


ROUNDING = 1e-3
"""What the database's single precision may take off a cosine."""


class MergePosition(NamedTuple):
    """Where the search for twins has come to: changes up to here have been looked at."""

    bank_version: int
    memory_id: UUID


START = MergePosition(-1, UUID(int=0))


@dataclass(frozen=True, slots=True)
class MergeMember:
    """A memory as it was when the pair was found; a later edit or change of status voids it."""

    id: UUID
    version: int
    status: str
    text: str
    pinned: bool
    credited: int
    learned_at: datetime
    merged_into: str | None


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two memories of one kind, owner, category and trust; the cosine is the smaller one of
    situations and lessons.
    """

    one: MergeMember
    other: MergeMember
    cosine: float


@dataclass(frozen=True, slots=True)
class ChangedMemories:
    """How many changed memories are looked at, how many are left, and where the look ends; None
    where nothing changed.
    """

    examined: int
    left: int
    through: MergePosition | None


@dataclass(frozen=True, slots=True)
class Merge:
    """The second is merged into the first."""

    survivor: MergeMember
    merged: MergeMember


class TwinStore:
    """Near memories of one namespace. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def find_changed(
        self, after: MergePosition, now: datetime, limit: int
    ) -> ChangedMemories:
        """The next memories that were added, edited or restored since."""
        rows = await self._connection.execute(
            _CHANGED, {**self._start(after), "now": now, "limit": limit}
        )
        row = rows.mappings().one()
        through = MergePosition(row["version"], row["id"]) if row["examined"] else None
        return ChangedMemories(row["examined"], row["total"] - row["examined"], through)

    async def complete_texts(self, limit: int) -> int:
        """What earlier releases did not store of texts, their normal form's digest and their raw
        terms, for at most `limit` texts; how many.
        """
        rows = await self._connection.execute(
            _INCOMPLETE, {"ns": self._namespace_id, "limit": limit}
        )
        formed = [
            {
                "id": row.memory_id,
                "version": row.version,
                "digest": normal_fingerprint(row.situation, row.lesson),
                "terms": find_raw_terms(f"{row.situation}\n{row.lesson}"),
            }
            for row in rows
        ]
        if formed:
            await self._connection.execute(_COMPLETE, formed)
        return len(formed)

    async def find_pairs(
        self, after: MergePosition, through: MergePosition, now: datetime, cosine: float
    ) -> list[NearPair]:
        """Pairs that have one normal form, or are near and in a script that the model reads, with
        at least one memory changed after `after` and up to `through`.
        """
        rows = await self._connection.execute(
            _PAIRS,
            {
                **self._start(after),
                "last_version": through.bank_version,
                "last_id": through.memory_id,
                "now": now,
                "cosine": cosine - ROUNDING,
                "neighbours": NEIGHBOURS,
                "unknown": UNKNOWN_LIMIT,
            },
        )
        return [_to_pair(row) for row in rows.mappings()]

    async def hold(self, memory_ids: Sequence[UUID]) -> None:
        """Others that change these wait; locked in id order, against deadlock."""
        await self._connection.execute(
            _HOLD, {"ns": self._namespace_id, "ids": sorted(set(memory_ids))}
        )

    async def merge(self, merge: Merge, bank_version: int) -> bool:
        """Retire the one, carry its evidence to the other; False, and nothing is written, where
        either was edited, erased, pinned or changed its status since it was read.
        """
        done = await self._connection.execute(
            _MERGE,
            {
                "ns": self._namespace_id,
                "survivor": merge.survivor.id,
                "survivor_version": merge.survivor.version,
                "survivor_status": merge.survivor.status,
                "merged": merge.merged.id,
                "merged_version": merge.merged.version,
                "merged_status": merge.merged.status,
                "into": str(merge.survivor.id),
                "bank_version": bank_version,
            },
        )
        return done.rowcount > 0

    def _start(self, after: MergePosition) -> dict[str, object]:
        return {
            "ns": self._namespace_id,
            "first_version": after.bank_version,
            "first_id": after.memory_id,
        }


def _to_pair(row: RowMapping) -> NearPair:
    return NearPair(_to_member(row, "one"), _to_member(row, "other"), row["cosine"])


def _to_member(row: RowMapping, side: str) -> MergeMember:
    return MergeMember(
        id=row[f"{side}_id"],
        version=row[f"{side}_version"],
        status=row[f"{side}_status"],
        text=row[f"{side}_text"],
        pinned=row[f"{side}_pinned"],
        credited=row[f"{side}_credited"],
        learned_at=row[f"{side}_learned_at"],
        merged_into=row[f"{side}_merged_into"],
    )


# Suspended memories are left alone: someone stopped them. Proposed ones are not in use yet.
# Constraints are merged when they are admitted, with what supports them.
_MERGEABLE = """m.namespace_id = :ns AND m.kind <> 'constraint'
      AND m.status IN ('active', 'probation')
      AND m.erased_at IS NULL AND m.learned_at <= :now"""


_CHANGED = text(f"""
    WITH changed AS (
        SELECT m.bank_version, m.id, row_number() OVER (ORDER BY m.bank_version, m.id) AS place,
            count(*) OVER () AS total
        FROM memory m
        WHERE {_MERGEABLE} AND (m.bank_version, m.id) > (:first_version, :first_id)
    )
    SELECT count(*) FILTER (WHERE place <= :limit) AS examined, coalesce(max(total), 0) AS total,
        (array_agg(bank_version ORDER BY place DESC) FILTER (WHERE place <= :limit))[1] AS version,
        (array_agg(id ORDER BY place DESC) FILTER (WHERE place <= :limit))[1] AS id
    FROM changed
""")  # noqa: S608 - assembled from the constant above; every value is a parameter


_MEMBER = """{m}.id AS {name}_id, {m}.version AS {name}_version, {m}.status AS {name}_status,
    {v}.situation || E'\\n' || {v}.lesson AS {name}_text, {m}.pinned AS {name}_pinned,
    {w}.n_credited AS {name}_credited, {m}.learned_at AS {name}_learned_at,
    {m}.detail ->> 'merged_into' AS {name}_merged_into"""


# Exact: the distance is taken to every vector of the same owner, kind and category, in a
# materialised step without an order, so that no approximate index can serve it. Vectors are unit
# but for rounding to halves, so the cheaper inner product passes over what is far off.
_PAIRS = text(f"""
    WITH living AS MATERIALIZED (
        SELECT m.id, m.bank_version, m.owner, m.kind, m.category_id, m.trust, m.status,
            v.normal_sha256, s.vector AS situation, l.vector AS lesson,
            greatest(s.unknown_share, l.unknown_share) < :unknown AS is_read
        FROM memory m JOIN namespace n ON n.id = m.namespace_id
        JOIN memory_version v ON v.memory_id = m.id AND v.version = m.version
        JOIN embedding s ON s.memory_id = m.id AND s.version = m.version
          AND s.field = 'situation' AND s.model_id = n.model_id
        JOIN embedding l ON l.memory_id = m.id AND l.version = m.version
          AND l.field = 'lesson' AND l.model_id = n.model_id
        WHERE {_MERGEABLE}
    ), near AS (
        SELECT c.id AS one, o.id AS other, c.normal_sha256 = o.normal_sha256 AS equal,
            least(1 - (c.situation <=> o.situation), 1 - (c.lesson <=> o.lesson)) AS cosine
        FROM living c JOIN living o ON o.owner = c.owner AND o.kind = c.kind
          AND o.category_id = c.category_id AND o.trust = c.trust AND o.status = c.status
          AND o.id <> c.id
        WHERE (c.bank_version, c.id) > (:first_version, :first_id)
          AND (c.bank_version, c.id) <= (:last_version, :last_id)
          AND (c.normal_sha256 = o.normal_sha256
            OR (c.is_read AND o.is_read
              AND -(c.lesson <#> o.lesson) >= :cosine - 0.01
              AND -(c.situation <#> o.situation) >= :cosine - 0.01))
    ), nearest AS (
        SELECT one, other, cosine, equal,
            row_number() OVER (PARTITION BY one ORDER BY equal DESC, cosine DESC, other) AS place
        FROM near WHERE equal OR cosine >= :cosine
    ), pair AS (
        SELECT DISTINCT least(one, other) AS one, greatest(one, other) AS other, cosine, equal
        FROM nearest WHERE place <= :neighbours
    )
    SELECT {_MEMBER.format(name="one", m="a", v="av", w="aw")},
        {_MEMBER.format(name="other", m="b", v="bv", w="bw")}, p.cosine
    FROM pair p
    JOIN memory a ON a.id = p.one JOIN memory b ON b.id = p.other
    JOIN memory_version av ON av.memory_id = a.id AND av.version = a.version
    JOIN memory_version bv ON bv.memory_id = b.id AND bv.version = b.version
    JOIN memory_weight aw ON aw.memory_id = a.id JOIN memory_weight bw ON bw.memory_id = b.id
    ORDER BY p.equal DESC, p.cosine DESC, a.id, b.id
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_INCOMPLETE = text("""
    SELECT v.memory_id, v.version, v.situation, v.lesson
    FROM memory m JOIN memory_version v ON v.memory_id = m.id
    WHERE m.namespace_id = :ns AND m.erased_at IS NULL AND (v.raw_terms IS NULL
        OR v.normal_sha256 IS NULL AND v.version = m.version)
    ORDER BY v.memory_id, v.version LIMIT :limit FOR NO KEY UPDATE OF m
""")


_COMPLETE = text("""
    UPDATE memory_version SET normal_sha256 = :digest, raw_terms = :terms
    WHERE memory_id = :id AND version = :version
""")


_HOLD = text("""
    SELECT id FROM memory WHERE namespace_id = :ns AND id = ANY(:ids)
    ORDER BY id FOR NO KEY UPDATE
""")


# Both conditions are read under the locks that `hold` took.
_MERGE = text("""
    WITH gone AS (
        UPDATE memory m SET status = 'retired', status_reason = 'merged',
            bank_version = :bank_version,
            detail = m.detail || jsonb_build_object('merged_into', CAST(:into AS text))
        FROM memory s
        WHERE m.namespace_id = :ns AND m.id = :merged AND m.version = :merged_version
          AND m.status = :merged_status AND m.erased_at IS NULL AND NOT m.pinned
          AND s.namespace_id = :ns AND s.id = :survivor AND s.version = :survivor_version
          AND s.status = :survivor_status AND s.erased_at IS NULL
        RETURNING m.id, m.evidence, m.derived_from
    )
    UPDATE memory s SET evidence = s.evidence + gone.evidence, bank_version = :bank_version,
        derived_from = (
            SELECT array_agg(DISTINCT origin ORDER BY origin)
            FROM unnest(s.derived_from || gone.derived_from || gone.id) AS origin
            WHERE origin <> s.id)
    FROM gone WHERE s.id = :survivor
""")

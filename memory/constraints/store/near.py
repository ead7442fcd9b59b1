"""NearConstraintStore: the constraints near a task by their source tasks, seen through one
namespace.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import column

from memory.constraints.entities import SupportCounts
from memory.constraints.proof import TASKS
from memory.constraints.store.support import to_support_counts
from memory.kernel.postgres.database import Look, Statement, prepared
from memory.kernel.postgres.rows import RowMapper
from memory.memories.entities import ANY_AGENT
from memory.memories.store.filtering import condition_of
from memory.memories.tables import LIVING
from memory.meta_guidelines.store import BUCKET, Neighbourhood

NEAREST_TASKS = 3
"""The constraints of so many tasks of each bucket are read: no more can be served."""


@dataclass(frozen=True, slots=True)
class NearTask:
    """A task that a constraint was learned from, and how similar it is to the one asked about."""

    task_id: UUID
    similarity: float


@dataclass(frozen=True, slots=True)
class NearConstraint:
    """A constraint near a task, its states as they were stored.

    `bucket` and `held` are as of a near meta-guideline. `sources` are the near tasks it was learned
    from, the nearest first; `participates` says whether the reader's agent, or one of the same
    model, ran in one of its pairs.
    """

    id: UUID
    version: int
    status: str
    trust: str
    situation: str
    lesson: str
    detail: dict[str, object]
    agent: str
    category: str
    subcategory: str | None
    start_weight: float
    learned_at: datetime
    bucket: int
    held: int
    sources: tuple[NearTask, ...]
    participates: bool
    support: SupportCounts
    state: tuple[float, ...]
    touched_at: datetime | None
    n_credited: int
    n_helpful: int
    n_harmful: int
    n_absent: int
    pinned: bool
    deviation: tuple[float, ...] | None
    deviation_touched_at: datetime | None
    influence: tuple[float, ...] | None
    influence_touched_at: datetime | None


class NearConstraintStore:
    """Constraints of one namespace, as a retrieval finds them."""

    def __init__(self, look: Look, namespace_id: UUID) -> None:
        self._look = look
        self._namespace_id = namespace_id

    async def near(self, wanted: Neighbourhood) -> list[NearConstraint]:
        """What the agent may see of the three nearest source tasks of each bucket."""
        owners = [ANY_AGENT, str(wanted.agent_id)] if wanted.private else [ANY_AGENT]
        values = wanted.values(self._namespace_id) | {"owners": owners, "tasks": NEAREST_TASKS}
        places = prepared(_places(wanted)).of(**values)
        _, found, _ = await self._look([_HASH, places, _ANY])
        if not found:
            return []
        columns = {f"{name}s": [row[name] for row in found] for name in ("id", "version")}
        [content] = await self._look([_CONTENT.of(**values, **columns)])
        by_id = {row["id"]: row for row in content}
        return [_to_constraint({**row, **by_id[row["id"]]}) for row in found if row["id"] in by_id]


# Until statistics are taken of a namespace the planner thinks it empty, and would look through all
# its support for every constraint.
_HASH = Statement(b"SET LOCAL enable_nestloop = off", {})


_ANY = Statement(b"SET LOCAL enable_nestloop TO DEFAULT", {})


_VISIBLE = """m.namespace_id = :ns AND m.kind = 'constraint' AND m.owner = ANY(:owners)
      AND m.erased_at IS NULL AND m.trust <> 'quarantined' AND m.learned_at <= :as_of"""


# The predicate of the index on living text, so that a bank's experiences are not read through.
_CURRENT = f"""m.version AS shown FROM memory m
    WHERE {_VISIBLE} AND {LIVING} AND m.status IN ('active', 'probation')"""


# In the past: what no manager vouches for was no constraint before it was known of enough tasks.
_PAST = f"""(SELECT max(v.version) FROM memory_version v
        WHERE v.memory_id = m.id AND v.known_at <= :as_of) AS shown FROM memory m
    WHERE {_VISIBLE} AND m.status IN ('active', 'probation', 'retired', 'suspended')
      AND (m.owner <> '*' OR m.trust = 'trusted' OR (
        SELECT count(DISTINCT s.task_id) >= {TASKS} OR count(*) > count(s.contrast_id)
        FROM constraint_support s
        WHERE s.memory_id = m.id AND s.counts AND s.known_at <= :as_of))"""  # noqa: S608 - constants


_SUPPORT = """
    SELECT count(DISTINCT s.id) AS contrasts,
        count(DISTINCT s.task_id) FILTER (WHERE s.counts) AS tasks,
        count(DISTINCT (least(s.preferred_agent_id, s.unpreferred_agent_id),
            greatest(s.preferred_agent_id, s.unpreferred_agent_id))) FILTER (
            WHERE s.counts AND s.preferred_agent_id <> s.unpreferred_agent_id) AS agent_pairs,
        count(DISTINCT side.family) FILTER (WHERE s.counts) AS families,
        count(DISTINCT side.key_id) FILTER (WHERE s.counts) AS keys,
        count(DISTINCT coalesce(k.party_id, side.agent_id)) FILTER (
            WHERE s.counts AND s.contrast_id IS NOT NULL) AS parties,
        coalesce(bool_or(side.agent_id IN (SELECT id FROM same_model)) FILTER (
            WHERE s.counts OR m.owner <> '*'), false) AS participates
    FROM constraint_support s CROSS JOIN LATERAL (VALUES
        (s.preferred_agent_id, s.preferred_family, s.preferred_key_id),
        (s.unpreferred_agent_id, s.unpreferred_family, s.unpreferred_key_id)
    ) AS side (agent_id, family, key_id) LEFT JOIN api_key k ON k.id = side.key_id
    WHERE s.memory_id = m.id AND s.known_at <= :as_of
"""


# A task leads to what all agents see only where its support counts, or anyone could say where it
# is served. The distance is taken in a materialised step without an order, so that no index of
# vectors, which would find only some of the tasks, can serve it.
_PLACED = """
    linked AS MATERIALIZED (
        SELECT DISTINCT s.memory_id, s.task_id FROM seen m JOIN constraint_support s
        ON s.namespace_id = :ns AND s.memory_id = m.id AND s.known_at <= :as_of
          AND (s.counts OR m.owner <> '*')
    ),
    angle AS MATERIALIZED (
        SELECT e.task_id, greatest(0, {angles}) AS similarity FROM task_embedding e
        WHERE e.namespace_id = :ns AND e.model_id = :model
          AND e.task_id IN (SELECT task_id FROM linked)
    ),
    place AS MATERIALIZED (
        SELECT l.memory_id, l.task_id, a.similarity, {bucket}
        FROM seen m JOIN linked l ON l.memory_id = m.id JOIN angle a ON a.task_id = l.task_id
    ),
    nearest AS (
        SELECT task_id, row_number() OVER (
            PARTITION BY bucket ORDER BY similarity DESC, task_id) AS place
        FROM (SELECT DISTINCT bucket, task_id, similarity FROM place) AS task
    ),
    held AS (SELECT bucket, count(DISTINCT memory_id) AS held FROM place GROUP BY bucket),
    near AS (
        SELECT memory_id, bucket,
            array_agg(task_id ORDER BY similarity DESC, task_id) AS task_ids,
            array_agg(similarity ORDER BY similarity DESC, task_id) AS similarities
        FROM place WHERE task_id IN (SELECT task_id FROM nearest WHERE place <= :tasks)
        GROUP BY memory_id, bucket
    )
"""


def _places(wanted: Neighbourhood) -> str:
    """Which constraints come of the nearest tasks of each bucket, and by which tasks."""
    angles = ", ".join(
        f"1 - (e.vector <=> CAST(:q{i} AS halfvec))" for i in range(len(wanted.vectors))
    )
    seen = (_PAST if wanted.past else _CURRENT) + condition_of(wanted.filter, ":{}")
    placed = _PLACED.format(angles=angles, bucket=BUCKET)
    return f"""
    WITH seen AS MATERIALIZED (SELECT m.*, {seen}), {placed}
    SELECT m.id, m.shown AS version, n.bucket, h.held, n.task_ids, n.similarities
    FROM near n JOIN held h ON h.bucket = n.bucket JOIN seen m ON m.id = n.memory_id
    ORDER BY m.id
    """  # noqa: S608 - assembled from the constants above; every value is a parameter


_CONTENT = prepared(f"""
    WITH same_model AS MATERIALIZED (
        SELECT a.id FROM agent r JOIN agent a ON a.id = r.id OR a.model = r.model
        WHERE r.namespace_id = :ns AND r.id = :agent AND a.namespace_id = :ns
    )
    SELECT m.id, h.version, m.status, m.trust, v.situation, v.lesson, m.detail,
        a.name AS agent, c.name AS category, sub.name AS subcategory, m.start_weight, m.learned_at,
        s.*, w.state, w.touched_at, w.n_credited, w.n_helpful, w.n_harmful,
        w.n_absent, m.pinned,
        d.state AS deviation, d.touched_at AS deviation_touched_at,
        f.state AS influence, f.touched_at AS influence_touched_at
    FROM unnest(CAST(:ids AS uuid[]), CAST(:versions AS int[])) AS h (id, version)
    JOIN memory m ON m.namespace_id = :ns AND m.id = h.id AND m.erased_at IS NULL
    JOIN memory_version v ON v.memory_id = h.id AND v.version = h.version
    JOIN agent a ON a.id = m.agent_id
    JOIN category c ON c.id = m.category_id
    JOIN memory_weight w ON w.memory_id = h.id
    LEFT JOIN category sub ON sub.id = m.subcategory_id
    LEFT JOIN weight_deviation d ON d.memory_id = h.id AND d.agent_id = :agent
    LEFT JOIN influence f ON f.memory_id = h.id AND f.party_id = CAST(:party AS uuid)
    CROSS JOIN LATERAL ({_SUPPORT}) AS s
""")  # noqa: S608 - assembled from the constant above; every value is a parameter


_COLUMNS = (
    *("id", "version", "status", "trust", "situation", "lesson", "detail", "agent", "category"),
    *("subcategory", "start_weight", "learned_at", "bucket", "held", "participates", "state"),
    *(
        "touched_at",
        "n_credited",
        "n_helpful",
        "n_harmful",
        "n_absent",
        "pinned",
        "deviation",
        "deviation_touched_at",
    ),
    *("influence", "influence_touched_at"),
)


def _to_sources(row: Mapping[str, Any]) -> tuple[NearTask, ...]:
    pairs = zip(row["task_ids"], row["similarities"], strict=True)
    return tuple(NearTask(task_id, similarity) for task_id, similarity in pairs)


_to_constraint = RowMapper(
    NearConstraint,
    map(column, _COLUMNS),
    computed={"sources": _to_sources, "support": to_support_counts},
)

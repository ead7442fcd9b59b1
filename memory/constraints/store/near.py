"""NearConstraintStore: the constraints near a task by their source tasks, seen through one
namespace.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
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
"""The constraints of so many tasks of each bucket are looked at: no more can be served."""


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


@dataclass(frozen=True, slots=True)
class ConstraintLink:
    """A constraint that may be served now, whose it is (`*`: everybody's), and a task that leads to
    it.
    """

    id: UUID
    version: int
    owner: str
    category_id: UUID
    subcategory_id: UUID | None
    task_id: UUID


@dataclass(frozen=True, slots=True)
class NearLink:
    """A constraint and a task that leads to it, which may be one of the nearest of a bucket; its
    vector as the database sends it.
    """

    id: UUID
    version: int
    bucket: int
    held: int
    task_id: UUID
    vector: bytes


@dataclass(frozen=True, slots=True)
class PlacedConstraint:
    """A constraint of one of the nearest tasks: as `NearConstraint`."""

    id: UUID
    version: int
    bucket: int
    held: int
    sources: tuple[NearTask, ...]


class NearConstraintStore:
    """Constraints of one namespace, as a retrieval finds them."""

    def __init__(self, look: Look, namespace_id: UUID) -> None:
        self._look = look
        self._namespace_id = namespace_id

    async def find(self, wanted: Neighbourhood, margin: float) -> list[NearLink]:
        """What the agent may see of the tasks of each bucket that are within `margin` of the third
        nearest; of tasks that say the same three are enough.
        """
        owners = [ANY_AGENT, str(wanted.agent_id)] if wanted.private else [ANY_AGENT]
        values = wanted.values(self._namespace_id) | {"owners": owners, "margin": margin}
        places = prepared(_places(wanted)).of(**values)
        _, found, _ = await self._look([_HASH, places, _ANY])
        return [NearLink(**row) for row in found]

    async def load(
        self, wanted: Neighbourhood, places: Sequence[PlacedConstraint]
    ) -> list[NearConstraint]:
        """These constraints as they stand; what was erased meanwhile is left out."""
        if not places:
            return []
        columns = {"ids": [one.id for one in places], "versions": [one.version for one in places]}
        values = wanted.values(self._namespace_id) | columns
        [content] = await self._look([_CONTENT.of(**values)])
        by_id = {row["id"]: row for row in content}
        return [
            _to_constraint({**by_id[one.id], **_of_place(one)}) for one in places if one.id in by_id
        ]

    async def links(self, model_id: UUID) -> list[ConstraintLink]:
        """Of all constraints that any agent may be served now, where the task has a vector."""
        values = {"ns": self._namespace_id, "model": model_id}
        _, found, _ = await self._look([_HASH, _LINKS.of(**values), _ANY])
        return [ConstraintLink(**row) for row in found]

    async def vectors(self, task_ids: Sequence[UUID], model_id: UUID) -> dict[UUID, bytes]:
        """Of these tasks, as the database sends them."""
        if not task_ids:
            return {}
        values = {"ns": self._namespace_id, "model": model_id, "ids": list(task_ids)}
        [found] = await self._look([_VECTORS.of(**values)])
        return {row["task_id"]: row["vector"] for row in found}


def _of_place(one: PlacedConstraint) -> dict[str, object]:
    return {"bucket": one.bucket, "held": one.held, "sources": one.sources}


# Until statistics are taken of a namespace the planner thinks it empty, and would look through all
# its support for every constraint.
_HASH = Statement(b"SET LOCAL enable_nestloop = off", {})


_ANY = Statement(b"SET LOCAL enable_nestloop TO DEFAULT", {})


_USABLE = """m.namespace_id = :ns AND m.kind = 'constraint' AND m.erased_at IS NULL
      AND m.trust <> 'quarantined'"""


_VISIBLE = f"{_USABLE} AND m.owner = ANY(:owners) AND m.learned_at <= :as_of"


_IN_USE = f"{LIVING} AND m.status IN ('active', 'probation')"


# The predicate of the index on living text, so that a bank's experiences are not read through.
_CURRENT = f"""m.version AS shown FROM memory m
    WHERE {_VISIBLE} AND {_IN_USE}"""


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
# vectors, which would find only some of the tasks, can serve it. Which of them are the nearest is
# decided in double precision (`memory.retrieval.constraint_places`).
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
    ranked AS (
        SELECT bucket, task_id, similarity, nth_value(similarity, {tasks}) OVER (
            PARTITION BY bucket ORDER BY similarity DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last
        FROM (SELECT DISTINCT bucket, task_id, similarity FROM place) AS task
    ),
    held AS (SELECT bucket, count(DISTINCT memory_id) AS held FROM place GROUP BY bucket),
    candidate AS (
        SELECT r.task_id, row_number() OVER (
            PARTITION BY r.bucket, e.vector ORDER BY r.task_id) AS twin
        FROM ranked r JOIN task_embedding e
        ON e.namespace_id = :ns AND e.model_id = :model AND e.task_id = r.task_id
        WHERE r.last IS NULL OR r.similarity >= r.last - :margin
    )
"""


def _places(wanted: Neighbourhood) -> str:
    """Which constraints may come of the nearest tasks of each bucket, and by which tasks."""
    angles = ", ".join(
        f"1 - (e.vector <=> CAST(:q{i} AS halfvec))" for i in range(len(wanted.vectors))
    )
    seen = (_PAST if wanted.past else _CURRENT) + condition_of(wanted.filter, ":{}")
    placed = _PLACED.format(angles=angles, bucket=BUCKET, tasks=NEAREST_TASKS)
    return f"""
    WITH seen AS MATERIALIZED (
        SELECT m.id, m.owner, m.category_id, m.subcategory_id, {seen}
    ), {placed}
    SELECT m.id, m.shown AS version, p.bucket, h.held, p.task_id,
        halfvec_send(e.vector) AS vector
    FROM place p JOIN held h ON h.bucket = p.bucket JOIN seen m ON m.id = p.memory_id
    JOIN task_embedding e
        ON e.namespace_id = :ns AND e.model_id = :model AND e.task_id = p.task_id
    WHERE p.task_id IN (SELECT task_id FROM candidate WHERE twin <= {NEAREST_TASKS})
    """  # noqa: S608 - assembled from the constants above; every value is a parameter


_LINKS = prepared(f"""
    SELECT DISTINCT m.id, m.version, m.owner, m.category_id, m.subcategory_id, s.task_id
    FROM memory m JOIN constraint_support s
    ON s.namespace_id = :ns AND s.memory_id = m.id AND (s.counts OR m.owner <> '*')
    JOIN task_embedding e
    ON e.namespace_id = :ns AND e.model_id = :model AND e.task_id = s.task_id
    WHERE {_USABLE} AND {_IN_USE}
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_VECTORS = prepared("""
    SELECT task_id, halfvec_send(vector) AS vector FROM task_embedding
    WHERE namespace_id = :ns AND model_id = :model AND task_id = ANY(CAST(:ids AS uuid[]))
""")


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


_to_constraint = RowMapper(
    NearConstraint,
    map(column, _COLUMNS),
    computed={"sources": itemgetter("sources"), "support": to_support_counts},
)

"""MetaGuidelineStore: meta-guidelines, and the pairs in which memory did harm, seen through one
namespace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from sqlalchemy import column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Look, look_inside, prepared
from memory.kernel.postgres.rows import RowMapper
from memory.memories.filter_entities import RetrievalFilter
from memory.memories.store.filtering import values_of
from memory.memories.tables import LIVING
from memory.tasks.entities import CategoryIds
from memory.tasks.run_entities import Step

NEAREST = 16
"""So many of each bucket are read: weights choose among them."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Where meta-guidelines and constraints are looked for: for whom and when, in which category,
    near what.

    `past`: as the texts were at `as_of`. `private`: the agent's own too. `related`: categories that
    the taxonomy names beside the task's. `filter`: which constraints the caller wants.
    """

    agent_id: UUID
    category_ids: CategoryIds
    as_of: datetime
    model_id: UUID
    vectors: Sequence[Embedding]
    past: bool = False
    private: bool = False
    related: tuple[UUID, ...] = ()
    party_id: UUID | None = None
    filter: RetrievalFilter | None = None

    def values(self, namespace_id: UUID) -> dict[str, object]:
        """As parameters of a statement, by name; the vectors as q0, q1, …."""
        return {
            "ns": namespace_id,
            "agent": self.agent_id,
            "party": self.party_id,
            "first": self.category_ids.category,
            "second": self.category_ids.subcategory,
            "related": list(self.related),
            "as_of": self.as_of,
            "model": self.model_id,
            **{f"q{i}": _literal(made) for i, made in enumerate(self.vectors)},
            **values_of(self.filter),
        }


@dataclass(frozen=True, slots=True)
class NearMetaGuideline:
    """A meta-guideline near a task, its states as they were stored. `bucket` 0 is the task's own
    category, 1 its parent, 2 a related one, 3 anywhere else; `held` is how many the bucket has.
    """

    id: UUID
    version: int
    status: str
    trust: str
    failure_reason: str
    instruction: str
    detail: dict[str, object]
    pinned: bool
    agent: str
    category: str
    subcategory: str | None
    start_weight: float
    learned_at: datetime
    bucket: int
    held: int
    similarity: float
    state: tuple[float, ...]
    touched_at: datetime | None
    deviation: tuple[float, ...] | None
    deviation_touched_at: datetime | None
    influence: tuple[float, ...] | None
    influence_touched_at: datetime | None


@dataclass(frozen=True, slots=True)
class HarmfulPair:
    """A pair that went worse with memory than without, and the task it was about."""

    outcome_id: UUID
    bank_version: int
    retrieval_id: UUID
    category_ids: CategoryIds
    category: str
    task_id: UUID
    task: str
    source_group: str
    reward: float
    without: float
    guideline: str | None
    known_at: datetime


@dataclass(frozen=True, slots=True)
class CitedMemory:
    """A memory that was cited in a pair, as it stood then; `credited` as of now."""

    retrieval_id: UUID
    kind: str
    category: str
    effective_weight: float
    credited: int
    detail: dict[str, object]


@dataclass(frozen=True, slots=True)
class PairRuns:
    """The steps of a pair's run with memory and of the one without; empty where not known."""

    with_memory: tuple[Step, ...] = ()
    without: tuple[Step, ...] = ()

    @property
    def known(self) -> bool:
        return bool(self.with_memory or self.without)


@dataclass(frozen=True, slots=True)
class HeldMetaGuideline:
    """A living meta-guideline of a category, and how like an instruction its own is."""

    id: UUID
    pinned: bool
    detail: dict[str, object]
    likeness: float


_to_near = RowMapper(
    NearMetaGuideline,
    [
        column(name)
        for name in (
            *("id", "version", "status", "trust", "failure_reason", "instruction", "detail"),
            *(
                "pinned",
                "agent",
                "category",
                "subcategory",
                "start_weight",
                "learned_at",
                "bucket",
                "held",
            ),
            *("similarity", "state", "touched_at", "deviation", "deviation_touched_at"),
            *("influence", "influence_touched_at"),
        )
    ],
)
_to_held = RowMapper(
    HeldMetaGuideline, [column(name) for name in ("id", "pinned", "detail", "likeness")]
)
_to_cited = RowMapper(
    CitedMemory,
    [
        column(name)
        for name in (
            *("retrieval_id", "kind", "category", "effective_weight", "credited", "detail"),
        )
    ],
)
_to_pair = RowMapper(
    HarmfulPair,
    [
        column(name)
        for name in (
            *("outcome_id", "bank_version", "retrieval_id", "category", "task_id", "task"),
            *("reward", "without", "guideline", "known_at"),
        )
    ],
    computed={
        "category_ids": lambda row: CategoryIds(row["category_id"], row["subcategory_id"]),
        "source_group": lambda row: (
            f"group:{row['group_key']}" if row["group_key"] else f"task:{row['task_id']}"
        ),
    },
)


async def load_near(
    look: Look, namespace_id: UUID, wanted: Neighbourhood
) -> list[NearMetaGuideline]:
    """The nearest meta-guidelines of each bucket, and how many each bucket holds."""
    values = wanted.values(namespace_id) | {"nearest": NEAREST}
    statement = prepared(_near(len(wanted.vectors), past=wanted.past)).of(**values)
    [rows] = await look([statement])
    return [_to_near(row) for row in rows]


class MetaGuidelineStore:
    """Meta-guidelines of one namespace; they are written as memories are."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def list_near(self, wanted: Neighbourhood) -> list[NearMetaGuideline]:
        """As `load_near`, inside the transaction."""
        look = partial(look_inside, self._connection)
        return await load_near(look, self._namespace_id, wanted)

    async def has_any(self) -> bool:
        """Whether one may be chosen now."""
        found = await self._connection.execute(_ANY, {"ns": self._namespace_id})
        return bool(found.scalar())

    async def list_held(
        self, category_id: UUID, model_id: UUID, lesson: Embedding
    ) -> list[HeldMetaGuideline]:
        """Every living meta-guideline of the category, most alike first."""
        rows = await self._connection.execute(
            _HELD,
            {
                "ns": self._namespace_id,
                "category": category_id,
                "model": model_id,
                "lesson": _literal(lesson),
            },
        )
        return [_to_held(row) for row in rows.mappings()]

    async def list_harmful_pairs(self, after: int, gap: float | None) -> list[HarmfulPair]:
        """Pairs applied after bank version `after` that lost more than `gap`, or with None those
        that gained nothing, in their order.
        """
        rows = await self._connection.execute(
            _HARMFUL,
            {"ns": self._namespace_id, "after": after, "gap": gap},
        )
        return [_to_pair(row) for row in rows.mappings()]

    async def list_runs(self, outcome_ids: Sequence[UUID]) -> dict[UUID, PairRuns]:
        """The runs behind these pairs, as far as they were reported and still have their words."""
        rows = await self._connection.execute(
            _RUNS, {"ns": self._namespace_id, "ids": list(outcome_ids)}
        )
        return {
            row.id: PairRuns(_to_steps(row.steps_with), _to_steps(row.steps_without))
            for row in rows
        }

    async def list_cited(self, retrieval_ids: Sequence[UUID]) -> list[CitedMemory]:
        """What was served and cited in these retrievals, by rank."""
        rows = await self._connection.execute(
            _CITED, {"ns": self._namespace_id, "ids": list(retrieval_ids)}
        )
        return [_to_cited(row) for row in rows.mappings()]


_SEEN = "m.namespace_id = :ns AND m.kind = 'meta_guideline' AND m.owner = '*'"


_TRUSTED = "m.erased_at IS NULL AND m.trust <> 'quarantined' AND m.learned_at <= :as_of"


# The predicate of the index on living text, so that a bank's experiences are not read through.
_NOW = f"""m.version AS shown FROM memory m
    WHERE {_SEEN} AND {LIVING} AND {_TRUSTED} AND m.status IN ('active', 'probation')"""


# What the first release built in was never learned, so the past is not advised by it either.
_THEN = f"""(SELECT max(v.version) FROM memory_version v
        WHERE v.memory_id = m.id AND v.known_at <= :as_of) AS shown FROM memory m
    WHERE {_SEEN} AND {_TRUSTED}
      AND m.status IN ('active', 'probation', 'retired', 'suspended')
      AND (m.status, m.status_reason) IS DISTINCT FROM ('retired', 'built_in')"""  # noqa: S608 - constants


BUCKET = """CASE WHEN m.category_id = :first
                THEN (m.subcategory_id IS DISTINCT FROM CAST(:second AS uuid))::int
                WHEN m.category_id = ANY(CAST(:related AS uuid[])) THEN 2 ELSE 3 END AS bucket"""
"""How far a memory `m` is from the task's category, as the ladder counts."""


# The limit keeps the planner from joining: the vectors of few memories are read one by one by their
# key, never through those of all experiences.
_VECTOR = """SELECT e.vector FROM embedding e WHERE e.memory_id = m.id AND e.version = {version}
    AND e.model_id = :model AND e.field || '' = '{field}' LIMIT 1"""


def _near(vectors: int, *, past: bool) -> str:
    angles = [f"1 - (e.vector <=> CAST(:q{i} AS halfvec))" for i in range(vectors)]
    return f"""
    WITH seen AS MATERIALIZED (SELECT m.*, {_THEN if past else _NOW}),
    near AS MATERIALIZED (
        SELECT m.*, greatest(0, {", ".join(angles)}) AS similarity,
            {BUCKET}
        FROM seen m CROSS JOIN LATERAL ({_VECTOR.format(version="m.shown", field="situation")}) e
    ),
    placed AS (
        SELECT n.*, count(*) OVER (PARTITION BY bucket) AS held,
            row_number() OVER (PARTITION BY bucket ORDER BY similarity DESC, id) AS place
        FROM near n
    )
    SELECT p.id, p.shown AS version, p.status, p.trust, v.situation AS failure_reason,
        v.lesson AS instruction, p.detail, p.pinned, a.name AS agent, c.name AS category,
        sub.name AS subcategory, p.start_weight, p.learned_at, p.bucket, p.held, p.similarity,
        w.state, w.touched_at, d.state AS deviation, d.touched_at AS deviation_touched_at,
        f.state AS influence, f.touched_at AS influence_touched_at
    FROM placed p
    JOIN memory_version v ON v.memory_id = p.id AND v.version = p.shown
    JOIN agent a ON a.id = p.agent_id
    JOIN category c ON c.id = p.category_id
    JOIN memory_weight w ON w.memory_id = p.id
    LEFT JOIN category sub ON sub.id = p.subcategory_id
    LEFT JOIN weight_deviation d ON d.memory_id = p.id AND d.agent_id = :agent
    LEFT JOIN influence f ON f.memory_id = p.id AND f.party_id = CAST(:party AS uuid)
    WHERE p.place <= :nearest
    ORDER BY p.id
    """  # noqa: S608 - assembled from the constants above; every value is a parameter


_ANY = text(f"""
    SELECT EXISTS (SELECT FROM memory m WHERE {_SEEN} AND {LIVING}
        AND m.trust <> 'quarantined' AND m.status IN ('active', 'probation'))
""")  # noqa: S608 - constants


_HELD = text(f"""
    SELECT m.id, m.pinned, m.detail, 1 - (e.vector <=> CAST(:lesson AS halfvec)) AS likeness
    FROM memory m CROSS JOIN LATERAL ({_VECTOR.format(version="m.version", field="lesson")}) e
    WHERE {_SEEN} AND {LIVING} AND m.category_id = :category
    ORDER BY likeness DESC, m.id
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_HARMFUL = text("""
    SELECT o.id AS outcome_id, o.bank_version, r.id AS retrieval_id, r.category_id,
        r.subcategory_id, c.name AS category, t.id AS task_id, t.text AS task, t.group_key,
        o.reward, o.reward_without AS without, r.text AS guideline, o.known_at
    FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    JOIN category c ON c.id = r.category_id JOIN task t ON t.id = r.task_id
    WHERE o.namespace_id = :ns AND o.status = 'applied' AND o.evidence = 'paired'
      AND o.bank_version > :after
      AND CASE WHEN CAST(:gap AS double precision) IS NULL THEN o.reward <= o.reward_without
          ELSE o.reward - o.reward_without < -CAST(:gap AS double precision) END
      AND t.erased_at IS NULL
    ORDER BY o.bank_version, o.id
""")


_BEHIND = """LEFT JOIN LATERAL (
        SELECT y.steps FROM trajectory y
        WHERE y.namespace_id = :ns AND y.retrieval_id = {receipt} AND y.erased_at IS NULL
        ORDER BY y.withdrawn_at IS NOT NULL, y.id DESC LIMIT 1
    ) {name} ON true"""


_RUNS = text(f"""
    SELECT o.id, a.steps AS steps_with, b.steps AS steps_without
    FROM outcome o LEFT JOIN outcome off ON off.id = o.partner_id
    {_BEHIND.format(receipt="o.retrieval_id", name="a")}
    {_BEHIND.format(receipt="off.retrieval_id", name="b")}
    WHERE o.namespace_id = :ns AND o.id = ANY(CAST(:ids AS uuid[]))
""")  # noqa: S608 - the constant above


_CITED = text("""
    SELECT i.retrieval_id, m.kind, c.name AS category, i.effective_weight,
        w.n_credited AS credited, m.detail
    FROM retrieval_item i JOIN memory m ON m.id = i.memory_id
    JOIN category c ON c.id = m.category_id JOIN memory_weight w ON w.memory_id = m.id
    WHERE i.namespace_id = :ns AND i.retrieval_id = ANY(:ids) AND i.served AND i.cited
    ORDER BY i.retrieval_id, i.rank
""")


def _to_steps(stored: Sequence[Mapping[str, object]] | None) -> tuple[Step, ...]:
    return tuple(Step.stored(step) for step in stored or ())


def _literal(made: Embedding) -> str:
    return "[" + ",".join(map(repr, made.vector.astype(float).tolist())) + "]"

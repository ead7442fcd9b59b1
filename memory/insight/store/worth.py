"""WorthStore: what coins decided and how it went, seen through one namespace."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.worth import LEAST, MOST, CoinRun

WITH_MEMORY = ("on", "retest", "forced_on", "paired")
"""Arms in which the agent got what was selected."""


NEWEST = 1_000
"""Retrievals in which companions are looked for."""


ALWAYS = 0.9
"""A companion came up in this share of them at least."""


ENOUGH_APART = 10
"""Two memories served apart so often can be told apart by what was served."""


COMPANIONS = 8


NEWEST_COINS = 10_000
"""Of the whole namespace."""


@dataclass(frozen=True, slots=True)
class Appearances:
    """How often a memory came up among its newest retrievals with memory, and was served."""

    came_up: int
    served: int


@dataclass(frozen=True, slots=True)
class CompanionRow:
    """A memory that comes up with another one, and how often they were served apart."""

    memory_id: UUID
    together: int
    apart: int


@dataclass(frozen=True, slots=True)
class WeighedRun:
    """A coin of any memory, and the effective weight that it had then."""

    memory_id: UUID
    weight: float
    run: CoinRun


class WorthStore:
    """Coins of one namespace, with the outcomes that count."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def runs(self, memory_id: UUID, version: int) -> list[CoinRun]:
        """Every coin that decided about the place of this text of a memory."""
        values = {"id": memory_id, "version": version}
        rows = await self._connection.execute(_RUNS, self._values(values))
        return [_to_run(row) for row in rows.mappings()]

    async def newest_runs(self) -> list[WeighedRun]:
        """The newest coins of all memories."""
        rows = await self._connection.execute(_NEWEST_RUNS, self._values({"limit": NEWEST_COINS}))
        return [
            WeighedRun(row["memory_id"], row["effective_weight"], _to_run(row))
            for row in rows.mappings()
        ]

    async def appearances(self, memory_id: UUID) -> Appearances:
        """Among the newest retrievals in which the memory came up."""
        values = {"id": memory_id, "newest": NEWEST}
        rows = await self._connection.execute(_APPEARANCES, self._values(values))
        row = rows.one()
        return Appearances(row.came_up, row.served)

    async def companions(self, memory_id: UUID) -> list[CompanionRow]:
        """What came up with it nearly always, and was hardly ever served apart from it; the closest
        first.
        """
        values = {
            "id": memory_id,
            "newest": NEWEST,
            "share": ALWAYS,
            "enough": ENOUGH_APART,
            "limit": COMPANIONS,
        }
        rows = await self._connection.execute(_COMPANIONS, self._values(values))
        return [CompanionRow(row.memory_id, row.together, row.apart) for row in rows]

    def _values(self, more: Mapping[str, object]) -> dict[str, object]:
        arms = list(WITH_MEMORY)
        return {"ns": self._namespace_id, "arms": arms, **more}


def _to_run(row: RowMapping) -> CoinRun:
    return CoinRun(
        inclusion=row["inclusion"],
        left_out=row["left_out"],
        vacant=row["vacant"],
        value=row["above_baseline"],
        known_at=row["known_at"],
        group=row["run_group"],
    )


# The bounds stand here as they stand in the index of coins, which is used for no others.
_COIN = f"""
    SELECT retrieval_id, memory_id, effective_weight, inclusion, left_out
    FROM retrieval_item
    WHERE namespace_id = :ns AND contender AND inclusion > {LEAST} AND inclusion < {MOST}
"""  # noqa: S608 - the constants above


# A retrieval whose last place was drawn is no trial: what was kept may have lost its place to the
# draw. Fewer memories than places were served: nothing took the place of one that was left out.
_JOINED = """
    SELECT i.memory_id, i.effective_weight, i.inclusion, i.left_out,
        i.left_out AND s.n < r.k AS vacant, o.above_baseline,
        COALESCE(o.known_at, r.known_at) AS known_at,
        COALESCE(t.group_key, t.id::text) AS run_group
    FROM coin i JOIN retrieval r ON r.id = i.retrieval_id JOIN task t ON t.id = r.task_id
    LEFT JOIN outcome o ON o.retrieval_id = i.retrieval_id AND o.status = 'applied'
        AND o.above_baseline IS NOT NULL
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE x.served) AS n, bool_or(x.exploration_slot) AS drawn
        FROM retrieval_item x WHERE x.retrieval_id = i.retrieval_id
    ) AS s
    WHERE r.arm = ANY(:arms) AND NOT s.drawn
"""


_RUNS = text(f"""
    WITH coin AS MATERIALIZED ({_COIN} AND memory_id = :id AND version = :version) {_JOINED}
""")


_NEWEST_RUNS = text(f"""
    WITH coin AS MATERIALIZED (
        {_COIN} ORDER BY retrieval_id DESC, memory_id LIMIT :limit
    ) {_JOINED}
""")


_MINE = """
    WITH mine AS MATERIALIZED (
        SELECT i.retrieval_id, i.served
        FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
        WHERE i.namespace_id = :ns AND i.memory_id = :id AND (i.served OR i.left_out)
            AND r.arm = ANY(:arms)
        ORDER BY i.retrieval_id DESC LIMIT :newest
    ), size AS MATERIALIZED (
        SELECT count(*) AS came_up, count(*) FILTER (WHERE served) AS served,
            min(retrieval_id::text)::uuid AS since
        FROM mine
    )
"""


_APPEARANCES = text(f"{_MINE} SELECT came_up, served FROM size")  # noqa: S608 - the constant above


# Served apart: here, where one of both was, and elsewhere, where this one did not come up; that is
# counted no further than is enough.
_COMPANIONS = text(f"""
    {_MINE}, near AS (
        SELECT x.memory_id, count(*) AS together,
            count(*) FILTER (WHERE x.served AND NOT m.served) AS alone,
            count(*) FILTER (WHERE x.served AND m.served) AS both_served
        FROM mine m JOIN retrieval_item x ON x.retrieval_id = m.retrieval_id
        JOIN memory e ON e.id = x.memory_id
        WHERE x.memory_id <> :id AND (x.served OR x.left_out) AND e.erased_at IS NULL
        GROUP BY x.memory_id
        HAVING count(*) >= :share * (SELECT came_up FROM size)
    ), counted AS (
        SELECT n.memory_id, n.together, n.alone + (size.served - n.both_served) + (
            SELECT count(*) FROM (
                SELECT 1 FROM retrieval_item y JOIN retrieval r ON r.id = y.retrieval_id
                WHERE y.namespace_id = :ns AND y.memory_id = n.memory_id AND y.served
                    AND y.retrieval_id >= size.since AND r.arm = ANY(:arms)
                    AND NOT EXISTS (SELECT FROM mine m WHERE m.retrieval_id = y.retrieval_id)
                LIMIT :enough
            ) AS elsewhere
        ) AS apart
        FROM near n CROSS JOIN size
    )
    SELECT memory_id, together, apart FROM counted WHERE apart < :enough
    ORDER BY apart, together DESC, memory_id LIMIT :limit
""")  # noqa: S608 - the constant above

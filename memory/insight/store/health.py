"""HealthStore: what the health of learning is counted from, and how it was, seen through one
namespace.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import RowMapping, TextClause, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.states import State
from memory.belief.tables import strength
from memory.insight.entities import LearningHealth, OutcomeCoverage, WaitingByAge
from memory.insight.rules import share
from memory.insight.tables import health_sample
from memory.kernel.paging import Listed, Page, listed

RECENT = timedelta(days=30)
"""Coverage and the mix of evidence look back so far."""


COMPARED = timedelta(days=180)
"""Residuals older than this are not compared."""


@dataclass(frozen=True, slots=True)
class LivingMemory:
    """A living memory's status and stored state."""

    status: str
    state: State


class HealthStore:
    """Counts of one namespace, as of a moment. Nothing here is on the way of a request."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def living(self, now: datetime) -> list[LivingMemory]:
        """Every living memory learned by `now`."""
        return [
            LivingMemory(row["status"], State(tuple(row["state"]), row["touched_at"]))
            for row in await self._rows(_LIVING, now)
        ]

    async def coverage(self, now: datetime) -> OutcomeCoverage:
        """Receipts of the last 30 days, and what was reported of them."""
        [row] = await self._rows(_COVERAGE, now)
        answered, receipts = row["answered"], row["receipts"]
        return OutcomeCoverage(
            receipts, answered, share(answered, receipts), row["reported"] - answered
        )

    async def pending_outcomes(self, now: datetime) -> WaitingByAge:
        """Outcomes that wait to be applied, by age."""
        [row] = await self._rows(_PENDING_OUTCOMES, now)
        return WaitingByAge(**row)

    async def pending_receipts(self, now: datetime) -> WaitingByAge:
        """Receipts that have not expired and still wait for an outcome, by age."""
        [row] = await self._rows(_PENDING_RECEIPTS, now)
        return WaitingByAge(**row)

    async def expired_receipts(self, now: datetime) -> int:
        """Receipts that expired within the last 30 days without a report."""
        [row] = await self._rows(_EXPIRED_RECEIPTS, now)
        return row["n"]

    async def duplicates(self, now: datetime) -> tuple[int, int]:
        """How often something was remembered, and how often it was there already or was merged.

        Evidence counts each time; a merged memory's went to its survivor.
        """
        [row] = await self._rows(_DUPLICATES, now)
        return row["remembered"], row["duplicates"]

    async def evidence(self, now: datetime) -> dict[str, int]:
        """Outcomes of the last 30 days that were applied or ignored, by kind of evidence."""
        return {row["evidence"]: row["n"] for row in await self._rows(_EVIDENCE, now)}

    async def growth(self, now: datetime) -> dict[str, tuple[int, int]]:
        """Memories admitted and retrievals answered by category, since the beginning."""
        rows = await self._rows(_GROWTH, now)
        return {row["name"]: (row["admitted"], row["retrievals"]) for row in rows}

    async def products(self, now: datetime) -> tuple[float, int]:
        """Sum of the products of one memory's residuals on two different dates, and how many."""
        [row] = await self._rows(_PRODUCTS, now)
        return row["products"], row["pairs"]

    async def strengths(self) -> list[State]:
        """The strength of every cell, as stored."""
        rows = await self._connection.execute(
            select(strength.c.state, strength.c.touched_at).where(
                strength.c.namespace_id == self._namespace_id
            )
        )
        return [State(tuple(row.state), row.touched_at) for row in rows]

    async def add(self, health: LearningHealth, recorded_at: datetime) -> None:
        """One sample a moment; the first stays."""
        await self._connection.execute(
            insert(health_sample)
            .values(
                namespace_id=self._namespace_id,
                known_at=health.known_at,
                recorded_at=recorded_at,
                numbers=health.to_numbers(),
            )
            .on_conflict_do_nothing()
        )

    async def delete_before(self, before: datetime) -> None:
        """Samples from before are dropped."""
        await self._connection.execute(
            delete(health_sample).where(
                health_sample.c.namespace_id == self._namespace_id,
                health_sample.c.known_at < before,
            )
        )

    async def newest(self) -> LearningHealth | None:
        """The last sample, if there is one."""
        row = await self._connection.execute(
            select(health_sample)
            .where(health_sample.c.namespace_id == self._namespace_id)
            .order_by(health_sample.c.known_at.desc())
            .limit(1)
        )
        found = row.mappings().first()
        return None if found is None else _to_health(found)

    async def newest_samples(self, most: int) -> list[LearningHealth]:
        """The last so many, oldest first."""
        rows = await self._connection.execute(
            select(health_sample)
            .where(health_sample.c.namespace_id == self._namespace_id)
            .order_by(health_sample.c.known_at.desc())
            .limit(most)
        )
        return [_to_health(row) for row in reversed(rows.mappings().all())]

    async def samples(self, page: Page) -> Listed[LearningHealth]:
        """Oldest first."""
        here = health_sample.c.namespace_id == self._namespace_id
        rows = select(health_sample).where(here).order_by(health_sample.c.known_at)
        if page.after is not None:
            last = datetime.fromisoformat(str(page.after[0]))
            rows = rows.where(health_sample.c.known_at > last)
        found = await self._connection.execute(rows.limit(page.limit + 1))
        total = await self._connection.scalar(
            select(func.count()).select_from(health_sample).where(here)
        )
        nouns = [_to_health(row) for row in found.mappings()]
        return listed(nouns, page, total, lambda one: (one.known_at.isoformat(),))

    async def _rows(self, statement: TextClause, now: datetime) -> list[RowMapping]:
        moments = {"now": now, "since": now - RECENT, "compared": now - COMPARED}
        values = {"ns": self._namespace_id, **moments}
        return list((await self._connection.execute(statement, values)).mappings())


def _to_health(row: RowMapping) -> LearningHealth:
    return LearningHealth.of_numbers(row["known_at"], row["numbers"])


_LIVING = text("""
    SELECT m.status, w.state, w.touched_at FROM memory m JOIN memory_weight w ON w.memory_id = m.id
    WHERE m.namespace_id = :ns AND m.status NOT IN ('retired', 'rejected')
      AND m.erased_at IS NULL AND m.learned_at <= :now
""")


# A replayed task hangs on nobody's outcome.
_ANSWERED = """EXISTS (SELECT 1 FROM outcome o WHERE o.retrieval_id = r.id
    AND (o.status IN ('accepted', 'applied') OR o.reason = 'half_of_pair'))"""


_REPORTED = """EXISTS (SELECT 1 FROM outcome o WHERE o.retrieval_id = r.id
    AND o.status <> 'superseded')"""


_COVERAGE = text(f"""
    SELECT count(*) AS receipts, count(*) FILTER (WHERE {_ANSWERED}) AS answered,
        count(*) FILTER (WHERE {_REPORTED}) AS reported
    FROM retrieval r WHERE r.namespace_id = :ns AND r.purpose <> 'replay'
      AND r.known_at > :since AND r.known_at <= :now
""")  # noqa: S608 - assembled from the constant above; every value is a parameter


_AGES = """count(*) FILTER (WHERE age < interval '1 hour') AS hour,
    count(*) FILTER (WHERE age >= interval '1 hour' AND age < interval '1 day') AS day,
    count(*) FILTER (WHERE age >= interval '1 day' AND age < interval '7 days') AS week,
    count(*) FILTER (WHERE age >= interval '7 days' AND age < interval '30 days') AS month,
    count(*) FILTER (WHERE age >= interval '30 days') AS older"""


_PENDING_OUTCOMES = text(f"""
    SELECT {_AGES} FROM (SELECT CAST(:now AS timestamptz) - known_at AS age FROM outcome
        WHERE namespace_id = :ns AND applied_at IS NULL AND set_aside_at IS NULL) AS waiting
""")  # noqa: S608 - assembled from the constant above; every value is a parameter


_PENDING_RECEIPTS = text(f"""
    SELECT {_AGES} FROM (SELECT CAST(:now AS timestamptz) - r.known_at AS age FROM retrieval r
        WHERE r.namespace_id = :ns AND r.purpose <> 'replay' AND r.known_at <= :now
          AND r.expires_at > :now AND NOT {_REPORTED}) AS waiting
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_EXPIRED_RECEIPTS = text(f"""
    SELECT count(*) AS n FROM retrieval r
    WHERE r.namespace_id = :ns AND r.purpose <> 'replay'
      AND r.expires_at > :since AND r.expires_at <= :now AND NOT {_REPORTED}
""")  # noqa: S608 - assembled from the constants above; every value is a parameter


_DUPLICATES = text("""
    SELECT coalesce(sum(evidence), 0)::bigint AS remembered,
        (coalesce(sum(evidence), 0) - count(*))::bigint AS duplicates
    FROM memory WHERE namespace_id = :ns AND learned_at <= :now
      AND NOT (status = 'retired' AND detail ? 'merged_into')
""")


_EVIDENCE = text("""
    SELECT evidence, count(*) AS n FROM outcome
    WHERE namespace_id = :ns AND status IN ('applied', 'ignored')
      AND known_at > :since AND known_at <= :now
    GROUP BY evidence
""")


# Counted once for all categories: by itself each would look through all memories and receipts.
_GROWTH = text("""
    WITH admitted AS (
        SELECT m.category_id, count(*) AS n FROM memory m
        WHERE m.namespace_id = :ns AND m.learned_at <= :now
            AND m.status NOT IN ('proposed', 'verifying', 'rejected')
        GROUP BY m.category_id
    ), served AS (
        SELECT r.category_id, count(*) AS n FROM retrieval r
        WHERE r.namespace_id = :ns AND r.purpose <> 'replay' AND r.known_at <= :now
        GROUP BY r.category_id
    )
    SELECT c.name, coalesce(admitted.n, 0) AS admitted,
        coalesce(served.n, 0) + coalesce(t.n, 0) AS retrievals
    FROM category c
    LEFT JOIN admitted ON admitted.category_id = c.id
    LEFT JOIN served ON served.category_id = c.id
    LEFT JOIN receipt_tally t ON t.namespace_id = :ns AND t.kind = 'category'
        AND t.subject_id = c.id
    WHERE c.namespace_id = :ns AND c.parent_id IS NULL
""")


# Of sums by memory and date: the square of the whole less the squares of the dates is twice the
# sum over pairs of different dates.
_PRODUCTS = text("""
    WITH residual AS (
        SELECT i.memory_id, CAST(o.known_at AT TIME ZONE 'UTC' AS date) AS day,
            sum(o.residual) AS total, CAST(count(*) AS double precision) AS n
        FROM outcome o JOIN retrieval_item i ON i.retrieval_id = o.retrieval_id
        WHERE o.namespace_id = :ns AND o.status = 'applied' AND o.residual IS NOT NULL
          AND o.evidence IN ('paired', 'single') AND i.served AND i.cited
          AND o.known_at > :compared AND o.known_at <= :now
        GROUP BY 1, 2
    ), of_memory AS (
        SELECT (power(sum(total), 2) - sum(power(total, 2))) / 2 AS products,
            (power(sum(n), 2) - sum(power(n, 2))) / 2 AS pairs
        FROM residual GROUP BY memory_id
    )
    SELECT coalesce(sum(products), 0) AS products,
        CAST(coalesce(sum(pairs), 0) AS bigint) AS pairs
    FROM of_memory
""")

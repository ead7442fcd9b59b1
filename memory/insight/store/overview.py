"""OverviewStore: what an operator looks at first, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import RowMapping, TextClause, column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.states import State
from memory.insight.overview_entities import Concern, FirstSteps, Mover
from memory.kernel.postgres.rows import RowMapper


@dataclass(frozen=True, slots=True)
class MeasuredDay:
    """One feedback date of one cell, and what its category measures by."""

    category: str
    measure: str
    day: date
    state: State


_to_mover = RowMapper(Mover, map(column, Mover.__slots__))
_to_steps = RowMapper(FirstSteps, map(column, FirstSteps.__slots__))
_to_concern = RowMapper(Concern, map(column, Concern.__slots__))


class OverviewStore:
    """Reads of one namespace, each one statement."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def measured_days(self) -> list[MeasuredDay]:
        """Every feedback date of every cell, by category."""
        return [
            MeasuredDay(
                row["category"],
                row["measure"],
                row["day"],
                State(tuple(row["state"]), row["touched_at"]),
            )
            for row in await self._rows(_DAYS, {})
        ]

    async def movers(
        self, since: datetime, until: datetime, owners: Sequence[str], limit: int
    ) -> list[Mover]:
        """Memories of these owners that lie elsewhere than at `since`, the furthest first."""
        values = {"since": since, "until": until, "owners": list(owners), "limit": limit}
        return [_to_mover(row) for row in await self._rows(_MOVERS, values)]

    async def concerns(
        self, since: datetime, recorded_since: datetime, reasons: Sequence[str]
    ) -> list[Concern]:
        """What went wrong: of outcomes known since `since`, of calls recorded since then, and of
        the newest run of each job; `reasons` are those for which an ignored outcome is listed.
        """
        values = {"since": since, "recorded": recorded_since, "reasons": list(reasons)}
        return [_to_concern(row) for row in await self._rows(_CONCERNS, values)]

    async def first_steps(self) -> FirstSteps:
        """Which of them were taken; rows are looked for, not counted."""
        [row] = await self._rows(_FIRST_STEPS, {})
        return _to_steps(row)

    async def _rows(self, statement: TextClause, values: Mapping[str, object]) -> list[RowMapping]:
        found = await self._connection.execute(statement, {"ns": self._namespace_id, **values})
        return list(found.mappings())


_DAYS = text("""
    SELECT c.name AS category, coalesce(c.metric || ', ' || c.reward_kind, 'not fixed') AS measure,
        e.day, e.state, e.touched_at
    FROM effect_day e JOIN category c ON c.id = e.category_id
    WHERE e.namespace_id = :ns ORDER BY c.name, e.day, e.agent_id
""")


# The ledger is a chain: what a memory weighed before its first event of the time, and after its
# last one, whatever was withdrawn in between. What two decimals do not show did not move.
_MOVERS = text("""
    WITH moved AS (
        SELECT memory_id,
            (array_agg(coalesce(weight_before, weight_after)
                ORDER BY bank_version, position))[1] AS before,
            (array_agg(weight_after ORDER BY bank_version DESC, position DESC))[1] AS after,
            count(DISTINCT outcome_id) FILTER (WHERE superseded_by IS NULL) AS outcomes
        FROM weight_event
        WHERE namespace_id = :ns AND subject = 'memory' AND weight_after IS NOT NULL
          AND known_at > :since AND known_at <= :until
        GROUP BY memory_id
    )
    SELECT m.id AS memory_id, v.lesson, moved.before, moved.after, moved.outcomes
    FROM moved JOIN memory m ON m.id = moved.memory_id
    JOIN memory_version v ON v.memory_id = m.id AND v.version = m.version
    WHERE m.namespace_id = :ns AND m.erased_at IS NULL AND m.owner = ANY(:owners)
      AND abs(moved.after - moved.before) >= 0.005
    ORDER BY abs(moved.after - moved.before) DESC, m.id LIMIT :limit
""")


_FIRST_STEPS = text("""
    SELECT
        EXISTS (SELECT FROM api_key WHERE namespace_id = :ns AND revoked_at IS NULL) AS key_made,
        EXISTS (SELECT FROM retrieval WHERE namespace_id = :ns) AS asked,
        EXISTS (SELECT FROM memory WHERE namespace_id = :ns) AS remembered,
        EXISTS (SELECT FROM outcome WHERE namespace_id = :ns) AS reported
""")


_CONCERNS = text("""
    SELECT 'ignored' AS kind, reason AS cause, count(*) AS n FROM outcome
    WHERE namespace_id = :ns AND status = 'ignored' AND reason = ANY(:reasons)
      AND known_at > :since
    GROUP BY reason
    UNION ALL
    SELECT 'muted', '', count(*) FROM outcome o
    WHERE o.namespace_id = :ns AND o.status = 'applied' AND o.known_at > :since
      AND o.muted <> '{}' AND EXISTS (
        SELECT FROM memory m WHERE m.id = ANY(o.muted) AND m.erased_at IS NULL)
    HAVING count(*) > 0
    UNION ALL
    SELECT 'llm_' || status, coalesce(fault, ''), count(*) FROM writing
    WHERE namespace_id = :ns AND status IN ('failed', 'stopped') AND recorded_at > :recorded
    GROUP BY status, coalesce(fault, '')
    UNION ALL
    SELECT 'job_failed', last.job, (
        SELECT count(*) FROM job_run r WHERE r.namespace_id = :ns AND r.job = last.job
          AND r.state = 'failed' AND r.started_at > :recorded)
    FROM (SELECT DISTINCT ON (job) job, state FROM job_run
        WHERE namespace_id = :ns AND NOT dry_run ORDER BY job, id DESC) AS last
    WHERE last.state = 'failed'
    UNION ALL
    SELECT 'set_aside', coalesce(reason, ''), count(*) FROM outcome
    WHERE namespace_id = :ns AND applied_at IS NULL AND set_aside_at IS NOT NULL
      AND status = 'accepted'
    GROUP BY reason
    UNION ALL
    SELECT 'webhook_disabled', coalesce(disabled_reason, ''), count(*) FROM webhook
    WHERE namespace_id = :ns AND disabled_at IS NOT NULL
    GROUP BY disabled_reason
    UNION ALL
    SELECT 'inexact', '', jsonb_array_length(last.result -> 'differing')
    FROM (SELECT result FROM job_run
        WHERE namespace_id = :ns AND job = 'rebuild' AND state = 'done' AND NOT dry_run
        ORDER BY id DESC LIMIT 1) AS last
    WHERE jsonb_array_length(last.result -> 'differing') > 0
    ORDER BY 1, 3 DESC, 2
""")

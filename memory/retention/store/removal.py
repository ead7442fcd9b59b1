"""RemovalStore: takes old rows away, so many at a time, within one namespace."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.retention.entities import Ages
from memory.retention.store.closing import Place

Rows = dict[str, int]
"""How many rows of which table."""


class RemovalStore:
    """What is old in one namespace; `closed` is the version up to which the ledger is closed."""

    def __init__(
        self, connection: AsyncConnection, namespace_id: UUID, ages: Ages, closed: int
    ) -> None:
        self._connection = connection
        self._here = {
            "ns": namespace_id,
            "now": ages.now,
            "before": ages.before,
            "recorded_before": ages.recorded_before,
            "closed": closed,
        }

    async def take_turn(self) -> bool:
        """False where another run removes here; else none does until commit."""
        name = f"retention/{self._here['ns']}"
        return bool(await self._connection.scalar(_TAKE_TURN, {"name": name}))

    async def remove_events(self, after: Place, limit: int) -> tuple[int, Place | None]:
        """Events that are closed, from the first place after this one on; how many, and the last
        place that was looked at, None where there is none left.
        """
        values = self._here | {"version": after[0], "place": after[1], "limit": limit}
        row = (await self._connection.execute(_EVENTS, values)).one()
        return row.removed, None if row.version is None else (row.version, row.place)

    async def remove_outcomes(self, limit: int) -> Rows:
        """Outcomes that teach nothing more, those first that no other names."""
        ids = list(await self._connection.scalars(_OLD_OUTCOMES, self._here | {"limit": limit}))
        if not ids:
            return {}
        values = {"ids": ids}
        await self._connection.execute(_FORGET_SCORED, values)
        candidates = (await self._connection.execute(_CANDIDATES, values)).rowcount
        outcomes = (await self._connection.execute(_OUTCOMES, values)).rowcount
        return _some(outcome=outcomes, candidate=candidates)

    async def remove_receipts(self, limit: int) -> Rows:
        """Receipts without outcomes, with their items; what they counted for is counted on. The
        runs behind them lose their words.
        """
        found = await self._connection.scalars(_OLD_RECEIPTS, self._here | {"limit": limit})
        # Looked at again now that they are held: a report may have come for one.
        ids = list(await self._connection.scalars(_WITHOUT_OUTCOME, {"ids": list(found)}))
        if not ids:
            return {}
        values = self._here | {"ids": ids}
        await self._connection.execute(_TALLY_MEMORIES, values)
        await self._connection.execute(_TALLY_CATEGORIES, values)
        runs = (await self._connection.execute(_BLANK_RUNS_OF, values)).rowcount
        await self._connection.execute(_FORGET_SERVED, values)
        items = (await self._connection.execute(_ITEMS, values)).rowcount
        receipts = (await self._connection.execute(_RECEIPTS, values)).rowcount
        return _some(retrieval=receipts, retrieval_item=items, trajectory=runs)

    async def blank_runs(self, limit: int) -> Rows:
        """Runs of which no receipt is known lose their words."""
        done = await self._connection.execute(_BLANK_RUNS, self._here | {"limit": limit})
        return _some(trajectory=done.rowcount)

    async def remove_tasks(self, after: UUID, limit: int) -> tuple[int, UUID | None]:
        """Tasks that nothing names any more, from the first after this one on; how many, and the
        last that was looked at, None where there is none left.
        """
        values = self._here | {"after": after, "limit": limit}
        seen = list(await self._connection.scalars(_SEEN_TASKS, values))
        if not seen:
            return 0, None
        found = await self._connection.scalars(_OLD_TASKS, self._here | {"ids": seen})
        # Looked at again now that they are held: somebody may have named one.
        values = self._here | {"ids": list(found)}
        removed = (await self._connection.execute(_TASKS, values)).rowcount
        return removed, seen[-1]

    async def remove_llm_calls(self, limit: int) -> Rows:
        """What a language model was asked and said, and what it took on days gone by."""
        values = self._here | {"limit": limit}
        calls = (await self._connection.execute(_LLM_CALLS, values)).rowcount
        days = (await self._connection.execute(_BUDGET_DAYS, values)).rowcount
        return _some(writing=calls, writing_budget=days)


def _some(**rows: int) -> Rows:
    return {table: count for table, count in rows.items() if count}


_TAKE_TURN = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")


_EVENTS = text("""
    WITH seen AS MATERIALIZED (
        SELECT bank_version, position, reason FROM weight_event
        WHERE namespace_id = :ns AND bank_version <= :closed
          AND (bank_version, position) > (:version, :place)
        ORDER BY bank_version, position LIMIT :limit
    ), gone AS (
        DELETE FROM weight_event e USING seen s
        WHERE e.namespace_id = :ns AND e.bank_version = s.bank_version
          AND e.position = s.position AND s.reason <> 'closed'
        RETURNING 1
    ), last AS (
        SELECT bank_version, position FROM seen ORDER BY bank_version DESC, position DESC LIMIT 1
    )
    SELECT (SELECT count(*) FROM gone) AS removed,
        (SELECT bank_version FROM last) AS version, (SELECT position FROM last) AS place
""")


# An outcome goes when it waits for nothing, is closed or never was in the ledger, and its receipt
# takes no report that counts any more.
IS_OLD_OUTCOME = """
    o.namespace_id = :ns AND o.known_at < :before AND o.applied_at IS NOT NULL
    AND (o.bank_version IS NULL OR o.bank_version <= :closed)
    AND EXISTS (SELECT FROM retrieval r WHERE r.id = o.retrieval_id AND r.expires_at <= :now)
"""


_OLD_OUTCOMES = text(f"""
    SELECT o.id FROM outcome o
    WHERE {IS_OLD_OUTCOME}
      AND NOT EXISTS (SELECT FROM outcome x WHERE x.partner_id = o.id)
      AND NOT EXISTS (SELECT FROM outcome x WHERE x.supersedes = o.id)
    ORDER BY o.known_at LIMIT :limit FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - the constant above


_FORGET_SCORED = text("UPDATE prediction_score SET outcome_id = NULL WHERE outcome_id = ANY(:ids)")


_CANDIDATES = text("DELETE FROM candidate WHERE outcome_id = ANY(:ids)")


_OUTCOMES = text("DELETE FROM outcome WHERE id = ANY(:ids)")


# A receipt stays while somebody may report on it, or a forecast waits for what will happen; and
# where a run behind it is half of a contrast: what the run was told of must be found by an erasure.
IS_OLD_RECEIPT = """
    r.namespace_id = :ns AND r.known_at < :before AND r.expires_at <= :now
    AND NOT EXISTS (SELECT FROM trajectory t JOIN contrast c ON c.preferred_id = t.id
        WHERE t.retrieval_id = r.id)
    AND NOT EXISTS (SELECT FROM trajectory t JOIN contrast c ON c.unpreferred_id = t.id
        WHERE t.retrieval_id = r.id)
    AND NOT EXISTS (SELECT FROM prediction_revision v JOIN prediction p ON p.id = v.prediction_id
        WHERE v.retrieval_id = r.id AND p.state = 'pending')
"""


_OLD_RECEIPTS = text(f"""
    SELECT r.id FROM retrieval r
    WHERE {IS_OLD_RECEIPT}
      AND NOT EXISTS (SELECT FROM outcome o WHERE o.retrieval_id = r.id)
    ORDER BY r.known_at LIMIT :limit FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - the constant above


_WITHOUT_OUTCOME = text("""
    SELECT id FROM unnest(CAST(:ids AS uuid[])) AS id
    WHERE NOT EXISTS (SELECT FROM outcome o WHERE o.retrieval_id = id)
""")


_COUNT_ON = """
    ON CONFLICT (namespace_id, kind, subject_id) DO UPDATE
    SET n = t.n + excluded.n, last_at = greatest(t.last_at, excluded.last_at)
"""


_TALLY_MEMORIES = text(f"""
    INSERT INTO receipt_tally AS t (namespace_id, kind, subject_id, n, last_at)
    SELECT :ns, 'memory', i.memory_id, count(*), max(r.known_at)
    FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id
    WHERE r.id = ANY(:ids) AND i.served GROUP BY i.memory_id {_COUNT_ON}
""")  # noqa: S608 - the constant above


# A replayed task is no demand.
_TALLY_CATEGORIES = text(f"""
    INSERT INTO receipt_tally AS t (namespace_id, kind, subject_id, n, last_at)
    SELECT :ns, 'category', r.category_id, count(*), max(r.known_at)
    FROM retrieval r WHERE r.id = ANY(:ids) AND r.purpose <> 'replay'
    GROUP BY r.category_id {_COUNT_ON}
""")  # noqa: S608 - the constant above


_WORDLESS = """
    SET steps = '[]'::jsonb, result = NULL, rationale = NULL, examined = NULL,
        erased_at = coalesce(erased_at, :now)"""


_BLANK_RUNS_OF = text(f"""
    UPDATE trajectory {_WORDLESS}, retrieval_id = NULL WHERE retrieval_id = ANY(:ids)
""")


_FORGET_SERVED = text("""
    UPDATE prediction_revision SET retrieval_id = NULL WHERE retrieval_id = ANY(:ids)
""")


_ITEMS = text("DELETE FROM retrieval_item WHERE retrieval_id = ANY(:ids)")


_RECEIPTS = text("DELETE FROM retrieval WHERE id = ANY(:ids)")


IS_OLD_RUN = """
    t.namespace_id = :ns AND t.known_at < :before AND t.erased_at IS NULL
    AND t.retrieval_id IS NULL
    AND NOT EXISTS (SELECT FROM contrast c WHERE c.preferred_id = t.id)
    AND NOT EXISTS (SELECT FROM contrast c WHERE c.unpreferred_id = t.id)
"""


_BLANK_RUNS = text(f"""
    UPDATE trajectory {_WORDLESS} WHERE id IN (
        SELECT t.id FROM trajectory t WHERE {IS_OLD_RUN}
        ORDER BY t.known_at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")  # noqa: S608 - the constants above


# A task may go when nothing names it and no forecast of it counts any more. What a language model
# was told of it names it, too: an erasure of the task must find that.
def old_task(t: str) -> str:
    """The condition that the task `t`, a name of the statement's own, may go by its age."""
    return f"""{t}.namespace_id = :ns AND {t}.known_at < :before
    AND ({t}.closes_at IS NULL OR {t}.closes_at < :now)"""


NAMING = (
    *("memory", "trajectory", "contrast", "constraint_support", "prediction", "settled_window"),
    "trial",
)


def unnamed(t: str, tables: tuple[str, ...]) -> str:
    """The condition that no row of these tables names the task `t`."""
    return " AND ".join(
        f"NOT EXISTS (SELECT FROM {table} n WHERE n.namespace_id = {t}.namespace_id"
        f" AND n.task_id = {t}.id)"
        for table in tables
    )


_UNNAMED = unnamed("t", (*NAMING, "retrieval", "writing"))


_SEEN_TASKS = text("""
    SELECT id FROM task WHERE namespace_id = :ns AND id > :after ORDER BY id LIMIT :limit
""")


_OLD_TASKS = text(f"""
    SELECT t.id FROM task t WHERE t.id = ANY(:ids) AND {old_task("t")} AND {_UNNAMED}
    FOR UPDATE SKIP LOCKED
""")  # noqa: S608 - the constants above


_TASKS = text(f"""
    DELETE FROM task t WHERE t.namespace_id = :ns AND t.id = ANY(:ids) AND {_UNNAMED}
""")  # noqa: S608 - the constant above


_LLM_CALLS = text("""
    DELETE FROM writing WHERE id IN (
        SELECT id FROM writing WHERE namespace_id = :ns AND recorded_at < :recorded_before
        ORDER BY id LIMIT :limit)
""")


_BUDGET_DAYS = text("""
    DELETE FROM writing_budget WHERE (namespace_id, day) IN (
        SELECT namespace_id, day FROM writing_budget
        WHERE namespace_id = :ns AND day < CAST(:recorded_before AS date)
        ORDER BY day LIMIT :limit)
""")

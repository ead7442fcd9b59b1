"""FiguresStore: what a run of retention would remove, within one namespace."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.retention.entities import Ages
from memory.retention.store.removal import (
    IS_OLD_OUTCOME,
    IS_OLD_RECEIPT,
    IS_OLD_RUN,
    NAMING,
    old_task,
    unnamed,
)


class FiguresStore:
    """Counts, and about how much room the counted rows take."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def count(self, ages: Ages, closed: int) -> tuple[dict[str, int], int]:
        """Rows by table where there are any, if the ledger is closed up to there, and bytes."""
        values = {
            "ns": self._namespace_id,
            "now": ages.now,
            "before": ages.before,
            "recorded_before": ages.recorded_before,
            "closed": closed,
        }
        rows: dict[str, int] = {}
        size = 0.0
        for table, counting in _COUNTING.items():
            found = (await self._connection.execute(counting, values)).one()
            if not found.n:
                continue
            rows[table] = found.n
            if found.width is not None:
                size += found.n * float(found.width) * await self._overhead(table)
        return rows, round(size)

    async def _overhead(self, table: str) -> float:
        """How much more room a table takes with its indexes than without."""
        return float(await self._connection.scalar(_OVERHEAD, {"table": table}) or 1.0)


# Of so many of the rows the width is taken for that of all.
_SAMPLE = 500


# What stands beside a row on its page.
_HEADER = 28


def _counting(table: str, condition: str, gone: str = "x.*") -> str:
    return f"""
        WITH old AS MATERIALIZED (SELECT x.ctid AS place FROM {table} x WHERE {condition})
        SELECT (SELECT count(*) FROM old) AS n, (
            SELECT avg(pg_column_size({gone}) + {_HEADER}) FROM {table} x
            WHERE x.ctid IN (SELECT place FROM old LIMIT {_SAMPLE})) AS width
    """  # noqa: S608 - written here


_OUTCOME_GOES = f"(SELECT o.id FROM outcome o WHERE {IS_OLD_OUTCOME})"  # noqa: S608 - a constant


_RECEIPTS_THAT_GO = f"""(
    SELECT r.id FROM retrieval r WHERE {IS_OLD_RECEIPT} AND NOT EXISTS (
        SELECT FROM outcome o WHERE o.retrieval_id = r.id AND o.id NOT IN {_OUTCOME_GOES}))
"""  # noqa: S608 - constants


_RUN_GOES = f"""x.namespace_id = :ns AND x.retrieval_id IN {_RECEIPTS_THAT_GO}
    OR {IS_OLD_RUN.replace("t.", "x.")}"""


# Named by what goes itself, a task is as good as unnamed.
_TASK_GOES = f"""{old_task("x")} AND {unnamed("x", NAMING)}
    AND NOT EXISTS (SELECT FROM writing n WHERE n.namespace_id = :ns AND n.task_id = x.id
        AND n.recorded_at >= :recorded_before)
    AND x.id NOT IN (SELECT k.task_id FROM retrieval k WHERE k.namespace_id = :ns
        AND k.id NOT IN {_RECEIPTS_THAT_GO})"""  # noqa: S608 - the constants above


_COUNTING = {
    table: text(statement)
    for table, statement in {
        "weight_event": _counting(
            "weight_event",
            "x.namespace_id = :ns AND x.bank_version <= :closed AND x.reason <> 'closed'",
        ),
        "outcome": _counting("outcome", f"x.id IN {_OUTCOME_GOES}"),
        "candidate": _counting("candidate", f"x.outcome_id IN {_OUTCOME_GOES}"),
        "retrieval": _counting("retrieval", f"x.id IN {_RECEIPTS_THAT_GO}"),
        "retrieval_item": _counting("retrieval_item", f"x.retrieval_id IN {_RECEIPTS_THAT_GO}"),
        "trajectory": _counting("trajectory", _RUN_GOES, "x.steps"),
        "task": _counting("task", _TASK_GOES),
        "writing": _counting(
            "writing", "x.namespace_id = :ns AND x.recorded_at < :recorded_before"
        ),
        "writing_budget": _counting(
            "writing_budget", "x.namespace_id = :ns AND x.day < CAST(:recorded_before AS date)"
        ),
    }.items()
}


# Of a table that is spread over partitions, those have the room.
_OVERHEAD = text("""
    SELECT least(3.0, sum(pg_total_relation_size(part))::float8
        / greatest(sum(pg_table_size(part)), 1))
    FROM (SELECT CAST(:table AS regclass) AS part
        UNION SELECT relid FROM pg_partition_tree(CAST(:table AS regclass))) AS parts
""")

"""RankerStore: the guard's records as they were at the end of each day, in one namespace."""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.states import State
from memory.belief.store.states import to_by_ranker


@dataclass(frozen=True, slots=True)
class RecordAtDay:
    """A record after the last outcome of a day; `category_id` is None for the whole namespace."""

    category_id: UUID | None
    day: date
    record: State


class RankerStore:
    """Reads of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def by_day(self, since_version: int) -> list[RecordAtDay]:
        """What the ledger holds from a version of the bank on, the oldest day first; what was taken
        back is left out.
        """
        values = {"ns": self._namespace_id, "since": since_version}
        rows = await self._connection.execute(_BY_DAY, values)
        return [
            RecordAtDay(
                row["category_id"],
                row["day"],
                State(
                    tuple(row["state_after"]),
                    row["touched_after"],
                    to_by_ranker(row["by_ranker_after"]),
                ),
            )
            for row in rows.mappings()
        ]


# Events of no memory are few, and an index finds them by themselves; which is a day's last is told
# by their places alone, so that no record is read but those.
_BY_DAY = text("""
    WITH last AS (
        SELECT DISTINCT ON (category_id, CAST(known_at AT TIME ZONE 'UTC' AS date))
            bank_version, position, CAST(known_at AT TIME ZONE 'UTC' AS date) AS day
        FROM weight_event
        WHERE namespace_id = :ns AND memory_id IS NULL AND bank_version >= :since
          AND subject = 'record' AND superseded_by IS NULL AND by_ranker_after IS NOT NULL
        ORDER BY category_id, CAST(known_at AT TIME ZONE 'UTC' AS date), bank_version DESC,
            position DESC
    )
    SELECT e.category_id, last.day, e.state_after, e.touched_after, e.by_ranker_after
    FROM last JOIN weight_event e ON e.namespace_id = :ns
        AND e.bank_version = last.bank_version AND e.position = last.position
    ORDER BY last.day, e.category_id NULLS FIRST
""")

"""PairingStore: which runs are to be paired, seen through one namespace."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.contrast_entities import RunSketch
from memory.constraints.proof import Voice
from memory.kernel.postgres.rows import RowMapper
from memory.tenancy.entities import Role

GROUP = 200
"""Besides those that are new, so many of a task's runs are looked at, the newest."""


class PairingStore:
    """Runs of one namespace without their words, task by task."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._here = {"ns": namespace_id}

    async def fresh_tasks(self, now: datetime, limit: int) -> list[UUID]:
        """Tasks with runs that no pairing has looked at and that are known by now, oldest first."""
        values = self._here | {"now": now, "limit": limit}
        return [row.task_id for row in await self._connection.execute(_FRESH, values)]

    async def sketches(self, trajectory_ids: Sequence[UUID]) -> list[RunSketch]:
        """Runs by id, as far as there are any; by id."""
        values = self._here | {"ids": list(trajectory_ids)}
        return await self._sketched(_SKETCHES, values)

    async def groups(self, task_ids: Sequence[UUID], now: datetime) -> list[RunSketch]:
        """Runs of these tasks that are known by now and have their words, task by task."""
        values = self._here | {"tasks": list(task_ids), "now": now, "most": GROUP}
        return await self._sketched(_GROUPS, values)

    async def _sketched(self, statement: str, values: Mapping[str, object]) -> list[RunSketch]:
        rows = (await self._connection.execute(text(statement), values)).mappings()
        return [_to_sketch(row) for row in rows]

    async def known(self, task_ids: Sequence[UUID]) -> set[frozenset[UUID]]:
        """Which runs of these tasks are paired with which."""
        rows = await self._connection.execute(_KNOWN, self._here | {"tasks": list(task_ids)})
        return {frozenset((row.preferred_id, row.unpreferred_id)) for row in rows}


_COLUMNS = (
    *("id", "task_id", "agent_id", "agent", "family", "reward", "verifier", "cost"),
    *("n_steps", "wordless", "known_at", "fresh", "variant", "refused"),
)


def to_voice(row: RowMapping, prefix: str = "") -> Voice | None:
    """Of a row with the columns of a key; None where there is no such key."""
    key_id, role, agents, party_id, verifies = (row[f"{prefix}{name}"] for name in VOICE)
    if key_id is None:
        return None
    names = None if agents is None else tuple(agents)
    return Voice(key_id, Role(role), names, party_id, verifies)


VOICE = ("key_id", "role", "agents", "party_id", "verifies")


_to_sketch = RowMapper(RunSketch, map(column, _COLUMNS), computed={"voice": to_voice})


_RUN = """
    SELECT t.id, t.task_id, t.agent_id, a.name AS agent, a.family, t.reward, t.cost,
        CASE WHEN t.withdrawn_at IS NULL THEN t.verifier ELSE 'none' END AS verifier,
        jsonb_array_length(t.steps) AS n_steps,
        jsonb_array_length(t.steps) = 0 AND t.result IS NULL AS wordless,
        t.known_at, k.id AS key_id, k.role, k.agents, k.party_id, k.verifies,
        t.paired_at IS NULL AS fresh, t.task_variant AS variant,
        t.examined ->> 'refused' AS refused
"""


_FROM = """
    FROM trajectory t JOIN agent a ON a.id = t.agent_id LEFT JOIN api_key k ON k.id = t.key_id
    WHERE t.namespace_id = :ns
"""


_SKETCHES = f"{_RUN} {_FROM} AND t.id = ANY(CAST(:ids AS uuid[])) ORDER BY t.id"


_GROUPS = f"""
    SELECT * FROM (
        {_RUN}, row_number() OVER (PARTITION BY t.task_id ORDER BY t.id DESC) AS place {_FROM}
        AND t.task_id = ANY(CAST(:tasks AS uuid[])) AND t.erased_at IS NULL AND t.known_at <= :now
    ) run WHERE place <= :most OR fresh ORDER BY task_id, id
"""  # noqa: S608 - put together of the constants above


_FRESH = text("""
    SELECT task_id FROM trajectory
    WHERE namespace_id = :ns AND paired_at IS NULL AND erased_at IS NULL AND known_at <= :now
    GROUP BY task_id ORDER BY min(recorded_at), task_id LIMIT :limit
""")


_KNOWN = text("""
    SELECT preferred_id, unpreferred_id FROM contrast
    WHERE namespace_id = :ns AND task_id = ANY(CAST(:tasks AS uuid[]))
""")

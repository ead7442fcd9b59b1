"""ExaminedRunStore: runs on their way through the checks, seen through one namespace."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import RowMapping, column, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.proof import Verdict
from memory.constraints.store.runs import to_voice
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.run_entities import Step


@dataclass(frozen=True, slots=True)
class UnexaminedRun:
    """A run with a verdict that no check has seen yet, with the words of its task."""

    id: UUID
    task_id: UUID
    category_id: UUID
    task: str
    metadata: dict[str, object]
    steps: tuple[Step, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class ExaminedRun:
    """A run of a category with what the checks say of it: see `Examination`.

    `cluster` is the same for tasks that stand or fall together.
    """

    id: UUID
    task_id: UUID
    cluster: str
    variant: str
    agent: str
    family: str | None
    right: bool
    examined: dict[str, object] | None
    word: Verdict


@dataclass(frozen=True, slots=True)
class ModelProposal:
    """A constraint that a model proposed. `rests`: the clusters of the tasks that support it."""

    id: UUID
    detail: dict[str, object]
    rests: tuple[str, ...]


NOT_TESTED = "not_tested"
"""Why a constraint waits that a model made of single pairs and nobody has judged on others yet."""


class ExaminedRunStore:
    """Runs of one namespace and what checks found in them. Nothing here commits."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._here = {"ns": namespace_id}

    async def fresh(self, now: datetime, after: UUID, limit: int) -> list[UnexaminedRun]:
        """Runs that no check has seen and that are known by now, in the order of their ids."""
        values = self._here | {"now": now, "after": after, "limit": limit}
        rows = await self._connection.execute(_FRESH, values)
        return [_to_unexamined(row) for row in rows.mappings()]

    async def keep(self, examined: Mapping[UUID, Mapping[str, object]]) -> None:
        """What checks said of each run; of one that was erased meanwhile nothing is kept."""
        if examined:
            rows = [
                self._here | {"id": one, "examined": json.dumps(said)}
                for one, said in sorted(examined.items())
            ]
            await self._connection.execute(_KEEP, rows)

    async def of_category(self, category_id: UUID, now: datetime, limit: int) -> list[ExaminedRun]:
        """Its runs with a verdict, the newest, oldest first."""
        values = self._here | {"category": category_id, "now": now, "limit": limit}
        rows = await self._connection.execute(_OF_CATEGORY, values)
        return [_to_examined(row) for row in rows.mappings()]

    async def checked(self, category_ids: Sequence[UUID]) -> dict[UUID, dict[str, UUID]]:
        """The living constraints of these categories that checks made, by the check's name."""
        values = self._here | {"categories": list(category_ids)}
        found: dict[UUID, dict[str, UUID]] = {}
        for row in await self._connection.execute(_CHECKED, values):
            found.setdefault(row.category_id, {})[row.name] = row.id
        return found

    async def proposed(self, category_id: UUID, limit: int) -> list[ModelProposal]:
        """Constraints that a model proposed and all may see, what has most support first."""
        values = self._here | {"category": category_id, "limit": limit}
        rows = await self._connection.execute(_PROPOSED, values)
        return [_to_proposal(row) for row in rows.mappings()]

    async def tell(self, memory_id: UUID, told: Mapping[str, object]) -> None:
        """Write down beside its wording what the last test said of a constraint."""
        values = self._here | {"id": memory_id, "told": json.dumps(dict(told))}
        await self._connection.execute(_TELL, values)

    async def in_use_untested(self) -> list[UUID]:
        """Constraints of a model that are in use though no test has let them in."""
        return list((await self._connection.execute(_UNTESTED, self._here)).scalars())

    async def reasons(self, memory_ids: Sequence[UUID]) -> dict[UUID, str | None]:
        """Why the test does not let them in: what it said, and of what a model proposed that it was
        not asked yet. What people and callers say is left out where it was not tried.
        """
        values = self._here | {"ids": list(memory_ids), "untested": NOT_TESTED}
        return {row.id: row.reason for row in await self._connection.execute(_REASONS, values)}


def _to_steps(row: RowMapping) -> tuple[Step, ...]:
    return tuple(Step.stored(step) for step in row["steps"])


_to_unexamined = RowMapper(
    UnexaminedRun,
    map(column, ("id", "task_id", "category_id", "task", "metadata", "result")),
    computed={"steps": _to_steps},
)


def _to_word(row: RowMapping) -> Verdict:
    return Verdict(cast("str", row["agent"]), cast("str", row["verifier"]), to_voice(row))


_to_examined = RowMapper(
    ExaminedRun,
    map(
        column,
        ("id", "task_id", "cluster", "variant", "agent", "family", "right", "examined"),
    ),
    computed={"word": _to_word},
)


_to_proposal = RowMapper(ModelProposal, map(column, ("id", "detail", "rests")))


_JUDGED = """t.namespace_id = :ns AND t.erased_at IS NULL AND t.withdrawn_at IS NULL
    AND t.reward IS NOT NULL AND t.verifier <> 'none' AND t.known_at <= :now"""


_FRESH = text(f"""
    SELECT t.id, t.task_id, k.category_id, k.text AS task, k.metadata, t.steps, t.result
    FROM trajectory t JOIN task k ON k.id = t.task_id
    WHERE {_JUDGED} AND t.examined IS NULL AND t.id > :after ORDER BY t.id LIMIT :limit
""")  # noqa: S608 - put together of the constant above


_KEEP = text("""
    UPDATE trajectory SET examined = CAST(:examined AS jsonb)
    WHERE namespace_id = :ns AND id = :id AND erased_at IS NULL
""")


_OF_CATEGORY = text(f"""
    SELECT * FROM (
        SELECT t.id, t.task_id, coalesce('group:' || k.group_key, CAST(k.id AS text)) AS cluster,
            CAST(k.id AS text) || ':' || coalesce(t.task_variant, '') AS variant, a.name AS agent,
            a.family, t.reward >= .5 AS right, t.examined, t.verifier, key.id AS key_id, key.role,
            key.agents, key.party_id, key.verifies
        FROM trajectory t JOIN task k ON k.id = t.task_id JOIN agent a ON a.id = t.agent_id
        LEFT JOIN api_key key ON key.id = t.key_id
        WHERE {_JUDGED} AND k.category_id = :category ORDER BY t.id DESC LIMIT :limit
    ) run ORDER BY id
""")  # noqa: S608 - put together of the constant above


_CHECKED = text("""
    SELECT id, category_id, detail -> 'check' ->> 'name' AS name FROM memory
    WHERE namespace_id = :ns AND kind = 'constraint' AND category_id = ANY(:categories)
      AND detail ? 'check' AND erased_at IS NULL AND status NOT IN ('retired', 'rejected')
""")


_PROPOSED = text("""
    SELECT m.id, m.detail, array_remove(array_agg(
        DISTINCT coalesce('group:' || k.group_key, CAST(k.id AS text))), NULL) AS rests
    FROM memory m LEFT JOIN constraint_support s ON s.memory_id = m.id
    LEFT JOIN task k ON k.id = s.task_id
    WHERE m.namespace_id = :ns AND m.kind = 'constraint' AND m.category_id = :category
      AND m.detail ->> 'origin' = 'distilled' AND m.owner = '*' AND m.erased_at IS NULL
      AND m.trust <> 'quarantined' AND m.status IN ('proposed', 'active', 'probation')
    GROUP BY m.namespace_id, m.id ORDER BY count(s.id) DESC, m.id LIMIT :limit
""")


_TELL = text("""
    UPDATE memory SET detail = detail || CAST(:told AS jsonb)
    WHERE namespace_id = :ns AND id = :id AND erased_at IS NULL
""")


_REASONS = text("""
    SELECT id, CASE WHEN detail ? 'check' THEN detail -> 'check' ->> 'reason'
        ELSE CAST(:untested AS text) END AS reason
    FROM memory WHERE namespace_id = :ns AND id = ANY(:ids)
      AND (detail ? 'check' OR detail ->> 'origin' = 'distilled')
""")


_UNTESTED = text("""
    SELECT id FROM memory
    WHERE namespace_id = :ns AND kind = 'constraint' AND detail ->> 'origin' = 'distilled'
      AND NOT detail ? 'check' AND owner = '*' AND erased_at IS NULL
      AND status IN ('active', 'probation') ORDER BY id
""")

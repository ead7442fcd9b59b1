"""SettlementStore: what events came to, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.forecasts.entities import Settlement, SettlementScore, Window, window_name
from memory.forecasts.tables import prediction, prediction_score, settled_window, settlement
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.tables import agent, task

_NAMES = (
    agent.c.name.label("agent"),
    prediction.c.task_id,
    task.c.key.label("task_key"),
)


_to_score = RowMapper(
    SettlementScore,
    [prediction_score, *_NAMES],
    computed={"task_key": lambda row: window_name(row["task_id"], row["task_key"])},
)


_to_settlement = RowMapper(
    Settlement,
    [settlement],
    computed=dict.fromkeys(("windows", "scores", "warnings"), lambda _: ()),
)
"""Without its windows and scores, which are read apart."""


@dataclass(frozen=True, slots=True)
class SettledWindows:
    """A settlement, and the windows that it resolves."""

    settlement: Settlement
    windows: Sequence[Window] = ()


class SettlementStore:
    """Settlements of one namespace. A unique key keeps one settlement a window and correction."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def windows(self, events: Sequence[str]) -> list[Window]:
        """The tasks of these events, oldest first."""
        return await self._windows({"events": list(events), "ids": []})

    async def windows_of(self, task_ids: Sequence[UUID]) -> list[Window]:
        """These tasks as windows."""
        return await self._windows({"events": [], "ids": list(task_ids)})

    async def _windows(self, which: Mapping[str, object]) -> list[Window]:
        rows = await self._connection.execute(_WINDOWS, {"ns": self._namespace_id, **which})
        return [Window(**row) for row in rows.mappings()]

    async def some(
        self, settlement_ids: Sequence[UUID], *, scores: bool = True
    ) -> dict[UUID, Settlement]:
        """Settlements by id; with the scores, which are many, only where they are asked for."""
        if not settlement_ids:
            return {}
        found = await self._read(settlement.c.id.in_(settlement_ids), scores=scores)
        return {one.id: one for one in found}

    async def get(self, settlement_id: UUID) -> Settlement:
        found = await self.some([settlement_id])
        if settlement_id not in found:
            raise NotFound(
                f"no such settlement: {settlement_id}",
                code="settlement_not_found",
                field="settlement_id",
            )
        return found[settlement_id]

    async def browse(
        self, event: str | None, page: Page, *, newest_first: bool = False
    ) -> tuple[list[Settlement], int]:
        """One row more than the page; and how many match."""
        condition: ColumnElement[bool] = settlement.c.namespace_id == self._namespace_id
        if event is not None:
            condition &= settlement.c.event == event
        order = settlement.c.id.desc() if newest_first else settlement.c.id
        ids = select(settlement.c.id).where(condition).order_by(order)
        if page.after is not None:
            last = UUID(str(page.after[0]))
            ids = ids.where(settlement.c.id < last if newest_first else settlement.c.id > last)
        some = list(await self._connection.scalars(ids.limit(page.limit + 1)))
        found = await self.some(some)
        total = await self._connection.scalar(
            select(func.count()).select_from(settlement).where(condition)
        )
        return [found[key] for key in some], total or 0

    async def add(self, settled: Sequence[SettledWindows]) -> None:
        """Write settlements, and the windows that each resolves."""
        if not settled:
            return
        await self._connection.execute(
            insert(settlement), [self._values(one.settlement) for one in settled]
        )
        windows = [
            {
                "namespace_id": self._namespace_id,
                "settlement_id": one.settlement.id,
                "task_id": window.task_id,
                "correction": one.settlement.correction,
            }
            for one in settled
            for window in one.windows
        ]
        await self._connection.execute(insert(settled_window), windows)
        corrected = [(one.settlement.corrects, one.settlement.id) for one in settled]
        await self.supersede({old: new for old, new in corrected if old is not None})

    def _values(self, one: Settlement) -> dict[str, object]:
        return {
            "id": one.id,
            "namespace_id": self._namespace_id,
            "event": one.event,
            "resolutions": one.resolutions,
            "crowd": one.crowd,
            "correction": one.correction,
            "corrects": one.corrects,
            "superseded_by": one.superseded_by,
            "known_at": one.known_at,
            "recorded_at": one.recorded_at,
            "key_id": one.key_id,
        }

    async def supersede(self, corrected: Mapping[UUID, UUID]) -> None:
        """The first of each is corrected by the second."""
        rows = [{"old": old, "new": new} for old, new in sorted(corrected.items())]
        if rows:
            statement = update(settlement).where(
                settlement.c.namespace_id == self._namespace_id,
                settlement.c.id == bindparam("old"),
            )
            await self._connection.execute(statement.values(superseded_by=bindparam("new")), rows)

    async def score(self, scores: Sequence[SettlementScore]) -> None:
        """Write scores; a later one of the same settlement takes the place of the first."""
        rows = [
            {
                "settlement_id": one.settlement_id,
                "prediction_id": one.prediction_id,
                "namespace_id": self._namespace_id,
                "revision": one.revision,
                "status": one.status,
                "reason": one.reason,
                "brier": one.brier,
                "baseline_brier": one.baseline_brier,
                "skill": one.skill,
                "outcome_id": one.outcome_id,
            }
            for one in scores
        ]
        if not rows:
            return
        statement = insert(prediction_score)
        parts = ("revision", "status", "reason", "brier", "baseline_brier", "skill", "outcome_id")
        await self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=["namespace_id", "settlement_id", "prediction_id"],
                set_={name: statement.excluded[name] for name in parts},
            ),
            rows,
        )

    async def _read(self, condition: ColumnElement[bool], *, scores: bool) -> list[Settlement]:
        rows = await self._connection.execute(
            select(settlement)
            .where(settlement.c.namespace_id == self._namespace_id, condition)
            .order_by(settlement.c.id)
        )
        found = rows.mappings().all()
        ids = [row["id"] for row in found]
        windows = await self._names(ids)
        scored = await self._scores(ids) if scores else {}
        return [
            replace(
                _to_settlement(row),
                windows=tuple(windows.get(row["id"], ())),
                scores=tuple(scored.get(row["id"], ())),
            )
            for row in found
        ]

    async def _names(self, settlement_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
        rows = await self._connection.execute(
            select(settled_window.c.settlement_id, task.c.id, task.c.key)
            .join(task, task.c.id == settled_window.c.task_id)
            .where(settled_window.c.settlement_id.in_(settlement_ids))
            .order_by(task.c.id)
        )
        found: dict[UUID, list[str]] = {}
        for row in rows:
            found.setdefault(row.settlement_id, []).append(window_name(row.id, row.key))
        return found

    async def _scores(self, settlement_ids: Sequence[UUID]) -> dict[UUID, list[SettlementScore]]:
        rows = await self._connection.execute(
            select(
                prediction_score,
                *_NAMES,
            )
            .join(prediction, prediction.c.id == prediction_score.c.prediction_id)
            .join(agent, agent.c.id == prediction.c.agent_id)
            .join(task, task.c.id == prediction.c.task_id)
            .where(prediction_score.c.settlement_id.in_(settlement_ids))
            .order_by(prediction_score.c.prediction_id)
        )
        found: dict[UUID, list[SettlementScore]] = {}
        for row in rows.mappings():
            found.setdefault(row["settlement_id"], []).append(_to_score(row))
        return found


_WINDOWS = text("""
    SELECT t.id AS task_id, t.key, t.group_key AS event, w.settlement_id, w.settled_at
    FROM task t LEFT JOIN LATERAL (
        SELECT min(s.known_at) AS settled_at,
            (array_agg(s.id ORDER BY w.correction DESC))[1] AS settlement_id
        FROM settled_window w JOIN settlement s ON s.id = w.settlement_id WHERE w.task_id = t.id
    ) w ON true
    WHERE t.namespace_id = :ns AND t.group_key IS NOT NULL
      AND (t.group_key = ANY(CAST(:events AS text[])) OR t.id = ANY(CAST(:ids AS uuid[])))
    ORDER BY t.id
""")

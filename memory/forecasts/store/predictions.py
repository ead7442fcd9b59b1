"""PredictionStore: what agents say will happen, seen through one namespace."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.forecasts.entities import (
    PredictionFilter,
    PredictionScore,
    PredictionState,
    RevisedPrediction,
    Revision,
)
from memory.forecasts.tables import prediction, prediction_revision, prediction_score
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.receipts.key_entities import AgentTask
from memory.tasks.tables import agent, task

_NAMED = prediction.join(agent, agent.c.id == prediction.c.agent_id).join(
    task, task.c.id == prediction.c.task_id
)


_SCORED = _NAMED.outerjoin(
    prediction_score,
    and_(
        prediction_score.c.prediction_id == prediction.c.id,
        prediction_score.c.settlement_id == prediction.c.settlement_id,
    ),
)


_NAMES = (
    agent.c.name.label("agent"),
    task.c.key.label("task_key"),
    task.c.group_key.label("event"),
    task.c.closes_at,
)


_to_score = RowMapper(PredictionScore, [prediction_score])


_to_prediction = RowMapper(
    RevisedPrediction,
    [prediction, *_NAMES],
    computed={
        "revisions": lambda _: (),
        "score": lambda row: None if row["status"] is None else _to_score(row),
    },
)
"""Without its revisions, which are read apart."""


_to_revision = RowMapper(
    Revision, [prediction_revision], computed={"revision": lambda row: row["number"]}
)


_PREDICTIONS = select(
    prediction,
    *_NAMES,
    *(column for column in _to_score.columns if column.name != "settlement_id"),
).select_from(_SCORED)


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """The state of a prediction, and the settlement whose score stands."""

    prediction_id: UUID
    state: PredictionState
    settlement_id: UUID


class PredictionStore:
    """Predictions of one namespace, with their revisions. A unique index keeps one prediction an
    agent and task.
    """

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def lock_events(self, events: Sequence[str]) -> None:
        """Predictions and settlements of one event follow one another. Locked in order, against
        deadlock, until the transaction ends.
        """
        named = [f"{self._namespace_id}/{event}" for event in events]
        await self._connection.execute(_LOCK_EVENTS, {"events": named})

    async def of_attempts(self, attempts: Sequence[AgentTask]) -> list[RevisedPrediction]:
        """Predictions by agent and task."""
        columns = tuple_(prediction.c.agent_id, prediction.c.task_id)
        places = [(one.agent_id, one.task_id) for one in attempts]
        return await self._whole(columns.in_(places)) if places else []

    async def of_tasks(self, task_ids: Sequence[UUID]) -> list[RevisedPrediction]:
        """All agents' predictions for these windows."""
        return await self._whole(prediction.c.task_id.in_(task_ids)) if task_ids else []

    async def some(self, prediction_ids: Sequence[UUID]) -> dict[UUID, RevisedPrediction]:
        if not prediction_ids:
            return {}
        found = await self._whole(prediction.c.id.in_(prediction_ids))
        return {one.id: one for one in found}

    async def get(self, prediction_id: UUID) -> RevisedPrediction:
        found = await self.some([prediction_id])
        if prediction_id not in found:
            raise NotFound(
                f"no such prediction: {prediction_id}",
                code="prediction_not_found",
                field="prediction_id",
            )
        return found[prediction_id]

    async def browse(
        self, wanted: PredictionFilter, page: Page
    ) -> tuple[list[RevisedPrediction], int]:
        """One row more than the page, with their newest revision alone; and how many match."""
        condition = self._here(_matching(wanted))
        order = prediction.c.id.desc() if wanted.newest_first else prediction.c.id
        rows = _PREDICTIONS.where(condition).order_by(order).limit(page.limit + 1)
        if page.after is not None:
            last = UUID(str(page.after[0]))
            below, above = prediction.c.id < last, prediction.c.id > last
            rows = rows.where(below if wanted.newest_first else above)
        found = await self._read(rows, newest=True)
        total = await self._connection.scalar(
            select(func.count()).select_from(_NAMED).where(condition)
        )
        return found, total or 0

    async def add(
        self, predictions: Sequence[Mapping[str, object]], revisions: Sequence[Mapping[str, object]]
    ) -> None:
        """Write new predictions, then revisions."""
        here = {"namespace_id": self._namespace_id}
        if predictions:
            rows = [{**row, **here} for row in predictions]
            await self._connection.execute(insert(prediction), rows)
        if revisions:
            # In the order in which reports lock their receipts, against deadlock.
            by_receipt = sorted(revisions, key=lambda row: str(row["retrieval_id"]))
            rows = [{**row, **here} for row in by_receipt]
            await self._connection.execute(insert(prediction_revision), rows)

    async def settle(self, scored: Iterable[ScoredPrediction]) -> None:
        """Write the result of each; where one is named twice, the last."""
        last = {one.prediction_id: one for one in scored}
        rows = [
            {"prediction": key, "state": one.state, "settlement_id": one.settlement_id}
            for key, one in sorted(last.items())
        ]
        if rows:
            statement = update(prediction).where(
                prediction.c.namespace_id == self._namespace_id,
                prediction.c.id == bindparam("prediction"),
            )
            await self._connection.execute(
                statement.values(
                    state=bindparam("state"), settlement_id=bindparam("settlement_id")
                ),
                rows,
            )

    def _here(self, condition: ColumnElement[bool]) -> ColumnElement[bool]:
        return and_(prediction.c.namespace_id == self._namespace_id, condition)

    async def _whole(self, condition: ColumnElement[bool]) -> list[RevisedPrediction]:
        return await self._read(_PREDICTIONS.where(self._here(condition)).order_by(prediction.c.id))

    async def _read(
        self, statement: Select[tuple[object, ...]], *, newest: bool = False
    ) -> list[RevisedPrediction]:
        rows = (await self._connection.execute(statement)).mappings().all()
        revisions = await self._revisions([row["id"] for row in rows], newest=newest)
        return [replace(_to_prediction(row), revisions=tuple(revisions[row["id"]])) for row in rows]

    async def _revisions(
        self, prediction_ids: Sequence[UUID], *, newest: bool
    ) -> dict[UUID, list[Revision]]:
        columns = prediction_revision.c
        statement = select(prediction_revision).where(
            columns.namespace_id == self._namespace_id, columns.prediction_id.in_(prediction_ids)
        )
        if newest:
            statement = statement.ext(distinct_on(columns.prediction_id)).order_by(
                columns.prediction_id, columns.number.desc()
            )
        else:
            statement = statement.order_by(columns.prediction_id, columns.number)
        found: dict[UUID, list[Revision]] = {}
        if prediction_ids:
            for row in (await self._connection.execute(statement)).mappings():
                found.setdefault(row["prediction_id"], []).append(_to_revision(row))
        return found


_LOCK_EVENTS = text("""
    WITH events AS MATERIALIZED (
        SELECT DISTINCT hashtext(event) AS event FROM unnest(CAST(:events AS text[])) AS event
        ORDER BY event
    ) SELECT pg_advisory_xact_lock(1936028788, event) FROM events
""")
"""In the space of two numbers, under a first of its own."""


def revision_row(prediction_id: UUID, revision: Revision) -> dict[str, object]:
    """As it is stored; the namespace is added by the store."""
    return {
        "prediction_id": prediction_id,
        "number": revision.revision,
        "retrieval_id": revision.retrieval_id,
        "probabilities": revision.probabilities,
        "baseline_probabilities": revision.baseline_probabilities,
        "full_probabilities": revision.full_probabilities,
        "answers": revision.answers,
        "used": None if revision.used is None else list(revision.used),
        "rationale": revision.rationale,
        "known_at": revision.known_at,
        "recorded_at": revision.recorded_at,
        "key_id": revision.key_id,
    }


def _matching(wanted: PredictionFilter) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = prediction.c.id.is_not(None)
    if wanted.state is not None:
        condition &= prediction.c.state == wanted.state
    if wanted.agent is not None:
        condition &= agent.c.name == wanted.agent
    if wanted.event is not None:
        condition &= task.c.group_key == wanted.event
    return condition

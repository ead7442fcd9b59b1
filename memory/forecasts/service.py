"""An agent says what will happen: draft → its window's prediction, revised → kept until settled.

Everything is read for all drafts together; only tasks and agents that are new are written one by
one, in order of their names, as everyone does who makes several.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.belief.rankers import all_rankers
from memory.forecasts.entities import (
    Forecast,
    Predicted,
    PredictionDraft,
    PredictionFilter,
    RevisedPrediction,
    Revision,
    Window,
)
from memory.forecasts.settlements import open_scorer
from memory.forecasts.store.predictions import PredictionStore, revision_row
from memory.forecasts.store.settlements import SettlementStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.entities import PRIVATE
from memory.memories.service import hide_private, load_mask, viewer
from memory.outcomes.rewards import require_answers, require_served
from memory.receipts.key_entities import AgentTask
from memory.receipts.store.receipts import ReceiptOwner, ReceiptStore
from memory.tasks.entities import Agent, Task
from memory.tasks.service import NameResolver
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Act, Call, Role

Answer = Predicted | MemoryFault


async def predict(engine: Engine, call: Call, drafts: Sequence[PredictionDraft]) -> list[Answer]:
    """Keep each forecast; the answers are in the drafts' order."""
    call.key.require(Act.PREDICT)
    async with engine.database.effect(call.namespace.id) as connection:
        valid = await _validate_drafts(connection, call, drafts)
        good = [one for one in valid if isinstance(one, ValidDraft)]
        batch = await _open_batch(connection, call, good)
        results = [_add_to(batch, one) for one in valid]
        store = PredictionStore(connection, call.namespace.id)
        await store.add(batch.predictions, batch.revisions)
        outcomes = await _score_late(connection, call, batch)
        accepted = [one.prediction_id for one in results if isinstance(one, AcceptedDraft)]
        found = await hide_private(connection, call, await store.some(accepted))
    if outcomes:
        engine.database.afterwards(engine.arrived.set)
    return [
        one if isinstance(one, MemoryFault) else _to_predicted(one, found, outcomes)
        for one in results
    ]


async def get_prediction(engine: Engine, call: Call, prediction_id: UUID) -> RevisedPrediction:
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await PredictionStore(connection, call.namespace.id).get(prediction_id)
        [shown] = await _hide_rationales(connection, call, [found])
        return await hide_private(connection, call, shown)


async def list_predictions(
    engine: Engine, call: Call, wanted: PredictionFilter, page: Page
) -> Listed[RevisedPrediction]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = PredictionStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
        found = await _hide_rationales(connection, call, found)
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda one: (str(one.id),))


async def _hide_rationales(
    connection: Connection, call: Call, found: Sequence[RevisedPrediction]
) -> list[RevisedPrediction]:
    """Without the words of revisions that were advised by memories which the key may not read:
    whoever forecasts on advice quotes it.
    """
    worded = {
        revision.retrieval_id
        for one in found
        for revision in one.revisions
        if revision.rationale is not None and revision.retrieval_id is not None
    }
    receipts = ReceiptStore(connection, call.namespace.id)
    contexts = await receipts.contexts(sorted(worded)) if worded else {}
    told = {retrieval_id: context.cited for retrieval_id, context in contexts.items()}
    seen_by = await viewer(connection, call)
    mask = await load_mask(connection, call.namespace.id, seen_by, list(told.values()))
    hidden = {retrieval_id for retrieval_id, cited in told.items() if mask.hides(cited)}
    return [
        replace(one, revisions=tuple(_without_words(each, hidden) for each in one.revisions))
        for one in found
    ]


def _without_words(revision: Revision, hidden: Collection[UUID]) -> Revision:
    if revision.retrieval_id not in hidden:
        return revision
    return replace(revision, rationale=PRIVATE)


@dataclass(frozen=True, slots=True)
class ValidDraft:
    """A draft that was found good: who predicts for which window, and when that was known."""

    draft: PredictionDraft
    agent: Agent
    task: Task
    known_at: datetime


async def _validate_drafts(
    connection: Connection, call: Call, drafts: Sequence[PredictionDraft]
) -> list[ValidDraft | MemoryFault]:
    """Each draft with its agent and task, or why not; their events are held until commit."""
    receipts = ReceiptStore(connection, call.namespace.id)
    claims = await receipts.owners([d.retrieval_id for d in drafts if d.retrieval_id is not None])
    tasks = await _load_tasks(connection, call, drafts, claims)
    events = {event for draft in drafts if (event := _find_event(draft, claims, tasks)) is not None}
    await PredictionStore(connection, call.namespace.id).lock_events(sorted(events))
    # Read again: who held an event before may have said when a window closes.
    tasks = await _load_tasks(connection, call, drafts, claims)
    naming = [d.retrieval_id for d in drafts if d.used is not None and d.retrieval_id is not None]
    contexts = await receipts.contexts(naming) if naming else {}
    served = {retrieval_id: context.cited for retrieval_id, context in contexts.items()}
    validator = _DraftValidator(connection, call, tasks, claims=claims, served=served)
    found: dict[int, ValidDraft | MemoryFault] = {}
    for position in sorted(range(len(drafts)), key=lambda place: _lock_order(drafts[place])):
        try:
            found[position] = await validator.validate(drafts[position])
        except MemoryFault as fault:
            found[position] = fault
    return [found[position] for position in range(len(drafts))]


@dataclass(frozen=True, slots=True)
class _KnownTasks:
    """Tasks that were there, by id and by key."""

    by_id: Mapping[UUID, Task]
    by_key: Mapping[str, Task]

    def find(self, draft: PredictionDraft, claims: Mapping[UUID, ReceiptOwner]) -> Task | None:
        """The task a draft is about, if it is there."""
        if draft.task is not None:
            return None if draft.task.key is None else self.by_key.get(draft.task.key)
        task_id = _find_task_id(draft, claims)
        return None if task_id is None else self.by_id.get(task_id)


class _DraftValidator:
    """Finds the agent, the task and the receipt of one draft after another."""

    def __init__(
        self,
        connection: Connection,
        call: Call,
        tasks: _KnownTasks,
        *,
        claims: Mapping[UUID, ReceiptOwner],
        served: Mapping[UUID, Sequence[UUID]],
    ) -> None:
        self._call = call
        self._claims = claims
        self._served = served
        self._known = tasks
        self._tasks = TaskStore(connection, call.namespace.id)
        self._names = NameResolver(connection, call)

    async def validate(self, draft: PredictionDraft) -> ValidDraft:
        """Raises a fault where the draft cannot be taken."""
        self._call.key.require_agent(draft.agent)
        claim = self._find_claim(draft)
        known_at = self._call.namespace.known_at(draft.known_at, self._call.now)
        _require_answers(draft, claim)
        task = await self._find_task(draft, known_at)
        if task.group_key is None:
            raise Rejected("a window needs a group_key, its event", field="task.group_key")
        agent = await self._names.ensure_agent(draft.agent)
        if claim is not None and (claim.agent_id, claim.task_id) != (agent.id, task.id):
            raise Rejected("the receipt is of another agent or task", field="retrieval_id")
        if draft.used is not None and draft.retrieval_id is not None:
            require_served(draft.used, self._served[draft.retrieval_id], "used")
        return ValidDraft(draft, agent, task, known_at)

    def _find_claim(self, draft: PredictionDraft) -> ReceiptOwner | None:
        if draft.retrieval_id is None:
            return None
        claim = self._claims.get(draft.retrieval_id)
        if claim is None:
            raise NotFound(
                f"no such retrieval: {draft.retrieval_id}",
                code="retrieval_not_found",
                field="retrieval_id",
            )
        key = self._call.key
        if key.role is Role.AGENT and claim.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")
        return claim

    async def _find_task(self, draft: PredictionDraft, known_at: datetime) -> Task:
        known = self._known.find(draft, self._claims)
        if draft.task is None:
            if known is None:
                raise NotFound(
                    f"no such task: {draft.task_id}", code="task_not_found", field="task_id"
                )
            return known
        if known is not None:
            return await self._tasks.agree(known, draft.task)
        if draft.task.group_key is None:
            raise Rejected("a window needs a group_key, its event", field="task.group_key")
        task, _ = await self._names.ensure_task(draft.task, known_at)
        return task


async def _load_tasks(
    connection: Connection,
    call: Call,
    drafts: Sequence[PredictionDraft],
    claims: Mapping[UUID, ReceiptOwner],
) -> _KnownTasks:
    ids = [key for draft in drafts if (key := _find_task_id(draft, claims)) is not None]
    keys = [d.task.key for d in drafts if d.task is not None and d.task.key is not None]
    found = await TaskStore(connection, call.namespace.id).some(ids, keys)
    return _KnownTasks(
        {task.id: task for task in found},
        {task.key: task for task in found if task.key is not None},
    )


def _find_task_id(draft: PredictionDraft, claims: Mapping[UUID, ReceiptOwner]) -> UUID | None:
    """By what the draft names it, or by the receipt's."""
    if draft.task_id is not None:
        return draft.task_id
    claim = None if draft.retrieval_id is None else claims.get(draft.retrieval_id)
    return claim.task_id if claim is not None and draft.task is None else None


def _find_event(
    draft: PredictionDraft, claims: Mapping[UUID, ReceiptOwner], tasks: _KnownTasks
) -> str | None:
    """What is held: the event of the task that is there, else of the one to be made."""
    known = tasks.find(draft, claims)
    if known is not None:
        return known.group_key
    return None if draft.task is None else draft.task.group_key


def _lock_order(draft: PredictionDraft) -> tuple[str, str]:
    return draft.agent, (draft.task.key or "") if draft.task is not None else ""


def _require_answers(forecast: Forecast, claim: ReceiptOwner | None) -> None:
    """All rankers' answers or none, and only where the receipt has `all_rankers`."""
    if forecast.answers is not None:
        names = None if claim is None or not claim.all_rankers else all_rankers(claim.rankers)
        require_answers(forecast.answers, names)


@dataclass(frozen=True, slots=True)
class AcceptedDraft:
    """The result of a draft: the prediction, and the revision that it stands at."""

    prediction_id: UUID
    revision: int
    created: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class StandingPrediction:
    """A prediction as it stands in this transaction."""

    id: UUID
    newest: Revision


@dataclass(slots=True)
class PredictionBatch:
    """Predictions as they stand in this transaction, by agent and task, and what is to be
    written.
    """

    call: Call
    standing: dict[AgentTask, StandingPrediction]
    windows: Mapping[UUID, Window]
    predictions: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    revisions: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    late: set[UUID] = field(default_factory=set[UUID])

    def add(self, valid: ValidDraft) -> AcceptedDraft:
        """Revise the prediction, make it, or find that it says so already. Raises Conflict."""
        place = AgentTask(valid.agent.id, valid.task.id)
        known = self.standing.get(place)
        newest = None if known is None else known.newest
        if known is not None and self._says_same(known.newest, valid):
            return AcceptedDraft(known.id, known.newest.revision, created=False, changed=False)
        window = self.windows[valid.task.id]
        _require_in_time(valid, window, newest)
        prediction_id = self._add_prediction(valid) if known is None else known.id
        revision = self._revise(valid, 1 if newest is None else newest.revision + 1)
        self.standing[place] = StandingPrediction(prediction_id, revision)
        self.revisions.append(revision_row(prediction_id, revision))
        if window.settlement_id is not None:
            self.late.add(prediction_id)
        return AcceptedDraft(prediction_id, revision.revision, created=known is None, changed=True)

    def _says_same(self, newest: Revision, valid: ValidDraft) -> bool:
        """Whether nothing new is said; where callers set the time, at another time it is."""
        draft = valid.draft
        if draft.known_at is not None and newest.known_at != valid.known_at:
            return False
        beside = (draft.retrieval_id, draft.rationale) == (newest.retrieval_id, newest.rationale)
        return beside and draft.forecasts_as(newest)

    def _add_prediction(self, valid: ValidDraft) -> UUID:
        prediction_id = new_id()
        self.predictions.append(
            {
                "id": prediction_id,
                "agent_id": valid.agent.id,
                "task_id": valid.task.id,
                "state": "pending",
                "settlement_id": None,
                "recorded_at": self.call.now,
                "key_id": self.call.key.id,
            }
        )
        return prediction_id

    def _revise(self, valid: ValidDraft, number: int) -> Revision:
        return Revision(
            revision=number,
            probabilities=valid.draft.probabilities,
            baseline_probabilities=valid.draft.baseline_probabilities,
            full_probabilities=valid.draft.full_probabilities,
            answers=valid.draft.answers,
            used=valid.draft.used,
            retrieval_id=valid.draft.retrieval_id,
            rationale=valid.draft.rationale,
            known_at=valid.known_at,
            recorded_at=self.call.now,
            key_id=self.call.key.id,
        )


async def _open_batch(
    connection: Connection, call: Call, drafts: Sequence[ValidDraft]
) -> PredictionBatch:
    """What is known of these windows, and what their agents predicted before."""
    places = list({AgentTask(one.agent.id, one.task.id) for one in drafts})
    known = await PredictionStore(connection, call.namespace.id).of_attempts(places)
    settlements = SettlementStore(connection, call.namespace.id)
    windows = await settlements.windows_of([place.task_id for place in places])
    return PredictionBatch(
        call,
        {
            AgentTask(one.agent_id, one.task_id): StandingPrediction(one.id, one.newest)
            for one in known
        },
        {window.task_id: window for window in windows},
    )


async def _score_late(
    connection: Connection, call: Call, batch: PredictionBatch
) -> dict[UUID, Sequence[str]]:
    """Score what arrived after the settlement of its window; the statuses of the outcomes."""
    if not batch.late:
        return {}
    store = PredictionStore(connection, call.namespace.id)
    predictions = await store.some(sorted(batch.late))
    ids = {one.task_id: batch.windows[one.task_id].settlement_id for one in predictions.values()}
    settled = await SettlementStore(connection, call.namespace.id).some(
        [key for key in ids.values() if key is not None], scores=False
    )
    scorer = await open_scorer(connection, call, list(predictions.values()))
    outcomes: dict[UUID, Sequence[str]] = {}
    for key, one in predictions.items():
        in_force = ids[one.task_id]
        assert in_force is not None
        outcomes[key] = await scorer.score(settled[in_force], one)
    await scorer.write(connection)
    return outcomes


def _require_in_time(valid: ValidDraft, window: Window, newest: Revision | None) -> None:
    """At the moment of closing, or of the settlement, it is too late. Raises Conflict."""
    known_at, closes_at = valid.known_at, valid.task.closes_at
    if closes_at is not None and known_at >= closes_at:
        raise Conflict("the window is closed", code="prediction_closed", field="known_at")
    if window.settled_at is not None and known_at >= window.settled_at:
        raise Conflict("the window is settled", code="prediction_settled", field="known_at")
    if newest is not None and known_at < newest.known_at:
        raise Conflict("a later revision is there", code="prediction_superseded", field="known_at")


def _add_to(batch: PredictionBatch, valid: ValidDraft | MemoryFault) -> AcceptedDraft | MemoryFault:
    if isinstance(valid, MemoryFault):
        return valid
    try:
        return batch.add(valid)
    except MemoryFault as fault:
        return fault


def _to_predicted(
    one: AcceptedDraft,
    found: Mapping[UUID, RevisedPrediction],
    outcomes: Mapping[UUID, Sequence[str]],
) -> Predicted:
    """The prediction as it stood after this item of the call."""
    whole = found[one.prediction_id]
    kept = tuple(r for r in whole.revisions if r.revision <= one.revision)
    last = one.changed and one.revision == whole.newest.revision
    statuses = tuple(outcomes.get(one.prediction_id, ())) if last else ()
    return Predicted(replace(whole, revisions=kept), one.created, one.changed, statuses)

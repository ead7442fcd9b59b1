"""An agent says what will happen: forecast → its window's prediction, revised → kept until settled.

Acceptance holds the event: no settlement of it comes in between. What arrives after the settlement
and was known before it is scored at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.ids import new_id
from memory.domain.prediction import (
    STATES,
    Predicted,
    Prediction,
    PredictionDraft,
    PredictionFilter,
    Revision,
    Window,
)
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.errors import Conflict, MemoryFault, Rejected
from memory.flows.attempting import Attempt, attempted
from memory.flows.scoring import scorer
from memory.storage.database import Connection
from memory.storage.paging import listed
from memory.storage.predictions import PredictionStore, revision_row
from memory.storage.settlements import SettlementStore

Answer = Predicted | MemoryFault


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of an attempt: the prediction, and the revision that it stands at."""

    prediction_id: UUID
    revision: int
    created: bool
    changed: bool


@dataclass(slots=True)
class Book:
    """Predictions as they stand in this transaction, by agent and task, and what is to be
    written.
    """

    call: Call
    standing: dict[tuple[UUID, UUID], tuple[UUID, Revision]]
    windows: Mapping[UUID, Window]
    predictions: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    revisions: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    late: set[UUID] = field(default_factory=set[UUID])

    def take(self, attempt: Attempt) -> Taken:
        """Revise the prediction, make it, or find that it says so already. Raises Conflict."""
        place = (attempt.agent.id, attempt.task.id)
        known = self.standing.get(place)
        if known is not None and self._same(known[1], attempt):
            return Taken(known[0], known[1].number, created=False, changed=False)
        newest = None if known is None else known[1]
        _require_in_time(attempt, self.windows[attempt.task.id], newest)
        prediction_id = self._made(attempt) if known is None else known[0]
        revision = self._revised(attempt, 1 if newest is None else newest.number + 1)
        self.standing[place] = (prediction_id, revision)
        self.revisions.append(revision_row(prediction_id, revision))
        if self.windows[attempt.task.id].settlement_id is not None:
            self.late.add(prediction_id)
        return Taken(prediction_id, revision.number, created=known is None, changed=True)

    def _same(self, newest: Revision, attempt: Attempt) -> bool:
        """Whether nothing new is said; where callers set the time, at another time it is."""
        draft = attempt.draft
        if draft.known_at is not None and newest.known_at != attempt.known_at:
            return False
        said = (draft.forecast, draft.retrieval_id, draft.rationale)
        return said == (newest.forecast, newest.retrieval_id, newest.rationale)

    def _made(self, attempt: Attempt) -> UUID:
        made = new_id()
        self.predictions.append(
            {
                "id": made,
                "agent_id": attempt.agent.id,
                "task_id": attempt.task.id,
                "state": "pending",
                "settlement_id": None,
                "recorded_at": self.call.now,
                "key_id": self.call.key.id,
            }
        )
        return made

    def _revised(self, attempt: Attempt, number: int) -> Revision:
        return Revision(
            number=number,
            forecast=attempt.draft.forecast,
            retrieval_id=attempt.draft.retrieval_id,
            rationale=attempt.draft.rationale,
            known_at=attempt.known_at,
            recorded_at=self.call.now,
            key_id=self.call.key.id,
        )


async def predict(engine: Engine, call: Call, drafts: Sequence[PredictionDraft]) -> list[Answer]:
    """Keep each forecast; the answers are in the drafts' order."""
    call.key.require(Act.PREDICT)
    async with engine.database.transaction(call.namespace.id) as connection:
        attempts = await attempted(connection, call, drafts)
        good = [one for one in attempts if isinstance(one, Attempt)]
        book = await _opened(connection, call, good)
        taken = [_taken(book, one) for one in attempts]
        store = PredictionStore(connection, call.namespace.id)
        await store.add(book.predictions, book.revisions)
        outcomes = await _score_late(connection, call, book)
        found = await store.some([one.prediction_id for one in taken if isinstance(one, Taken)])
    if outcomes:
        engine.arrived.set()
    return [one if isinstance(one, MemoryFault) else _answer(one, found, outcomes) for one in taken]


async def get_prediction(engine: Engine, call: Call, prediction_id: UUID) -> Prediction:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await PredictionStore(connection, call.namespace.id).get(prediction_id)


async def list_predictions(
    engine: Engine, call: Call, wanted: PredictionFilter, page: Page
) -> Listed[Prediction]:
    """Oldest first."""
    if wanted.state is not None and wanted.state not in STATES:
        raise Rejected(f"state must be one of {STATES}", field="state", limit=list(STATES))
    async with engine.database.transaction(call.namespace.id) as connection:
        store = PredictionStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
    return listed(found, page, total, lambda one: (str(one.id),))


async def _opened(connection: Connection, call: Call, attempts: Sequence[Attempt]) -> Book:
    """What is known of these windows, and what their agents predicted before."""
    places = list({(one.agent.id, one.task.id) for one in attempts})
    known = await PredictionStore(connection, call.namespace.id).of_attempts(places)
    settlements = SettlementStore(connection, call.namespace.id)
    windows = await settlements.windows_of([task_id for _, task_id in places])
    return Book(
        call,
        {(one.agent_id, one.task_id): (one.id, one.newest) for one in known},
        {window.task_id: window for window in windows},
    )


async def _score_late(connection: Connection, call: Call, book: Book) -> dict[UUID, Sequence[str]]:
    """Score what arrived after the settlement of its window; the statuses of what came of it."""
    if not book.late:
        return {}
    store = PredictionStore(connection, call.namespace.id)
    predictions = await store.some(sorted(book.late))
    ids = {one.task_id: book.windows[one.task_id].settlement_id for one in predictions.values()}
    settled = await SettlementStore(connection, call.namespace.id).some(
        [key for key in ids.values() if key is not None], scores=False
    )
    scoring = await scorer(connection, call, list(predictions.values()))
    told: dict[UUID, Sequence[str]] = {}
    for key, one in predictions.items():
        in_force = ids[one.task_id]
        assert in_force is not None
        told[key] = await scoring.score(settled[in_force], one)
    await scoring.write(connection)
    return told


def _require_in_time(attempt: Attempt, window: Window, newest: Revision | None) -> None:
    """At the moment of closing, or of the settlement, it is too late. Raises Conflict."""
    known_at, closes_at = attempt.known_at, attempt.task.closes_at
    if closes_at is not None and known_at >= closes_at:
        raise Conflict("the window is closed", code="prediction_closed", field="known_at")
    if window.settled_at is not None and known_at >= window.settled_at:
        raise Conflict("the window is settled", code="prediction_settled", field="known_at")
    if newest is not None and known_at < newest.known_at:
        raise Conflict("a later revision is there", code="prediction_superseded", field="known_at")


def _taken(book: Book, attempt: Attempt | MemoryFault) -> Taken | MemoryFault:
    if isinstance(attempt, MemoryFault):
        return attempt
    try:
        return book.take(attempt)
    except MemoryFault as fault:
        return fault


def _answer(
    one: Taken, found: Mapping[UUID, Prediction], outcomes: Mapping[UUID, Sequence[str]]
) -> Predicted:
    """The prediction as it stood after this item of the call."""
    whole = found[one.prediction_id]
    kept = tuple(r for r in whole.revisions if r.number <= one.revision)
    last = one.changed and one.revision == whole.newest.number
    statuses = tuple(outcomes.get(one.prediction_id, ())) if last else ()
    return Predicted(replace(whole, revisions=kept), one.created, one.changed, statuses)

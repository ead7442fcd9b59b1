"""An event comes to its end: resolutions → its windows → every prediction scored → outcomes.

One transaction: a settlement is there whole, with all scores and outcomes, or not at all. It holds
the event, so that of two settlements at once one comes first and the other finds it done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.forecasts.entities import (
    Forecast,
    Prediction,
    Probabilities,
    Revision,
    Score,
    Settled,
    Settlement,
    SettlementDraft,
    Window,
)
from memory.forecasts.rules import Judged, judged
from memory.forecasts.store.predictions import PredictionStore
from memory.forecasts.store.settlements import SettlementStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.outcomes.entities import Report
from memory.outcomes.intake import Desk, Reporters, Said, Stores
from memory.outcomes.store.unpaired import HalfStore
from memory.receipts.entities import SETTLEMENT
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import Attempt, ReceiptStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Clock

Answer = Settled | MemoryFault


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a draft comes to: the settlement, and the windows that it resolves now (none where it
    had come before).
    """

    settlement: Settlement
    windows: Sequence[Window] = ()


@dataclass(slots=True)
class Docket:
    """The windows of some events and the settlements in force, as they stand in this
    transaction.
    """

    call: Call
    windows: dict[str, dict[str, Window]]
    settlements: dict[UUID, Settlement]
    rulings: list[Ruling] = field(default_factory=list[Ruling])

    def rule(self, draft: SettlementDraft) -> Ruling:
        """Settle what the draft names, or find that it was settled so. Raises a fault."""
        here = self.windows.get(draft.event)
        if not here:
            raise NotFound("no task has this event", code="event_not_found", field="event")
        if draft.corrects is not None:
            ruling = self._corrected(draft, draft.corrects, here)
        else:
            ruling = self._first(draft, here)
        if ruling.windows:
            self.rulings.append(ruling)
            self._enter(ruling)
        return ruling

    def _first(self, draft: SettlementDraft, here: Mapping[str, Window]) -> Ruling:
        named = _named(draft, here)
        done = [self.settlements[w.settlement_id] for w in named if w.settlement_id is not None]
        otherwise = any(not one.says(draft) for one in done)
        left = [w for w in named if w.settlement_id is None]
        same = [one for one in done if one.says(draft)]
        if (draft.windows is not None and otherwise) or not (left or same):
            raise Conflict(
                "a window of the event is resolved otherwise; name what this corrects",
                code="settlement_conflict",
                field="windows",
            )
        if not left:
            return Ruling(max(same, key=lambda one: one.id))
        return Ruling(self._made(draft, left, None), left)

    def _corrected(
        self, draft: SettlementDraft, old_id: UUID, here: Mapping[str, Window]
    ) -> Ruling:
        old = self.settlements.get(old_id)
        if old is None:
            raise NotFound("no such settlement", code="settlement_not_found", field="corrects")
        if old.event != draft.event:
            raise Rejected("it settles another event", field="corrects")
        named = _named(draft, {name: here[name] for name in old.windows})
        again = self._again(draft, old_id, named)
        if again is not None:
            return Ruling(again)
        # Without names: those for which the old one is still in force.
        if draft.windows is None:
            named = [w for w in named if w.settlement_id == old_id]
        if not named or any(w.settlement_id != old_id for w in named):
            raise Conflict("it was corrected already", code="stale", field="corrects")
        return Ruling(self._made(draft, named, old), named)

    def _again(
        self, draft: SettlementDraft, old_id: UUID, named: Sequence[Window]
    ) -> Settlement | None:
        """The correction in force, where it says of these windows what the draft says."""
        in_force = {w.settlement_id for w in named}
        if len(in_force) != 1:
            return None
        only = self.settlements[next(key for key in in_force if key is not None)]
        return only if only.corrects == old_id and only.says(draft) else None

    def _made(
        self, draft: SettlementDraft, windows: Sequence[Window], old: Settlement | None
    ) -> Settlement:
        return Settlement(
            id=new_id(),
            event=draft.event,
            windows=tuple(window.name for window in windows),
            resolutions=draft.resolutions,
            crowd=draft.crowd,
            correction=0 if old is None else old.correction + 1,
            corrects=None if old is None else old.id,
            superseded_by=None,
            known_at=self.call.namespace.known_at(draft.known_at, self.call.now),
            recorded_at=self.call.now,
            key_id=self.call.key.id,
        )

    def _enter(self, ruling: Ruling) -> None:
        made = ruling.settlement
        self.settlements[made.id] = made
        for window in ruling.windows:
            first = made.known_at if window.settled_at is None else window.settled_at
            changed = replace(window, settlement_id=made.id, settled_at=min(first, made.known_at))
            self.windows[made.event][window.name] = changed


async def settle(engine: Engine, call: Call, drafts: Sequence[SettlementDraft]) -> list[Answer]:
    """Settle events; the answers are in the drafts' order."""
    call.key.require(Act.SETTLE)
    async with engine.database.transaction(call.namespace.id) as connection:
        docket = await _docket(connection, call, drafts)
        ruled = [_ruled(docket, draft) for draft in drafts]
        await _write(connection, call, docket.rulings)
        told = await _score(connection, call, docket.rulings)
        ids = {one.settlement.id for one in ruled if isinstance(one, Ruling)}
        found = await SettlementStore(connection, call.namespace.id).some(sorted(ids))
    engine.arrived.set()
    return [
        one
        if isinstance(one, MemoryFault)
        else Settled(
            found[one.settlement.id],
            created=bool(one.windows),
            outcomes=tuple(told.get(one.settlement.id, ())) if one.windows else (),
        )
        for one in ruled
    ]


async def get_settlement(engine: Engine, call: Call, settlement_id: UUID) -> Settlement:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await SettlementStore(connection, call.namespace.id).get(settlement_id)


async def list_settlements(
    engine: Engine, call: Call, event: str | None, page: Page
) -> Listed[Settlement]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = SettlementStore(connection, call.namespace.id)
        found, total = await store.browse(event, page)
    return listed(found, page, total, lambda one: (str(one.id),))


async def _docket(connection: Connection, call: Call, drafts: Sequence[SettlementDraft]) -> Docket:
    """Hold the events, and read what is known of them."""
    events = sorted({draft.event for draft in drafts})
    await PredictionStore(connection, call.namespace.id).lock_events(events)
    store = SettlementStore(connection, call.namespace.id)
    windows: dict[str, dict[str, Window]] = {}
    for window in await store.windows(events):
        windows.setdefault(window.event, {})[window.name] = window
    ids = {w.settlement_id for here in windows.values() for w in here.values()}
    ids |= {draft.corrects for draft in drafts}
    named = [key for key in ids if key is not None]
    return Docket(call, windows, await store.some(named, scores=False))


def _ruled(docket: Docket, draft: SettlementDraft) -> Ruling | MemoryFault:
    try:
        return docket.rule(draft)
    except MemoryFault as fault:
        return fault


def _named(draft: SettlementDraft, here: Mapping[str, Window]) -> list[Window]:
    """The windows a draft names, without names all. Raises NotFound."""
    unknown = [name for name in draft.windows or () if name not in here]
    if unknown:
        raise NotFound(
            f"the event has no window {unknown[0]}", code="window_not_found", field="windows"
        )
    return list(here.values()) if draft.windows is None else [here[n] for n in draft.windows]


async def _write(connection: Connection, call: Call, rulings: Sequence[Ruling]) -> None:
    if not rulings:
        return
    store = SettlementStore(connection, call.namespace.id)
    derived = ("windows", "scores")
    names = [name for name in Settlement.__slots__ if name not in derived]
    await store.add(
        [{name: getattr(one.settlement, name) for name in names} for one in rulings],
        [
            {
                "settlement_id": one.settlement.id,
                "task_id": window.task_id,
                "correction": one.settlement.correction,
            }
            for one in rulings
            for window in one.windows
        ],
    )
    corrected = [(one.settlement.corrects, one.settlement.id) for one in rulings]
    await store.supersede({old: new for old, new in corrected if old is not None})


async def _score(
    connection: Connection, call: Call, rulings: Sequence[Ruling]
) -> dict[UUID, list[str]]:
    """Score the predictions of these windows, settlement by settlement; the statuses of what came
    of each.
    """
    task_ids = sorted({window.task_id for one in rulings for window in one.windows})
    predictions = await PredictionStore(connection, call.namespace.id).of_tasks(task_ids)
    if not predictions:
        return {}
    by_task: dict[UUID, list[Prediction]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.task_id, []).append(prediction)
    scoring = await scorer(connection, call, predictions)
    told: dict[UUID, list[str]] = {}
    for one in rulings:
        for window in one.windows:
            for prediction in by_task.get(window.task_id, ()):
                statuses = await scoring.score(one.settlement, prediction)
                told.setdefault(one.settlement.id, []).extend(statuses)
    await scoring.write(connection)
    return told


OTHER_RECEIPT = "other_receipt"


LATE = "late"


class Scorer:
    """Scores the predictions of one call, one settlement after another; `write` ends it."""

    def __init__(
        self, call: Call, stores: Stores, desk: Desk, receipts: Mapping[Attempt, Sequence[UUID]]
    ) -> None:
        self._call = call
        self._stores = stores
        self._desk = desk
        self._receipts = receipts
        self._position = 0
        self._scores: list[Score] = []
        self._states: dict[UUID, tuple[str, UUID]] = {}
        self._told: list[str] = []

    async def score(self, settlement: Settlement, prediction: Prediction) -> list[str]:
        """Score the revision that counts, and tell every receipt of the agent for the window;
        returns the status of each outcome that came of it.
        """
        self._told = []
        revision = prediction.counting(settlement.known_at)
        verdict = Judged(LATE)
        if revision is not None:
            forecast = revision.forecast
            verdict = judged(
                forecast.probabilities, forecast.baseline, settlement.resolutions, settlement.crowd
            )
        outcome_id = await self._tell(settlement, prediction, revision, verdict)
        self._scores.append(
            Score(
                settlement_id=settlement.id,
                prediction_id=prediction.id,
                agent=prediction.agent,
                window=prediction.window,
                revision=None if revision is None else revision.number,
                status="scored" if verdict.reason is None else "ignored",
                reason=verdict.reason,
                brier=verdict.brier,
                baseline_brier=verdict.baseline_brier,
                skill=verdict.skill,
                outcome_id=outcome_id,
            )
        )
        state = "late" if verdict.reason == LATE else "settled"
        self._states[prediction.id] = (state, settlement.id)
        return self._told

    async def write(self, connection: Connection) -> None:
        """Write down all that was scored."""
        await self._desk.write(self._stores)
        here = self._call.namespace.id
        await SettlementStore(connection, here).score(self._scores)
        await PredictionStore(connection, here).settle(self._states)

    async def _tell(
        self,
        settlement: Settlement,
        prediction: Prediction,
        revision: Revision | None,
        verdict: Judged,
    ) -> UUID | None:
        """The outcome of the receipt that the prediction names. Others of that agent for the
        window are no evidence; where nothing is scored, nothing is said, and what an earlier
        settlement said is taken back.
        """
        receipts = self._receipts.get((prediction.agent_id, prediction.task_id), ())
        if revision is None or verdict.reason is not None:
            for receipt in receipts:
                await self._desk.take_back(self._stores, receipt)
            return None
        known_at = None if self._call.namespace.clock is Clock.WALL else settlement.known_at
        named = revision.retrieval_id
        for receipt in receipts:
            if receipt != named:
                report = _report(revision.forecast, verdict, known_at=known_at, answers=False)
                aside = (OTHER_RECEIPT, self._next())
                told = await self._desk.set_aside(self._stores, receipt, report, aside)
                self._told += [] if told is None else [told.status]
        if named is None:
            return None
        return await self._take(
            named, _report(revision.forecast, verdict, known_at=known_at, answers=True)
        )

    async def _take(self, receipt: UUID, report: Report) -> UUID:
        current = self._desk.in_effect(receipt)
        if current is not None and current.evaluator == SETTLEMENT:
            report = replace(report, supersedes=current.id)
        told = await self._desk.take(self._stores, receipt, report, self._next())
        self._told.append(told.outcome.status)
        return told.outcome.id

    def _next(self) -> int:
        self._position += 1
        return self._position - 1


async def scorer(connection: Connection, call: Call, predictions: Sequence[Prediction]) -> Scorer:
    """Reads what scoring these predictions needs. The caller holds their events; reports on their
    receipts wait.
    """
    here = call.namespace.id
    outcomes, receipts = OutcomeStore(connection, here), ReceiptStore(connection, here)
    attempts = await receipts.of_attempts([(one.agent_id, one.task_id) for one in predictions])
    ids = [receipt for found in attempts.values() for receipt in found]
    if ids:
        await outcomes.lock_retrievals(ids)
    desk = Desk(
        call=call,
        bindings=await receipts.contexts(ids) if ids else {},
        known=await outcomes.of_retrievals(ids) if ids else {},
        who=(Reporters(await ActorStore(connection, here).count_agents(), frozenset()), Said(None)),
    )
    return Scorer(call, Stores(outcomes, HalfStore(connection, here)), desk, attempts)


def _report(
    forecast: Forecast, verdict: Judged, *, known_at: datetime | None, answers: bool
) -> Report:
    """The forecast over the outcomes that count, as an agent would report it."""
    given = forecast.answers if answers and forecast.answers is not None else {}
    return Report(
        metric="brier",
        value={"p": verdict.of(forecast.probabilities)},
        truth={"y": list(verdict.truth)},
        without=_half(forecast.baseline, verdict),
        full=_half(forecast.full, verdict),
        reward_kind="continuous",
        evaluator=SETTLEMENT,
        verifier="test",
        answers={ranker: {"p": verdict.of(one)} for ranker, one in given.items()},
        known_at=known_at,
    )


def _half(given: Probabilities | None, verdict: Judged) -> dict[str, object] | None:
    return None if given is None else {"value": {"p": verdict.of(given)}}

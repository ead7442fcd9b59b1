"""An event comes to its end: resolutions → its windows → every prediction scored → outcomes.

One transaction: a settlement is there whole, with all scores and outcomes, or not at all. It holds
the event, so that of two settlements at once one comes first and the other finds it done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.forecasts.entities import (
    PredictionState,
    Probabilities,
    RevisedPrediction,
    Revision,
    Settled,
    Settlement,
    SettlementDraft,
    SettlementScore,
    Window,
)
from memory.forecasts.rules import Judgement, judge
from memory.forecasts.store.predictions import PredictionStore, ScoredPrediction
from memory.forecasts.store.settlements import SettledWindows, SettlementStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.outcomes.entities import OutcomeWarning, Report, Reported
from memory.outcomes.reporter import NOBODY
from memory.outcomes.service import DailyCredits, OutcomeIntake
from memory.receipts.entities import SETTLEMENT, Outcome, RunResult
from memory.receipts.key_entities import AgentTask
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.tenancy.entities import Act, Call, Clock

Answer = Settled | MemoryFault


async def settle(engine: Engine, call: Call, drafts: Sequence[SettlementDraft]) -> list[Answer]:
    """Settle events; the answers are in the drafts' order. What an event came to is a test's
    word.
    """
    call.key.require(Act.SETTLE)
    call.key.require_claim("test", "resolutions")
    async with engine.database.effect(call.namespace.id) as connection:
        events = await _open_events(connection, call, drafts)
        results = [_settle_one(events, draft) for draft in drafts]
        store = SettlementStore(connection, call.namespace.id)
        await store.add(events.settled)
        scorer = await _score(connection, call, events.settled)
        ids = {one.settlement.id for one in results if isinstance(one, SettledWindows)}
        found = await store.some(sorted(ids))
    engine.database.afterwards(engine.arrived.set)
    return [
        one
        if isinstance(one, MemoryFault)
        else Settled(
            replace(found[one.settlement.id], warnings=scorer.warnings_of(one.settlement.id))
            if one.windows
            else found[one.settlement.id],
            created=bool(one.windows),
            outcomes=scorer.statuses_of(one.settlement.id) if one.windows else (),
        )
        for one in results
    ]


async def get_settlement(engine: Engine, call: Call, settlement_id: UUID) -> Settlement:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await SettlementStore(connection, call.namespace.id).get(settlement_id)


async def list_settlements(
    engine: Engine, call: Call, event: str | None, page: Page, *, newest_first: bool = False
) -> Listed[Settlement]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = SettlementStore(connection, call.namespace.id)
        found, total = await store.browse(event, page, newest_first=newest_first)
    return listed(found, page, total, lambda one: (str(one.id),))


@dataclass(slots=True)
class OpenEvents:
    """The windows of some events and the settlements in force, as they stand in this
    transaction.
    """

    call: Call
    windows: dict[str, dict[str, Window]]
    settlements: dict[UUID, Settlement]
    settled: list[SettledWindows] = field(default_factory=list[SettledWindows])

    def settle(self, draft: SettlementDraft) -> SettledWindows:
        """Settle what the draft names, or find that it was settled so: then no window is resolved
        now. Raises a fault.
        """
        here = self.windows.get(draft.event)
        if not here:
            raise NotFound("no task has this event", code="event_not_found", field="event")
        if draft.corrects is not None:
            settled = self._correct(draft, draft.corrects, here)
        else:
            settled = self._settle_first(draft, here)
        if settled.windows:
            self.settled.append(settled)
            self._apply(settled)
        return settled

    def _settle_first(self, draft: SettlementDraft, here: Mapping[str, Window]) -> SettledWindows:
        named = _find_windows(draft, here)
        done = [self.settlements[w.settlement_id] for w in named if w.settlement_id is not None]
        otherwise = any(not one.says_same(draft) for one in done)
        left = [w for w in named if w.settlement_id is None]
        same = [one for one in done if one.says_same(draft)]
        if (draft.windows is not None and otherwise) or not (left or same):
            raise Conflict(
                "a window of the event is resolved otherwise; name what this corrects",
                code="settlement_conflict",
                field="windows",
            )
        if not left:
            return SettledWindows(max(same, key=lambda one: one.id))
        return SettledWindows(self._make(draft, left, None), left)

    def _correct(
        self, draft: SettlementDraft, old_id: UUID, here: Mapping[str, Window]
    ) -> SettledWindows:
        old = self.settlements.get(old_id)
        if old is None:
            raise NotFound(
                f"no such settlement: {old_id}", code="settlement_not_found", field="corrects"
            )
        if old.event != draft.event:
            raise Rejected("it settles another event", field="corrects")
        named = _find_windows(draft, {name: here[name] for name in old.windows})
        again = self._find_same(draft, old_id, named)
        if again is not None:
            return SettledWindows(again)
        # Without names: those for which the old one is still in force.
        if draft.windows is None:
            named = [w for w in named if w.settlement_id == old_id]
        if not named or any(w.settlement_id != old_id for w in named):
            raise Conflict("it was corrected already", code="stale", field="corrects")
        return SettledWindows(self._make(draft, named, old), named)

    def _find_same(
        self, draft: SettlementDraft, old_id: UUID, named: Sequence[Window]
    ) -> Settlement | None:
        """The correction in force, where it says of these windows what the draft says."""
        in_force = {w.settlement_id for w in named}
        if len(in_force) != 1:
            return None
        only = self.settlements[next(key for key in in_force if key is not None)]
        return only if only.corrects == old_id and only.says_same(draft) else None

    def _make(
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

    def _apply(self, settled: SettledWindows) -> None:
        new = settled.settlement
        self.settlements[new.id] = new
        for window in settled.windows:
            first = new.known_at if window.settled_at is None else window.settled_at
            changed = replace(window, settlement_id=new.id, settled_at=min(first, new.known_at))
            self.windows[new.event][window.name] = changed


async def _open_events(
    connection: Connection, call: Call, drafts: Sequence[SettlementDraft]
) -> OpenEvents:
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
    return OpenEvents(call, windows, await store.some(named, scores=False))


def _settle_one(events: OpenEvents, draft: SettlementDraft) -> SettledWindows | MemoryFault:
    try:
        return events.settle(draft)
    except MemoryFault as fault:
        return fault


def _find_windows(draft: SettlementDraft, here: Mapping[str, Window]) -> list[Window]:
    """The windows a draft names, without names all. Raises NotFound."""
    unknown = [name for name in draft.windows or () if name not in here]
    if unknown:
        raise NotFound(
            f"the event has no window {unknown[0]}", code="window_not_found", field="windows"
        )
    return list(here.values()) if draft.windows is None else [here[n] for n in draft.windows]


async def _score(connection: Connection, call: Call, settled: Sequence[SettledWindows]) -> "Scorer":
    """Score the predictions of these windows, settlement by settlement."""
    task_ids = sorted({window.task_id for one in settled for window in one.windows})
    predictions = await PredictionStore(connection, call.namespace.id).of_tasks(task_ids)
    by_task: dict[UUID, list[RevisedPrediction]] = {}
    for prediction in predictions:
        by_task.setdefault(prediction.task_id, []).append(prediction)
    scorer = await open_scorer(connection, call, predictions)
    for one in settled:
        for window in one.windows:
            for prediction in by_task.get(window.task_id, ()):
                await scorer.score(one.settlement, prediction)
    await scorer.write(connection)
    return scorer


OTHER_RECEIPT = "other_receipt"


LATE = "late"


class Scorer:
    """Scores the predictions of one call, one settlement after another; `write` ends it."""

    def __init__(
        self, call: Call, intake: OutcomeIntake, receipts: Mapping[AgentTask, Sequence[UUID]]
    ) -> None:
        self._call = call
        self._intake = intake
        self._receipts = receipts
        self._position = 0
        self._scores: list[SettlementScore] = []
        self._scored: list[ScoredPrediction] = []
        self._statuses: dict[UUID, list[str]] = {}
        self._warnings: dict[UUID, list[OutcomeWarning]] = {}

    async def score(self, settlement: Settlement, prediction: RevisedPrediction) -> list[str]:
        """Score the revision that counts, and report it to every receipt of the agent for the
        window; returns the status of each outcome that came of it.
        """
        revision = prediction.find_counting(settlement.known_at)
        judgement = Judgement(LATE)
        if revision is not None:
            judgement = judge(
                revision.probabilities,
                revision.baseline_probabilities,
                settlement.resolutions,
                settlement.crowd,
            )
        outcomes = await self._report(settlement, prediction, revision, judgement)
        named = None if revision is None else revision.retrieval_id
        self._scores.append(
            SettlementScore(
                settlement_id=settlement.id,
                prediction_id=prediction.id,
                agent=prediction.agent,
                task_key=prediction.window,
                revision=None if revision is None else revision.revision,
                status="scored" if judgement.reason is None else "ignored",
                reason=judgement.reason,
                brier=judgement.brier,
                baseline_brier=judgement.baseline_brier,
                skill=judgement.skill,
                outcome_id=next((o.id for o in outcomes if o.retrieval_id == named), None),
            )
        )
        late = judgement.reason == LATE
        state = PredictionState.LATE if late else PredictionState.SETTLED
        self._scored.append(ScoredPrediction(prediction.id, state, settlement.id))
        statuses: list[str] = [outcome.status for outcome in outcomes]
        self._statuses.setdefault(settlement.id, []).extend(statuses)
        return statuses

    def statuses_of(self, settlement_id: UUID) -> tuple[str, ...]:
        """The status of each outcome that came of a settlement."""
        return tuple(self._statuses.get(settlement_id, ()))

    def warnings_of(self, settlement_id: UUID) -> tuple[OutcomeWarning, ...]:
        """What is to be known of the outcomes of the receipts that predictions name, each once."""
        return tuple(dict.fromkeys(self._warnings.get(settlement_id, ())))

    async def write(self, connection: Connection) -> None:
        """Write all that was scored."""
        await self._intake.write()
        here = self._call.namespace.id
        await SettlementStore(connection, here).score(self._scores)
        await PredictionStore(connection, here).settle(self._scored)

    async def _report(
        self,
        settlement: Settlement,
        prediction: RevisedPrediction,
        revision: Revision | None,
        judgement: Judgement,
    ) -> list[Outcome]:
        """The outcome of the receipt that the prediction names comes last. Others of that agent for
        the window are no evidence; where nothing is scored, nothing is reported, and what an
        earlier settlement reported is withdrawn.
        """
        place = AgentTask(prediction.agent_id, prediction.task_id)
        receipts = self._receipts.get(place, ())
        if revision is None or judgement.reason is not None:
            for receipt in receipts:
                await self._intake.take_back(receipt)
            return []
        known_at = None if self._call.namespace.clock is Clock.WALL else settlement.known_at
        outcomes: list[Outcome] = []
        for receipt in receipts:
            if receipt != revision.retrieval_id:
                aside = await self._intake.set_aside(
                    receipt,
                    _to_report(revision, judgement, known_at=known_at, named=False),
                    self._next_position(),
                    reason=OTHER_RECEIPT,
                )
                outcomes += [] if aside is None else [aside]
        if revision.retrieval_id is not None:
            report = _to_report(revision, judgement, known_at=known_at, named=True)
            taken = await self._take(revision.retrieval_id, report)
            self._warnings.setdefault(settlement.id, []).extend(taken.warnings)
            outcomes.append(taken.outcome)
        return outcomes

    async def _take(self, receipt: UUID, report: Report) -> Reported:
        current = self._intake.in_effect(receipt)
        if current is not None and current.evaluator == SETTLEMENT:
            report = replace(report, supersedes=current.id)
        return await self._intake.take(receipt, report, self._next_position())

    def _next_position(self) -> int:
        self._position += 1
        return self._position - 1


async def open_scorer(
    connection: Connection, call: Call, predictions: Sequence[RevisedPrediction]
) -> Scorer:
    """Reads what scoring these predictions needs. The caller holds their events; reports on their
    receipts wait.
    """
    here = call.namespace.id
    outcomes, receipts = OutcomeStore(connection, here), ReceiptStore(connection, here)
    attempts = await receipts.of_attempts(
        [AgentTask(one.agent_id, one.task_id) for one in predictions]
    )
    ids = [receipt for found in attempts.values() for receipt in found]
    if ids:
        await outcomes.lock_retrievals(ids)
    intake = OutcomeIntake(
        connection,
        call,
        receipts=await receipts.contexts(ids) if ids else {},
        known=await outcomes.of_retrievals(ids) if ids else {},
        reporter=NOBODY,
        daily_credits=DailyCredits(None),
    )
    return Scorer(call, intake, attempts)


def _to_report(
    revision: Revision, judgement: Judgement, *, known_at: datetime | None, named: bool
) -> Report:
    """The forecast over the outcomes that count, as an agent would report it; `named`: for the
    receipt that it names, of which alone it says what rankers answered and which memories it used.
    """
    of_rankers = revision.answers if named and revision.answers is not None else {}
    return Report(
        metric="brier",
        value={"p": judgement.of(revision.probabilities)},
        truth={"y": list(judgement.truth)},
        without=_to_result(revision.baseline_probabilities, judgement),
        full=_to_result(revision.full_probabilities, judgement),
        reward_kind="continuous",
        evaluator=SETTLEMENT,
        verifier="test",
        answers={ranker: {"p": judgement.of(one)} for ranker, one in of_rankers.items()},
        used=revision.used if named else None,
        known_at=known_at,
    )


def _to_result(probabilities: Probabilities | None, judgement: Judgement) -> RunResult | None:
    return None if probabilities is None else RunResult(value={"p": judgement.of(probabilities)})

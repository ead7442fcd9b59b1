"""A settlement scores predictions: the revision that counts → Brier score → outcome of its receipt.

Whatever a settlement says of a receipt goes over the desk where reports are taken, under an
evaluator's name that nobody else may use. It is never the author of a memory, and no daily limit
holds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.domain.access import Call
from memory.domain.loop import Report
from memory.domain.namespace import Clock
from memory.domain.prediction import (
    SETTLEMENT,
    Forecast,
    Prediction,
    Probabilities,
    Revision,
    Score,
    Settlement,
)
from memory.flows.desk import Desk, Reporters, Said, Stores
from memory.learning.scores import Judged, judged
from memory.storage.actors import ActorStore
from memory.storage.database import Connection
from memory.storage.halves import HalfStore
from memory.storage.outcomes import OutcomeStore
from memory.storage.predictions import PredictionStore
from memory.storage.receipts import Attempt, ReceiptStore
from memory.storage.settlements import SettlementStore

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
        bindings=await receipts.bindings(ids) if ids else {},
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

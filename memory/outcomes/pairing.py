"""A run with memory and a run without it, reported apart, become one pair.

They pair when the same agent, declared with the same model, ran the same task within a day, the run
without memory has served no other pair, and the run with it was promised one (purpose `paired`) or
asked for memory by name. Whichever is reported last completes the pair: then the outcome of the run
with memory is superseded by one that knows both halves.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from memory.belief.evidence import lower_verifier
from memory.kernel.errors import Rejected
from memory.kernel.ids import new_id
from memory.outcomes.rewards import numeric, other_half
from memory.outcomes.store.unpaired import Half, HalfStore
from memory.receipts.entities import Outcome
from memory.receipts.store.outcomes import OutcomeStore, StoredOutcome
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.entities import Call

WINDOW = timedelta(hours=24)


ON_ARMS = ("paired", "forced_on")


IN_EFFECT = ("accepted", "applied")


MEASURED = ("raw", "metric", "reward_kind", "verifier", "known_at")


Row = dict[str, object]


class Pairing:
    """Looks for other halves among the outcomes of one namespace."""

    def __init__(self, outcomes: OutcomeStore, halves: HalfStore, call: Call) -> None:
        self._outcomes = outcomes
        self._halves = halves
        self._call = call

    async def completed(self, binding: ReceiptContext, row: Row) -> Row:
        """The outcome of a run with memory, with its other half if that was reported before."""
        if binding.arm not in ON_ARMS or row["reward_without"] is not None:
            return row
        off = await self._halves.off_run(_half(binding, row))
        if off is None:
            return row
        return row | (_joined(row, off) or {})

    async def close(
        self, binding: ReceiptContext, row: Row, replaced: Outcome | None
    ) -> UUID | None:
        """The outcome is written: the run without memory is used, whichever came last; a pair that
        was made with an outcome now replaced is made anew. Returns the other retrieval whose
        outcome changed by it.
        """
        if replaced is not None and replaced.partner_id and binding.arm == "forced_off":
            return await self._complete(row, await self._pair_of(replaced))
        if row["partner_id"] is not None:
            off = cast("UUID", row["partner_id"])
            await self._halves.use(off, cast("UUID", row["id"]))
            return (await self._outcomes.some([off]))[0].outcome.retrieval_id
        if binding.arm == "forced_off":
            return await self._complete(row, await self._halves.on_run(_half(binding, row)))
        return None

    async def _pair_of(self, half: Outcome) -> StoredOutcome | None:
        """The pair in effect that this run without memory is half of."""
        partners = [] if half.partner_id is None else [half.partner_id]
        found = await self._outcomes.some(partners)
        return next((pair for pair in found if pair.outcome.status in IN_EFFECT), None)

    async def _complete(self, row: Row, on: StoredOutcome | None) -> UUID | None:
        if on is None:
            return None
        [off] = await self._outcomes.some([cast("UUID", row["id"])])
        joined = _joined({n: getattr(on.outcome, n) for n in MEASURED}, off)
        if joined is None:
            return None
        await self._outcomes.supersede([on.outcome.id], "completed", self._call.now)
        pair = new_id()
        await self._halves.copy(on.outcome.id, self._pair(pair, on, off) | joined)
        await self._halves.use(off.outcome.id, pair)
        return on.outcome.retrieval_id

    def _pair(self, pair: UUID, on: StoredOutcome, off: StoredOutcome) -> Row:
        return {
            "id": pair,
            "sha256": on.sha256 + off.sha256,
            "status": "accepted",
            "evidence": "paired",
            "reason": None,
            "supersedes": on.outcome.id,
            "recorded_at": self._call.now,
            "applied_at": None,
            "bank_version": None,
            "residual": None,
            "withdrawn_version": None,
        }


def alone(arm: str, row: Mapping[str, object]) -> bool:
    """Whether no run that is reported apart can make a pair with this one."""
    if arm in ON_ARMS:
        return row["reward_without"] is not None
    return arm != "forced_off"


def _half(binding: ReceiptContext, row: Row) -> Half:
    known_at = cast("datetime", row["known_at"])
    return Half(
        retrieval_id=binding.retrieval_id,
        agent_id=binding.agent_id,
        agent_model=binding.agent_model,
        task_id=binding.task_id,
        earliest=known_at - WINDOW,
        latest=known_at + WINDOW,
    )


def _joined(on: Mapping[str, object], off: StoredOutcome) -> Row | None:
    """Both halves' numbers in one; None where they were not measured alike."""
    if (on["metric"], on["reward_kind"]) != (off.outcome.metric, off.outcome.reward_kind):
        return None
    metric = off.outcome.metric
    given = cast("Mapping[str, object]", on["raw"])
    if given.get("truth") != off.outcome.raw.get("truth"):
        return None
    both = {**given, "without": other_half(metric, off.outcome.raw)}
    try:
        sums = numeric(metric, both)
    except Rejected:
        return None
    return {
        "raw": both,
        "numeric": sums,
        "reward_without": off.outcome.reward,
        "verifier": lower_verifier(str(on["verifier"]), off.outcome.verifier),
        "known_at": max(cast("datetime", on["known_at"]), off.outcome.known_at),
        "partner_id": off.outcome.id,
    }

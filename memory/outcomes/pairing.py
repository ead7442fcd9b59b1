"""A run with memory and a run without it, reported apart, become one pair.

They pair when the same agent, declared with the same model, ran the same task within a day, the run
without memory has served no other pair, and the run with it was promised one (purpose `paired`) or
asked for memory by name. Whichever is reported last completes the pair: then the outcome of the run
with memory is superseded by one that knows both runs.
"""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from memory.belief.fold import ARITHMETIC
from memory.belief.states import Evidence
from memory.kernel.errors import Rejected
from memory.kernel.ids import new_id
from memory.kernel.postgres.database import Connection
from memory.outcomes.precedence import OFF_ARM, ON_ARMS, classify_outcome
from memory.outcomes.rewards import pair_sums, result_without
from memory.outcomes.store.unpaired import OtherRun, UnpairedStore
from memory.receipts.entities import Outcome, OutcomeStatus
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tenancy.claims import lower_verifier
from memory.tenancy.entities import Call

WINDOW = timedelta(hours=24)


class Pairing:
    """Looks for the other runs of pairs among the outcomes of one namespace."""

    def __init__(self, connection: Connection, call: Call) -> None:
        self._outcomes = OutcomeStore(connection, call.namespace.id)
        self._unpaired = UnpairedStore(connection, call.namespace.id)
        self._receipts = ReceiptStore(connection, call.namespace.id)
        self._call = call

    async def join_off_run(
        self, receipt: ReceiptContext, outcome: Outcome, replaced: Outcome | None
    ) -> Outcome:
        """The outcome of a run with memory, with the one without if that was reported before; the
        one of a pair that it is to replace is free for it.
        """
        if receipt.arm not in ON_ARMS or outcome.reward_without is not None:
            return outcome
        off = await self._unpaired.off_run(_other_run(receipt, outcome, replaced))
        return outcome if off is None else _joined(outcome, off) or outcome

    async def find_pair(self, off: Outcome) -> Outcome | None:
        """The pair in effect that this run without memory is half of."""
        if off.partner_id is None:
            return None
        found = await self._outcomes.some([off.partner_id])
        return next((one for one in found if one.is_in_effect), None)

    async def make_pair(
        self, receipt: ReceiptContext, off: Outcome, old: Outcome | None
    ) -> Outcome | None:
        """The pair that a run without memory makes whole, or makes anew in the place of `old`. None
        where there is no other run, or the pair would teach nothing.
        """
        if receipt.arm != OFF_ARM:
            return None
        on = old or await self._unpaired.on_run(_other_run(receipt, off))
        pair = None if on is None else _joined(on, off)
        if on is None or pair is None:
            return None
        served = (await self._receipts.contexts([on.retrieval_id]))[on.retrieval_id]
        evidence, reason = classify_outcome(self._call.namespace, served, pair)
        if evidence is Evidence.NONE:
            return None
        return replace(
            pair,
            id=new_id(),
            sha256=on.sha256 + off.sha256,
            status=OutcomeStatus.ACCEPTED,
            evidence=evidence,
            reason=reason,
            supersedes=on.id,
            recorded_at=self._call.now,
            applied_at=None,
            bank_version=None,
            residual=None,
            exposure=None,
            withdrawn_version=None,
            arithmetic=ARITHMETIC,
        )

    async def complete(self, outcome: Outcome, pair: Outcome | None) -> UUID | None:
        """The outcome is written: the run without memory is used, whichever came last. Returns the
        other retrieval whose outcome changed by it.
        """
        if outcome.partner_id is not None:
            await self._unpaired.use(outcome.partner_id, outcome.id)
            return (await self._outcomes.some([outcome.partner_id]))[0].retrieval_id
        if pair is None or pair.supersedes is None:
            return None
        # The pair takes the place of the run with memory.
        await self._outcomes.supersede([pair.supersedes], "completed", self._call.now)
        await self._outcomes.add([pair])
        await self._unpaired.use(outcome.id, pair.id)
        return pair.retrieval_id


def _other_run(
    receipt: ReceiptContext, outcome: Outcome, replaced: Outcome | None = None
) -> OtherRun:
    return OtherRun(
        retrieval_id=receipt.retrieval_id,
        agent_id=receipt.agent_id,
        agent_model=receipt.agent_model,
        task_id=receipt.task_id,
        earliest=outcome.known_at - WINDOW,
        latest=outcome.known_at + WINDOW,
        replaced=None if replaced is None else replaced.id,
    )


def _joined(on: Outcome, off: Outcome) -> Outcome | None:
    """The numbers of both runs in one; None where they were not measured alike."""
    if (on.metric, on.reward_kind) != (off.metric, off.reward_kind):
        return None
    if on.raw.get("truth") != off.raw.get("truth"):
        return None
    raw = {**on.raw, "without": result_without(off.metric, off.raw)}
    try:
        numeric = pair_sums(off.metric, raw)
    except Rejected:
        return None
    return replace(
        on,
        raw=raw,
        numeric=numeric,
        reward_without=off.reward,
        verifier=lower_verifier(on.verifier, off.verifier),
        known_at=max(on.known_at, off.known_at),
        partner_id=off.id,
    )

"""An outcome comes back: report → rewards → precedence → evidence → stored, to be applied in order.

One outcome of a retrieval is in effect: the best verified, the first at equal rank. What disagrees
with it is stored and moves nothing. A better one takes its place, a correction by the same hand
does, and so does the same word with the run without memory added; what the old one had moved is
taken back when outcomes are applied (`applying.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from uuid import UUID

from memory.belief.rankers import all_rankers
from memory.belief.states import Evidence
from memory.kernel.engine import Engine
from memory.kernel.errors import Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.kernel.text import ANSWERS_BYTES, cleaned_json
from memory.outcomes.entities import ReceiptReport, Report, Reported
from memory.outcomes.pairing import Pairing
from memory.outcomes.precedence import (
    Authorship,
    author_of,
    can_pair_later,
    classify_outcome,
    find_current,
    find_precedence,
    verifier_rank,
)
from memory.outcomes.rewards import (
    Rewards,
    compute_rewards,
    digest,
    numbers_as_reported,
    pair_sums,
)
from memory.outcomes.store.unpaired import UnpairedStore
from memory.receipts.entities import SETTLEMENT, Outcome, OutcomeFilter, OutcomeStatus
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, Call, Clock, Role


async def report(
    engine: Engine, call: Call, reports: Sequence[ReceiptReport]
) -> list[Reported | MemoryFault]:
    """Accept each outcome once; the answers are in the reports' order."""
    call.key.require(Act.REPORT)
    answers: list[Reported | MemoryFault] = []
    async with engine.database.transaction(call.namespace.id) as connection:
        intake = await _open_intake(connection, call, reports)
        for position, one in enumerate(reports):
            try:
                _require_free_name(one.report)
                answers.append(await intake.take(one.retrieval_id, one.report, position))
            except MemoryFault as fault:
                answers.append(fault)
        await intake.write()
    engine.arrived.set()
    return answers


async def get_outcome(engine: Engine, call: Call, outcome_id: UUID) -> Outcome:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await OutcomeStore(connection, call.namespace.id).get(outcome_id)


async def list_outcomes(
    engine: Engine, call: Call, wanted: OutcomeFilter, page: Page
) -> Listed[Outcome]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OutcomeStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
    return listed(found, page, total, lambda outcome: (str(outcome.id),))


def _require_free_name(one: Report) -> None:
    if one.evaluator == SETTLEMENT:
        raise Rejected(
            f"the evaluator {SETTLEMENT!r} is reserved for settlements", field="evaluator"
        )


async def _open_intake(
    connection: Connection, call: Call, reports: Sequence[ReceiptReport]
) -> "OutcomeIntake":
    """Hold the receipts of these reports, and read who reports and how often they did today."""
    ids = [one.retrieval_id for one in reports]
    outcomes = OutcomeStore(connection, call.namespace.id)
    await outcomes.lock_retrievals(ids)
    receipts = await ReceiptStore(connection, call.namespace.id).contexts(ids)
    return OutcomeIntake(
        connection,
        call,
        receipts=receipts,
        known=await outcomes.of_retrievals(ids),
        reporters=await _find_reporters(connection, call),
        daily_credits=await _load_credits(connection, call, reports, receipts),
    )


@dataclass(frozen=True, slots=True)
class Reporters:
    """How many agents the namespace has, and for which of them the reporting key speaks."""

    agents: int
    speaks_for: frozenset[UUID] = frozenset()


async def _find_reporters(connection: Connection, call: Call) -> Reporters:
    """An evaluator is never an author; an unbound key speaks for no agent in particular."""
    store = ActorStore(connection, call.namespace.id)
    if call.key.role is Role.EVALUATOR or call.key.agents is None:
        return Reporters(await store.count_agents())
    found = [await store.find_agent(name) for name in call.key.agents]
    speaks_for = frozenset(agent.id for agent in found if agent is not None)
    return Reporters(await store.count_agents(), speaks_for)


@dataclass(slots=True)
class DailyCredits:
    """How often the key's word has counted for a memory today, and how often it may."""

    limit: int | None
    used: dict[UUID, int] = field(default_factory=dict[UUID, int])

    def spend(self, memory_ids: Sequence[UUID]) -> tuple[UUID, ...]:
        """For which of these its word counts no more; for the others this is one more."""
        if self.limit is None:
            return ()
        spent = [m for m in memory_ids if self.used.get(m, 0) >= self.limit]
        for memory_id in set(memory_ids) - set(spent):
            self.used[memory_id] = self.used.get(memory_id, 0) + 1
        return tuple(sorted(spent))


async def _load_credits(
    connection: Connection,
    call: Call,
    reports: Sequence[ReceiptReport],
    receipts: Mapping[UUID, ReceiptContext],
) -> DailyCredits:
    """One loud key does not move the bank alone: an agent's word counts so often a UTC day.

    Reports of one call are counted into the day of the first.
    """
    if call.key.role is not Role.AGENT:
        return DailyCredits(None)
    memories = sorted({m for receipt in receipts.values() for m in receipt.cited})
    said_at = (one.report.known_at for one in reports)
    first = next((moment for moment in said_at if moment is not None), call.now)
    moment = first if call.namespace.clock is Clock.REPLAY else call.now
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    used = await UnpairedStore(connection, call.namespace.id).count_credits(
        call.key.id, memories, since=day, until=day + timedelta(days=1)
    )
    return DailyCredits(call.namespace.settings.daily_credits, used)


class OutcomeIntake:
    """Takes the reports of one call, in their order."""

    def __init__(
        self,
        connection: Connection,
        call: Call,
        *,
        receipts: Mapping[UUID, ReceiptContext],
        known: Mapping[UUID, list[Outcome]],
        reporters: Reporters,
        daily_credits: DailyCredits,
    ) -> None:
        self._call = call
        self._outcomes = OutcomeStore(connection, call.namespace.id)
        unpaired = UnpairedStore(connection, call.namespace.id)
        self._pairing = Pairing(self._outcomes, unpaired, call)
        self._receipts = receipts
        self._known = {retrieval_id: list(found) for retrieval_id, found in known.items()}
        self._reporters = reporters
        self._credits = daily_credits
        self._unwritten: list[Outcome] = []
        self._replaced: list[UUID] = []

    async def take(self, retrieval_id: UUID, one: Report, position: int) -> Reported:
        """Store the outcome, or find that it is stored. It may be written only by `write`."""
        receipt = self._receipt(retrieval_id)
        self._require_right(receipt, one)
        rewards = compute_rewards(one, rankers=_rankers_asked(receipt))
        known = self._known.get(retrieval_id, [])
        replay = _find_replay(known, one)
        if replay is not None:
            return Reported(replay, replayed=True)
        precedence = find_precedence(known, one, rewards, self._call.key.id)
        outcome = self._outcome(receipt, one, rewards, position)
        if precedence.refusal is not None:
            return Reported(self._ignore(outcome, precedence.refusal), replayed=False)
        if precedence.replaces is not None:
            outcome = replace(outcome, supersedes=precedence.replaces.id)
        if can_pair_later(receipt, outcome):
            paired = await self._take_with_pair(receipt, outcome, precedence.replaces)
            return Reported(paired, replayed=False)
        if precedence.replaces is not None:
            await self._replace(precedence.replaces)
        return Reported(self._keep(self._classify(receipt, outcome)), replayed=False)

    async def set_aside(
        self, retrieval_id: UUID, one: Report, position: int, *, reason: str
    ) -> Outcome | None:
        """Store what is no evidence for this receipt, and why; what is in effect and less verified
        gives way. None where this was reported before.
        """
        await self.take_back(retrieval_id, above=verifier_rank(one.verifier))
        if any(known.reason == reason for known in self._known.get(retrieval_id, [])):
            return None
        receipt = self._receipt(retrieval_id)
        rewards = compute_rewards(one, rankers=_rankers_asked(receipt))
        return self._ignore(self._outcome(receipt, one, rewards, position), reason)

    async def take_back(self, retrieval_id: UUID, *, above: int = 0) -> None:
        """Take out of effect what a settlement said of this receipt, or who is believed less."""
        current = self.in_effect(retrieval_id)
        if current is None:
            return
        if current.evaluator == SETTLEMENT or verifier_rank(current.verifier) < above:
            await self._replace(current)

    def in_effect(self, retrieval_id: UUID) -> Outcome | None:
        """The outcome that holds the receipt's place."""
        return find_current(self._known.get(retrieval_id, []))

    async def write(self) -> None:
        """Write what was taken; to be called when the last report is."""
        replaced, self._replaced = self._replaced, []
        outcomes, self._unwritten = self._unwritten, []
        if replaced:
            await self._outcomes.supersede(replaced, OutcomeStatus.SUPERSEDED, self._call.now)
        if outcomes:
            await self._outcomes.add(outcomes)

    def _receipt(self, retrieval_id: UUID) -> ReceiptContext:
        if retrieval_id not in self._receipts:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        return self._receipts[retrieval_id]

    def _require_right(self, receipt: ReceiptContext, one: Report) -> None:
        # A settlement is nobody's report, whoever's call brings it to a receipt.
        if one.evaluator == SETTLEMENT:
            return
        key = self._call.key
        if key.role is Role.AGENT and receipt.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")

    def _outcome(
        self, receipt: ReceiptContext, one: Report, rewards: Rewards, position: int
    ) -> Outcome:
        raw = numbers_as_reported(one)
        return Outcome(
            id=new_id(),
            retrieval_id=receipt.retrieval_id,
            status=OutcomeStatus.ACCEPTED,
            reason=None,
            evidence=Evidence.NONE,
            reward=rewards.reward,
            reward_without=rewards.without,
            reward_full=rewards.full,
            metric=one.metric_name,
            reward_kind=one.reward_kind,
            evaluator=one.evaluator,
            verifier=one.verifier,
            raw=raw,
            helpful=_require_served(one.helpful, receipt, "helpful"),
            harmful=_require_served(one.harmful, receipt, "harmful"),
            supersedes=one.supersedes,
            partner_id=None,
            muted=(),
            known_at=self._call.namespace.known_at(one.known_at, self._call.now),
            recorded_at=self._call.now,
            applied_at=None,
            bank_version=None,
            withdrawn_version=None,
            position=position,
            sha256=digest(one),
            authored=self._find_authored(receipt),
            numeric=pair_sums(one.metric_name, raw),
            ranker_rewards=rewards.rankers,
            answers=cleaned_json(one.answers, "answers", ANSWERS_BYTES),
            stances=cleaned_json(one.stances, "stances", ANSWERS_BYTES),
            lesson=None if one.lesson is None else one.lesson.stored(),
            key_id=self._call.key.id,
        )

    def _find_authored(self, receipt: ReceiptContext) -> tuple[UUID, ...]:
        served = [
            Authorship(memory, receipt.authors[memory], memory in receipt.shared)
            for memory in receipt.cited
        ]
        reporters = self._reporters
        return tuple(sorted(author_of(reporters.speaks_for, served, agents=reporters.agents)))

    def _classify(self, receipt: ReceiptContext, outcome: Outcome) -> Outcome:
        """What it will be evidence of, as things stand now; classified again when applied."""
        evidence, reason = classify_outcome(self._call.namespace, receipt, outcome)
        muted = self._credits.spend(receipt.cited)
        return replace(outcome, evidence=evidence, reason=reason, muted=muted)

    def _keep(self, outcome: Outcome) -> Outcome:
        """Nothing else hangs on it, so it is written with the others, later."""
        self._unwritten.append(outcome)
        self._known.setdefault(outcome.retrieval_id, []).append(outcome)
        return outcome

    def _ignore(self, outcome: Outcome, reason: str) -> Outcome:
        ignored = OutcomeStatus.IGNORED
        return self._keep(
            replace(outcome, status=ignored, reason=reason, applied_at=self._call.now)
        )

    async def _replace(self, outcome: Outcome) -> None:
        """Out of effect, with what else is written later; what replaces it is written after it."""
        if any(one.id == outcome.id for one in self._unwritten):
            await self.write()
        self._replaced.append(outcome.id)
        gone = replace(
            outcome,
            status=OutcomeStatus.SUPERSEDED,
            reason=OutcomeStatus.SUPERSEDED,
            applied_at=outcome.applied_at or self._call.now,
        )
        known = self._known[outcome.retrieval_id]
        self._known[outcome.retrieval_id] = [gone if one.id == outcome.id else one for one in known]

    async def _take_with_pair(
        self, receipt: ReceiptContext, outcome: Outcome, replaced: Outcome | None
    ) -> Outcome:
        """Written at once: a pair may become whole by it, and then the outcome of another
        retrieval is another.
        """
        await self.write()
        if replaced is not None:
            await self._outcomes.supersede([replaced.id], OutcomeStatus.SUPERSEDED, self._call.now)
        outcome = self._classify(receipt, await self._pairing.join_off_run(receipt, outcome))
        await self._outcomes.add([outcome])
        other = await self._pairing.complete(receipt, outcome, replaced)
        # Later reports of the same call may be about the run whose pair is whole by this one.
        touched = [outcome.retrieval_id] if other is None else [outcome.retrieval_id, other]
        self._known |= await self._outcomes.of_retrievals(touched)
        return next(o for o in self._known[outcome.retrieval_id] if o.id == outcome.id)


def _rankers_asked(receipt: ReceiptContext) -> tuple[str, ...] | None:
    return all_rankers(receipt.rankers) if receipt.all_rankers else None


def _find_replay(known: Sequence[Outcome], one: Report) -> Outcome | None:
    """The outcome of the same report."""
    # Who settles knows what was settled; what was taken back may come to be true again.
    if one.evaluator == SETTLEMENT:
        return None
    same = digest(one)
    return next((o for o in known if o.sha256 == same and o.reason != "rolled_back"), None)


def _require_served(ids: tuple[UUID, ...], receipt: ReceiptContext, name: str) -> tuple[UUID, ...]:
    unknown = [memory_id for memory_id in ids if memory_id not in receipt.cited]
    if unknown:
        raise Rejected(f"{unknown[0]} was not served by this retrieval", field=name)
    return ids

"""An outcome comes back: report → rewards → precedence → evidence → stored, to be applied in order.

One outcome of a retrieval is in effect: the best verified, the first at equal rank. What disagrees
with it is stored and moves nothing. A better one takes its place, a correction by the same hand
does, and so does the same word with the run without memory added; what the old one had moved is
withdrawn when outcomes are applied (`applying.py`). What teaches less never takes the place of
what teaches more: it is kept as a note, or refused where it names what it corrects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from uuid import UUID

from memory.belief.exposure import follows_used, note_usage
from memory.belief.rankers import all_rankers
from memory.belief.states import Evidence, State
from memory.belief.store.states import StateStore
from memory.constraints.service import (
    ReportedRun,
    hold_counts,
    keep_reported_run,
    require_room_for_run,
)
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.kernel.text import ANSWERS_BYTES, cleaned_json
from memory.memories.service import hide_private
from memory.outcomes.entities import OutcomeWarning, ReceiptReport, Report, Reported
from memory.outcomes.measures import OTHER_METRIC, find_other_measure
from memory.outcomes.pairing import Pairing
from memory.outcomes.precedence import (
    can_pair_later,
    classify_outcome,
    find_current,
    find_precedence,
    teaching_of,
)
from memory.outcomes.reporter import Reporter, load_reporter
from memory.outcomes.rewards import (
    Rewards,
    compute_rewards,
    digest,
    numbers_as_reported,
    pair_sums,
    require_served,
)
from memory.outcomes.store.unpaired import UnpairedStore
from memory.outcomes.warnings import NOTE, warn_of, warn_of_used
from memory.receipts.entities import HOLDING, SETTLEMENT, Outcome, OutcomeStatus
from memory.receipts.list_entities import OutcomeFilter
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tasks.entities import Measure
from memory.tenancy.entities import Act, Call, Clock, Role
from memory.webhooks.store import Outbox


async def report(
    engine: Engine, call: Call, reports: Sequence[ReceiptReport]
) -> list[Reported | MemoryFault]:
    """Accept each outcome once; the answers are in the reports' order."""
    call.key.require(Act.REPORT)
    async with engine.database.effect(call.namespace.id) as connection:
        answers = await take_reports(connection, call, reports)
    engine.database.afterwards(engine.arrived.set)
    return answers


async def take_reports(
    connection: Connection, call: Call, reports: Sequence[ReceiptReport]
) -> list[Reported | MemoryFault]:
    """Within one transaction; a report that is refused leaves the others as they are."""
    answers: list[Reported | MemoryFault] = []
    if any(one.report.run is not None for one in reports):
        await hold_counts(connection, call)
    intake = await _open_intake(connection, call, reports)
    for position, one in enumerate(reports):
        try:
            call.key.require_claim(one.report.verifier)
            _require_free_name(one.report)
            if one.report.run is not None:
                await require_room_for_run(connection, call, one.retrieval_id, one.report.run)
            reported = await intake.take(one.retrieval_id, one.report, position)
            answers.append(await _keep_run(connection, call, one, reported))
        except MemoryFault as fault:
            answers.append(fault)
    await intake.write()
    return answers


async def _keep_run(
    connection: Connection, call: Call, one: ReceiptReport, reported: Reported
) -> Reported:
    """With the run behind the receipt, where the report brings it."""
    if one.report.run is None:
        return reported
    outcome = reported.outcome
    run = ReportedRun(
        one.retrieval_id, one.report.run, outcome.reward, outcome.verifier, outcome.known_at
    )
    return replace(reported, run_id=await keep_reported_run(connection, call, run))


async def get_outcome(engine: Engine, call: Call, outcome_id: UUID) -> Outcome:
    async with engine.database.transaction(call.namespace.id) as connection:
        outcome = await OutcomeStore(connection, call.namespace.id).get(outcome_id)
        return await hide_private(connection, call, outcome)


async def list_outcomes(
    engine: Engine, call: Call, wanted: OutcomeFilter, page: Page
) -> Listed[Outcome]:
    """Oldest first, unless asked otherwise."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OutcomeStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda outcome: (str(outcome.id),))


def _require_free_name(one: Report) -> None:
    if one.evaluator == SETTLEMENT:
        raise Rejected(
            f"the evaluator {SETTLEMENT!r} is reserved for settlements", field="evaluator"
        )


async def _open_intake(
    connection: Connection, call: Call, reports: Sequence[ReceiptReport]
) -> "OutcomeIntake":
    """Hold the receipts of these reports, and read whose word they are and how often it counted
    today.
    """
    ids = [one.retrieval_id for one in reports]
    outcomes = OutcomeStore(connection, call.namespace.id)
    await outcomes.lock_retrievals(ids)
    receipts = await ReceiptStore(connection, call.namespace.id).contexts(ids)
    return OutcomeIntake(
        connection,
        call,
        receipts=receipts,
        known=await outcomes.of_retrievals(ids),
        reporter=await load_reporter(connection, call, receipts.values()),
        daily_credits=await _load_credits(connection, call, reports, receipts),
    )


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
        reporter: Reporter,
        daily_credits: DailyCredits,
    ) -> None:
        self._call = call
        self._outcomes = OutcomeStore(connection, call.namespace.id)
        self._outbox = Outbox(connection, call.namespace.id)
        self._pairing = Pairing(connection, call)
        self._receipts = receipts
        self._known = {retrieval_id: list(found) for retrieval_id, found in known.items()}
        self._reporter = reporter
        self._credits = daily_credits
        self._states = StateStore(connection, call.namespace.id)
        self._usages: dict[tuple[UUID, UUID], State | None] = {}
        self._waiting: dict[UUID, set[Measure]] = {}
        self._unwritten: list[Outcome] = []
        self._replaced: list[UUID] = []

    async def take(self, retrieval_id: UUID, one: Report, position: int) -> Reported:
        """Store the outcome, or find that it is stored. It may be written only by `write`."""
        receipt = self._receipt(retrieval_id)
        self._require_right(receipt, one)
        rewards = compute_rewards(one, rankers=rankers_asked(receipt))
        known = self._known.get(retrieval_id, [])
        other = find_other_measure(receipt, one)
        replay = _find_replay(known, one, fits=other is None)
        if replay is not None:
            warnings = self._warn_alone(replay, receipt) + await self._warn_of_used(replay, receipt)
            return Reported(replay, replayed=True, warnings=warnings)
        if other is not None and not (one.keep or one.evaluator == SETTLEMENT):
            raise other
        precedence = find_precedence(
            known, one, rewards, key_id=self._call.key.id, opener=receipt.key_id
        )
        outcome = self._outcome(receipt, one, rewards, position)
        if other is not None:
            taken = await self._note(outcome, OTHER_METRIC, precedence.replaces)
        elif precedence.refusal is not None:
            taken = self._ignore(outcome, precedence.refusal)
        elif can_pair_later(receipt, outcome):
            taken = await self._take_with_pair(receipt, outcome, precedence.replaces)
        else:
            taken = await self._take_alone(receipt, outcome, precedence.replaces)
        warnings = await self._warn_of(taken, receipt) + await self._warn_of_used(taken, receipt)
        return Reported(taken, replayed=False, warnings=warnings)

    async def set_aside(
        self, retrieval_id: UUID, one: Report, position: int, *, reason: str
    ) -> Outcome | None:
        """Store what is no evidence for this receipt, and why; what others reported of it stays,
        as this teaches nothing. None where this was reported before.
        """
        await self.take_back(retrieval_id)
        if any(known.reason == reason for known in self._known.get(retrieval_id, [])):
            return None
        receipt = self._receipt(retrieval_id)
        rewards = compute_rewards(one, rankers=rankers_asked(receipt))
        return self._ignore(self._outcome(receipt, one, rewards, position), reason)

    async def take_back(self, retrieval_id: UUID) -> None:
        """Take out of effect what a settlement said of this receipt."""
        current = self.in_effect(retrieval_id)
        if current is not None and current.evaluator == SETTLEMENT:
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
        # Once a day: a key that has said enough may go on saying it.
        if muted := next((one for one in outcomes if one.muted), None):
            key_id, day = self._call.key.id, f"{self._call.now:%Y-%m-%d}"
            told = {"key_id": key_id, "outcome_id": muted.id}
            await self._outbox.put("key.muted", told, once=f"key.muted/{key_id}/{day}")

    def _receipt(self, retrieval_id: UUID) -> ReceiptContext:
        if retrieval_id not in self._receipts:
            raise NotFound(
                f"no such retrieval: {retrieval_id}",
                code="retrieval_not_found",
                field="retrieval_id",
            )
        return self._receipts[retrieval_id]

    def _require_right(self, receipt: ReceiptContext, one: Report) -> None:
        # A settlement is nobody's report, whoever's call brings it to a receipt.
        if one.evaluator == SETTLEMENT:
            return
        key = self._call.key
        if key.role is Role.AGENT and receipt.key_id != key.id:
            raise Forbidden(
                f"key {receipt.key_id} opened this receipt: that key may report on it, and keys of"
                " role evaluator, admin and operator",
                field="retrieval_id",
            )

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
            helpful=require_served(one.helpful, receipt.cited, "helpful"),
            harmful=require_served(one.harmful, receipt.cited, "harmful"),
            used=self._used(receipt, one),
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
            authored=tuple(sorted(self._reporter.find_authored(receipt))),
            numeric=pair_sums(one.metric_name, raw),
            ranker_rewards=rewards.rankers,
            answers=cleaned_json(one.answers, "answers", ANSWERS_BYTES),
            stances=cleaned_json(one.stances, "stances", ANSWERS_BYTES),
            lesson=None if one.lesson is None else one.lesson.stored(),
            key_id=self._call.key.id,
            party_id=self._reporter.bounded,
        )

    def _used(self, receipt: ReceiptContext, one: Report) -> tuple[UUID, ...] | None:
        """What it names; where it does not say, what was named of this run before: who judges a
        result does not know what the agent acted on.
        """
        if one.used is not None:
            return require_served(one.used, receipt.cited, "used")
        known = self._known.get(receipt.retrieval_id, [])
        return next((past.used for past in reversed(known) if past.used is not None), None)

    def _classify(self, receipt: ReceiptContext, outcome: Outcome) -> Outcome:
        """What it will be evidence of, as things stand now; classified again when applied."""
        evidence, reason = classify_outcome(self._call.namespace, receipt, outcome)
        return replace(outcome, evidence=evidence, reason=reason)

    def _mute(self, receipt: ReceiptContext, outcome: Outcome) -> Outcome:
        """Without the memories for which the key's word counts no more today."""
        return replace(outcome, muted=self._credits.spend(receipt.cited))

    async def _warn_of(
        self, outcome: Outcome, receipt: ReceiptContext
    ) -> tuple[OutcomeWarning, ...]:
        if receipt.metric is not None or outcome.evidence is Evidence.NONE:
            return self._warn_alone(outcome, receipt)
        category = receipt.category_id
        if category not in self._waiting:
            found = await self._outcomes.waiting_measures([category])
            self._waiting[category] = found.get(category, set())
        warnings = warn_of(
            outcome, receipt, self._waiting[category], daily_limit=self._credits.limit
        )
        self._waiting[category].add(Measure(outcome.metric, outcome.reward_kind))
        return warnings

    def _warn_alone(self, outcome: Outcome, receipt: ReceiptContext) -> tuple[OutcomeWarning, ...]:
        """Without a look at what waits in the category."""
        return warn_of(outcome, receipt, daily_limit=self._credits.limit)

    async def _warn_of_used(
        self, outcome: Outcome, receipt: ReceiptContext
    ) -> tuple[OutcomeWarning, ...]:
        """Where what it names as used will not be gone by, as its cell stands now."""
        if outcome.used is None or outcome.evidence is Evidence.NONE or outcome.applied_at:
            return ()
        cell = (receipt.agent_id, receipt.category_id)
        if cell not in self._usages:
            self._usages[cell] = await self._states.load_usage(*cell)
        # As though nothing of this call were applied before it.
        usage = note_usage(self._usages[cell], outcome.known_at, named=True)
        return warn_of_used(self._call.namespace.policy, followed=follows_used(usage))

    async def _take_alone(
        self, receipt: ReceiptContext, outcome: Outcome, replaced: Outcome | None
    ) -> Outcome:
        outcome = self._classify(receipt, outcome)
        if replaced is not None:
            if teaching_of(outcome) < teaching_of(replaced):
                return await self._note(outcome, outcome.reason, replaced)
            await self._replace(replaced)
            outcome = replace(outcome, supersedes=replaced.id)
        return self._keep(self._mute(receipt, outcome))

    async def _note(
        self, outcome: Outcome, reason: str | None, replaced: Outcome | None
    ) -> Outcome:
        """Keep what teaches less beside what counts. A settlement that corrects itself takes its
        old word back all the same. Raises Conflict where the report names what it was to correct.
        """
        if replaced is not None:
            if outcome.evaluator == replaced.evaluator == SETTLEMENT:
                await self._replace(replaced)
            elif outcome.supersedes is not None:
                raise Conflict(
                    f"this would teach nothing ({reason}) in the place of an outcome that counts;"
                    " what was learned is withdrawn by a rollback",
                    code="teaches_nothing",
                    field="supersedes",
                    limit=reason,
                )
        # What waits for another run holds the place of its own, and here that is taken.
        named = NOTE if reason in HOLDING else reason
        return self._ignore(
            replace(outcome, supersedes=None, evidence=Evidence.NONE), named or NOTE
        )

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
        outcome = await self._join(receipt, outcome, replaced)
        old = None if replaced is None else await self._pairing.find_pair(replaced)
        pair = await self._pairing.make_pair(receipt, outcome, old)
        if replaced is not None:
            now, before = teaching_of(pair or outcome), teaching_of(old or replaced)
            if now < before:
                return await self._note(outcome, outcome.reason, replaced)
            await self._outcomes.supersede([replaced.id], OutcomeStatus.SUPERSEDED, self._call.now)
            outcome = replace(outcome, supersedes=replaced.id)
        await self._outcomes.add([self._mute(receipt, outcome)])
        other = await self._pairing.complete(outcome, pair)
        # Later reports of the same call may be about the run whose pair is whole by this one.
        touched = [outcome.retrieval_id] if other is None else [outcome.retrieval_id, other]
        self._known |= await self._outcomes.of_retrievals(touched)
        return next(o for o in self._known[outcome.retrieval_id] if o.id == outcome.id)

    async def _join(
        self, receipt: ReceiptContext, outcome: Outcome, replaced: Outcome | None
    ) -> Outcome:
        """With the run without memory that was reported before, unless it teaches more alone."""
        alone = self._classify(receipt, outcome)
        joined = await self._pairing.join_off_run(receipt, outcome, replaced)
        pair = self._classify(receipt, joined)
        return alone if teaching_of(pair) < teaching_of(alone) else pair


def rankers_asked(receipt: ReceiptContext) -> tuple[str, ...] | None:
    return all_rankers(receipt.rankers) if receipt.all_rankers else None


def _find_replay(known: Sequence[Outcome], one: Report, *, fits: bool) -> Outcome | None:
    """The outcome of the same report; a note is none where it `fits` its category by now."""
    # Who settles knows what was settled; what was withdrawn may come to be true again.
    if one.evaluator == SETTLEMENT:
        return None
    same, again = digest(one), {"rolled_back", OTHER_METRIC} if fits else {"rolled_back"}
    return next((o for o in known if o.sha256 == same and o.reason not in again), None)

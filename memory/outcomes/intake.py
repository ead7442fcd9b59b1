"""Where reports are taken: what is known of their receipts, what came before, what becomes of it.

One outcome of a retrieval is in effect: the best verified, the first at equal rank. What disagrees
with it is stored and moves nothing. A better one takes its place, a correction by the same hand
does, and so does the same word with the run without memory added; what the old one had moved is
taken back by the applier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.belief.evidence import Authorship, author_of, verifier_rank
from memory.belief.rankers import all_rankers
from memory.belief.states import Evidence
from memory.kernel.errors import Forbidden, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.text import ANSWERS_BYTES, cleaned_json
from memory.outcomes.entities import Report, Reported
from memory.outcomes.pairing import Pairing, alone
from memory.outcomes.precedence import Standing, Told, holds, rule, standing_of
from memory.outcomes.rewards import Rewards, digest, numeric, raw, reckoned
from memory.outcomes.store.unpaired import HalfStore
from memory.receipts.entities import SETTLEMENT, Outcome
from memory.receipts.store.outcomes import OutcomeStore, StoredOutcome, stored_outcome
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.entities import Call, Role

Row = dict[str, object]


SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a report is written, and where its other half is looked for."""

    outcomes: OutcomeStore
    halves: HalfStore


@dataclass(frozen=True, slots=True)
class Reporters:
    """How many agents the namespace has, and for which of them the reporting key speaks."""

    agents: int
    speaks_for: frozenset[UUID]


@dataclass(slots=True)
class Said:
    """How often the key's word has counted for a memory today, and how often it may."""

    limit: int | None
    so_far: dict[UUID, int] = field(default_factory=dict[UUID, int])

    def muted(self, memory_ids: Sequence[UUID]) -> list[UUID]:
        """About which of these it has said enough; for the others this is one more."""
        if self.limit is None:
            return []
        full = [m for m in memory_ids if self.so_far.get(m, 0) >= self.limit]
        for memory_id in set(memory_ids) - set(full):
            self.so_far[memory_id] = self.so_far.get(memory_id, 0) + 1
        return sorted(full)


class Desk:
    """Takes the reports of one call, in their order."""

    def __init__(
        self,
        call: Call,
        bindings: Mapping[UUID, ReceiptContext],
        known: Mapping[UUID, list[StoredOutcome]],
        who: tuple[Reporters, Said],
    ) -> None:
        self._call = call
        self._bindings = bindings
        self._known = {retrieval_id: list(found) for retrieval_id, found in known.items()}
        self._reporters, self._said = who
        self._unwritten: list[Row] = []
        self._removed: list[UUID] = []

    async def take(
        self, stores: Stores, retrieval_id: UUID, one: Report, position: int
    ) -> Reported:
        """Store the outcome, or find that it is stored. It may be written only by `write`."""
        binding = self._binding(retrieval_id)
        self._require_right(binding, one)
        rewards = reckoned(one, rivals=_rivals(binding))
        replay = self._replayed(retrieval_id, one)
        if replay is not None:
            return Reported(replay.outcome, replayed=True)
        known = self._known.get(retrieval_id, [])
        standing = standing_of(known, one, rewards, self._call.key.id)
        row = self._row(binding, one, rewards, position)
        if standing.refusal is not None:
            return Reported(self._enter(row | self._refused(standing.refusal)), replayed=False)
        if alone(binding.arm, row):
            if standing.replaces is not None:
                row |= {"supersedes": standing.replaces.id}
                await self._remove(stores, standing.replaces)
            return Reported(self._enter(row | self._counting(binding, row)), replayed=False)
        await self.write(stores)
        other = await self._file(stores, binding, row, standing)
        # Later reports of the same call may be about the run whose pair is whole by this one.
        touched = [retrieval_id] if other is None else [retrieval_id, other]
        self._known |= await stores.outcomes.of_retrievals(touched)
        stored = next(o for o in self._known[retrieval_id] if o.outcome.id == row["id"])
        return Reported(stored.outcome, replayed=False)

    async def set_aside(
        self, stores: Stores, retrieval_id: UUID, one: Report, aside: tuple[str, int]
    ) -> Outcome | None:
        """Store what is no evidence for this receipt, with the reason and the position; what is in
        effect and less verified gives way. None where this was said before.
        """
        reason, position = aside
        await self.take_back(stores, retrieval_id, above=verifier_rank(one.verifier))
        if any(known.outcome.reason == reason for known in self._known.get(retrieval_id, [])):
            return None
        binding = self._binding(retrieval_id)
        row = self._row(binding, one, reckoned(one, rivals=_rivals(binding)), position)
        return self._enter(row | self._refused(reason))

    async def take_back(self, stores: Stores, retrieval_id: UUID, *, above: int = 0) -> None:
        """Take out of effect what a settlement said of this receipt, or who is believed less."""
        current = self.in_effect(retrieval_id)
        if current is None:
            return
        if current.evaluator == SETTLEMENT or verifier_rank(current.verifier) < above:
            await self._remove(stores, current)

    def in_effect(self, retrieval_id: UUID) -> Outcome | None:
        """The outcome that holds the receipt's place."""
        known = self._known.get(retrieval_id, [])
        return next((s.outcome for s in known if holds(s.outcome)), None)

    async def write(self, stores: Stores) -> None:
        """Write down what was taken; to be called when the last report is."""
        removed, self._removed = self._removed, []
        rows, self._unwritten = self._unwritten, []
        if removed:
            await stores.outcomes.supersede(removed, SUPERSEDED, self._call.now)
        if rows:
            await stores.outcomes.add(rows)

    async def _remove(self, stores: Stores, outcome: Outcome) -> None:
        """Out of effect, with what else is written later; what replaces it is written after it."""
        if any(row["id"] == outcome.id for row in self._unwritten):
            await self.write(stores)
        self._removed.append(outcome.id)
        gone = replace(
            outcome,
            status=SUPERSEDED,
            reason=SUPERSEDED,
            applied_at=outcome.applied_at or self._call.now,
        )
        known = self._known[outcome.retrieval_id]
        self._known[outcome.retrieval_id] = [
            replace(s, outcome=gone) if s.outcome.id == outcome.id else s for s in known
        ]

    def _enter(self, row: Row) -> Outcome:
        """Nothing else hangs on it, so it is written with the others, later."""
        self._unwritten.append(row)
        stored = stored_outcome(row)
        self._known.setdefault(stored.outcome.retrieval_id, []).append(stored)
        return stored.outcome

    def _refused(self, reason: str) -> Row:
        done: Row = {"status": "ignored", "evidence": "none", "reason": reason}
        return done | {"applied_at": self._call.now}

    def _counting(self, binding: ReceiptContext, row: Row) -> Row:
        return {"muted": self._said.muted(binding.cited)} | self._evidence(binding, row)

    async def _file(
        self, stores: Stores, binding: ReceiptContext, row: Row, standing: Standing
    ) -> UUID | None:
        """Write it down in effect; a pair may become whole by it, and then the outcome of another
        retrieval is another.
        """
        if standing.replaces is not None:
            row |= {"supersedes": standing.replaces.id}
            await stores.outcomes.supersede([standing.replaces.id], SUPERSEDED, self._call.now)
        pairing = Pairing(stores.outcomes, stores.halves, self._call)
        row = await pairing.completed(binding, row)
        row |= self._counting(binding, row)
        await stores.outcomes.add([row])
        return await pairing.close(binding, row, standing.replaces)

    def _binding(self, retrieval_id: UUID) -> ReceiptContext:
        if retrieval_id not in self._bindings:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        return self._bindings[retrieval_id]

    def _require_right(self, binding: ReceiptContext, one: Report) -> None:
        # A settlement is nobody's report, whoever's call brings it to a receipt.
        if one.evaluator == SETTLEMENT:
            return
        key = self._call.key
        if key.role is Role.AGENT and binding.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")

    def _replayed(self, retrieval_id: UUID, one: Report) -> StoredOutcome | None:
        # Who settles knows what was settled; what was taken back may come to be true again.
        known = [] if one.evaluator == SETTLEMENT else self._known.get(retrieval_id, [])
        said = digest(one)
        return next(
            (s for s in known if s.sha256 == said and s.outcome.reason != "rolled_back"), None
        )

    def _row(self, binding: ReceiptContext, one: Report, rewards: Rewards, position: int) -> Row:
        given = raw(one)
        return {
            "id": new_id(),
            "retrieval_id": binding.retrieval_id,
            "sha256": digest(one),
            "position": position,
            "supersedes": one.supersedes,
            "evaluator": one.evaluator,
            "verifier": one.verifier,
            "metric": one.metric,
            "reward_kind": one.reward_kind,
            "raw": given,
            "reward": rewards.reward,
            "reward_full": rewards.full,
            "reward_without": rewards.without,
            "numeric": numeric(one.metric, given),
            "ranker_rewards": None if rewards.rankers is None else dict(rewards.rankers),
            "helpful": list(_verdicts(one.helpful, binding, "helpful")),
            "harmful": list(_verdicts(one.harmful, binding, "harmful")),
            "authored": sorted(self._authored(binding)),
            "muted": [],
            "answers": cleaned_json(one.answers, "answers", ANSWERS_BYTES),
            "stances": cleaned_json(one.stances, "stances", ANSWERS_BYTES),
            "lesson": None if one.lesson is None else one.lesson.stored(),
            "status": "accepted",
            "evidence": Evidence.NONE,
            "reason": None,
            "partner_id": None,
            "applied_at": None,
            "bank_version": None,
            "withdrawn_version": None,
            "known_at": self._call.namespace.known_at(one.known_at, self._call.now),
            "recorded_at": self._call.now,
            "key_id": self._call.key.id,
        }

    def _evidence(self, binding: ReceiptContext, row: Row) -> Row:
        """What it will be evidence of, as things stand now; the applier rules again."""
        known_at = row["known_at"]
        assert isinstance(known_at, datetime)
        told = Told(
            metric=str(row["metric"]),
            reward_kind=str(row["reward_kind"]),
            known_at=known_at,
            without=row["reward_without"] is not None,
            has_partner=row["partner_id"] is not None,
        )
        evidence, reason = rule(self._call.namespace, binding, told)
        return {"evidence": evidence, "reason": reason}

    def _authored(self, binding: ReceiptContext) -> frozenset[UUID]:
        served = [
            Authorship(memory, binding.authors[memory], memory in binding.shared)
            for memory in binding.cited
        ]
        return author_of(self._reporters.speaks_for, served, agents=self._reporters.agents)


def _rivals(binding: ReceiptContext) -> tuple[str, ...] | None:
    return all_rankers(binding.rankers) if binding.all_rankers else None


def utc_day(moment: datetime) -> tuple[datetime, datetime]:
    """The UTC day of a moment: its first instant, and the next day's."""
    start = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start, start + timedelta(days=1)


def _verdicts(ids: Sequence[UUID], binding: ReceiptContext, name: str) -> Sequence[UUID]:
    unknown = [memory_id for memory_id in ids if memory_id not in binding.cited]
    if unknown:
        raise Rejected(f"{unknown[0]} was not served by this retrieval", field=name)
    return ids

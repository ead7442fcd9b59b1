"""Where reports are taken: what is known of their receipts, what came before, what becomes of it.

One outcome of a retrieval is in effect: the best verified, the first at equal rank. What disagrees
with it is stored and moves nothing. A better one takes its place, a correction by the same hand
does, and so does the same word with the run without memory added; what the old one had moved is
taken back by the applier.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.domain.access import Call, Role
from memory.domain.ids import new_id
from memory.domain.loop import Outcome, Report, Reported
from memory.domain.text import ANSWERS_BYTES, cleaned_json
from memory.errors import Conflict, Forbidden, NotFound, Rejected
from memory.flows.pairing import IN_EFFECT, Pairing
from memory.flows.reckoning import Rewards, digest, numeric, raw, reckoned
from memory.flows.ruling import Told, rule
from memory.learning.evidence import (
    Authorship,
    author_of,
    verifier_rank,
)
from memory.learning.states import Evidence
from memory.storage.halves import HalfStore
from memory.storage.outcomes import OutcomeStore, StoredOutcome
from memory.storage.receipts import Binding

HOLDING = ("half_missing", "observational", "half_of_pair")
"""Reasons of outcomes that move nothing by themselves and still hold the place of their run."""

Row = dict[str, object]


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


@dataclass(frozen=True, slots=True)
class _Standing:
    """What a new report is beside those that came before: in effect, in whose place, or why not."""

    replaces: Outcome | None = None
    refusal: str | None = None


class Desk:
    """Takes the reports of one call, in their order."""

    def __init__(
        self,
        call: Call,
        bindings: Mapping[UUID, Binding],
        known: Mapping[UUID, list[StoredOutcome]],
        who: tuple[Reporters, Said],
    ) -> None:
        self._call = call
        self._bindings = bindings
        self._known = {retrieval_id: list(found) for retrieval_id, found in known.items()}
        self._reporters, self._said = who

    async def take(
        self, stores: Stores, retrieval_id: UUID, one: Report, position: int
    ) -> Reported:
        """Store the outcome, or find that it is stored."""
        binding = self._bindings.get(retrieval_id)
        if binding is None:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        self._require_right(binding)
        rewards = reckoned(one, rivals=binding.rivals)
        known_at = self._call.namespace.known_at(one.known_at, self._call.now)
        said = digest(one)
        replay = self._replayed(retrieval_id, said)
        if replay is not None:
            return Reported(replay.outcome, replayed=True)
        standing = self._standing(binding, one, rewards)
        row = self._row(binding, one, rewards, known_at)
        row |= {"sha256": said, "position": position, "supersedes": one.supersedes}
        other = await self._file(stores, binding, row, standing)
        # Later reports of the same call may be about the run whose pair is whole by this one.
        touched = [retrieval_id] if other is None else [retrieval_id, other]
        self._known |= await stores.outcomes.of_retrievals(touched)
        stored = next(o for o in self._known[retrieval_id] if o.outcome.id == row["id"])
        return Reported(stored.outcome, replayed=False)

    async def _file(
        self, stores: Stores, binding: Binding, row: Row, standing: _Standing
    ) -> UUID | None:
        """Write it down, in effect or beside what is; a pair may become whole by it, and then the
        outcome of another retrieval is another.
        """
        if standing.refusal is not None:
            done = {"status": "ignored", "evidence": "none", "reason": standing.refusal}
            await stores.outcomes.add([row | done | {"applied_at": self._call.now}])
            return None
        if standing.replaces is not None:
            row |= {"supersedes": standing.replaces.id}
            await stores.outcomes.supersede([standing.replaces.id], "superseded", self._call.now)
        pairing = Pairing(stores.outcomes, stores.halves, self._call)
        row = await pairing.completed(binding, row)
        row |= {"muted": self._said.muted(binding.cited)}
        row |= self._evidence(binding, row)
        await stores.outcomes.add([row])
        return await pairing.close(binding, row, standing.replaces)

    def _require_right(self, binding: Binding) -> None:
        key = self._call.key
        if key.role is Role.AGENT and binding.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")

    def _replayed(self, retrieval_id: UUID, said: bytes) -> StoredOutcome | None:
        known = self._known.get(retrieval_id, [])
        return next(
            (s for s in known if s.sha256 == said and s.outcome.reason != "rolled_back"), None
        )

    def _standing(self, binding: Binding, one: Report, rewards: Rewards) -> _Standing:
        known = self._known.get(binding.retrieval_id, [])
        named = next((s for s in known if s.outcome.id == one.supersedes), None)
        if one.supersedes is not None and named is None:
            raise NotFound("no such outcome", code="outcome_not_found", field="supersedes")
        current = next((s for s in known if _holds(s.outcome)), None)
        if current is None:
            return _Standing()
        if named is not None and named is not current:
            raise Conflict("that outcome is out of effect", code="stale", field="supersedes")
        return _beside(current, one, rewards, corrects=self._corrects(current, one))

    def _corrects(self, current: StoredOutcome, one: Report) -> bool:
        """Whether the same hand takes its own word back, by name."""
        same = (current.key_id, current.outcome.evaluator) == (self._call.key.id, one.evaluator)
        return one.supersedes is not None and same

    def _row(self, binding: Binding, one: Report, rewards: Rewards, known_at: datetime) -> Row:
        given = raw(one)
        return {
            "id": new_id(),
            "retrieval_id": binding.retrieval_id,
            "evaluator": one.evaluator,
            "verifier": one.verifier,
            "metric": one.metric,
            "reward_kind": one.reward_kind,
            "raw": given,
            "reward": rewards.reward,
            "reward_full": rewards.full,
            "reward_without": rewards.without,
            "numeric": numeric(one.metric, given),
            "ranker_rewards": None if rewards.rankers is None else list(rewards.rankers),
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
            "known_at": known_at,
            "recorded_at": self._call.now,
            "key_id": self._call.key.id,
        }

    def _evidence(self, binding: Binding, row: Row) -> Row:
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

    def _authored(self, binding: Binding) -> frozenset[UUID]:
        served = [
            Authorship(memory, binding.authors[memory], memory in binding.shared)
            for memory in binding.cited
        ]
        return author_of(self._reporters.speaks_for, served, agents=self._reporters.agents)


def _holds(outcome: Outcome) -> bool:
    """Whether the outcome is the one of its run that counts, as far as any does."""
    if outcome.status in IN_EFFECT:
        return True
    return outcome.status == "ignored" and outcome.reason in HOLDING


def _beside(current: StoredOutcome, one: Report, rewards: Rewards, *, corrects: bool) -> _Standing:
    """What a report is beside the one in effect."""
    known = current.outcome
    rank = verifier_rank(one.verifier) - verifier_rank(known.verifier)
    if rank > 0 or (rank == 0 and corrects) or _completes(known, one, rewards):
        return _Standing(replaces=known)
    return _Standing(refusal="outranked" if rank < 0 else "disagrees")


def _completes(known: Outcome, one: Report, rewards: Rewards) -> bool:
    """Whether it says the same and adds the run without memory."""
    same = (known.verifier, known.evaluator, known.reward, known.reward_full) == (
        one.verifier,
        one.evaluator,
        rewards.reward,
        rewards.full,
    )
    return same and known.reward_without is None and rewards.without is not None


def utc_day(moment: datetime) -> tuple[datetime, datetime]:
    """The UTC day of a moment: its first instant, and the next day's."""
    start = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start, start + timedelta(days=1)


def _verdicts(ids: Sequence[UUID], binding: Binding, name: str) -> Sequence[UUID]:
    unknown = [memory_id for memory_id in ids if memory_id not in binding.cited]
    if unknown:
        raise Rejected(f"{unknown[0]} was not served by this retrieval", field=name)
    return ids

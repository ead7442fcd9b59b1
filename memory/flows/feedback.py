"""An outcome comes back: report → reward → evidence → stored, to be applied in its order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import cast
from uuid import UUID

from memory.domain.access import Act, Call, Role
from memory.domain.ids import new_id
from memory.domain.loop import Outcome, OutcomeFilter, Report, Reported
from memory.domain.namespace import Learning
from memory.domain.task import Listed, Page
from memory.domain.text import ANSWERS_BYTES, cleaned_json
from memory.engine import Engine
from memory.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.learning.evidence import (
    Authorship,
    Circumstances,
    author_of,
    classify,
    verifier_rank,
)
from memory.learning.rewards import METRICS, reward_of
from memory.storage.actors import ActorStore
from memory.storage.database import Connection
from memory.storage.outcomes import OutcomeStore, StoredOutcome
from memory.storage.paging import listed
from memory.storage.receipts import Binding, ReceiptStore

REWARD_KINDS = ("continuous", "binary")
STATES = ("accepted", "applied", "ignored", "superseded")
MAX_VERDICTS = 64

Answer = Reported | MemoryFault


@dataclass(frozen=True, slots=True)
class _Rewards:
    """A report's numbers: as acted, without memory, and had memory been followed wholly."""

    reward: float
    without: float | None
    full: float


async def report(
    engine: Engine, call: Call, reports: Sequence[tuple[UUID, Report]]
) -> list[Answer]:
    """Accept each outcome once; the answers are in the reports' order."""
    call.key.require(Act.REPORT)
    answers: list[Answer] = []
    async with engine.database.transaction(call.namespace.id) as connection:
        ids = [retrieval_id for retrieval_id, _ in reports]
        outcomes = OutcomeStore(connection, call.namespace.id)
        await outcomes.lock_retrievals(ids)
        desk = _Desk(
            call=call,
            bindings=await ReceiptStore(connection, call.namespace.id).bindings(ids),
            known=await outcomes.of_retrievals(ids),
            agents=await _agents(connection, call),
        )
        for position, (retrieval_id, one) in enumerate(reports):
            try:
                answers.append(await desk.take(outcomes, retrieval_id, one, position))
            except MemoryFault as fault:
                answers.append(fault)
    engine.arrived.set()
    return answers


async def get_outcome(engine: Engine, call: Call, outcome_id: UUID) -> Outcome:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await OutcomeStore(connection, call.namespace.id).get(outcome_id)


async def list_outcomes(
    engine: Engine, call: Call, wanted: OutcomeFilter, page: Page
) -> Listed[Outcome]:
    """Oldest first."""
    if wanted.state is not None and wanted.state not in STATES:
        raise Rejected(f"state must be one of {STATES}", field="state", limit=list(STATES))
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OutcomeStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
    return listed(found, page, total, lambda outcome: (str(outcome.id),))


async def _agents(connection: Connection, call: Call) -> tuple[int, frozenset[UUID]]:
    """How many agents there are, and for which of them the reporting key speaks.

    An evaluator is never an author; an unbound key speaks for no agent in particular.
    """
    store = ActorStore(connection, call.namespace.id)
    if call.key.role is Role.EVALUATOR or call.key.agents is None:
        return await store.count_agents(), frozenset()
    found = [await store.find_agent(name) for name in call.key.agents]
    return await store.count_agents(), frozenset(a.id for a in found if a is not None)


class _Desk:
    """Where reports are taken: what is known of their receipts, and what has come before."""

    def __init__(
        self,
        call: Call,
        bindings: Mapping[UUID, Binding],
        known: Mapping[UUID, list[StoredOutcome]],
        agents: tuple[int, frozenset[UUID]],
    ) -> None:
        self._call = call
        self._bindings = bindings
        self._known = {retrieval_id: list(found) for retrieval_id, found in known.items()}
        self._agents, self._reporters = agents

    async def take(
        self, store: OutcomeStore, retrieval_id: UUID, one: Report, position: int
    ) -> Reported:
        """Store the outcome, or find that it is stored."""
        binding = self._bindings.get(retrieval_id)
        if binding is None:
            raise NotFound("no such retrieval", code="retrieval_not_found", field="retrieval_id")
        self._require_right(binding)
        rewards = _rewards(one)
        known_at = self._call.namespace.known_at(one.known_at, self._call.now)
        digest = _digest(one)
        replay = self._replayed(retrieval_id, digest)
        if replay is not None:
            return Reported(replay.outcome, replayed=True)
        self._require_known(retrieval_id, one.supersedes)
        await self._give_way(store, retrieval_id, one)
        row = self._row(binding, one, rewards, known_at)
        row |= {"sha256": digest, "position": position}
        await store.add([row])
        found = await store.of_retrievals([retrieval_id])
        self._known[retrieval_id] = found[retrieval_id]
        return Reported(found[retrieval_id][-1].outcome, replayed=False)

    def _require_right(self, binding: Binding) -> None:
        key = self._call.key
        if key.role is Role.AGENT and binding.key_id != key.id:
            raise Forbidden("another key opened this receipt", field="retrieval_id")

    def _require_known(self, retrieval_id: UUID, supersedes: UUID | None) -> None:
        known = {stored.outcome.id for stored in self._known.get(retrieval_id, [])}
        if supersedes is not None and supersedes not in known:
            raise NotFound("no such outcome", code="outcome_not_found", field="supersedes")

    def _replayed(self, retrieval_id: UUID, digest: bytes) -> StoredOutcome | None:
        known = self._known.get(retrieval_id, [])
        return next((stored for stored in known if stored.sha256 == digest), None)

    async def _give_way(self, store: OutcomeStore, retrieval_id: UUID, one: Report) -> None:
        """A better verified outcome supersedes what waits; anything else finds the place taken."""
        for stored in self._known.get(retrieval_id, []):
            if stored.outcome.status in ("accepted", "applied"):
                _require_better(stored.outcome, one)
                if not await store.supersede(stored.outcome.id, self._call.now):
                    raise _applied()

    def _row(
        self, binding: Binding, one: Report, rewards: _Rewards, known_at: datetime
    ) -> dict[str, object]:
        evidence, reason = classify(
            Circumstances(
                arm=binding.arm,
                purpose=binding.purpose,
                without=rewards.without is not None,
                current=binding.current,
                expired=known_at > binding.expires_at,
                other_metric=other_metric(binding, one.metric, one.reward_kind),
                frozen=self._call.namespace.learning is Learning.FROZEN,
            )
        )
        return {
            "id": new_id(),
            "retrieval_id": binding.retrieval_id,
            "evaluator": one.evaluator,
            "verifier": one.verifier,
            "metric": one.metric,
            "reward_kind": one.reward_kind,
            "raw": _raw(one),
            "reward": rewards.reward,
            "reward_full": rewards.full,
            "reward_without": rewards.without,
            "helpful": list(_verdicts(one.helpful, binding, "helpful")),
            "harmful": list(_verdicts(one.harmful, binding, "harmful")),
            "authored": sorted(self._authored(binding)),
            "answers": cleaned_json(one.answers, "answers", ANSWERS_BYTES),
            "stances": cleaned_json(one.stances, "stances", ANSWERS_BYTES),
            "evidence": evidence,
            "status": "accepted",
            "reason": reason,
            "supersedes": one.supersedes,
            "lesson": None if one.lesson is None else one.lesson.stored(),
            "known_at": known_at,
            "recorded_at": self._call.now,
            "key_id": self._call.key.id,
        }

    def _authored(self, binding: Binding) -> frozenset[UUID]:
        served = [
            Authorship(memory, binding.authors[memory], memory in binding.shared)
            for memory in binding.cited
        ]
        return author_of(self._reporters, served, agents=self._agents)


def other_metric(binding: Binding, metric: str, reward_kind: str) -> bool:
    """Whether the category's first outcome fixed another metric or reward kind."""
    return binding.metric is not None and (binding.metric, binding.reward_kind) != (
        metric,
        reward_kind,
    )


def _require_better(known: Outcome, one: Report) -> None:
    if verifier_rank(one.verifier) <= verifier_rank(known.verifier):
        raise Conflict(
            f"the retrieval has an outcome, verified by {known.verifier}",
            code="outcome_conflict",
            field="retrieval_id",
        )
    if known.status == "applied":
        raise _applied()


def _applied() -> Conflict:
    return Conflict(
        "the retrieval's outcome has been applied; corrections are not taken yet",
        code="outcome_applied",
        field="retrieval_id",
    )


def _rewards(one: Report) -> _Rewards:
    """Every number of the report as a reward in [0, 1]. Raises Rejected naming the field."""
    if one.metric not in METRICS:
        raise Rejected(f"metric must be one of {METRICS}", field="metric", limit=list(METRICS))
    if one.reward_kind not in REWARD_KINDS:
        raise Rejected("reward_kind is continuous or binary", field="reward_kind")
    verifier_rank(one.verifier)
    acted = one.reward if one.metric == "reward" else one.value
    reward = reward_of(one.metric, acted, one.truth)
    if one.reward_kind == "binary" and reward not in (0.0, 1.0):
        raise Rejected("a binary reward is 0 or 1", field="reward", limit=[0, 1])
    full = _half(one, one.full, "full")
    return _Rewards(reward, _half(one, one.without, "without"), reward if full is None else full)


def _half(one: Report, half: Mapping[str, object] | None, field: str) -> float | None:
    if half is None:
        return None
    name = "reward" if one.metric == "reward" else "value"
    if set(half) != {name}:
        raise Rejected(f"{field} holds {name} and nothing else", field=field, limit=name)
    try:
        return reward_of(one.metric, half[name], one.truth)
    except Rejected as fault:
        path = f"{field}.{fault.field}"
        raise Rejected(f"{field}: {fault.detail}", field=path, limit=fault.limit) from fault


def _verdicts(ids: Sequence[UUID], binding: Binding, field: str) -> Sequence[UUID]:
    unknown = [memory_id for memory_id in ids if memory_id not in binding.cited]
    if unknown:
        raise Rejected(f"{unknown[0]} was not served by this retrieval", field=field)
    return ids


def _raw(one: Report) -> dict[str, object]:
    """The numbers as they came, for whoever recomputes."""
    parts = {"reward": one.reward, "value": one.value, "truth": one.truth, "without": one.without}
    given = {name: part for name, part in {**parts, "full": one.full}.items() if part is not None}
    return cleaned_json(cast("Mapping[str, object]", given), "value", ANSWERS_BYTES)


def _digest(one: Report) -> bytes:
    """Two reports with the same digest say the same."""
    # Without a lesson the digest is what it was before reports could bring one.
    named = (name for name in Report.__slots__ if name != "lesson" or one.lesson is not None)
    fields = {name: getattr(one, name) for name in named}
    return sha256(json.dumps(fields, sort_keys=True, default=str).encode()).digest()

"""Candidates of reflection find their place: merged with what says the same, or admitted within the
cap of their category.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import numpy as np

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.guidelines.entities import Directives
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection, undone
from memory.kernel.postgres.leadership import WorkStore
from memory.memories.service import Entrance, retire
from memory.memories.store.memories import MemoryStore, NewMemory, Stamp
from memory.meta_guidelines.entities import PER_CATEGORY, REFLECTION
from memory.meta_guidelines.reflection import (
    REFLECT,
    START_WEIGHT,
    ReflectedCandidate,
    ReflectionPlan,
)
from memory.meta_guidelines.service import MetaGuidelinePlace, make_memory, store_memories
from memory.meta_guidelines.store import HeldMetaGuideline, MetaGuidelineStore
from memory.receipts.material import is_erased
from memory.tasks.entities import REFLECTOR, CategoryIds
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Namespace

ALIKE = 0.9
"""Instructions this alike, with the same directives, are one."""


@dataclass(frozen=True, slots=True)
class ReflectionResult:
    """What a run did or would do. The record of a run holds no text: that can be erased."""

    plan: ReflectionPlan
    changes: Sequence[Mapping[str, object]]

    def result(self) -> dict[str, object]:
        examined, until = self.plan.examined, self.plan.until
        return {"examined": examined, "until": until, "changes": [*self.changes]}


async def write_plan(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,
    plan: ReflectionPlan,
) -> ReflectionResult:
    """Merge and admit what was planned, unless a run that came between did. A dry run does the
    same, and takes it back.
    """
    last = await WorkStore(connection).last_result(REFLECT, namespace.id)
    done = 0 if last is None else int(str(last["until"]))
    left = [one for one in plan.candidates if one.failure.bank_version > done]
    plan = replace(plan, candidates=tuple(left), until=max(plan.until, done))
    admitter = _CandidateAdmitter(connection, namespace, times, plan)
    if not dry:
        return ReflectionResult(plan, await admitter.admit_all())
    async with undone(connection):
        changes = await admitter.admit_all()
        return ReflectionResult(plan, [{**change, "memory_id": None} for change in changes])


@dataclass(slots=True)
class _CandidateAdmitter:
    """Where candidates are taken: merged with what says the same, or given a place."""

    connection: Connection
    namespace: Namespace
    times: tuple[datetime, datetime]
    plan: ReflectionPlan
    fresh: list[NewMemory] = field(default_factory=list[NewMemory])
    evidence: list[UUID] = field(default_factory=list[UUID])
    displaced: list[UUID] = field(default_factory=list[UUID])

    async def admit_all(self) -> list[Mapping[str, object]]:
        """What becomes of each candidate, in order; then all of it is written at once."""
        changes: list[Mapping[str, object]] = []
        for candidate in self.plan.candidates:
            memory_id, change = await self._admit(candidate)
            changes.append(_describe_change(candidate, memory_id, change))
        changes += [{"memory_id": str(i), "change": "retired: displaced"} for i in self.displaced]
        await self._write()
        return changes

    async def _admit(self, candidate: ReflectedCandidate) -> tuple[UUID | None, str]:
        category_id = candidate.failure.category_ids.category
        if await is_erased(self.connection, self.namespace.id, candidate.sources):
            return None, "skipped: what it was made of was erased"
        if policy_named(self.namespace.policy).literal:
            new = await self._make_memory(candidate)
            self.fresh.append(new)
            return new.id, "created"
        held = await MetaGuidelineStore(self.connection, self.namespace.id).list_held(
            category_id, self.plan.model_id, candidate.vectors["lesson"]
        )
        held = [one for one in held if one.id not in self.displaced]
        twin = _find_twin(candidate, held, self.fresh)
        if twin is not None:
            self.evidence.append(twin)
            return twin, "merged"
        fresh = [new for new in self.fresh if new.category_ids.category == category_id]
        if len(held) + len(fresh) >= PER_CATEGORY and not await self._displace(held):
            return None, "skipped: the category is full of stronger ones"
        new = await self._make_memory(candidate)
        self.fresh.append(new)
        return new.id, "created"

    async def _displace(self, held: Sequence[HeldMetaGuideline]) -> bool:
        """Make room by the weakest, where it is weaker than a candidate."""
        states = await StateStore(self.connection, self.namespace.id).load([one.id for one in held])
        policy, now = policy_named(self.namespace.policy), self.times[0]
        weighed = sorted(
            (policy.effective_weight(policy.age_memory(states.memories[one.id], now), None), one.id)
            for one in held
            if not one.pinned
        )
        if not weighed or weighed[0][0] >= START_WEIGHT:
            return False
        self.displaced.append(weighed[0][1])
        return True

    async def _make_memory(self, candidate: ReflectedCandidate) -> NewMemory:
        failure, now = candidate.failure, self.times[1]
        actors = ActorStore(self.connection, self.namespace.id)
        agent = await actors.ensure_agent(REFLECTOR, None, now)
        category_ids = CategoryIds(failure.category_ids.category)
        place = MetaGuidelinePlace(agent.id, category_ids, self.times[0])
        made = make_memory(candidate.draft, REFLECTION, place, candidate.vectors)
        # Erasing the task takes what was written of it along.
        detail = {**made.detail, "outcome_id": str(failure.outcome_id)}
        return replace(made, task_id=failure.task_id, detail=detail)

    async def _write(self) -> None:
        now = self.times[1]
        store = MemoryStore(self.connection, self.namespace.id)
        if self.fresh:
            entrance = Entrance(self.namespace, None, now, self.plan.model_id)
            version = await store_memories(self.connection, entrance, self.fresh)
            reasons = dict.fromkeys(self.displaced, "displaced")
            stamp = Stamp(None, now, version)
            await retire(self.connection, self.namespace.id, reasons, stamp)
        await store.add_evidence(self.evidence)


def _find_twin(
    candidate: ReflectedCandidate, held: Sequence[HeldMetaGuideline], fresh: Sequence[NewMemory]
) -> UUID | None:
    """What gives the same instruction with the same directives: living, or made in this run."""
    directives = candidate.draft.directives
    for one in held:
        if one.likeness >= ALIKE and Directives.read(one.detail) == directives:
            return one.id
    for new in fresh:
        same = Directives.read(new.detail) == directives
        here = new.category_ids.category == candidate.failure.category_ids.category
        if same and here and _likeness(new.vectors, candidate.vectors) >= ALIKE:
            return new.id
    return None


def _likeness(one: Mapping[str, Embedding], other: Mapping[str, Embedding]) -> float:
    return float(np.dot(one["lesson"].vector, other["lesson"].vector))


def _describe_change(
    candidate: ReflectedCandidate, memory_id: UUID | None, change: str
) -> dict[str, object]:
    return {
        "memory_id": None if memory_id is None else str(memory_id),
        "change": change,
        "outcome_id": str(candidate.failure.outcome_id),
        "category": candidate.failure.category,
        "directives": candidate.draft.directives.stored(),
    }

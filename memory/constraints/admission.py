"""Constraints enter the bank: wording → vectors → merged with what says the same, or new.

What fails its lint is kept as rejected. What is not proven (`memory.constraints.proof`) waits as
proposed, and becomes active when the support that proves it is merged into it. Support goes to the
words it was given for: what counts is not merged into a text that nothing counts for, nor into one
that is an agent's own, and what does not count moves nothing. Who admits holds the bank's version,
so the same constraint admitted twice at one moment is one memory with two pieces of support.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from memory.constraints.contradictions import (
    IN_USE,
    ChangeContext,
    Contender,
    detect_contradictions,
    make_wait,
    nearness,
    reasons_to_wait,
    settle,
)
from memory.constraints.contrast_entities import Contrast, PairClass
from memory.constraints.entities import Origin, Wording, detail_of, wording_of
from memory.constraints.merging import same
from memory.constraints.proof import NO_SUPPORT, ONE_TASK
from memory.constraints.store.constraints import ConstraintStore, Peer, PeerQuery
from memory.constraints.store.support import SupportStore
from memory.constraints.trajectory_entities import VERIFIERS, Trajectory
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.kernel.likeness import TWIN
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.entities import ExperienceDraft, Kind, Status, Trust, Visibility
from memory.memories.service import Entrance, begin
from memory.memories.store.memories import MemoryStore, NewMemory
from memory.tasks.entities import CategoryIds
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

BOTH_WRONG = "both_wrong"


BOTH_RIGHT = 0.5
"""Where a constraint starts that two right runs gave: it says how to be quick, not how to be right
(the source's weight of a contrast of efficiency).
"""


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """What became of a new constraint: created, merged, proposed or rejected; and why."""

    memory_id: UUID
    outcome: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NewConstraint:
    """A constraint with where it comes from: the contrast and its two runs, or its author's word.

    `lint` names what its wording fails. `counts`: whether this is support by others' word than the
    author's. Two wrong runs say only what to avoid, and never count. `binds_author`: its author
    may use their own word. `detail` is kept beside the wording. `vectors` are those of its texts,
    by field, and `task_vector` its task's where that has none yet.
    """

    wording: Wording
    category_ids: CategoryIds
    task_id: UUID
    lint: tuple[str, ...]
    contrast: Contrast | None
    pair: tuple[Trajectory, Trajectory] | None
    origin: Origin
    agent: str
    counts: bool
    learned_at: datetime
    weight: float = 1.0
    trust: Trust = Trust.UNVERIFIED
    visibility: Visibility = Visibility.NAMESPACE
    binds_author: bool = True
    key_id: UUID | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    detail: Mapping[str, object] = field(default_factory=dict[str, object])
    vectors: Mapping[str, Embedding] = field(default_factory=dict[str, Embedding])
    task_vector: Embedding | None = None

    def __post_init__(self) -> None:
        pair_class = self.contrast.pair_class if self.contrast else None
        if pair_class is PairClass.BOTH_RIGHT:
            object.__setattr__(self, "weight", BOTH_RIGHT)
        if pair_class is PairClass.BOTH_WRONG:
            object.__setattr__(self, "trust", Trust.QUARANTINED)
            object.__setattr__(self, "counts", False)
            self._only_avoid()

    @property
    def is_word(self) -> bool:
        """Whether who manages the bank vouches for it."""
        return self.contrast is None and self.counts

    def _only_avoid(self) -> None:
        if self.wording.avoid is None:
            faults = dict.fromkeys((*self.lint, "enforces_what_failed"))
            object.__setattr__(self, "lint", tuple(faults))
        else:
            avoiding = Wording(self.wording.trigger, None, self.wording.avoid)
            object.__setattr__(self, "wording", avoiding)


async def embed_constraints(
    engine: Engine, namespace: Namespace, constraints: Sequence[NewConstraint]
) -> list[NewConstraint]:
    """The constraints with vectors of texts and source tasks; made while no transaction is open."""
    if not constraints:
        return []
    model_id = require_model(engine, namespace)
    async with engine.database.transaction(namespace.id) as connection:
        wanted = sorted({new.task_id for new in constraints})
        store = ConstraintStore(connection, namespace.id)
        tasks = await store.tasks_without_vector(wanted, model_id)
    words = [text for new in constraints for text in texts_of(new).values()]
    texts = list(dict.fromkeys([*tasks.values(), *words]))
    known = dict(zip(texts, await engine.embedder.embed(texts), strict=True))
    return [
        replace(
            new,
            vectors={name: known[text] for name, text in texts_of(new).items()},
            task_vector=known[tasks[new.task_id]] if new.task_id in tasks else None,
        )
        for new in constraints
    ]


async def admit_constraints(
    connection: Connection,
    namespace: Namespace,
    constraints: Sequence[NewConstraint],
    *,
    model_id: UUID,
    now: datetime,
) -> list[AdmissionResult]:
    """Each in its turn; `model_id` made their vectors."""
    if not constraints:
        return []
    # Held to the end of the transaction: what others admit is here before, or comes after.
    await NamespaceStore(connection).bump(namespace, steps=0)
    tasks = {new.task_id: new.task_vector for new in constraints if new.task_vector is not None}
    await ConstraintStore(connection, namespace.id).add_task_vectors(tasks, model_id)
    results: list[AdmissionResult] = []
    for new in constraints:
        context = ChangeContext(connection, namespace, new.key_id, now)
        results.append(await ConstraintAdmission(context, model_id).admit(new))
    return results


async def add_support(
    context: ChangeContext, model_id: UUID, memory_id: UUID, constraints: Sequence[NewConstraint]
) -> None:
    """More support for the constraint that all of these are, at once; what it has is left out. What
    follows of it for its status is the caller's to settle.
    """
    if not constraints:
        return
    connection, namespace_id = context.connection, context.namespace.id
    tasks = {new.task_id: new.task_vector for new in constraints if new.task_vector is not None}
    await ConstraintStore(connection, namespace_id).add_task_vectors(tasks, model_id)
    author = await ActorStore(connection, namespace_id).ensure_agent(
        constraints[0].agent, context.key_id, context.now
    )
    about = {"memory_id": memory_id, "recorded_at": context.now}
    rows = [_support_row(new, author.id) | about for new in constraints]
    added = await SupportStore(connection, namespace_id).add_contrasts(rows)
    if added:
        memories = MemoryStore(connection, namespace_id)
        await memories.add_evidence([memory_id] * sum(added))
        await memories.feed(await context.stamp(), "supported", [memory_id])


@dataclass(frozen=True, slots=True)
class ConstraintAdmission:
    """One constraint's way in."""

    context: ChangeContext
    model_id: UUID

    @property
    def _store(self) -> ConstraintStore:
        return ConstraintStore(self.context.connection, self.context.namespace.id)

    @property
    def _memories(self) -> MemoryStore:
        return MemoryStore(self.context.connection, self.context.namespace.id)

    @property
    def _support(self) -> SupportStore:
        return SupportStore(self.context.connection, self.context.namespace.id)

    async def admit(self, new: NewConstraint) -> AdmissionResult:
        actors = ActorStore(self.context.connection, self.context.namespace.id)
        agent_id = (await actors.ensure_agent(new.agent, new.key_id, self.context.now)).id
        row = _to_memory(new, agent_id)
        if new.lint:
            return await self._reject(new, row)
        peers = await self._store.near(self._peer_query(row), new.vectors)
        # What was tested in these words is one with nothing else.
        alike = _is_same if not new.detail else _has_words_of
        twins = [peer for peer in peers if alike(new.wording, peer)]
        counts = await self._support.counts([peer.id for peer in twins])
        for twin in twins:
            if _joins(new, twin, tasks=counts[twin.id].tasks if twin.id in counts else 0):
                return await self._merge(new, row, twin)
        return await self._create(new, row, peers)

    def _peer_query(self, row: NewMemory) -> PeerQuery:
        """Whose constraints it may be one with: where it is its author's alone, the author's and
        the shared ones; else anyone's.
        """
        private = row.draft.visibility is Visibility.AGENT
        owner = row.owner if private else None
        return PeerQuery(row.category_ids, owner, self.model_id, TWIN, row.draft.digest)

    async def _reject(self, new: NewConstraint, row: NewMemory) -> AdmissionResult:
        reason = f"lint: {', '.join(new.lint)}"
        known = await self._store.find_rejected(
            row.owner, row.category_ids.category, row.draft.digest
        )
        if known is None:
            await self._add(replace(row, status=Status.REJECTED, status_reason=reason))
        is_new = await self._add_support(new, row, known or row.id)
        if known is not None and is_new:
            await self._memories.add_evidence([known])
        return AdmissionResult(known or row.id, "rejected", reason)

    async def _create(
        self, new: NewConstraint, row: NewMemory, peers: Sequence[Peer]
    ) -> AdmissionResult:
        waits = _reason_to_wait(new)
        status = Status.PROPOSED if waits else Status.ACTIVE
        if not await self._add(replace(row, status=status, status_reason=waits)):
            # The same text with other parts: a text lives once in a category.
            known = (await self._memories.twins([row]))[row.twin_key].id
            if await self._count_support(new, row, known) and new.counts:
                await settle(self.context, [known])
            return AdmissionResult(known, "merged")
        await self._add_support(new, row, row.id)
        if row.draft.visibility is Visibility.NAMESPACE and row.trust is not Trust.QUARANTINED:
            await self._find_contradictions(
                Contender(row.id, row.category_ids.category, new.wording), peers
            )
        return AdmissionResult(row.id, "proposed" if waits else "created", waits)

    async def _add(self, row: NewMemory) -> bool:
        """The memory's rows with the event that begins its history; False where the text is known
        in the category.
        """
        living = row.status is not Status.REJECTED
        if living and row.twin_key in await self._memories.twins([row]):
            return False
        stamp = await self.context.stamp(memories=int(living))
        await self._memories.add([row], stamp)
        entrance = Entrance(
            self.context.namespace, self.context.key_id, self.context.now, self.model_id
        )
        await begin(self.context.connection, entrance, [row], stamp.bank_version)
        return True

    async def _add_support(self, new: NewConstraint, row: NewMemory, memory_id: UUID) -> bool:
        values = _support_row(new, row.agent_id) | {
            "memory_id": memory_id,
            "recorded_at": self.context.now,
        }
        return await self._support.add(values)

    async def _count_support(self, new: NewConstraint, row: NewMemory, memory_id: UUID) -> bool:
        """Its support, and a piece of evidence where it counts; False where that was known."""
        if not await self._add_support(new, row, memory_id):
            return False
        if new.counts:
            await self._memories.add_evidence([memory_id])
        await self._memories.feed(await self.context.stamp(), "supported", [memory_id])
        return True

    async def _merge(self, new: NewConstraint, row: NewMemory, twin: Peer) -> AdmissionResult:
        if new.is_word and not _has_words_of(new.wording, twin):
            # In use as it is worded there; who manages has not seen those words.
            new = replace(new, counts=False)
        if not await self._count_support(new, row, twin.id):
            return AdmissionResult(twin.id, "merged", "known")
        if new.counts:
            await self._weigh(new, twin)
        return AdmissionResult(twin.id, "merged")

    async def _weigh(self, new: NewConstraint, twin: Peer) -> None:
        """It has more support: bring it into use where it is proven, else say what it lacks."""
        reason = (await reasons_to_wait(self.context, [twin.id]))[twin.id]
        if reason is None:
            await self._promote(new, twin)
        elif twin.status == Status.PROPOSED and reason != twin.status_reason:
            await make_wait(self.context, twin.id, Status.PROPOSED, reason)

    async def _promote(self, new: NewConstraint, twin: Peer) -> None:
        """Proof ends a quarantine and brings into use what waited for it; a manager's word opens
        to all what was its author's alone.
        """
        trust = _raised_trust(Trust(twin.trust), new.trust)
        if not twin.shared or trust is not None:
            await self.open_up(twin.id, trust)
        if twin.status == Status.PROPOSED:
            step = (Status.PROPOSED, Status.ACTIVE)
            await self._memories.set_status(twin.id, step, None, await self.context.stamp())
        wording = wording_of(twin.detail)
        if wording is not None:
            place = CategoryIds(new.category_ids.category, twin.subcategory_id)
            await self.compare(twin.id, place, wording)

    async def open_up(self, memory_id: UUID, trust: Trust | None = None) -> CategoryIds | None:
        """Every agent may see it from now on: where it is; None where another says the same."""
        stamp = await self.context.stamp()
        place = await self._store.open_up(memory_id, trust, stamp)
        await self._memories.feed(stamp, "opened", [memory_id])
        return place

    async def compare(self, memory_id: UUID, place: CategoryIds, wording: Wording) -> None:
        """What came into use contends with all that it contradicts."""
        vectors = await self._store.vectors(memory_id, self.model_id)
        bucket = PeerQuery(place, None, self.model_id, TWIN)
        peers = await self._store.near(bucket, vectors, but=memory_id)
        await self._find_contradictions(Contender(memory_id, place.category, wording), peers)

    async def _find_contradictions(self, contender: Contender, peers: Sequence[Peer]) -> None:
        """Contradictions are between constraints that all agents see."""
        shared = [peer for peer in peers if peer.shared]
        await detect_contradictions(self.context, contender, shared)


def _is_same(wording: Wording, peer: Peer) -> bool:
    theirs = wording_of(peer.detail)
    return theirs is not None and same(wording, theirs, nearness(peer))


def _has_words_of(wording: Wording, peer: Peer) -> bool:
    return wording_of(peer.detail) == wording


def _joins(new: NewConstraint, twin: Peer, *, tasks: int) -> bool:
    """Whether a constraint that says the same is the one to be merged into. `tasks`: of how many
    tasks that one has support that counts.
    """
    same_words = _has_words_of(new.wording, twin)
    if new.visibility is Visibility.AGENT:
        return not twin.shared or twin.status in IN_USE
    if not twin.shared:
        return new.is_word and same_words
    if new.is_word:
        return same_words or twin.status in IN_USE
    return same_words or tasks > 0 or not new.counts


def _reason_to_wait(new: NewConstraint) -> str | None:
    """Why it is not in use yet; an author may use their own word."""
    if new.trust is Trust.QUARANTINED:
        return BOTH_WRONG
    if new.is_word or (new.visibility is Visibility.AGENT and new.binds_author):
        return None
    # The first contrast is of one task.
    return ONE_TASK if new.counts else NO_SUPPORT


def _raised_trust(was: Trust, brought: Trust) -> Trust | None:
    """The trust that counting support brings; None where there is as much already."""
    order = (Trust.QUARANTINED, Trust.UNVERIFIED, Trust.TRUSTED)
    return brought if order.index(brought) > order.index(was) else None


def texts_of(new: NewConstraint) -> dict[str, str]:
    """The texts of a constraint that have vectors, by field. The trigger is the situation in a
    field that experiences have not.
    """
    wording = new.wording
    texts = {"situation": wording.situation, "lesson": wording.lesson}
    texts["trigger"] = wording.situation
    parts = {"enforce": wording.enforce, "avoid": wording.avoid}
    return texts | {name: part for name, part in parts.items() if part is not None}


def _to_memory(new: NewConstraint, agent_id: UUID) -> NewMemory:
    memory_id = new_id()
    draft = ExperienceDraft(
        agent=new.agent,
        situation=new.wording.situation,
        lesson=new.wording.lesson,
        visibility=new.visibility,
        weight=new.weight,
        metadata=new.metadata,
    )
    return NewMemory(
        id=memory_id,
        draft=draft,
        agent_id=agent_id,
        category_ids=new.category_ids,
        task_id=new.task_id,
        source_group=f"memory:{memory_id}",
        learned_at=new.learned_at,
        vectors=new.vectors,
        kind=Kind.CONSTRAINT,
        trust=new.trust,
        detail={**detail_of(new.wording, new.origin, new.lint), **new.detail},
    )


def _support_row(new: NewConstraint, author_id: UUID) -> dict[str, object]:
    """What the constraint rests on: its contrast, or its author's word."""
    values: dict[str, object] = {
        "id": new_id(),
        "contrast_id": new.contrast.id if new.contrast else None,
        "task_id": new.task_id,
        "pair_class": new.contrast.pair_class if new.contrast else None,
        "counts": new.counts and not new.lint,
        "known_at": new.contrast.known_at if new.contrast else new.learned_at,
    }
    if new.pair is None:
        word = "human" if new.counts else "none"
        return values | {
            "preferred_agent_id": author_id,
            "preferred_key_id": new.key_id,
            "verifier": word,
        }
    preferred, unpreferred = new.pair
    weaker = max(preferred.verifier, unpreferred.verifier, key=VERIFIERS.index)
    sides = _side("preferred", preferred) | _side("unpreferred", unpreferred)
    return values | sides | {"verifier": weaker}


def manager_word(call: Call, memory_id: UUID, task_id: UUID, author_id: UUID) -> dict[str, object]:
    """The word of who manages the bank for a constraint that is there."""
    known_at = call.now
    if call.namespace.clock is Clock.REPLAY:
        known_at = call.namespace.newest_known_at or call.now
    return {
        "id": new_id(),
        "memory_id": memory_id,
        "contrast_id": None,
        "task_id": task_id,
        "preferred_agent_id": author_id,
        "preferred_key_id": call.key.id,
        "verifier": "human",
        "counts": True,
        "known_at": known_at,
        "recorded_at": call.now,
    }


def _side(name: str, run: Trajectory) -> dict[str, object]:
    return {
        f"{name}_agent_id": run.agent_id,
        f"{name}_family": run.family,
        f"{name}_size": run.size_class,
        f"{name}_key_id": run.key_id,
    }

"""A memory is tried apart from what is always served beside it, because an admin asks for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.fields import OUTPUT
from memory.kernel.postgres.database import Connection
from memory.memories.entities import Kind, Memory, Status
from memory.memories.service import get_memory, reading_time
from memory.tenancy.entities import Act, ApartTrial, AuditEvent, Call, Learning, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore

ABSENCES = 12
"""Outcomes without the memory that a trial waits for: about as many come with it."""


LASTS = timedelta(days=14)
"""A trial that does not get there ends by itself."""


MOST_TRIALS = 16
"""So many memories of a namespace are tried apart at once: each costs advice that is left out."""


@dataclass(frozen=True, slots=True)
class OngoingTrial:
    """A trial that goes on: since when, until when, and for how many more outcomes without the
    memory.
    """

    __pydantic_config__ = OUTPUT

    asked_at: datetime
    """Since when it is left out every other time."""
    until: datetime
    """When the trial ends by itself."""
    outcomes_left: int
    """After so many more outcomes without the memory it ends sooner."""


@dataclass(frozen=True, slots=True)
class TriedApart:
    """Whether a memory is being tried apart."""

    __pydantic_config__ = OUTPUT

    trial: OngoingTrial | None
    """The trial that goes on; null where none does."""


async def start_apart_trial(engine: Engine, call: Call, memory_id: UUID) -> ApartTrial:
    """From now on the memory is left out every other time, until twelve more outcomes without it
    are known, or for fourteen days. Raises Conflict where no coin would be tossed.
    """
    call.key.require(Act.MANAGE)
    memory = await get_memory(engine, call, memory_id)
    _require_coin(call.namespace, memory)
    now = _present(call)
    async with engine.database.effect(call.namespace.id) as connection:
        store = NamespaceStore(connection)
        # Until its end no other request is written between what is read here and what is written.
        await store.bump(call.namespace)
        absences = await _load_absences(connection, call, memory_id)
        trials = await _running(connection, call, now)
        if memory_id in trials:
            raise _refused("the memory is being tried apart already")
        if len(trials) >= MOST_TRIALS:
            raise _refused(f"{MOST_TRIALS} memories are being tried apart already; stop one first")
        trial = ApartTrial(now, now + LASTS, absences + ABSENCES)
        await store.set_apart_trials(call.namespace.id, {**trials, memory_id: trial})
        detail = {"until": trial.until.isoformat(), "outcomes_without_it": ABSENCES}
        await _record(connection, call, AuditEvent("memory.try_apart", str(memory_id), detail))
    return trial


async def stop_apart_trial(engine: Engine, call: Call, memory_id: UUID) -> None:
    """The memory is served as before. Raises Conflict where it is not being tried apart."""
    call.key.require(Act.MANAGE)
    await get_memory(engine, call, memory_id)
    async with engine.database.effect(call.namespace.id) as connection:
        store = NamespaceStore(connection)
        await store.bump(call.namespace)
        trials = await _running(connection, call, _present(call))
        if trials.pop(memory_id, None) is None:
            raise _refused("the memory is not being tried apart")
        await store.set_apart_trials(call.namespace.id, trials)
        await _record(connection, call, AuditEvent("memory.stop_apart", str(memory_id), {}))


async def find_apart_trial(engine: Engine, call: Call, memory_id: UUID) -> OngoingTrial | None:
    """The trial that goes on, if one does; of a memory that the caller was shown already."""
    trial = call.namespace.apart_trials.get(memory_id)
    if trial is None:
        return None
    async with engine.database.transaction(call.namespace.id) as connection:
        absences = await _load_absences(connection, call, memory_id)
    if not trial.is_on(_present(call), absences):
        return None
    return OngoingTrial(trial.asked_at, trial.until, trial.absences - absences)


async def get_apart_trial(engine: Engine, call: Call, memory_id: UUID) -> TriedApart:
    """Whether a memory is being tried apart. Raises NotFound for one that is not there to see."""
    await get_memory(engine, call, memory_id)
    return TriedApart(await find_apart_trial(engine, call, memory_id))


def _present(call: Call) -> datetime:
    return reading_time(call) or call.namespace.created_at


async def _running(connection: Connection, call: Call, now: datetime) -> dict[UUID, ApartTrial]:
    """Those that go on: what is over is forgotten with the next change."""
    known = (await NamespaceStore(connection).get(call.namespace.id)).apart_trials
    counters = await StateStore(connection, call.namespace.id).counts(sorted(known))
    return {
        memory_id: trial
        for memory_id, trial in known.items()
        if memory_id in counters and trial.is_on(now, counters[memory_id].absent)
    }


async def _load_absences(connection: Connection, call: Call, memory_id: UUID) -> int:
    store = StateStore(connection, call.namespace.id)
    return (await store.counts([memory_id]))[memory_id].absent


def _require_coin(namespace: Namespace, memory: Memory) -> None:
    policy = policy_named(namespace.policy)
    if not namespace.settings.coins or namespace.learning is not Learning.ON:
        raise _refused("nothing is left out here: the namespace has no coins, or is frozen")
    if policy.lift(policy.initial_memory(), None) is None:
        raise _refused(f"the policy {namespace.policy} leaves nothing out at random")
    if memory.kind is not Kind.EXPERIENCE:
        raise _refused("only an experience is tried apart")
    if memory.status not in (Status.ACTIVE, Status.PROBATION):
        raise _refused(f"the memory is {memory.status}, and is not served")
    if memory.pinned:
        raise _refused("the memory is pinned, and is never left out; unpin it first")


async def _record(connection: Connection, call: Call, event: AuditEvent) -> None:
    await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)


def _refused(why: str) -> Conflict:
    return Conflict(why, code="status_conflict", field="memory_id")

"""Age is written down: beliefs as they are read at `now` become `set` events, and what fell
retires.

Ageing composes, so when this runs changes no ranking; it keeps the stored numbers near those that
reading would give, and it says what faded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.fold import Learned, Operation
from memory.belief.policy import Policy, policy_named
from memory.belief.service import LedgerMoment, set_states
from memory.belief.store.states import StateStore
from memory.belief.weight_view import probation_share
from memory.kernel.postgres.database import Connection
from memory.memories.rules import RetirementCase, find_retirement_reason
from memory.memories.service import retire
from memory.memories.store.memories import Stamp
from memory.memories.store.status import Living, StatusStore
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

FADED = 0.01
"""A change of effective weight below this is not reported one by one."""


@dataclass(frozen=True, slots=True)
class DecayResult:
    """What a run would do, or did: which memories age, and which retire and why."""

    examined: int
    aged: Mapping[UUID, tuple[float, float]]
    retired: Mapping[UUID, tuple[str, float]]

    def result(self) -> dict[str, object]:
        """As the run's record says it: each memory, its change, its weight before and after."""
        faded = [
            _change(memory_id, "faded", weights)
            for memory_id, weights in sorted(self.aged.items())
            if abs(weights[0] - weights[1]) >= FADED
        ]
        retired = [
            _change(memory_id, f"retired: {reason}", (weight, weight)) | {"reason": reason}
            for memory_id, (reason, weight) in sorted(self.retired.items())
        ]
        changes = [*faded, *retired]
        return {"examined": self.examined, "aged": len(self.aged), "changes": changes}


def _change(memory_id: UUID, change: str, weights: tuple[float, float]) -> dict[str, object]:
    return {
        "memory_id": str(memory_id),
        "change": change,
        "weight_before": weights[0],
        "weight_after": weights[1],
    }


async def fade(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> DecayResult:
    """Write down the age of every belief at `times[0]`; `times[1]` is the server's clock.

    The caller's transaction is the run's. A dry run reads the same and writes nothing.
    """
    now, recorded_at = times
    states = StateStore(connection, namespace.id)
    if not dry:
        await states.lock()
    living = await StatusStore(connection, namespace.id).list_living(now)
    known = await states.load([one.id for one in living])
    planned = plan_decay(policy_named(namespace.policy), living, known, now)
    if dry or not (planned.aged or planned.retired):
        return planned
    version = await NamespaceStore(connection).bump(namespace, memories=-len(planned.retired))
    # A retrieval at an earlier time must not read beliefs that are older than it.
    await NamespaceStore(connection).saw(namespace.id, now)
    await set_states(
        connection,
        namespace,
        Operation.DECAY,
        sorted(planned.aged),
        LedgerMoment(version, now, recorded_at),
    )
    return await _retire(connection, namespace, planned, Stamp(None, recorded_at, version))


def plan_decay(
    policy: Policy, living: Sequence[Living], known: Learned, now: datetime
) -> DecayResult:
    """What ageing to `now` changes: the same number that ranks is the one that retires."""
    aged: dict[UUID, tuple[float, float]] = {}
    retired: dict[UUID, tuple[str, float]] = {}
    for one in living:
        before = known.memories[one.id]
        after = policy.age_memory(before, now)
        weight = policy.effective_weight(after, None)
        if after.values != before.values:
            aged[one.id] = (policy.effective_weight(before, None), weight)
        # As it ranks: what is on probation counts half.
        effective = weight * probation_share(one.status)
        case = RetirementCase(effective, one.credited, one.last_used, one.pinned)
        reason = None if policy.literal else find_retirement_reason(case, now)
        if reason is not None:
            retired[one.id] = (reason, effective)
    return DecayResult(len(living), aged, retired)


async def _retire(
    connection: Connection, namespace: Namespace, planned: DecayResult, stamp: Stamp
) -> DecayResult:
    """What was planned, less what was retired, erased or pinned by someone else meanwhile."""
    reasons = {memory_id: reason for memory_id, (reason, _) in planned.retired.items()}
    retired = await retire(connection, namespace.id, reasons, stamp, counted_off=len(reasons))
    return replace(planned, retired={m: planned.retired[m] for m in retired})

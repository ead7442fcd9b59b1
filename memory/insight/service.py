"""The health of learning: counted now, sampled daily, read back as a trend."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from memory.belief.policy import policy_named
from memory.belief.strength import is_suspended
from memory.belief.weight_view import probation_share
from memory.insight.entities import Coverage, Duplicates, Health
from memory.insight.history import REBUILD
from memory.insight.rules import egl, item_variance, overview, share, weight_shares
from memory.insight.store.health import HealthStore, LivingMemory
from memory.insight.weights import present
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import WorkStore
from memory.tenancy.entities import Call, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a run of the job found; it changes no memory."""

    health: Health

    def result(self) -> dict[str, object]:
        return {"examined": self.health.weights.living, "changes": [], **self.health.stored()}


async def check_up(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> Checkup:
    """Take a sample of the health at `times[0]`; samples are kept 400 days."""
    now, recorded_at = times
    health = await _counted(connection, namespace, now)
    if not dry:
        store = HealthStore(connection, namespace.id)
        await store.keep(health, recorded_at)
        await store.forget(now - KEPT)
        await NamespaceStore(connection).found_signal(
            namespace.id, signal=not health.item_variance.alert
        )
    return Checkup(health)


async def get_health(engine: Engine, call: Call) -> Health:
    """The health of learning now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await _counted(connection, call.namespace, present(call))


async def list_health(engine: Engine, call: Call, page: Page) -> Listed[Health]:
    """The samples that the daily job took, oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await HealthStore(connection, call.namespace.id).samples(page)


async def vitals(engine: Engine) -> dict[str, float]:
    """The newest sample of every namespace, taken together: what a scraper is shown."""
    async with engine.database.transaction() as connection:
        namespaces = await NamespaceStore(connection).all()
    samples: list[Health] = []
    inexact = 0
    for namespace in namespaces:
        async with engine.database.transaction(namespace.id) as connection:
            newest = await HealthStore(connection, namespace.id).newest()
            rebuild = await WorkStore(connection).last_result(REBUILD, namespace.id) or {}
        inexact += len(cast("list[str]", rebuild.get("differing", [])))
        if newest is not None:
            samples.append(newest)
    return overview(samples) | {"states_inexact": float(inexact)}


async def _counted(connection: Connection, namespace: Namespace, now: datetime) -> Health:
    store = HealthStore(connection, namespace.id)
    receipts, answered = await store.coverage(now)
    remembered, again = await store.duplicates(now)
    growth = await store.growth(now)
    return Health(
        known_at=now,
        weights=weight_shares(_weights(namespace, await store.living(now), now)),
        coverage=Coverage(receipts, answered, share(answered, receipts)),
        pending_outcomes=await store.pending_outcomes(now),
        pending_receipts=await store.pending_receipts(now),
        suspended_cells=sum(is_suspended(one) for one in await store.strengths()),
        duplicates=Duplicates(remembered, again, share(again, remembered)),
        evidence=await store.evidence(now),
        egl={name: egl(*counts) for name, counts in sorted(growth.items()) if any(counts)},
        item_variance=item_variance(*await store.products(now)),
    )


def _weights(namespace: Namespace, living: Sequence[LivingMemory], now: datetime) -> list[float]:
    """Effective weights, as they rank: on probation, half."""
    policy = policy_named(namespace.policy)

    def weight(one: LivingMemory) -> float:
        state = policy.age_memory(one.state, now)
        return probation_share(one.status) * policy.effective_weight(state, None)

    return [weight(one) for one in living]

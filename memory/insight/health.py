"""The health of learning: counted now, sampled daily, read back as a trend."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from memory.belief.policy import policy_named
from memory.belief.strength import is_suspended
from memory.belief.weight_view import probation_share
from memory.insight.entities import DuplicateTexts, LearningHealth
from memory.insight.history import REBUILD
from memory.insight.influence import load_moves
from memory.insight.rules import (
    egl,
    item_variance,
    share,
    summarise_samples,
    weight_shares,
)
from memory.insight.service import present
from memory.insight.store.health import HealthStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import WorkStore
from memory.tenancy.entities import Call, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class HealthRun:
    """What a run of the job found; it changes no memory."""

    health: LearningHealth

    def result(self) -> dict[str, object]:
        return {"examined": self.health.weights.living, "changes": [], **self.health.to_numbers()}


async def sample_health(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> HealthRun:
    """Take a sample of the health at `times[0]`; samples are kept 400 days."""
    now, recorded_at = times
    health = await _count_health(connection, namespace, now)
    if not dry:
        store = HealthStore(connection, namespace.id)
        await store.add(health, recorded_at)
        await store.delete_before(now - KEPT)
        await NamespaceStore(connection).found_signal(
            namespace.id, signal=not health.item_variance.alert
        )
    return HealthRun(health)


async def get_learning_health(engine: Engine, call: Call) -> LearningHealth:
    """The health of learning now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await _count_health(connection, call.namespace, present(call))


async def list_learning_health(engine: Engine, call: Call, page: Page) -> Listed[LearningHealth]:
    """The samples that the daily job took, oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await HealthStore(connection, call.namespace.id).samples(page)


async def list_newest_health(engine: Engine, call: Call) -> list[LearningHealth]:
    """All samples that are kept, as far as one was taken each day, oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await HealthStore(connection, call.namespace.id).newest_samples(KEPT.days)


async def load_health_gauges(engine: Engine) -> dict[str, float]:
    """The newest sample of every namespace, taken together: what a scraper gets."""
    async with engine.database.transaction() as connection:
        namespaces = await NamespaceStore(connection).all()
    samples: list[LearningHealth] = []
    inexact = 0
    for namespace in namespaces:
        async with engine.database.transaction(namespace.id) as connection:
            newest = await HealthStore(connection, namespace.id).newest()
            rebuild = await WorkStore(connection).last_result(REBUILD, namespace.id) or {}
        inexact += len(cast("list[str]", rebuild.get("differing", [])))
        if newest is not None:
            samples.append(newest)
    return summarise_samples(samples) | {"states_inexact": float(inexact)}


async def _count_health(
    connection: Connection, namespace: Namespace, now: datetime
) -> LearningHealth:
    store = HealthStore(connection, namespace.id)
    remembered, again = await store.duplicates(now)
    growth = await store.growth(now)
    moves = await load_moves(connection, namespace, now)
    return LearningHealth(
        known_at=now,
        weights=weight_shares(await _load_weights(store, namespace, now)),
        coverage=await store.coverage(now),
        pending_outcomes=await store.pending_outcomes(now),
        pending_receipts=await store.pending_receipts(now),
        suspended_cells=sum(map(is_suspended, await store.strengths())),
        duplicates=DuplicateTexts(remembered, again, share(again, remembered)),
        evidence=await store.evidence(now),
        egl={name: egl(*counts) for name, counts in sorted(growth.items()) if any(counts)},
        item_variance=item_variance(*await store.products(now)),
        lone_parties=sum(party.is_worth_a_look for party in moves.values()),
        expired_receipts=await store.expired_receipts(now),
    )


async def _load_weights(store: HealthStore, namespace: Namespace, now: datetime) -> list[float]:
    """Effective weights of living memories, as they rank: on probation, half."""
    policy = policy_named(namespace.policy)
    return [
        probation_share(one.status)
        * policy.effective_weight(policy.age_memory(one.state, now), None)
        for one in await store.living(now)
    ]

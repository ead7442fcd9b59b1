"""What an operator looks at first: whether memory helps, what needs a hand, what moved."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import pairwise

from memory.belief.effect import controls_of, effect_of, pool_cells
from memory.belief.states import State
from memory.insight.browse import weigh_active
from memory.insight.overview_entities import (
    Comparison,
    Concern,
    FirstSteps,
    MeasuredEffect,
    Movers,
    WeightClass,
)
from memory.insight.service import present
from memory.insight.store.browsing import BrowsingStore
from memory.insight.store.overview import MeasuredDay, OverviewStore
from memory.kernel.engine import Engine
from memory.kernel.paging import Page
from memory.memories.browse_entities import Browse, MemoryCriteria
from memory.memories.entities import Status, Trust
from memory.memories.service import viewer
from memory.memories.store.queries import MemoryReader
from memory.tenancy.entities import Call

DAY, WEEK = timedelta(days=1), timedelta(days=7)


MOVERS = 5
"""So many memories of each time are named."""


WEIGHT_EDGES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.0)


IGNORED_BY_MISTAKE = (
    "expired",
    "other_metric",
    "erased",
    "other_version",
    "half_missing",
    "observational",
)
"""Reasons why an outcome moves nothing that somebody can do something about."""


async def list_measured_effects(engine: Engine, call: Call) -> list[MeasuredEffect]:
    """What memory did, by what rewards are measured by: rewards of two measures do not add up."""
    async with engine.database.transaction(call.namespace.id) as connection:
        days = await OverviewStore(connection, call.namespace.id).measured_days()
    by_measure = defaultdict[str, list[MeasuredDay]](list)
    for one in days:
        by_measure[one.measure].append(one)
    return [
        MeasuredEffect(measure, _compare(some, None), _by_category(some))
        for measure, some in sorted(by_measure.items(), key=lambda item: (-len(item[1]), item[0]))
    ]


def _by_category(days: Iterable[MeasuredDay]) -> tuple[Comparison, ...]:
    grouped = defaultdict[str, list[MeasuredDay]](list)
    for one in days:
        grouped[one.category].append(one)
    return tuple(_compare(some, name) for name, some in sorted(grouped.items()))


def _compare(days: Sequence[MeasuredDay], category: str | None) -> Comparison:
    by_date = defaultdict[date, list[State]](list)
    for one in days:
        by_date[one.day].append(one.state)
    pooled = [pool_cells(states) for states in by_date.values()]
    estimates = effect_of(pooled)
    return Comparison(estimates.paired, estimates.randomised, controls_of(pooled), category)


async def get_movers(engine: Engine, call: Call) -> Movers:
    """The memories that rose or fell most in the last day and in the last week."""
    now = present(call)
    async with engine.database.transaction(call.namespace.id) as connection:
        seen_by = await viewer(connection, call)
        store = OverviewStore(connection, call.namespace.id)
        # Of who owns a memory the rows know; whether a constraint is seen is decided of the memory.
        wide = 4 * MOVERS
        day = await store.movers(now - DAY, now, seen_by.owners, wide)
        week = await store.movers(now - WEEK, now, seen_by.owners, wide)
        reader = MemoryReader(connection, call.namespace.id, seen_by)
        seen = {m.id for m in await reader.some([one.memory_id for one in (*day, *week)])}
    kept = [tuple(one for one in some if one.memory_id in seen)[:MOVERS] for some in (day, week)]
    return Movers(day=kept[0], week=kept[1])


async def list_concerns(engine: Engine, call: Call) -> list[Concern]:
    """What went wrong within seven days, and active memories in quarantine."""
    quarantined = Browse(MemoryCriteria(status=Status.ACTIVE, trust=Trust.QUARANTINED))
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OverviewStore(connection, call.namespace.id)
        found = await store.concerns(present(call) - WEEK, call.now - WEEK, IGNORED_BY_MISTAKE)
        seen_by = await viewer(connection, call)
        browsing = BrowsingStore(connection, call.namespace.id, seen_by)
        _, total = await browsing.part(quarantined, Page(1))
    return [*found, *([Concern("quarantined", "", total)] if total else [])]


async def get_first_steps(engine: Engine, call: Call) -> FirstSteps:
    """How far a new namespace has come."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await OverviewStore(connection, call.namespace.id).first_steps()


async def count_by_weight(engine: Engine, call: Call) -> list[WeightClass]:
    """How the effective weights of active memories lie, the lightest class first."""
    weights = await weigh_active(engine, call)
    return [
        WeightClass(
            lowest,
            below,
            sum(lowest <= one < below or one == below == WEIGHT_EDGES[-1] for one in weights),
        )
        for lowest, below in pairwise(WEIGHT_EDGES)
    ]

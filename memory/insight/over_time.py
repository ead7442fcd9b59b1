"""How it went from day to day: feedback dates → lift over those up to each; rows → counts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from uuid import UUID

from memory.belief.effect import Estimate, effect_of, pool_cells
from memory.belief.states import State
from memory.insight.over_time_entities import (
    DayCounts,
    EvidenceOfLift,
    LiftOverTime,
    LiftPoint,
)
from memory.insight.service import present
from memory.insight.store.over_time import OverTimeStore
from memory.insight.store.overview import OverviewStore
from memory.kernel.engine import Engine
from memory.kernel.ids import first_id_of
from memory.tenancy.entities import Call, Clock

WINDOW = 28
"""Feedback dates that one point of lift is made of: with outcomes every day, four weeks."""


POINTS = 180
"""So many dates are drawn at most, the newest."""


COUNTED_DAYS = 60
"""So far back receipts and outcomes are counted."""


CHANGES = 24
"""So many of a memory's last weights are shown in a list."""


_NIL = UUID(int=0)


async def list_lift_over_time(engine: Engine, call: Call) -> list[LiftOverTime]:
    """Lift over the feedback dates up to each, by measure and kind of evidence; only those that
    have an interval somewhere.
    """
    async with engine.database.transaction(call.namespace.id) as connection:
        days = await OverviewStore(connection, call.namespace.id).measured_days()
    by_measure = defaultdict[str, dict[date, list[State]]](lambda: defaultdict(list))
    for one in days:
        by_measure[one.measure][one.day].append(one.state)
    found = [
        draw_lift(measure, {day: pool_cells(states) for day, states in dates.items()})
        for measure, dates in sorted(by_measure.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return [one for both in found for one in both if one.points]


def draw_lift(measure: str, dates: Mapping[date, State]) -> tuple[LiftOverTime, LiftOverTime]:
    """Pairs, and outcomes drawn at random: they are never mixed."""
    days = sorted(dates)
    points: dict[EvidenceOfLift, list[LiftPoint]] = {"paired": [], "randomised": []}
    for end in range(max(0, len(days) - POINTS), len(days)):
        estimates = effect_of([dates[day] for day in days[max(0, end + 1 - WINDOW) : end + 1]])
        _keep(points["paired"], days[end], estimates.paired)
        _keep(points["randomised"], days[end], estimates.randomised)
    return (
        LiftOverTime(measure, "paired", tuple(points["paired"])),
        LiftOverTime(measure, "randomised", tuple(points["randomised"])),
    )


def _keep(points: list[LiftPoint], day: date, estimate: Estimate) -> None:
    if estimate.low is not None:
        points.append(LiftPoint(day, estimate))


async def list_day_counts(engine: Engine, call: Call) -> list[DayCounts]:
    """Each day from the first on which something happened, the oldest first, without gaps; none of
    more than sixty days ago.
    """
    now = present(call)
    since = now - timedelta(days=COUNTED_DAYS)
    # Where the caller keeps the clock an id says nothing of when a thing was known.
    first = first_id_of(since) if call.namespace.clock is Clock.WALL else _NIL
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await OverTimeStore(connection, call.namespace.id).counts(first, since)
    return fill_days(found, now.date())


def fill_days(found: Sequence[DayCounts], last: date) -> list[DayCounts]:
    """With the days on which nothing happened."""
    known = {one.day: one for one in found}
    if not known:
        return []
    first = min(known)
    days = [first + timedelta(days=n) for n in range((max(last, *known) - first).days + 1)]
    return [known.get(day, DayCounts(day)) for day in days]


async def list_last_weights(
    engine: Engine, call: Call, memory_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[float]]:
    """What each of these memories weighed after each of its last changes, the oldest first; of
    memories that the caller was shown already.
    """
    if not memory_ids:
        return {}
    async with engine.database.transaction(call.namespace.id) as connection:
        store = OverTimeStore(connection, call.namespace.id)
        return await store.last_weights(memory_ids, CHANGES)

"""Overview: whether memory helps, what needs a hand, what moved; then the numbers behind it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from fastapi import Response

from memory.insight.entities import Effect, LearningHealth
from memory.insight.health import get_learning_health
from memory.insight.influence import list_influences
from memory.insight.influence_entities import KeyInfluence
from memory.insight.over_time import (
    list_day_counts,
    list_last_weights,
    list_lift_over_time,
)
from memory.insight.overview import (
    count_by_weight,
    get_first_steps,
    get_movers,
    list_concerns,
    list_measured_effects,
)
from memory.insight.overview_entities import Movers, WeightClass
from memory.insight.service import list_effects
from memory.insight.verdict_wording import summarise_effect
from memory.insight.worth import list_worth_by_weight
from memory.insight.worth_entities import WorthByWeight
from memory.jobs.checks import readiness
from memory.jobs.service import list_runs
from memory.kernel.paging import Page
from memory.kernel.postgres.compatibility import Check
from memory.tenancy.entities import Act
from server.dashboard.alerts import Findings, alerts_of, free_bytes
from server.dashboard.guarding import guarded_at
from server.dashboard.live import pulse_of
from server.dashboard.over_time_plots import (
    Sparkline,
    lift_plots,
    outcomes_plot,
    served_plot,
    sparklines,
)
from server.dashboard.viewer import PageViewer, Reads, page
from server.shared import shared_of

INSIDE = "/dashboard/ns/{namespace}"
LAST_RUNS = 8
router = guarded_at(INSIDE)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many wait, of one age."""

    age: str
    outcomes: int
    receipts: int


@router.get("/")
async def overview(viewer: Reads) -> Response:
    """What memory did, and what learning lacks."""
    # The health looks through all receipts, which takes as long as all else: it is read beside it.
    health, classes, measured, days = await asyncio.gather(
        get_learning_health(viewer.engine, viewer.call),
        list_worth_by_weight(viewer.engine, viewer.call),
        list_measured_effects(viewer.engine, viewer.call),
        list_day_counts(viewer.engine, viewer.call),
    )
    effects = await list_effects(viewer.engine, viewer.call, None, None)
    checks = await _checks(viewer)
    concerns = await list_concerns(viewer.engine, viewer.call)
    free = free_bytes(shared_of(viewer.request).settings.data)
    movers = await get_movers(viewer.engine, viewer.call)
    runs = await list_runs(viewer.engine, viewer.call, Page(LAST_RUNS), newest_first=True)
    return page(
        viewer,
        "overview.html",
        effects=effects,
        reach=reach_of(effects),
        classes=[one for one in classes if one.memories],
        class_reach=class_reach_of(classes),
        health=health,
        verdicts=[(one, summarise_effect(one)) for one in measured],
        alerts=alerts_of(viewer, Findings(effects, health, concerns, checks, free)),
        lone=await _lone_keys(viewer, health),
        trends=lift_plots(await list_lift_over_time(viewer.engine, viewer.call)),
        by_day=[one for one in (outcomes_plot(days), served_plot(days)) if one is not None],
        movers=movers,
        sparks=await _sparks(viewer, movers),
        bars=bars_of(await count_by_weight(viewer.engine, viewer.call)),
        waiting=waiting_of(health),
        runs=runs.items,
        checks=checks,
        fresh=is_fresh(effects, health),
        calls=first_calls(viewer),
        pulse=await pulse_of(viewer),
        steps=await get_first_steps(viewer.engine, viewer.call),
    )


@router.get("")
async def overview_without_slash(viewer: Reads) -> Response:
    """The same page: people leave the slash away."""
    return await overview(viewer)


def is_fresh(effects: Sequence[Effect], health: LearningHealth) -> bool:
    """Nothing was remembered, served or reported here yet."""
    return not effects and not health.weights.living and not health.coverage.receipts


@dataclass(frozen=True, slots=True)
class Bar:
    """One class of weights: how long its bar is, of 100, and the filter that lists it."""

    title: str
    memories: int
    length: float
    query: str


def bars_of(classes: Sequence[WeightClass]) -> list[Bar]:
    """The longest bar has the full length. A list's bounds are included, a class's upper one only
    in the last: the link stops a millionth below it.
    """
    most = max((one.memories for one in classes), default=0)
    last = classes[-1].below if classes else 0.0
    return [
        Bar(
            f"{one.lowest:.1f} to {one.below:.1f}",
            one.memories,
            100 * one.memories / most if most else 0.0,
            f"status=active&min_weight={one.lowest:g}"
            f"&max_weight={one.below if one.below == last else one.below - 1e-6:g}",
        )
        for one in classes
    ]


def reach_of(effects: Sequence[Effect]) -> float:
    """How far the intervals reach from zero, so that all are drawn on one scale."""
    ends = [
        abs(end)
        for view in effects
        for estimate in (view.paired, view.randomised)
        for end in (estimate.mean, estimate.low, estimate.high)
        if end is not None
    ]
    return max(0.1, *ends) if ends else 1.0


def class_reach_of(classes: Sequence[WorthByWeight]) -> float:
    """The same for the classes of weight, whose effects are smaller."""
    ends = [
        abs(end)
        for one in classes
        for end in (one.place.effect, one.place.low, one.place.high)
        if end is not None
    ]
    return max(0.1, *ends) if ends else 1.0


def waiting_of(health: LearningHealth) -> list[Waiting]:
    """What waits, by age, youngest first."""
    outcomes, receipts = health.pending_outcomes, health.pending_receipts
    return [
        Waiting("under an hour", outcomes.hour, receipts.hour),
        Waiting("an hour to a day", outcomes.day, receipts.day),
        Waiting("a day to a week", outcomes.week, receipts.week),
        Waiting("a week to 30 days", outcomes.month, receipts.month),
        Waiting("30 days or more", outcomes.older, receipts.older),
    ]


async def _sparks(viewer: PageViewer, movers: Movers) -> Mapping[UUID, Sparkline]:
    after = {one.memory_id: one.after for one in (*movers.day, *movers.week)}
    return sparklines(await list_last_weights(viewer.engine, viewer.call, sorted(after)), after)


async def _lone_keys(viewer: PageViewer, health: LearningHealth) -> Sequence[KeyInfluence]:
    """The keys to be looked at, for those who may see who said what."""
    if not health.lone_parties or not viewer.may(Act.INSPECT):
        return ()
    keys = await list_influences(viewer.engine, viewer.call)
    return [key for key in keys if key.alert]


async def _checks(viewer: PageViewer) -> Mapping[str, Check]:
    return await readiness(viewer.engine)


def first_calls(viewer: PageViewer) -> Sequence[tuple[str, str, str]]:
    """The three calls that fill a namespace: what each does, and its line for a shell."""
    inside = f"{viewer.base}/v1/namespaces/{viewer.slug}"
    learned = "" if viewer.call.namespace.clock == "wall" else _WHEN
    return (
        (
            "Remember what a past task taught.",
            "remember",
            _curl(
                f"{inside}/experiences",
                '{"agent": "solver", "situation": "A date is written in words", '
                f'"lesson": "Parse it before comparing", "category": "dates"{learned}}}',
            ),
        ),
        (
            "Ask for a guideline before a task; keep its retrieval_id.",
            "retrieve",
            _curl(
                f"{inside}/retrievals",
                '{"agent": "solver", "task": {"text": "Is the second of May before 4 May?", '
                f'"category": "dates"}}{learned.replace("learned_at", "as_of")}}}',
            ),
        ),
        (
            "Report how it went, as a reward from 0 to 1.",
            "report",
            _curl(
                f"{inside}/retrievals/RETRIEVAL_ID/outcome",
                f'{{"reward": 0.9{learned.replace("learned_at", "known_at")}}}',
            ),
        ),
    )


_WHEN = ', "learned_at": "2026-03-01T12:00:00Z"'


def _curl(url: str, body: str) -> str:
    return (
        f"curl -X POST {url} \\\n  -H 'Authorization: Bearer ml_…' "
        f"-H 'Content-Type: application/json' \\\n  -d '{body}'"
    )

"""Overview: what memory did, whether learning is fed, and what state the server is in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Response

from memory.insight.entities import Effect, LearningHealth
from memory.insight.health import get_learning_health
from memory.insight.service import list_effects
from memory.jobs.service import list_runs, readiness
from memory.kernel.paging import Page
from memory.kernel.postgres.compatibility import Check
from server.dashboard.guarding import guarded_at
from server.dashboard.viewer import PageViewer, Reads, page

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
    effects = await list_effects(viewer.engine, viewer.call, None, None)
    health = await get_learning_health(viewer.engine, viewer.call)
    runs = await list_runs(viewer.engine, viewer.call, Page(LAST_RUNS), newest_first=True)
    return page(
        viewer,
        "overview.html",
        effects=effects,
        reach=reach_of(effects),
        health=health,
        waiting=waiting_of(health),
        runs=runs.items,
        checks=await _checks(viewer),
        fresh=is_fresh(effects, health),
        calls=first_calls(viewer),
    )


@router.get("")
async def overview_without_slash(viewer: Reads) -> Response:
    """The same page: people leave the slash away."""
    return await overview(viewer)


def is_fresh(effects: Sequence[Effect], health: LearningHealth) -> bool:
    """Nothing was remembered, served or reported here yet."""
    return not effects and not health.weights.living and not health.coverage.receipts


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


async def _checks(viewer: PageViewer) -> Mapping[str, Check]:
    return await readiness(viewer.engine, viewer.now)


def first_calls(viewer: PageViewer) -> Sequence[tuple[str, str, str]]:
    """The three calls that fill a namespace: what each does, and its line for a shell."""
    base = str(viewer.request.base_url).rstrip("/")
    inside = f"{base}/v1/namespaces/{viewer.slug}"
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
                f'{{"reward": 0.9, "verifier": "test"{learned.replace("learned_at", "known_at")}}}',
            ),
        ),
    )


_WHEN = ', "learned_at": "2026-03-01T12:00:00Z"'


def _curl(url: str, body: str) -> str:
    return (
        f"curl -X POST {url} \\\n  -H 'Authorization: Bearer ml_…' "
        f"-H 'Content-Type: application/json' \\\n  -d '{body}'"
    )

"""Health of learning over time, as the daily job sampled it."""

from collections.abc import Callable, Mapping, Sequence

from fastapi import Response

from memory.insight.entities import LearningHealth
from memory.insight.health import list_newest_health
from server.dashboard.guarding import guarded_at
from server.dashboard.viewer import Reads, page

router = guarded_at("/dashboard/ns/{namespace}/health")
LISTED = 30
"""So many of the newest samples stand in the table."""

Measure = Callable[[LearningHealth], float | None]
SHARES: Mapping[str, Measure] = {
    "outcome coverage": lambda one: one.coverage.share,
    "weights at the lower bound": lambda one: one.weights.at_lower_bound,
    "weights at the upper bound": lambda one: one.weights.at_upper_bound,
    "duplicates": lambda one: one.duplicates.share,
}
COUNTS: Mapping[str, Measure] = {
    "living memories": lambda one: one.weights.living,
    "outcomes that wait": lambda one: one.pending_outcomes.total,
    "receipts that wait": lambda one: one.pending_receipts.total,
    "suspended cells": lambda one: one.suspended_cells,
}


@router.get("")
async def show_health(viewer: Reads) -> Response:
    """Two plots and the newest samples in numbers."""
    samples = await list_newest_health(viewer.engine, viewer.call)
    plots = len(samples) > 1
    return page(
        viewer,
        "health.html",
        samples=list(reversed(samples))[:LISTED],
        total=len(samples),
        shares=health_plot(samples, SHARES, (0.0, 1.0)) if plots else None,
        counts=health_plot(samples, COUNTS) if plots else None,
    )


def health_plot(
    samples: Sequence[LearningHealth],
    measures: Mapping[str, Measure],
    reach: Sequence[float] | None = None,
) -> Mapping[str, object]:
    """A line for each measure, as static/plot.js draws them."""
    drawn: dict[str, object] = {
        "x": [one.known_at.timestamp() for one in samples],
        "series": [
            {"label": name, "values": [measure(one) for one in samples]}
            for name, measure in measures.items()
        ],
        "notes": [_noted(one, measures) for one in samples],
        "unit": "share" if reach else "how many",
    }
    return drawn | ({"range": list(reach)} if reach else {})


def _noted(one: LearningHealth, measures: Mapping[str, Measure]) -> str:
    values = ((name, measure(one)) for name, measure in measures.items())
    told = ", ".join(f"{name} {value:.3g}" for name, value in values if value is not None)
    return f"{one.known_at:%Y-%m-%d}: {told}"

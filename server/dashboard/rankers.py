"""Guard and rankers: how far each way to order memories is believed, and since when."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time

from fastapi import Response

from memory.belief.policy import policy_named
from memory.insight.entities import RankerRecord
from memory.insight.ranker_entities import RankerDay, RankerHistory, RankerShares
from memory.insight.rankers import list_ranker_histories
from memory.insight.service import list_ranker_records
from server.dashboard.guarding import guarded_at
from server.dashboard.viewer import Reads, page

router = guarded_at("/dashboard/ns/{namespace}/rankers")
WHOLE = ""
"""How the address names the record of the whole namespace."""


@dataclass(frozen=True, slots=True)
class RankerRow:
    """The guard's record now, with the shares summed up."""

    record: RankerRecord
    believed: RankerShares


@router.get("")
async def show_rankers(viewer: Reads) -> Response:
    """What is believed now by category, and of one of them how that came about."""
    records = await list_ranker_records(viewer.engine, viewer.call)
    histories = await list_ranker_histories(viewer.engine, viewer.call)
    asked = viewer.request.query_params.get("category", WHOLE)
    chosen = next((one for one in records if (one.category or WHOLE) == asked), None)
    history = next((one for one in histories if (one.category or WHOLE) == asked), None)
    return page(
        viewer,
        "rankers.html",
        rows=[RankerRow(one, RankerShares(one.probabilities)) for one in records],
        asked=asked,
        chosen=chosen,
        history=history,
        drawn=share_plot(history) if history and len(history.days) > 1 else None,
        guarded=policy_named(viewer.call.namespace.policy).guarded,
    )


def share_plot(history: RankerHistory) -> Mapping[str, object]:
    """Two lines, as static/plot.js draws them: belief in weights, and in ageing."""
    return {
        "x": [datetime.combine(one.day, time(12), UTC).timestamp() for one in history.days],
        "series": [
            {"label": "order by weight", "values": [d.believed.weighted for d in history.days]},
            {"label": "count old for less", "values": [d.believed.ageing for d in history.days]},
        ],
        "notes": [_noted(one) for one in history.days],
        "range": [0.0, 1.0],
        "unit": "share",
    }


def _noted(one: RankerDay) -> str:
    name, share = one.believed.first
    return (
        f"{one.day}: {one.believed.weighted:.2f} by weight, {one.believed.ageing:.2f} with ageing; "
        f"first {name} with {share:.2f}"
    )

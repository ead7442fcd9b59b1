"""The weight of one memory over time, as static/plot.js draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.belief.entities import WeightEvent
from memory.insight.memory_details import WeightBand, weight_band

RANGE = (0.0, 2.1)
NEUTRAL = 1.0
NOTED = "%Y-%m-%d %H:%M UTC"
MARKED = {"edit": "edited", "correction": "withdrawn", "policy": "policy changed"}
"""Reasons of events that stand as a line across the plot; merges come from elsewhere."""


@dataclass(frozen=True, slots=True)
class WeightNow:
    """What a memory weighs at the time of reading, and how sure that is."""

    at: datetime
    weight: float
    band: WeightBand | None = None


def weight_plot(
    events: Sequence[WeightEvent], now: WeightNow, merged: Sequence[datetime] = ()
) -> Mapping[str, object]:
    """One point for each event of the memory's own weight, and one for the weight it has now, with
    a band of one standard deviation where the policy says how sure a weight is.

    A point stands at the time its fact was known, or at that of the event before it where that is
    later: the ledger's order is kept, and time never runs back.
    """
    own = [event for event in events if event.weight_after is not None]
    seconds: list[float] = []
    for event in own:
        at = event.known_at.timestamp()
        seconds.append(max(at, seconds[-1]) if seconds else at)
    last = max(now.at.timestamp(), seconds[-1]) if seconds else now.at.timestamp()
    told = f"{now.at.astimezone(UTC).strftime(NOTED)}: {now.weight:.3f} now, aged"
    bands = [*(weight_band(event.policy, event.state_after) for event in own), now.band]
    series = [{"label": "weight", "values": [*(e.weight_after for e in own), now.weight]}]
    marks = [
        *(
            {"x": at, "label": MARKED[event.reason]}
            for at, event in zip(seconds, own, strict=True)
            if event.reason in MARKED
        ),
        *({"x": at.timestamp(), "label": "merged"} for at in merged),
    ]
    return {
        "x": [*seconds, last],
        "series": [*series, *_band_series(bands)],
        "notes": [*(noted(event) for event in own), told],
        "level": NEUTRAL,
        "marks": marks,
        "range": list(RANGE),
        "unit": "effective weight",
    }


def _band_series(bands: Sequence[WeightBand | None]) -> list[dict[str, object]]:
    """The upper edge and then the lower one; none where nothing is known of how sure it was."""
    if not any(bands):
        return []
    edges = (
        ("one standard deviation above", [one and one.high for one in bands]),
        ("one below", [one and one.low for one in bands]),
    )
    return [{"label": label, "values": values, "edge": True} for label, values in edges]


def noted(event: WeightEvent) -> str:
    """One event in a line."""
    before = "" if event.weight_before is None else f"{event.weight_before:.3f} → "
    taken = "" if event.superseded_by is None else f", withdrawn in version {event.superseded_by}"
    when = event.known_at.astimezone(UTC).strftime(NOTED)
    return f"{when}: {before}{event.weight_after:.3f}, {event.reason}{taken}"

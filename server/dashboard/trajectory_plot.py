"""The weight of one memory over time, as static/plot.js draws it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memory.belief.entities import WeightEvent

RANGE = (0.0, 2.1)
NOTED = "%Y-%m-%d %H:%M UTC"


def weight_plot(
    events: Sequence[WeightEvent], now: datetime, weight: float
) -> Mapping[str, object]:
    """One point for each event of the memory's own weight, and one for the weight it has now.

    A point stands at the time its fact was known, or at that of the event before it where that is
    later: the ledger's order is kept, and time never runs back.
    """
    own = [event for event in events if event.weight_after is not None]
    seconds: list[float] = []
    for event in own:
        at = event.known_at.timestamp()
        seconds.append(max(at, seconds[-1]) if seconds else at)
    last = max(now.timestamp(), seconds[-1]) if seconds else now.timestamp()
    told = f"{now.astimezone(UTC).strftime(NOTED)}: {weight:.3f} now, aged"
    return {
        "x": [*seconds, last],
        "series": [{"label": "weight", "values": [*(e.weight_after for e in own), weight]}],
        "notes": [*(noted(event) for event in own), told],
        "range": list(RANGE),
        "unit": "effective weight",
    }


def noted(event: WeightEvent) -> str:
    """One event in a line."""
    before = "" if event.weight_before is None else f"{event.weight_before:.3f} → "
    taken = "" if event.superseded_by is None else f", withdrawn in version {event.superseded_by}"
    when = event.known_at.astimezone(UTC).strftime(NOTED)
    return f"{when}: {before}{event.weight_after:.3f}, {event.reason}{taken}"

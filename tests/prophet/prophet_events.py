"""Events made for the tests: as the older contract has them, as datasets of the SDK have them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Body = dict[str, Any]

NOW = datetime.now(UTC)


def asked(ticker: str, title: str, outcomes: Sequence[str] | None = None, **parts: object) -> Body:
    """An event as `prophet forecast predict` sends it; open for another week."""
    return {
        "event_ticker": "made-up",
        "market_ticker": ticker,
        "title": title,
        "subtitle": None,
        "description": None,
        "category": "weather",
        "rules": None,
        "close_time": (NOW + timedelta(days=7)).isoformat(),
        "outcomes": None if outcomes is None else list(outcomes),
        "resolved_outcome": None,
        **parts,
    }


def task(ticker: str, *came: str, outcomes: Sequence[str] = ("Yes", "No")) -> Body:
    """A row of tasks.jsonl: resolved where an outcome is named."""
    resolved = {"value": list(came), "resolved_at": NOW.isoformat(), "source": "made-up"}
    return {"task_id": ticker, "outcomes": list(outcomes), "resolved_outcome": came and resolved}


def record(slug: str, title: str, day: int, **resolutions: str) -> Body:
    """A record of the SDK, one window, asked on this day of January 2026 and closed two days later;
    the crowd holds every outcome to be a coin's throw.
    """
    start = datetime(2026, 1, day, tzinfo=UTC)
    window = {
        "round": 0,
        "taken_at": start.isoformat(),
        "closes_at": (start + timedelta(days=1)).isoformat(),
        "crowd": dict.fromkeys(resolutions, 0.5),
        "context": [],
    }
    return {
        "slug": slug,
        "title": title,
        "category": "weather",
        "criteria": None,
        "mutually_exclusive": True,
        "close_at": (start + timedelta(days=2)).isoformat(),
        "outcomes": [{"name": name, "resolution": said} for name, said in resolutions.items()],
        "windows": [window],
    }


def written(path: Path, records: Sequence[Mapping[str, object]]) -> Path:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path

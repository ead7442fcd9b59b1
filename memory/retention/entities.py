"""What retention goes by, and what a run would remove and has removed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

FOR_EVER = "for ever"


TABLES: Mapping[str, str] = {
    "weight_event": "ledger_events",
    "outcome": "outcomes",
    "candidate": "candidates",
    "retrieval": "receipts",
    "retrieval_item": "receipt_items",
    "trajectory": "texts_of_runs",
    "task": "tasks",
    "writing": "llm_calls",
    "writing_budget": "llm_budget_days",
}
"""What a run removes from, by table, as its record names it."""


@dataclass(frozen=True, slots=True)
class Ages:
    """Up to when things are old: what is known before `before`, and what has no such time by when
    the server wrote it. `now` is the time that a run is about.
    """

    now: datetime
    before: datetime
    recorded_before: datetime

    @classmethod
    def of(cls, times: tuple[datetime, datetime], days: int) -> "Ages":
        kept = timedelta(days=days)
        now, recorded_at = times
        return cls(now, now - kept, recorded_at - kept)


@dataclass(frozen=True, slots=True)
class Removal:
    """What a run is to remove and what it has removed so far, in rows by table."""

    days: int | None
    before: datetime | None = None
    planned: Mapping[str, int] = field(default_factory=dict[str, int])
    bytes: int = 0
    removed: Mapping[str, int] = field(default_factory=dict[str, int])
    slices: int = 0
    longest_ms: float = 0.0
    complete: bool = True

    def with_slice(self, rows: Mapping[str, int], milliseconds: float) -> "Removal":
        """One slice more."""
        removed = {**self.removed}
        for table, count in rows.items():
            removed[table] = removed.get(table, 0) + count
        longest = max(self.longest_ms, round(milliseconds, 1))
        return replace(self, removed=removed, slices=self.slices + 1, longest_ms=longest)

    def result(self) -> dict[str, object]:
        """As the run's record has it."""
        named = {TABLES[table]: self.planned.get(table, 0) for table in TABLES}
        return {
            "kept_days": FOR_EVER if self.days is None else self.days,
            "before": None if self.before is None else self.before.isoformat(),
            "rows_to_remove": sum(self.planned.values()),
            "bytes_to_free": self.bytes,
            "rows_removed": sum(self.removed.values()),
            "complete": self.complete,
            **named,
            "slices": self.slices,
            "longest_slice_ms": self.longest_ms,
            "removed": {TABLES[table]: count for table, count in self.removed.items()},
        }

    @classmethod
    def of_result(cls, stored: Mapping[str, Any]) -> "Removal":
        """What `result` wrote down."""
        tables = {name: table for table, name in TABLES.items()}
        days, before = stored["kept_days"], stored["before"]
        removed = cast("Mapping[str, int]", stored["removed"])
        return cls(
            days=None if days == FOR_EVER else days,
            before=None if before is None else datetime.fromisoformat(before),
            planned={table: stored[name] for name, table in tables.items()},
            bytes=stored["bytes_to_free"],
            removed={tables[name]: count for name, count in removed.items()},
            slices=stored["slices"],
            longest_ms=stored["longest_slice_ms"],
            complete=stored["complete"],
        )


MIN_ROWS, MAX_ROWS = 8, 4_096
AIM = 0.08
"""Seconds that a slice is to take at most: writers that wait for one wait no longer."""


@dataclass(slots=True)
class SliceSize:
    """How many rows go in the next slice: fewer after one that took long, else more."""

    rows: int = 64

    def adapt(self, seconds: float) -> None:
        if seconds > AIM:
            self.rows = max(MIN_ROWS, int(self.rows * AIM / seconds / 2))
        elif seconds < AIM / 2:
            self.rows = min(MAX_ROWS, self.rows * 2)

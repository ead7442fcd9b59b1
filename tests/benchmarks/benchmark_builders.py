"""Rows of measurements."""

from benchmarks.metrics import Row


def a_timing(operation: str = "retrieve", ms: float = 1.0, at_once: int = 1, **more: object) -> Row:
    row = {"operation": operation, "concurrency": at_once, "at": 0.0, "ms": ms, "ok": True}
    return {**row, **more}

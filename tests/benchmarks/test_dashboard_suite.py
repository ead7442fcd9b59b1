"""What the suite `dashboard` makes of its measurements."""

from benchmarks.suites.dashboard import PAGES, targets
from server.dashboard.navigation import NAVIGATION


def rows(page_ms: float, call_ms: float) -> list[dict[str, object]]:
    """Each page in `page_ms`, each of its calls in `call_ms`."""
    told: dict[str, float] = {}
    for page, (_, calls) in PAGES.items():
        told[f"page_{page}"] = page_ms
        told |= {f"call_{page}_{number}": call_ms for number in range(len(calls))}
    return [
        {"operation": name, "concurrency": 1, "at": 0.0, "ms": ms, "ok": True}
        for name, ms in told.items()
    ]


def by_page(measured: list[dict[str, object]]) -> dict[str, tuple[str, float | None]]:
    return {
        target.name.partition(":")[0]: (target.status, target.measured)
        for target in targets(measured)
        if "calls" in target.name
    }


def test_a_page_is_held_against_all_calls_it_stands_on() -> None:
    found = by_page(rows(30.0, 10.0))

    assert found["memories"] == ("met", 3.0)
    assert found["memory"] == ("met", 30.0 / (10.0 * len(PAGES["memory"][1])))
    assert found["overview"] == ("met", 1.0)


def test_a_page_that_costs_more_than_three_times_its_calls_misses() -> None:
    assert by_page(rows(31.0, 10.0))["memories"] == ("missed", 3.1)


def test_a_page_of_which_a_call_is_missing_is_not_run() -> None:
    measured = [row for row in rows(30.0, 10.0) if row["operation"] != "call_overview_1"]

    assert by_page(measured)["overview"] == ("not_run", None)


def test_every_page_of_the_navigation_is_measured() -> None:
    assert {entry.path for entry in NAVIGATION} <= {path for path, _ in PAGES.values()}


def test_a_page_that_nobody_looked_at_has_no_paint_weight_or_shift() -> None:
    found = {target.name: target.status for target in targets(rows(30.0, 10.0))}

    assert {found[f"memories: {what}"] for what in ("paint", "weight", "shift")} == {"not_run"}


def test_paint_weight_and_shift_are_held_against_their_limits() -> None:
    told = {"paint_memories": 999.0, "weight_memories": 301.0, "shift_memories": 0.0}
    measured = [
        *rows(30.0, 10.0),
        *({"operation": name, "value": value, "unit": ""} for name, value in told.items()),
    ]
    found = {target.name: target.status for target in targets(measured)}

    assert found["memories: paint"] == "met"
    assert found["memories: weight"] == "missed"
    assert found["memories: shift"] == "met"

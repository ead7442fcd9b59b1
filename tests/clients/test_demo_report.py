"""What is printed: aligned, narrow, and as it is."""

from datetime import UTC, datetime

from demo_builders import a_score
from memlift_client import WeightEvent, WeightRow

from clients.demo.report import CONTESTANTS, brier_table, differences, reason, stored
from tests.fixtures.answers import made

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ROW = made(
    WeightRow,
    memory_id="m",
    situation="S",
    lesson="L",
    category="fred",
    effective_weight=1.2,
    served=9,
    credited=3,
    touched_at=NOON,
)


def an_event(before: float | None, after: float | None, kind: str = "learn") -> WeightEvent:
    return made(
        WeightEvent,
        kind=kind,
        reason="paired",
        weight_before=before,
        weight_after=after,
        known_at=NOON,
        recorded_at=NOON,
    )


def rows(count: int):
    probabilities = dict(zip(CONTESTANTS, (0.5, 0.4, 0.3), strict=True))
    return [a_score(str(n), n % 2, n // 4, **probabilities) for n in range(count)]


def test_the_table_has_a_line_a_week_and_one_for_all():
    lines = list(brier_table(rows(8)))

    assert [line.split()[0] for line in lines] == ["week", "2026-01-05", "2026-01-12", "all"]
    assert len({len(line) for line in lines}) == 1
    assert lines[-1].split()[1:] == ["8", "0.2500", "0.2600", "0.2900"]


def test_no_line_is_wider_than_a_hundred():
    assert all(len(line) <= 100 for line in [*brier_table(rows(8)), *differences(rows(8))])


def test_a_loss_is_printed_as_a_loss():
    lines = list(differences(rows(8)))

    assert "+0.0300" in lines[1]
    assert "MemLift - similarity only" in lines[1]


def test_a_reason_counts_the_outcomes_and_names_the_largest_step():
    events = [an_event(1.0, 1.1), an_event(1.1, 1.05), an_event(1.05, 1.2)]

    told = reason(ROW, events)

    assert "3 outcomes: 2 raised it, 1 lowered it" in told
    assert "1.000 → 1.200" in told
    assert "+0.150" in told


def test_settings_are_no_outcomes():
    assert "no outcome" in reason(ROW, [an_event(None, 1.0, "set")])


def test_outcomes_that_became_no_memory_are_told():
    assert stored(5, 5) == "5 outcomes are remembered as 5 memories."
    assert stored(5, 3).endswith("; the others only repeated one.")

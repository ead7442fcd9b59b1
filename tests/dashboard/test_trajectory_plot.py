"""The plot of a weight: one point an event, in the ledger's order, and one for now."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.belief.entities import WeightEvent
from server.dashboard.trajectory_plot import weight_plot

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = st.lists(st.integers(-100, 100), max_size=20)


def an_event(
    hours: int = 0, after: float | None = 1.2, withdrawn: int | None = None
) -> WeightEvent:
    return WeightEvent(
        bank_version=1,
        position=0,
        subject="memory",
        kind="learn",
        reason="paired",
        policy="belief",
        weight_before=1.0,
        weight_after=after,
        state_before=(0.0, 0.01),
        state_after=(0.02, 0.01),
        agent=None,
        outcome_id=None,
        known_at=NOON + timedelta(hours=hours),
        recorded_at=NOON,
        superseded_by=withdrawn,
    )


@given(HOURS)
def test_time_never_runs_back_and_every_column_is_as_long(hours):
    plot = weight_plot([an_event(hour) for hour in hours], NOON, 1.1)

    assert plot["x"] == sorted(plot["x"])
    lengths = {len(plot["x"]), len(plot["notes"]), len(plot["series"][0]["values"])}
    assert lengths == {len(hours) + 1}


def test_a_deviation_is_no_point_of_the_memorys_weight():
    plot = weight_plot([an_event(after=None), an_event()], NOON, 1.1)

    assert plot["series"][0]["values"] == [1.2, 1.1]


def test_a_point_says_from_what_to_what_and_why():
    plot = weight_plot([an_event(withdrawn=7)], NOON, 1.1)

    assert plot["notes"] == [
        "2026-03-01 12:00 UTC: 1.000 → 1.200, paired, withdrawn in version 7",
        "2026-03-01 12:00 UTC: 1.100 now, aged",
    ]

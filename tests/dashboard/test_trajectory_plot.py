"""The plot of a weight: one point an event, in the ledger's order, and one for now."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.belief.entities import WeightEvent
from memory.insight.memory_details import WeightBand, weight_band
from server.dashboard.trajectory_plot import WeightNow, weight_plot

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = WeightNow(NOON, 1.1)
HOURS = st.lists(st.integers(-100, 100), max_size=20)


def an_event(
    hours: int = 0,
    after: float | None = 1.2,
    withdrawn: int | None = None,
    reason: str = "paired",
) -> WeightEvent:
    return WeightEvent(
        bank_version=1,
        position=0,
        subject="memory",
        kind="learn",
        reason=reason,
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
    plot = weight_plot([an_event(hour) for hour in hours], NOW)

    assert plot["x"] == sorted(plot["x"])
    lengths = {len(plot["x"]), len(plot["notes"]), len(plot["series"][0]["values"])}
    assert lengths == {len(hours) + 1}


def test_a_deviation_is_no_point_of_the_memorys_weight():
    plot = weight_plot([an_event(after=None), an_event()], NOW)

    assert plot["series"][0]["values"] == [1.2, 1.1]


def test_a_point_says_from_what_to_what_and_why():
    plot = weight_plot([an_event(withdrawn=7)], NOW)

    assert plot["notes"] == [
        "2026-03-01 12:00 UTC: 1.000 → 1.200, paired, withdrawn in version 7",
        "2026-03-01 12:00 UTC: 1.100 now, aged",
    ]


def test_the_band_is_one_standard_deviation_of_what_is_believed():
    band = weight_band("belief", (0.02, 0.01))
    plot = weight_plot([an_event()], WeightNow(NOON, 1.1, WeightBand(0.4, 1.8)))

    # .1 of reward is one of weight: 1.2 with a standard deviation of 1, held at the ceiling.
    assert band is not None
    assert (round(band.low, 6), round(band.high, 6)) == (0.2, 2.0)
    assert [one["values"] for one in plot["series"][1:]] == [[band.high, 1.8], [band.low, 0.4]]


def test_a_policy_that_does_not_say_how_sure_it_is_has_no_band():
    assert weight_band("steps", (1.1,)) is None
    assert weight_band("belief", ()) is None


def test_edits_mergers_and_what_was_taken_back_are_marked():
    events = [an_event(), an_event(1, reason="edit"), an_event(2, reason="correction")]
    plot = weight_plot(events, NOW, [NOON + timedelta(hours=3)])

    marks = [((mark["x"] - NOON.timestamp()) / 3600, mark["label"]) for mark in plot["marks"]]
    assert marks == [(1, "edited"), (2, "withdrawn"), (3, "merged")]
    assert plot["level"] == 1

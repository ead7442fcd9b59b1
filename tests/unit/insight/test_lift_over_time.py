"""Lift over time is made of the newest dates up to each, and is drawn where it has an interval."""

from datetime import UTC, date, datetime, timedelta

from memory.belief.effect import ArmOutcome, add_outcome, effect_of, initial_day
from memory.belief.states import State
from memory.insight.over_time import POINTS, WINDOW, draw_lift, fill_days
from memory.insight.over_time_entities import DayCounts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def dates(n: int, *outcomes: ArmOutcome, changes: float = 0.1) -> dict[date, State]:
    """So many days with these outcomes; the first is better every other day."""
    found: dict[date, State] = {}
    for number in range(n):
        now, state = NOON + timedelta(days=number), initial_day()
        for place, one in enumerate(outcomes):
            more = changes if place == 0 and number % 2 else 0.0
            better = ArmOutcome(one.arm, one.propensity, one.reward + more, one.without)
            state = add_outcome(state, better, now)
        found[now.date()] = state
    return found


PAIR = ArmOutcome("on", 1.0, 0.6, 0.5)
ON, OFF = ArmOutcome("on", 0.8, 0.6, None), ArmOutcome("control", 0.2, 0.5, None)


def test_nothing_is_drawn_before_the_tenth_date() -> None:
    paired, randomised = draw_lift("x", dates(9, PAIR))
    assert (paired.points, randomised.points) == ((), ())


def test_each_point_is_the_effect_over_the_newest_dates_up_to_its_own() -> None:
    days = dates(40, PAIR)
    paired, _ = draw_lift("x", days)

    assert [one.day for one in paired.points] == sorted(days)[9:]
    last = effect_of([days[day] for day in sorted(days)[-WINDOW:]]).paired
    assert paired.points[-1].estimate == last
    assert paired.points[0].estimate.dates == 10


def test_pairs_and_random_outcomes_are_never_mixed() -> None:
    days = dates(12, ON, OFF)
    paired, randomised = draw_lift("x", days)

    assert paired.points == ()
    assert [one.estimate.n for one in randomised.points] == [20, 22, 24]


def test_only_the_newest_dates_are_drawn() -> None:
    paired, _ = draw_lift("x", dates(POINTS + 20, PAIR))
    assert len(paired.points) == POINTS


def test_days_on_which_nothing_happened_are_days() -> None:
    first, third = date(2026, 3, 1), date(2026, 3, 3)
    filled = fill_days([DayCounts(first, counted=2)], third)

    assert [(one.day.day, one.counted) for one in filled] == [(1, 2), (2, 0), (3, 0)]
    assert fill_days([], third) == []

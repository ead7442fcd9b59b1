"""What is printed of the learning: aligned, narrow, and as the server has it."""

from dataclasses import replace

import pytest
from demo_builders import a_score, an_effect
from memlift_client import RankerRecord

from clients.demo.record import HALF_LIVES, MODES, guard, lift, strengths
from clients.demo.report import CONTESTANTS

YOUNG = {
    f"{mode}/{age}": share * (0.6 if age == "none" else 0.1)
    for mode, share in zip(MODES, (0.8, 0.2), strict=True)
    for age in HALF_LIVES
}


def rows(count: int, source: str = "fred"):
    probabilities = dict(zip(CONTESTANTS, (0.5, 0.4, 0.3), strict=True))
    return [a_score(str(n), n % 2, n // 4, source, **probabilities) for n in range(count)]


def a_record(category: str | None, **shares: float) -> RankerRecord:
    changed = {name.replace("_", "/"): share for name, share in shares.items()}
    return RankerRecord(
        category=category, feedback_dates=4, probabilities={**YOUNG, **changed}, losses={}
    )


def test_lift_has_the_servers_interval_beside_the_one_of_this_replay():
    lines = list(lift([an_effect()], rows(8)))

    assert lines[2].split() == [
        *("fred", "20", "10", "+0.0100", "-0.0050", "…", "+0.0250"),
        *("-0.0400", "-0.1882", "…", "+0.1082", "8"),
    ]
    assert lines[3].split()[:2] == ["all", "20"]


def test_the_own_lift_is_what_memory_took_from_the_brier_score():
    line = list(lift([an_effect()], rows(8)))[3]

    assert line.split()[2] == "-0.0400", "(.25 - .29)"


def test_a_category_without_an_interval_shows_none():
    young = replace(an_effect().paired, low=None, high=None, dates=9)

    line = list(lift([an_effect(paired=young)], rows(8)))[2]

    assert line.split()[3:6] == ["+0.0100", "-", "-0.0400"]


def test_a_category_without_pairs_shows_no_mean():
    line = list(lift([an_effect(paired=an_effect().randomised)], rows(8)))[2]

    assert line.split()[1:6] == ["0", "0", "-", "-", "-0.0400"]


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((0.001, 0.02), "helped in 1 and harmed in 0 of 2"),
        ((-0.02, -0.001), "helped in 0 and harmed in 1 of 2"),
        ((-0.02, 0.02), "helped in 0 and harmed in 0 of 2"),
        ((None, None), "helped in 0 and harmed in 0 of 2"),
    ],
)
def test_only_an_interval_beside_zero_is_read_as_help_or_harm(bounds, said):
    paired = replace(an_effect().paired, low=bounds[0], high=bounds[1])

    told = " ".join(lift([an_effect(paired=paired), an_effect("acled")], rows(8)))

    assert said in told


def test_each_category_has_its_strength_dates_and_suspension():
    effects = [an_effect("acled"), an_effect("fred", strength=0.02, suspended=True)]

    lines = list(strengths(effects))

    assert lines[1].split() == ["acled", "0.75", "10", "no"]
    assert lines[2].split() == ["fred", "0.02", "10", "yes"]
    assert "least in fred (0.02) and most in acled (0.75)" in lines[-1]


def test_the_guard_sums_over_modes_and_over_ages():
    lines = list(guard([a_record(None), a_record("fred")]))

    start = ["4", "0.800", "0.200", "0.600", *["0.100"] * 4]
    assert [line.split() for line in lines[1:3]] == [["all", *start], ["fred", *start]]


def test_weights_have_gained_where_they_have_more_than_they_started_with():
    raised = {"flat_none": 0.4, "weighted_none": 0.2}

    told = " ".join(guard([a_record(None, **raised), a_record("fred", **raised)]))

    assert "more now in 1 of 1 categories" in told


def test_a_share_that_only_rounding_moved_is_no_gain():
    told = " ".join(guard([a_record("fred"), a_record("acled")]))

    assert "more now in 0 of 2 categories" in told


def test_no_line_is_wider_than_a_hundred():
    effects = [an_effect("seattle-weather")]
    record = a_record("seattle-weather")

    told = [
        *lift(effects, rows(8, "seattle-weather")),
        *strengths(effects),
        *guard([record]),
    ]

    assert max(map(len, told)) <= 100


def test_a_replay_of_which_nothing_was_learnt_is_told_too():
    assert list(strengths([]))
    assert list(guard([]))
    assert len(list(lift([], rows(8)))) > 2

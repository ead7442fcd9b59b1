"""What is said of a memory's worth is what an operator can act on, and true."""

from itertools import product
from uuid import UUID

import pytest

from memory.belief.worth import PlaceEffect
from memory.insight.worth_entities import BelievedEffect, Companion
from memory.insight.worth_wording import explain_belief, signed, summarise, summarise_class, verdict

COUNTS = ("kept", "left_out", "kept_missing", "left_out_missing", "vacant")


def a_place(effect=None, low=None, high=None, **changes):
    parts = {
        "kept": 40,
        "left_out": 20,
        "kept_missing": 0,
        "left_out_missing": 0,
        "vacant": 0,
        "information": 9.0,
        "units": 14,
        "unit": "date",
        "effect": effect,
        "standard_error": None if low is None else (high - low) / 4,
        "low": low,
        "high": high,
    }
    return PlaceEffect(**(parts | changes))


def a_companion(lesson="Count the days", *, together=12, apart=0):
    return Companion(UUID(int=0 if lesson is None else 7), lesson, together, apart)


HELPS, HARMS, WIDE = (0.14, 0.06, 0.22), (-0.12, -0.2, -0.04), (0.03, -0.12, 0.18)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            a_place(*HELPS),
            (
                "Serving it added 0.14 to the reward, against what took its place (95 % interval "
                "+0.06 to +0.22, over 40 outcomes with it and 20 without)."
            ),
        ),
        (
            a_place(*HARMS, vacant=5),
            (
                "Serving it cost 0.12 of the reward, against what took its place (95 % interval "
                "\u22120.20 to \u22120.04, over 40 outcomes with it and 20 without). In 5 of those "
                "without, nothing took its place."
            ),
        ),
        (
            a_place(*WIDE, units=4, unit="group"),
            (
                "It cannot be told from what took its place: rewards differ by +0.03 (95 % "
                "interval \u22120.12 to +0.18, over 40 outcomes with it and 20 without). The "
                "outcomes come from 4 groups of tasks alone, so the interval is a rough one."
            ),
        ),
        (
            a_place(0.14, units=1, unit="group", vacant=20),
            (
                "Rewards were +0.14 with it against without, over 40 outcomes with it and 20 "
                "without; one side comes from one group of tasks alone, so nothing is known of "
                "how far that may vary. Nothing took its place in any of those without."
            ),
        ),
        (
            a_place(*HELPS, kept_missing=10, left_out_missing=5),
            (
                "Serving it added 0.14 to the reward, against what took its place (95 % interval "
                "+0.06 to +0.22, over 40 outcomes with it and 20 without). No outcome counts yet "
                "for 20 % of the retrievals with it and 20 % of those without."
            ),
        ),
        (
            a_place(*HELPS, left_out_missing=20),
            (
                "Serving it added 0.14 to the reward, against what took its place (95 % interval "
                "+0.06 to +0.22, over 40 outcomes with it and 20 without). No outcome counts yet "
                "for 50 % of the retrievals without it: if those went otherwise, the effect is "
                "not what it seems."
            ),
        ),
    ],
)
def test_an_effect_is_told_with_what_it_rests_on(place, expected):
    assert summarise(place, (), came_up=60) == expected


def test_a_class_of_weight_is_spoken_of_as_many():
    assert summarise_class(a_place(*HELPS, vacant=2)) == (
        "Serving them added 0.14 to the reward, against what took their places (95 % interval "
        "+0.06 to +0.22, over 40 outcomes with them and 20 without). In 2 of those without, "
        "nothing took their places."
    )
    assert summarise_class(a_place(*WIDE)).startswith(
        "They cannot be told from what took their places: rewards differ by +0.03"
    )
    assert summarise_class(a_place(kept=4, left_out=1)) == (
        "Too early: 4 outcomes with them, 1 outcome without them; 6 more with them and 9 more "
        "without them are needed."
    )


@pytest.mark.parametrize(
    ("place", "companions", "expected"),
    [
        (
            a_place(kept=14, left_out=3, left_out_missing=1),
            (),
            (
                "Too early: 14 outcomes with it, 3 outcomes without it; 7 more without it are "
                "needed. 1 more such retrieval waits for an outcome that counts."
            ),
        ),
        (
            a_place(kept=14, left_out=0),
            (a_companion(apart=3),),
            (
                "It cannot be told apart from «Count the days»: they came up together 12 times, "
                "and retrievals served one without the other 3 times. Too early: 14 outcomes "
                "with it; 10 without it are needed."
            ),
        ),
        (
            a_place(kept=90, left_out=10, information=3.2),
            (),
            (
                "Its coin kept it in 90 outcomes and left it out in 10, but the coins were nearly "
                "certain or fell long ago: the overlap is 3.2, and an effect is told from 5."
            ),
        ),
        (
            a_place(kept=0, left_out=0, kept_missing=1_200),
            (a_companion(None), a_companion(None), a_companion(together=11)),
            (
                "It cannot be told apart from «Count the days» and 2 private memories: they came "
                "up together 11 to 12 times, and retrievals never served one without the other. "
                "No coin has decided about its place in an outcome that counts, so nothing is "
                "compared. 1,200 more such retrievals wait for an outcome that counts."
            ),
        ),
    ],
)
def test_before_an_effect_is_told_it_is_said_why_and_what_is_missing(place, companions, expected):
    assert summarise(place, companions, came_up=60) == expected


def test_many_companions_are_counted_and_long_lessons_cut():
    companions = [a_companion(f"lesson {n} " + "x" * 90, apart=1) for n in range(5)]

    said = summarise(a_place(kept=3, left_out=1), companions, came_up=12)

    assert "x…», «lesson 1 " in said
    assert "», «lesson 2 " in said
    assert "» and 2 more memories: they came up together 12 times, and retrievals" in said
    assert "served one without the other at most once" in said
    assert "lesson 3" not in said


def test_a_lesson_cannot_write_a_sentence_of_its_own():
    said = summarise(a_place(kept=0, left_out=0), [a_companion("a\n»: trust\u202e me")], came_up=1)

    assert "\n" not in said
    assert "\u202e" not in said
    assert said.count("»") == 1


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (HELPS, "helps"),
        (HARMS, "harms"),
        (WIDE, "no_difference"),
        ((0.1, None, None), "unknown"),
        ((None, None, None), "unknown"),
    ],
)
def test_a_verdict_is_what_the_interval_says(interval, expected):
    assert verdict(a_place(*interval)) == expected


def test_the_belief_beside_it_is_told_as_another_question():
    inside, outside = BelievedEffect(0.08, 0.04), BelievedEffect(-0.05, 0.04)

    assert explain_belief(a_place(), None) == ""
    assert explain_belief(a_place(), inside).endswith("(standard deviation 0.04).")
    assert explain_belief(a_place(*HELPS), inside) == (
        "It is believed to add 0.08 against an empty place (standard deviation 0.04); "
        "that lies within the interval."
    )
    assert explain_belief(a_place(*HELPS), outside) == (
        "It is believed to cost 0.05 against an empty place (standard deviation 0.04). That lies "
        "outside the interval, which asks something else: what took its place adds something too, "
        "or takes something away."
    )


def test_where_nothing_took_its_place_nothing_is_said_of_what_did():
    place = a_place(*HELPS, vacant=20)

    assert explain_belief(place, BelievedEffect(-0.05, 0.04)).endswith("outside the interval.")
    assert summarise(place, (), came_up=60).startswith(
        "Serving it added 0.14 to the reward, against an empty place (95 % interval"
    )


def test_one_missing_outcome_is_needed():
    assert summarise(a_place(kept=125, left_out=9), (), came_up=150) == (
        "Too early: 125 outcomes with it, 9 outcomes without it; 1 more without it is needed."
    )


def test_numbers_have_a_true_minus_and_no_signed_zero():
    assert [signed(x) for x in (0.126, -0.126, 0.001, -0.001)] == [
        "+0.13",
        "\u22120.13",
        "0.00",
        "0.00",
    ]


def test_every_case_makes_whole_sentences():
    intervals = ((None, None, None), (0.1, None, None), HELPS, HARMS, WIDE)
    counts = ((0, 0), (1, 0), (0, 1), (1, 1), (12, 12), (1_500, 60))
    companions = ((), (a_companion(),), (a_companion(None),), (a_companion(apart=9),) * 5)
    for interval, (kept, left_out), near in product(intervals, counts, companions):
        place = a_place(*interval, kept=kept, left_out=left_out, vacant=min(left_out, 1))
        for said in (summarise(place, near, came_up=kept + left_out), summarise_class(place)):
            assert said.endswith(".")
            assert "  " not in said
            assert "None" not in said
            assert " 1 outcomes" not in said
            assert " 1 times" not in said

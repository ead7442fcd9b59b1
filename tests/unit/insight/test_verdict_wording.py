"""Whether memory helps is said as the effect says it, with its number, or what is missing."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.belief.effect import (
    ArmOutcome,
    add_outcome,
    controls_of,
    effect_of,
    initial_day,
    pool_cells,
)
from memory.belief.states import State
from memory.insight.overview_entities import Comparison, MeasuredEffect
from memory.insight.verdict_wording import judge, missing, summarise_effect

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUS = "\N{MINUS SIGN}"


def compared(*days: list[ArmOutcome], category: str = "rain") -> Comparison:
    """What a category's outcomes amount to, a list for each day."""
    states: list[State] = []
    for number, outcomes in enumerate(days):
        state = initial_day()
        for one in outcomes:
            state = add_outcome(state, one, NOON + timedelta(days=number))
        states.append(state)
    estimates = effect_of(states)
    return Comparison(estimates.paired, estimates.randomised, controls_of(states), category)


def pairs(*differences: float) -> list[list[ArmOutcome]]:
    """One pair a day."""
    return [[ArmOutcome("on", 1.0, 0.5 + by / 2, 0.5 - by / 2)] for by in differences]


def draws(days: int, added: float, controls: int = 1) -> list[list[ArmOutcome]]:
    """Runs with memory each day, and runs without on the first days; rewards vary by day."""
    return [
        [
            *(ArmOutcome("on", 0.8, 0.5 + added + 0.01 * (day % 3), None) for _ in range(4)),
            *(ArmOutcome("control", 0.2, 0.5, None) for _ in range(controls)),
        ]
        for day in range(days)
    ]


HELPS = compared(*pairs(*[0.2, 0.3] * 6))
HARMS = compared(*pairs(*[-0.2, -0.3] * 6), category="snow")
UNTOLD = compared(*pairs(*[-0.3, 0.3] * 6), category="fog")
EARLY = compared(*pairs(0.2, 0.3, 0.2), category="hail")


def headline(one: Comparison) -> str:
    return summarise_effect(MeasuredEffect("reward, continuous", one, (one,))).headline


def test_the_number_is_the_mean_and_half_of_the_interval():
    reach = HELPS.paired.high - HELPS.paired.mean

    assert headline(HELPS) == f"Memory helps: +0.25 ± {reach:.2f} reward over 12 pairs on 12 days."
    assert headline(HARMS).startswith(
        f"Memory harms: {MINUS}0.25 ± {reach:.2f} reward over 12 pairs"
    )
    assert headline(UNTOLD).startswith("Memory makes no difference that can be told: 0.00 ± ")


def test_random_outcomes_say_how_many_were_left_without_memory():
    assert headline(compared(*draws(12, 0.2))).endswith(
        "reward over 60 outcomes, 12 of them left without memory at random, on 12 days."
    )


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (EARLY, "3 of 10 days have outcomes that compare"),
        (compared(), "no outcome compares a run with memory to one without"),
        (
            compared([ArmOutcome("on", 0.8, 0.7, None)]),
            "the outcomes drawn at random are of one side alone, with memory or without",
        ),
        (
            compared(*draws(4, 0.2), *draws(8, 0.2, controls=0)),
            "4 of 10 outcomes without memory",
        ),
        (
            compared(*pairs(*[0.3] * 12)),
            "all days are alike, so nothing was seen of how far they may differ",
        ),
    ],
)
def test_what_is_missing_is_said_where_nothing_is_known(one: Comparison, why: str):
    assert judge(one) == "unknown"
    assert missing(one) == why
    assert headline(one) == f"Not known yet whether memory helps: {why}."


def test_pairs_and_random_outcomes_that_contradict_each_other_are_both_told():
    both = Comparison(HELPS.paired, compared(*draws(12, -0.3)).randomised, 12)

    assert judge(both) == "unclear"
    assert headline(both).startswith("Not clear whether memory helps: pairs say +0.25 ± ")
    assert f"drawn at random {MINUS}0.29 ± " in headline(both)


def test_every_category_is_counted_once_and_named_as_quoted():
    verdict = summarise_effect(MeasuredEffect("reward", HELPS, (HELPS, HARMS, UNTOLD, EARLY)))

    assert verdict.detail == (
        "Of 4 categories: helps in 1 («rain»); harms in 1 («snow»); no difference can be told in 1 "
        "(«fog»); not known yet in 1 («hail»: 3 of 10 days have outcomes that compare)."
    )


def test_of_many_categories_some_are_named():
    verdict = summarise_effect(MeasuredEffect("reward", HELPS, (HELPS,) * 5))

    assert verdict.detail == "Of 5 categories: helps in 5 («rain», «rain», «rain», 2 more)."


def test_cells_of_one_day_are_one_unit():
    [[pair]] = pairs(0.2)
    state = add_outcome(initial_day(), pair, NOON)

    paired = effect_of([pool_cells([state, state]), state]).paired

    assert (paired.n, paired.dates) == (3, 2)
    assert paired.mean == pytest.approx(0.2)

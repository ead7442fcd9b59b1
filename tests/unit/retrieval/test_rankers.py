import random
from datetime import timedelta

import pytest
from retrieval_builders import NOON, FixedChance, a_candidate

from memory.belief.rankers import PRIOR, RANKERS, displayed_score, draw_ranker, order_scores, prior


def test_ten_rankers_compete_and_one_that_looks_at_no_coins():
    assert sorted(RANKERS) == sorted(
        [
            *(
                f"{mode}/{half_life}"
                for mode in ("flat", "weighted")
                for half_life in ("none", "180d", "60d", "30d", "15d")
            ),
            "plain",
        ]
    )
    assert [name for name, ranker in RANKERS.items() if not ranker.coins] == ["plain"]


def test_the_prior_is_four_to_one_for_flat_and_even_over_half_lives():
    assert PRIOR["flat/none"] == pytest.approx(0.98 * 0.16)
    assert PRIOR["weighted/15d"] == pytest.approx(0.98 * 0.04)
    assert PRIOR["plain"] == 0.02
    assert sum(PRIOR.values()) == pytest.approx(1)
    assert prior(10) == PRIOR


def test_while_few_dates_are_known_the_prior_prefers_not_to_age():
    young = prior(9)

    assert young["flat/none"] == pytest.approx(0.98 * 0.48)
    assert young["weighted/30d"] == pytest.approx(0.98 * 0.02)
    assert sum(young.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        ("flat/none", 0.5),
        ("flat/60d", 0.25),
        ("weighted/none", 0.75),
        ("weighted/30d", 0.1875),
    ],
)
def test_a_ranker_multiplies_weight_relevance_and_age(ranker, expected):
    old = a_candidate(
        similarity=0.9,
        relevance=0.5,
        ranking_weight=1.5,
        learned_at=NOON - timedelta(days=60),
    )

    assert order_scores(ranker, [old], NOON) == pytest.approx([expected])


def test_what_is_learned_later_than_asked_is_not_younger_than_new():
    late = a_candidate(learned_at=NOON + timedelta(days=30))

    assert order_scores("flat/15d", [late], NOON) == [0.5]


def test_callers_are_told_the_earned_weight_not_the_optimistic_one():
    fresh = a_candidate(relevance=0.5, effective_weight=1.0, ranking_weight=1.559)

    assert displayed_score("weighted/none", fresh, NOON) == 0.5
    assert displayed_score("flat/none", fresh, NOON) == 0.5
    assert order_scores("weighted/none", [fresh], NOON) == pytest.approx([0.7795])


@pytest.mark.parametrize("uniform", [0.0, 0.37, 0.999999])
def test_a_drawn_ranker_names_the_probability_it_had(uniform):
    drawn = draw_ranker(PRIOR, FixedChance(uniform))

    assert drawn.propensity == pytest.approx(0.01 + 0.89 * PRIOR[drawn.ranker])
    assert sum(drawn.shares.values()) == pytest.approx(1)


def test_every_ranker_is_drawn_now_and_then_even_without_belief_in_it():
    certain = {ranker: float(ranker == "flat/none") for ranker in RANKERS}
    chance = random.Random(1)

    drawn = [draw_ranker(certain, chance) for _ in range(2000)]

    assert {one.ranker for one in drawn} == set(RANKERS)
    assert {one.propensity for one in drawn} == {0.01, 0.9}

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import (
    NOON,
    FixedChance,
    a_candidate,
    a_selection,
    heads,
    property_test,
    selections,
)

from memory.belief.rankers import ASKED
from memory.kernel.errors import Rejected
from memory.receipts.entities import Gates
from memory.retrieval.selection import eligible, select, select_by_all

HALF_LIFE_DAYS = {"180d": 180, "60d": 60, "30d": 30, "15d": 15}
DRAWN, NOT_DRAWN = 0.0, 0.5


def oracle_order_score(ranker, candidate, as_of):
    mode, half_life = ("flat", "none") if ranker == "plain" else ranker.split("/")
    weight = candidate.ranking_weight if mode == "weighted" else 1.0
    if half_life == "none":
        return weight * candidate.relevance
    days = max(0.0, (as_of - candidate.learned_at).total_seconds() / 86400)
    return weight * candidate.relevance * 2 ** -(days / HALF_LIFE_DAYS[half_life])


def oracle_served(candidates, selection):
    """Repeatedly takes the best that is left and allowed, in plain Python."""
    served, left = [], list(candidates)
    while left and len(served) < selection.k:
        best = left[0]
        for other in left[1:]:
            a = oracle_order_score(selection.ranker, other, selection.as_of)
            b = oracle_order_score(selection.ranker, best, selection.as_of)
            if a > b or (a == b and other.id < best.id):
                best = other
        left.remove(best)
        if oracle_allows(best, served, selection) and not (
            oracle_crowds(best, served, selection)
            and any(c.author != best.author and oracle_allows(c, served, selection) for c in left)
        ):
            served.append(best)
    return served


def oracle_allows(candidate, served, selection):
    weight = candidate.effective_weight if selection.ranker.startswith("weighted") else 1.0
    return (
        candidate.similarity >= selection.gates.raw
        and weight * candidate.relevance >= selection.gates.score
        and all(candidate.group != other.group for other in served)
    )


def oracle_crowds(candidate, served, selection):
    """Whether it would give one author, who has earned nothing, every place."""
    if len(served) != selection.k - 1 or not served or candidate.author is None:
        return False
    return all(c.author == candidate.author and c.earned <= 0 for c in (candidate, *served))


def ids(items):
    return [item.candidate.id.int for item in items]


@property_test
@given(heads(), selections())
def test_what_is_served_equals_what_plain_python_serves(head, selection):
    selected = select(head, selection, FixedChance(NOT_DRAWN))

    assert [item.candidate for item in selected.items] == oracle_served(head, selection)
    assert [item.rank for item in selected.items] == list(range(1, len(selected.items) + 1))
    assert all(item.propensity == 1 and not item.exploration_slot for item in selected.items)


@property_test
@given(heads(), selections(), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(head, selection, shuffle):
    shuffled = list(head)
    shuffle.shuffle(shuffled)
    chance = FixedChance(NOT_DRAWN)

    assert select(shuffled, selection, chance) == select(head, selection, chance)


def test_ties_are_broken_by_id():
    head = [a_candidate(number) for number in (3, 1, 2)]

    assert ids(select(head, a_selection(k=2), FixedChance(NOT_DRAWN)).items) == [1, 2]


def test_weights_reorder_the_head():
    head = [
        a_candidate(1, similarity=0.8, ranking_weight=0.5),
        a_candidate(2, similarity=0.5, ranking_weight=1.5),
    ]
    weighted = a_selection(ranker="weighted/none")

    assert ids(select(head, weighted, FixedChance(NOT_DRAWN)).items) == [2, 1]
    assert ids(select(head, a_selection(), FixedChance(NOT_DRAWN)).items) == [1, 2]


def test_the_raw_gate_is_about_similarity_and_the_floor_about_the_score():
    head = [
        a_candidate(1, similarity=0.29, relevance=0.9),
        a_candidate(2, similarity=0.30, relevance=0.9),
        a_candidate(3, similarity=0.90, relevance=0.9, effective_weight=0.3),
    ]
    gates = Gates(raw=0.3, score=0.3)
    weighted = a_selection(gates=gates, ranker="weighted/none")

    assert ids(select(head, weighted, FixedChance(NOT_DRAWN)).items) == [2]


def test_a_flat_ranker_takes_every_weight_for_one_at_the_floor_too():
    head = [a_candidate(1, similarity=0.9, relevance=0.9, effective_weight=0.1)]
    gates = Gates(raw=0.3, score=0.3)

    assert ids(select(head, a_selection(gates=gates), FixedChance(NOT_DRAWN)).items) == [1]


def test_a_weighted_ranker_may_serve_nothing_and_the_slot_still_tries():
    head = [a_candidate(1, similarity=0.9, effective_weight=0.1)]
    selection = a_selection(
        gates=Gates(raw=0.3, score=0.3), ranker="weighted/none", slot_probability=0.03
    )

    assert select(head, selection, FixedChance(NOT_DRAWN)).items == ()
    assert ids(select(head, selection, FixedChance(DRAWN)).items) == [1]


def test_age_orders_and_never_gates():
    old = a_candidate(1, similarity=0.5, learned_at=NOON - timedelta(days=900))
    selection = a_selection(gates=Gates(raw=0.3, score=0.3), ranker="flat/15d")

    [item] = select([old], selection, FixedChance(NOT_DRAWN)).items

    assert item.score == 0.5


def test_one_source_group_is_served_once_by_its_best():
    head = [
        a_candidate(1, group="event 7", similarity=0.6),
        a_candidate(2, group="event 7", similarity=0.7),
        a_candidate(3, group="event 8", similarity=0.5),
    ]

    assert ids(select(head, a_selection(), FixedChance(NOT_DRAWN)).items) == [2, 3]


def test_the_slot_gives_the_last_place_to_a_least_credited_memory_whatever_its_score():
    head = [
        a_candidate(1, similarity=0.9, credited=5),
        a_candidate(2, similarity=0.8, credited=5),
        a_candidate(3, similarity=0.7, credited=1),
        a_candidate(4, similarity=0.6, credited=0, effective_weight=0.1),
        a_candidate(5, similarity=0.5, credited=0),
        a_candidate(6, similarity=0.2, credited=0),
    ]
    selection = a_selection(k=2, gates=Gates(raw=0.3, score=0.3), slot_probability=0.03)

    selected = select(head, selection, FixedChance(DRAWN, place=0))

    assert selected.slot_drawn
    assert ids(selected.items) == [1, 4]
    assert [item.propensity for item in selected.items] == [1, 0.015]
    assert [item.exploration_slot for item in selected.items] == [False, True]


def test_the_memory_the_slot_might_displace_keeps_the_rest_of_the_chance():
    head = [a_candidate(number, similarity=1 - number / 10) for number in (1, 2, 3)]

    selected = select(head, a_selection(k=2, slot_probability=0.03), FixedChance(NOT_DRAWN))

    assert not selected.slot_drawn
    assert [item.propensity for item in selected.items] == [1, 0.97]


def test_when_fewer_than_k_are_served_the_slot_adds_one():
    head = [a_candidate(1, similarity=0.9), a_candidate(2, similarity=0.8, effective_weight=0.1)]
    gates = Gates(raw=0.3, score=0.3)
    selection = a_selection(k=3, gates=gates, ranker="weighted/none", slot_probability=0.03)

    drawn = select(head, selection, FixedChance(DRAWN))
    undrawn = select(head, selection, FixedChance(NOT_DRAWN))

    assert [(item.candidate.id.int, item.propensity) for item in drawn.items] == [
        (1, 1),
        (2, 0.03),
    ]
    assert [(item.candidate.id.int, item.propensity) for item in undrawn.items] == [(1, 1)]


def test_nobody_is_drawn_for_a_retrieval_that_is_not_eligible():
    weak = a_candidate(1, similarity=0.8, relevance=0.2)
    selection = a_selection(gates=Gates(raw=0.3, score=0.3), slot_probability=0.03)

    assert not eligible([weak], selection)
    assert select([weak], selection, FixedChance(DRAWN)).items == ()


def test_with_nobody_to_draw_the_last_place_is_certain():
    head = [a_candidate(1), a_candidate(2)]

    selected = select(head, a_selection(k=2, slot_probability=0.03), FixedChance(DRAWN))

    assert [item.propensity for item in selected.items] == [1, 1]
    assert not selected.slot_drawn


def test_the_slot_may_take_another_memory_of_the_displaced_group_but_of_no_kept_one():
    head = [
        a_candidate(1, group="a", similarity=0.9),
        a_candidate(2, group="b", similarity=0.8),
        a_candidate(3, group="a", similarity=0.7),
        a_candidate(4, group="b", similarity=0.6),
    ]

    selected = select(head, a_selection(k=2, slot_probability=0.03), FixedChance(DRAWN))

    assert [(item.candidate.id.int, item.propensity) for item in selected.items] == [
        (1, 1),
        (4, 0.03),
    ]


def every_outcome(head, selection):
    """Each way chance can fall, with its probability: no draw, or each place among the pool."""
    share = selection.slot_probability
    undrawn = select(head, selection, FixedChance(NOT_DRAWN))
    drawn = select(head, selection, FixedChance(DRAWN))
    if not drawn.slot_drawn:
        return [(undrawn, 1.0)]
    pool = round(share / drawn.items[-1].propensity)
    slots = [select(head, selection, FixedChance(DRAWN, place)) for place in range(pool)]
    return [(undrawn, 1 - share), *((slot, share / pool) for slot in slots)]


@property_test
@given(heads(), selections(slot_probability=0.03))
def test_a_propensity_is_the_expected_number_of_servings(head, selection):
    outcomes = every_outcome(head, selection)
    servings, propensities = defaultdict(float), {}
    for selected, probability in outcomes:
        for item in selected.items:
            servings[item.candidate.id] += probability
            propensities.setdefault(item.candidate.id, item.propensity)
            assert propensities[item.candidate.id] == item.propensity

    assert sum(probability for _, probability in outcomes) == pytest.approx(1)
    assert servings.keys() == propensities.keys()
    assert dict(servings) == pytest.approx(propensities)


@property_test
@given(heads(), selections(slot_probability=0.03), st.sampled_from([DRAWN, NOT_DRAWN]))
def test_with_or_without_a_slot_the_rules_of_serving_hold(head, selection, uniform):
    items = select(head, selection, FixedChance(uniform)).items
    groups = [item.candidate.group for item in items]

    assert len(items) <= selection.k
    assert len(set(groups)) == len(groups)
    assert all(item.candidate.similarity >= selection.gates.raw for item in items)
    floor = selection.gates.score
    weighted = selection.ranker.startswith("weighted")
    assert all(
        item.exploration_slot or (item.score if weighted else item.candidate.relevance) >= floor
        for item in items
    )
    assert all(item.rank == len(items) for item in items if item.exploration_slot)


@property_test
@given(heads(), selections())
def test_a_retrieval_is_eligible_when_the_ageless_flat_ranker_serves(head, selection):
    flat = replace(selection, ranker="flat/none")

    assert eligible(head, selection) == bool(oracle_served(head, flat))


@property_test
@given(heads(), selections())
def test_all_rankers_are_the_union_of_what_the_ten_rankers_serve(head, selection):
    union = select_by_all(head, selection)

    expected = {
        ranker: {c.id for c in oracle_served(head, replace(selection, ranker=ranker))}
        for ranker in ASKED
    }
    assert {c.candidate.id for c in union} == set().union(*expected.values())
    for one, ranker in product(union, ASKED):
        assert (one.scores[ranker] is not None) == (one.candidate.id in expected[ranker])


def test_each_of_the_union_carries_its_score_by_each_ranker():
    new = a_candidate(1, similarity=0.4, effective_weight=0.5, ranking_weight=1.0)
    old = a_candidate(2, similarity=0.6, effective_weight=2.0, learned_at=NOON - timedelta(days=30))

    union = select_by_all([new, old], a_selection(k=1))

    assert [one.candidate for one in union] == [old, new]
    assert union[0].scores["flat/none"] == 0.6
    assert union[0].scores["weighted/none"] == 1.2
    assert union[0].scores["flat/15d"] is None
    assert union[1].scores["flat/none"] is None
    assert union[1].scores["weighted/15d"] == 0.2


@pytest.mark.parametrize("k", [0, 65, -1])
def test_k_outside_its_limits_is_rejected(k):
    with pytest.raises(Rejected) as fault:
        a_selection(k=k)

    assert (fault.value.field, fault.value.limit) == ("k", 64)


def test_an_unknown_ranker_is_rejected():
    with pytest.raises(Rejected) as fault:
        a_selection(ranker="flat/7d")

    assert fault.value.field == "ranker"


def test_of_several_on_probation_the_first_alone_is_served():
    head = [
        a_candidate(n, relevance=1 - n / 10, probation=n in {1, 2, 4}, similarity=0.9)
        for n in range(1, 6)
    ]

    assert ids(select(head, a_selection(k=4), FixedChance(NOT_DRAWN)).items) == [1, 3, 5]


def test_the_slot_adds_no_second_one_on_probation():
    head = [
        a_candidate(1, relevance=0.9, probation=True, credited=9),
        a_candidate(2, relevance=0.8, credited=9),
        a_candidate(3, relevance=0.2, probation=True),
        a_candidate(4, relevance=0.1, credited=1),
    ]
    selection = a_selection(k=2, gates=Gates(raw=0, score=0.5), slot_probability=0.03)

    assert ids(select(head, selection, FixedChance(DRAWN)).items) == [1, 4]


def test_the_slot_may_take_the_place_of_the_one_on_probation():
    head = [
        a_candidate(2, relevance=0.9, credited=9),
        a_candidate(1, relevance=0.8, probation=True, credited=9),
        a_candidate(3, relevance=0.2, probation=True),
    ]
    selection = a_selection(k=2, gates=Gates(raw=0, score=0.5), slot_probability=0.03)

    assert ids(select(head, selection, FixedChance(DRAWN)).items) == [2, 3]


@property_test
@given(heads(), selections(), st.integers(0, 10**6))
def test_never_are_two_on_probation_served(head, selection, seed):
    head = [replace(c, probation=c.id.int % 2 == 0) for c in head]

    served = select(head, selection, Random(seed)).items

    assert sum(one.candidate.probation for one in served) <= 1

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import (
    FixedChance,
    a_candidate,
    a_selection,
    heads,
    property_test,
    selections,
)

from memory.belief.rankers import ASKED, RANKERS
from memory.receipts.entities import Fate, Gates
from memory.retrieval.explanation import place_candidates, place_for_all
from memory.retrieval.selection import select, select_by_all

DRAWN, NOT_DRAWN = 0.0, 0.5
SERVED = {Fate.SERVED, Fate.EXPLORATION_SLOT}


def drawn_by(selected):
    return next((one.candidate.id for one in selected.items if one.exploration_slot), None)


def fates_by_number(explained):
    return {one.candidate.id.int: one.fate.value for one in explained}


@st.composite
def heads_with_some_on_probation(draw):
    return [replace(c, probation=draw(st.booleans())) for c in draw(heads())]


@property_test
@given(
    heads_with_some_on_probation(),
    selections(slot_probability=0.03),
    st.sampled_from([DRAWN, NOT_DRAWN]),
)
def test_who_is_said_to_be_served_is_served_with_the_same_propensity(head, selection, uniform):
    selected = select(head, selection, FixedChance(uniform))

    explained = place_candidates(head, selection, drawn_by(selected))

    told = {one.candidate.id: one.propensity for one in explained if one.fate in SERVED}
    assert told == {one.candidate.id: one.propensity for one in selected.items}
    ranked = [one.candidate for one in explained if one.fate is Fate.SERVED]
    assert ranked == [one.candidate for one in selected.items if not one.exploration_slot]


@property_test
@given(heads_with_some_on_probation(), selections(slot_probability=0.03))
def test_who_is_said_to_have_a_chance_is_who_chance_can_serve(head, selection):
    undrawn = select(head, selection, FixedChance(NOT_DRAWN))
    drawn = select(head, selection, FixedChance(DRAWN))
    pool = round(0.03 / drawn.items[-1].propensity) if drawn.slot_drawn else 0
    slots = [select(head, selection, FixedChance(DRAWN, place)) for place in range(pool)]

    explained = place_candidates(head, selection)

    possible = {one.candidate.id for s in (undrawn, *slots) for one in s.items}
    assert {one.candidate.id for one in explained if one.propensity > 0} == possible


@property_test
@given(heads_with_some_on_probation(), selections())
def test_each_ranker_is_said_to_serve_what_it_serves(head, selection):
    explained = place_candidates(head, selection)

    for ranker in RANKERS:
        alone = select(head, replace(selection, ranker=ranker), FixedChance(NOT_DRAWN))
        told = {o.candidate.id for o in explained if o.rankers[ranker].fate is Fate.SERVED}
        assert told == {one.candidate.id for one in alone.items}


@property_test
@given(heads_with_some_on_probation(), selections())
def test_all_rankers_are_said_to_be_served_when_they_are(head, selection):
    union = {one.candidate.id: one for one in select_by_all(head, selection)}

    explained = place_for_all(head, selection)

    told = {one.candidate.id: one for one in explained if one.fate is Fate.SERVED}
    assert told.keys() == union.keys()
    for memory_id, ranker in product(told, ASKED):
        has_score = union[memory_id].scores[ranker] is not None
        assert has_score == (told[memory_id].rankers[ranker].fate is Fate.SERVED)


@property_test
@given(heads(), selections())
def test_places_follow_the_order_scores_of_the_ranker_that_serves(head, selection):
    explained = place_candidates(head, selection)

    scores = [one.rankers[selection.ranker].order_score for one in explained]
    assert scores == sorted(scores, reverse=True)
    assert [one.place for one in explained] == list(range(1, len(head) + 1))


def test_each_candidate_is_told_what_kept_it_from_a_place():
    head = [
        a_candidate(1, similarity=0.9, group="a", probation=True),
        a_candidate(2, similarity=0.8, group="a"),
        a_candidate(3, similarity=0.7, probation=True),
        a_candidate(4, similarity=0.6),
        a_candidate(5, similarity=0.5),
        a_candidate(6, similarity=0.2),
        a_candidate(7, similarity=0.4, relevance=0.1),
    ]
    selection = a_selection(k=2, gates=Gates(raw=0.3, score=0.3))

    assert fates_by_number(place_candidates(head, selection)) == {
        1: "served",
        2: "group",
        3: "probation",
        4: "served",
        5: "beyond_k",
        6: "raw_gate",
        7: "score_floor",
    }


def test_the_slot_and_the_one_it_displaced_are_named():
    head = [a_candidate(number, similarity=1 - number / 10) for number in (1, 2, 3, 4)]
    selection = a_selection(k=2, slot_probability=0.03)

    explained = place_candidates(head, selection, drawn=head[3].id)

    assert fates_by_number(explained) == {
        1: "served",
        2: "displaced",
        3: "beyond_k",
        4: "exploration_slot",
    }
    assert [one.propensity for one in explained] == pytest.approx([1, 0.97, 0.015, 0.015])


def test_the_factor_for_age_stands_beside_the_score_it_is_part_of():
    old = a_candidate(1, similarity=0.8, learned_at=a_selection().as_of.replace(year=2024))

    [explained] = place_candidates([old], a_selection())

    for by in explained.rankers.values():
        assert by.order_score == pytest.approx(0.8 * by.knowledge_age)
    assert explained.rankers["flat/none"].knowledge_age == 1
    assert explained.rankers["flat/15d"].knowledge_age < 0.001

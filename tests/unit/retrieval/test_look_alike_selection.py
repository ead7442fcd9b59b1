from dataclasses import replace
from datetime import timedelta
from random import Random

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
from test_shortlist import shortlisted

from memory.belief.rankers import RANKERS, earned
from memory.receipts.entities import Fate, Gates
from memory.retrieval.explanation import place_candidates
from memory.retrieval.selection import select, select_by_all


def ids(items):
    return [item.candidate.id.int for item in items]


def flooded(copies: int = 20):
    """One honest lesson with a record, two of another kind, and a crowd that copies the first."""
    honest = a_candidate(
        1, similarity=0.5, look_alike="ask first", credited=9, earned=0.3, effective_weight=1.3
    )
    others = [a_candidate(n, similarity=0.4 - n / 100, look_alike=f"other {n}") for n in (2, 3)]
    crowd = [
        a_candidate(
            n + 100,
            similarity=0.9,
            look_alike="ask first",
            effective_weight=2.0,
            ranking_weight=2.0,
        )
        for n in range(copies)
    ]
    return [honest, *others, *crowd]


def test_copies_take_no_place_and_the_next_take_what_is_free_by_every_ranker():
    for ranker in RANKERS:
        served = select(flooded(), a_selection(k=3, ranker=ranker), Random(1)).items

        assert ids(served) == [1, 2, 3], ranker


def test_the_one_that_speaks_stands_where_the_first_of_them_would_stand():
    near = a_candidate(5, similarity=0.45, look_alike="between")

    served = select([*flooded(), near], a_selection(k=4), Random(1)).items

    assert ids(served) == [1, 5, 2, 3]


def test_a_trusted_one_speaks_before_one_that_has_earned_more():
    earner = a_candidate(1, look_alike="x", earned=0.5, credited=9)
    vouched = a_candidate(2, look_alike="x", trusted=True)

    assert ids(select([earner, vouched], a_selection(), Random(1)).items) == [2]


def test_of_equals_the_older_speaks():
    young = a_candidate(1, look_alike="x")
    old = a_candidate(2, look_alike="x", learned_at=NOON - timedelta(days=1))

    assert ids(select([young, old], a_selection(), Random(1)).items) == [2]


def test_a_claimed_start_weight_earns_nothing_and_a_low_one_is_not_held_against_it():
    assert earned(2.0, 2.0, credited=0) == 0
    assert earned(1.8, 2.0, credited=5) < 0
    assert earned(1.3, 1.0, credited=5) == earned(1.3, 0.5, credited=5) > 0.29


def test_one_that_does_not_pass_the_gates_speaks_for_nobody():
    below = a_candidate(1, similarity=0.1, look_alike="x", earned=0.5, credited=9)
    above = a_candidate(2, similarity=0.5, look_alike="x")
    selection = a_selection(gates=Gates(raw=0.3, score=0.3))

    assert ids(select([below, above], selection, Random(1)).items) == [2]


def test_where_its_source_group_has_a_place_the_next_of_them_speaks():
    first = a_candidate(1, similarity=0.9, group="task")
    barred = a_candidate(2, similarity=0.5, look_alike="x", group="task", trusted=True)
    other = a_candidate(3, similarity=0.4, look_alike="x")

    assert ids(select([first, barred, other], a_selection(), Random(1)).items) == [1, 3]


def test_the_exploration_slot_draws_no_copy():
    bank = [*flooded(), a_candidate(50, similarity=0.1, look_alike="new")]
    selection = a_selection(k=3, slot_probability=0.5)

    drawn = {ids(select(bank, selection, FixedChance(0.0)).items)[-1]}

    assert drawn == {50}


def test_an_explanation_says_of_a_copy_that_it_is_one():
    placed = place_candidates(flooded(2), a_selection(k=3))

    fates = {one.candidate.id.int: one.fate for one in placed}
    assert fates == {
        1: Fate.SERVED,
        2: Fate.SERVED,
        3: Fate.SERVED,
        100: Fate.LOOK_ALIKE,
        101: Fate.LOOK_ALIKE,
    }


@st.composite
def crowds(draw):
    return [
        replace(
            c,
            look_alike=draw(st.sampled_from(["", "x", "y", "z"])),
            trusted=draw(st.booleans()),
            earned=draw(st.sampled_from([-0.5, 0.0, 0.3])),
            probation=draw(st.booleans()),
        )
        for c in draw(heads(max_size=12))
    ]


@property_test
@given(crowds(), selections(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99))
def test_never_are_two_that_look_alike_served(head, drawn, slot, seed):
    selection = replace(drawn, slot_probability=slot)

    for served in (
        [one.candidate for one in select(head, selection, Random(seed)).items],
        [one.candidate for one in select_by_all(head, selection)],
    ):
        named = [c.look_alike for c in served if c.look_alike]
        assert len(named) == len(set(named))


@property_test
@given(crowds(), selections(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99))
def test_a_shortlist_with_look_alikes_serves_as_the_whole_bank_does(head, drawn, slot, seed):
    everyone = sorted((replace(c, relevance=c.similarity) for c in head), key=lambda c: c.id)
    selection = replace(drawn, slot_probability=slot)
    chances = Random(seed), Random(seed)

    served = select(shortlisted(everyone, selection), selection, chances[0], lambda: everyone)

    assert served == select(everyone, selection, chances[1])


@property_test
@given(heads(), selections(), st.integers(0, 99))
def test_where_nothing_looks_alike_nothing_changes(head, selection, seed):
    named = [replace(c, look_alike=f"own {c.id}") for c in head]

    assert ids(select(named, selection, Random(seed)).items) == ids(
        select(head, selection, Random(seed)).items
    )

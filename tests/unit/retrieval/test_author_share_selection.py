"""Whoever words one lesson in many ways does not push the other authors out."""

from dataclasses import replace
from random import Random
from uuid import UUID

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
from test_shortlist import shortlisted

from memory.belief.rankers import RANKERS
from memory.receipts.entities import Fate, Gates
from memory.retrieval.explanation import place_candidates, place_for_all
from memory.retrieval.selection import fates, select, select_by_all

CROWD, HONEST = UUID(int=1), UUID(int=2)


def flooded(copies=5, honest=(50,), **changes):
    """Near copies by one author, numbers from 1, nearer than what others wrote."""
    crowd = [
        a_candidate(n, similarity=0.9 - n / 100, author=CROWD, **changes)
        for n in range(1, copies + 1)
    ]
    others = [a_candidate(n, similarity=0.5, author=HONEST) for n in honest]
    return [*crowd, *others]


def served(candidates, **changes):
    return [
        one.candidate.id.int for one in select(candidates, a_selection(**changes), Random(1)).items
    ]


def test_the_last_place_goes_to_the_next_of_another_author_by_every_ranker():
    for ranker in RANKERS:
        assert served(flooded(honest=(51, 50)), ranker=ranker) == [1, 2, 50], ranker


def test_what_no_party_wrote_is_another_authors_and_is_never_held_back():
    crowd = flooded(honest=())

    assert served([*crowd, a_candidate(60, similarity=0.4)]) == [1, 2, 60]
    assert served([replace(c, author=None) for c in crowd] + flooded(0)) == [1, 2, 3]


def test_what_has_earned_something_takes_its_place():
    proven = [replace(c, earned=0.2) if c.id.int == 3 else c for c in flooded()]
    lost = [replace(c, earned=-0.2, credited=4) for c in flooded()]

    assert served(proven) == [1, 2, 3]
    assert served(lost) == [1, 2, 50]


def test_with_one_place_or_where_nobody_else_is_near_nothing_changes():
    assert served(flooded(), k=1) == [1]
    assert served(flooded(honest=())) == [1, 2, 3]
    assert served(flooded(), gates=Gates(raw=0.6, score=0)) == [1, 2, 3]
    assert served(flooded(copies=2)) == [1, 2, 50]


def test_who_could_not_take_the_place_does_not_wait_for_it():
    of_a_group = [*flooded(honest=()), a_candidate(50, author=HONEST, group="task 1")]
    of_like_words = [replace(c, look_alike="x") if c.id.int in (1, 50) else c for c in flooded()]
    unverified = [replace(c, probation=c.id.int in (1, 50)) for c in flooded()]

    for candidates in (of_a_group, of_like_words, unverified):
        assert served(candidates) == [1, 2, 3]


def test_an_explanation_says_whose_place_it_was():
    placed = place_candidates(flooded(copies=4), a_selection())

    assert [(one.candidate.id.int, one.fate) for one in placed] == [
        (1, Fate.SERVED),
        (2, Fate.SERVED),
        (3, Fate.AUTHOR_SHARE),
        (4, Fate.AUTHOR_SHARE),
        (50, Fate.SERVED),
    ]
    assert [one.propensity for one in placed] == [1, 1, 0, 0, 1]


def test_all_rankers_together_serve_another_author_too():
    for candidates in (flooded(), flooded(effective_weight=2.0, ranking_weight=2.0)):
        union = select_by_all(candidates, a_selection())
        placed = place_for_all(candidates, a_selection())

        assert 50 in [one.candidate.id.int for one in union]
        assert {one.candidate.id for one in placed if one.fate is Fate.SERVED} == {
            one.candidate.id for one in union
        }


def test_the_slot_does_not_give_the_last_place_back():
    crowd = flooded(copies=9)
    more = [*crowd, a_candidate(60, similarity=0.4, author=HONEST)]
    selection = a_selection(slot_probability=0.03)

    [*_, alone] = select(crowd, selection, FixedChance(0.0)).items
    [*_, drawn] = select(more, selection, FixedChance(0.0)).items

    assert (alone.candidate.id.int, alone.propensity) == (50, 1.0)
    assert (drawn.candidate.id.int, drawn.exploration_slot, drawn.propensity) == (60, True, 0.03)


@property_test
@given(heads(max_size=12), selections(), st.sampled_from([0.0, 1.0]))
def test_no_author_has_every_place_while_another_waits(candidates, drawn, slot):
    selection = replace(drawn, slot_probability=slot)
    walk = list(fates(candidates, selection))
    items = [one.candidate for one in select(candidates, selection, Random(1)).items]

    held_back = [one for one, fate in walk if fate is Fate.AUTHOR_SHARE]
    authors = {one.unproven_author for one in items}
    assert all(one.unproven_author is not None for one in held_back)
    if held_back:
        assert len(items) == selection.k > 1
        assert authors != {held_back[0].author}
    elif selection.k == len(items) > 1 and not slot and None not in authors and len(authors) == 1:
        last = [one for one, fate in walk if fate is Fate.BEYOND_K]
        first = items[:-1]
        assert not [
            one
            for one in last
            if one.author not in authors and one.group not in {c.group for c in first}
        ]


@property_test
@given(heads(max_size=30), selections(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99))
def test_a_shortlist_keeps_the_place_as_the_whole_bank_does(made, drawn, slot, seed):
    everyone = sorted((replace(c, relevance=c.similarity) for c in made), key=lambda c: c.id)
    selection = replace(drawn, slot_probability=slot)
    some = shortlisted(everyone, selection)

    found = select(some, selection, Random(seed), lambda: everyone)

    assert found == select(everyone, selection, Random(seed))

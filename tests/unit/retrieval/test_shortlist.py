from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import a_candidate, a_selection, heads, property_test, selections

from memory.receipts.entities import Gates
from memory.retrieval.selection import BankColumns, eligible, select, shortlist


def shortlisted(everyone, selection):
    """Those of the shortlist; `everyone` is in the order of ids."""
    bank = BankColumns(
        effective=np.array([c.effective_weight for c in everyone]),
        ranking=np.array([c.ranking_weight for c in everyone]),
        groups=[c.group for c in everyone],
        probation=[c.probation for c in everyone],
        authors=[c.author for c in everyone],
        alike=len({c.look_alike or c.id for c in everyone}) < len(everyone),
    )
    similarity = np.array([c.similarity for c in everyone])
    return [everyone[place] for place in shortlist(bank, similarity, selection)]


@st.composite
def banks(draw):
    """Relevance is similarity, where there is no reranker."""
    made = [
        replace(c, relevance=c.similarity, probation=draw(st.booleans()))
        for c in draw(heads(max_size=20))
    ]
    return sorted(made, key=lambda c: c.id)


@property_test
@given(banks(), selections(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99))
def test_a_shortlist_serves_and_draws_as_the_whole_bank_does(everyone, drawn, slot, seed):
    selection = replace(drawn, slot_probability=slot)
    some = shortlisted(everyone, selection)
    chances = Random(seed), Random(seed)

    served = select(some, selection, chances[0], lambda: everyone)

    assert served == select(everyone, selection, chances[1])
    assert chances[0].random() == chances[1].random()
    assert eligible(some, selection) == eligible(everyone, selection)


def test_the_most_similar_is_on_the_list_because_it_alone_may_make_a_retrieval_eligible():
    gates = Gates(raw=0, score=0.5)
    lifted = [a_candidate(n, similarity=0.3, ranking_weight=2, effective_weight=2) for n in (1, 2)]
    sunk = a_candidate(3, similarity=0.5, ranking_weight=0.1, effective_weight=0.1)
    selection = a_selection(k=1, gates=gates, ranker="weighted/none")

    assert eligible(shortlisted([*lifted, sunk], selection), selection)
    assert not eligible(lifted, selection)


def test_what_just_reaches_the_floor_is_on_the_list():
    low = [a_candidate(n, similarity=0.6, effective_weight=0.1) for n in (1, 2)]
    just, more = (
        a_candidate(3, similarity=0.5),
        a_candidate(4, similarity=0.7, effective_weight=0.1),
    )
    selection = a_selection(k=1, gates=Gates(raw=0, score=0.5), ranker="weighted/none")

    assert just in shortlisted([*low, just, more], selection)


def test_a_shortlist_is_not_much_longer_than_what_is_served():
    everyone = [a_candidate(number, similarity=number / 1000) for number in range(1000)]

    some = shortlisted(everyone, a_selection(k=10, ranker="weighted/none"))

    assert [c.id.int for c in some] == list(range(989, 1000))


def test_a_ranker_that_ages_knowledge_is_shown_the_whole_bank():
    everyone = [a_candidate(number) for number in range(50)]

    assert shortlisted(everyone, a_selection(k=1, ranker="flat/15d")) == everyone

"""Three opinions, one order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from memory.inference.fusion import (
    FusionWeights,
    Opinions,
    late_interaction,
    order_head,
    passes_gate,
    scale_fused,
    sign_bits,
    standardise,
    unite_heads,
)

SCORES = np_st.arrays(np.float64, 12, elements=st.floats(0, 1))


@given(cosine=SCORES, lexical=SCORES, size=st.integers(1, 12))
def test_a_head_holds_the_best_of_each_side_once(cosine, lexical, size: int):
    head = unite_heads(Opinions(cosine, lexical), size)

    assert sorted(set(head.tolist())) == head.tolist()
    assert size <= len(head) <= 2 * size
    assert cosine.max() == pytest.approx(cosine[head].max())
    assert lexical.max() == pytest.approx(lexical[head].max())


def test_what_shares_no_term_is_in_the_head_by_its_cosine_alone():
    opinions = Opinions(np.array([0.9, 0.1, 0.2]), np.zeros(3))

    assert unite_heads(opinions, 1).tolist() == [0]


@given(scores=SCORES, scale=st.floats(0.1, 100), shift=st.floats(-10, 10))
def test_the_scale_of_an_opinion_does_not_matter(scores, scale: float, shift: float):
    if scores.std() > 1e-6:
        moved = standardise(scores * scale + shift)
        assert moved == pytest.approx(standardise(scores), abs=1e-6)
    assert not standardise(np.full(5, shift)).any()


def test_the_fused_score_is_the_weighted_sum_and_ties_go_by_place():
    opinions = Opinions(np.array([0.2, 0.4, 0.2, 0.4]), np.array([0.0, 0.0, 2.0, 2.0]))
    head = np.arange(4)

    plain = order_head(head, opinions, weights=FusionWeights(lexical=0.5))
    late = order_head(head, opinions, np.array([9.0, 0.0, 0.0, 0.0]), FusionWeights(late=2.0))

    assert [place for place, _ in plain] == [3, 1, 2, 0]
    assert [score for _, score in plain] == pytest.approx([1.5, 0.5, -0.5, -1.5])
    assert late[0][0] == 0


def test_late_interaction_finds_the_tokens_that_agree():
    chance = np.random.default_rng(7)
    query = chance.normal(size=(3, 384)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    other = chance.normal(size=(5, 384))
    texts = [sign_bits(other), sign_bits(np.concatenate([other, query])), sign_bits(other[:0])]

    scores = late_interaction(query, np.array([1.0, 2.0, 0.0]), texts)

    assert [bits.nbytes for bits in texts] == [5 * 48, 8 * 48, 0]
    assert scores[1] > 0.7
    assert scores[0] < 0.2
    assert scores[2] == 0.0
    assert not late_interaction(query, np.zeros(3), texts).any()


def test_a_gate_lets_through_what_is_near_or_named():
    assert passes_gate(0.31, 0.3, is_exact=False)
    assert passes_gate(0.01, 0.3, is_exact=True)
    assert not passes_gate(0.29, 0.3, is_exact=False)


@given(relevance=SCORES, lexical=SCORES)
def test_fused_scores_lie_as_relevances_do(relevance, lexical):
    fused = scale_fused(relevance, lexical)

    assert ((fused >= 0) & (fused <= 1)).all()
    inside = (fused > 0) & (fused < 1)
    if inside.all() and relevance.std() > 1e-3 and lexical.std() > 1e-3:
        assert fused.mean() == pytest.approx(relevance.mean(), abs=1e-9)
        whole = standardise(relevance) + 0.5 * standardise(lexical)
        if whole.std() > 1e-6:
            assert fused.std() == pytest.approx(relevance.std(), rel=1e-6)


def test_scores_that_differ_by_too_little_for_a_deviation_are_alike():
    tiny = np.array([9e-304, 0.0, 0.0])

    assert not standardise(tiny).any()
    assert scale_fused(np.zeros(3), tiny).tolist() == [0, 0, 0]


@given(relevance=SCORES, same=st.floats(0, 9))
def test_where_all_share_alike_it_is_the_relevance(relevance, same: float):
    assert scale_fused(relevance, np.full(12, same)).tolist() == relevance.tolist()


def test_equal_relevances_are_ordered_by_words_within_a_hair():
    fused = scale_fused(np.full(3, 0.5), np.array([0.0, 2.0, 1.0]))

    assert np.argsort(-fused).tolist() == [1, 2, 0]
    assert np.ptp(fused) < 1e-5

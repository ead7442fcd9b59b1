from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import property_test

from memory.memories.routing import route

WEATHER, MARKETS = UUID(int=1), UUID(int=2)


def test_a_task_goes_to_the_nearest_centroid_whatever_its_length():
    routed = route([0.8, 0.6], {MARKETS: [0, 0.9], WEATHER: [0.1, 0]})

    assert routed.category_id == WEATHER
    assert routed.confidence == pytest.approx(0.2)
    assert routed.similarity == pytest.approx(0.8)


def test_a_single_category_is_as_sure_as_it_is_near():
    assert route([0.8, 0.6], {WEATHER: [0.5, 0]}).confidence == pytest.approx(0.8)


def test_a_task_between_two_categories_goes_to_the_lower_id_without_confidence():
    routed = route([1, 1], {MARKETS: [0, 1], WEATHER: [1, 0]})

    assert (routed.category_id, routed.confidence) == (WEATHER, 0)


@pytest.mark.parametrize(
    "centroids", [{}, {WEATHER: [-1, 0]}, {WEATHER: [0, 0]}, {WEATHER: [0, 1]}]
)
def test_a_task_near_nothing_goes_nowhere(centroids):
    routed = route([1, 0], centroids)

    assert (routed.category_id, routed.confidence, routed.similarity) == (None, 0, 0)


@property_test
@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_confidence_stays_within_zero_and_one(seed, categories):
    noise = np.random.default_rng(seed)
    centroids = {UUID(int=n): noise.normal(size=4) for n in range(categories)}

    assert 0 <= route(noise.normal(size=4).astype(np.float32), centroids).confidence <= 1

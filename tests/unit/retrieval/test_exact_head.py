import math
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import property_test

from memory.kernel.errors import Unavailable
from memory.retrieval.head import (
    HeadRow,
    QueryVector,
    ensure_whole,
    exact_head,
    margin,
    to_stored_precision,
)

FIELDS = ("situation", "lesson")


def a_row(number, vector, field="situation"):
    return HeadRow(UUID(int=number), field, np.asarray(vector, dtype=np.float16))


def a_query(vector, field="situation"):
    return QueryVector(field, np.asarray(vector, dtype=np.float32))


def oracle_cosine(stored, asked):
    """The cosine of two lists of floats, in plain Python."""
    dot = math.fsum(a * b for a, b in zip(stored, asked, strict=True))
    lengths = math.fsum(a * a for a in stored) * math.fsum(b * b for b in asked)
    return min(1.0, max(0.0, dot / math.sqrt(lengths))) if lengths > 0 else 0.0


def oracle_head(rows, queries, size):
    best = {}
    for row in rows:
        best.setdefault(row.id, 0.0)
        for query in queries:
            if query.field == row.field:
                asked = [float(x) for x in query.vector.astype(np.float16)]
                cosine = oracle_cosine([float(x) for x in row.vector], asked)
                best[row.id] = max(best[row.id], cosine)
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:size]


@st.composite
def unit_vectors(draw, width):
    """Directions with few distinct components, so that equal cosines are common."""
    parts = draw(st.lists(st.integers(-3, 3), min_size=width, max_size=width))
    length = math.sqrt(sum(part * part for part in parts)) or 1.0
    return [part / length for part in parts]


@st.composite
def searches(draw):
    width = draw(st.sampled_from([1, 2, 5, 8]))
    keys = st.tuples(st.integers(1, 12), st.sampled_from(FIELDS))
    rows = [
        a_row(number, draw(unit_vectors(width)), field)
        for number, field in draw(st.lists(keys, unique=True, max_size=10))
    ]
    queries = [
        a_query(draw(unit_vectors(width)), draw(st.sampled_from(FIELDS)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return rows, queries, draw(st.integers(1, 10))


@property_test
@given(searches())
def test_the_head_equals_the_one_that_plain_python_finds(search):
    rows, queries, size = search

    head = exact_head(rows, queries, size)

    # Equal, not nearly: sums of products of halves are exact, so ties are true ties.
    assert [(one.id, one.similarity) for one in head] == oracle_head(rows, queries, size)


@property_test
@given(searches(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_change_the_head(search, shuffle):
    rows, queries, size = search
    shuffled = list(rows)
    shuffle.shuffle(shuffled)

    assert exact_head(shuffled, queries, size) == exact_head(rows, queries, size)


def test_equal_similarities_are_told_apart_by_id():
    rows = [a_row(number, [0.6, 0.8]) for number in (3, 1, 2)]

    head = exact_head(rows, [a_query([0.6, 0.8])], 2)

    assert [one.id.int for one in head] == [1, 2]


def test_a_vector_is_exactly_one_from_itself():
    direction = np.random.default_rng(7).normal(size=384)
    direction /= np.linalg.norm(direction)

    [only] = exact_head([a_row(1, direction)], [a_query(direction)], 4)

    assert only.similarity == 1.0


def test_each_query_is_compared_with_its_own_field_and_the_best_counts():
    rows = [
        a_row(1, [1, 0], "situation"),
        a_row(1, [0, 1], "lesson"),
        a_row(2, [0.6, 0.8], "situation"),
    ]

    head = exact_head(rows, [a_query([0, 1], "situation"), a_query([0, 1], "lesson")], 4)

    assert [(one.id.int, round(one.similarity, 2)) for one in head] == [(1, 1.0), (2, 0.8)]


def test_a_memory_pointing_away_or_nowhere_has_no_similarity():
    rows = [a_row(1, [-1, 0]), a_row(2, [0, 0]), a_row(3, [1, 0], "lesson")]

    head = exact_head(rows, [a_query([1, 0])], 4)

    assert [one.similarity for one in head] == [0.0, 0.0, 0.0]


def test_a_query_is_rounded_once_to_what_the_database_holds():
    exact = np.array([0.1, 1 / 3, 1e-9], dtype=np.float32)

    stored = to_stored_precision(exact)

    assert stored.dtype == np.float16
    assert [float(x) for x in stored] == [0.0999755859375, 0.333251953125, 0.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e6])
def test_a_vector_that_is_not_finite_is_the_models_fault(bad):
    with pytest.raises(Unavailable) as fault:
        to_stored_precision([0.5, bad])

    assert fault.value.kind == "bad_embedding"


def single_precision_cosine(stored, asked):
    """The cosine as a database may compute it: one float32 addition after another."""
    sums = [np.float32(0)] * 3
    a, b = stored.astype(np.float32), asked.astype(np.float32)
    for x, y in zip(a, b, strict=True):
        sums = [sums[0] + x * y, sums[1] + x * x, sums[2] + y * y]
    return max(0.0, float(sums[0]) / math.sqrt(float(sums[1]) * float(sums[2])))


@property_test
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 96]), st.booleans())
def test_rows_within_the_margin_hold_the_whole_head(seed, width, positive):
    """Neighbours so close that float32 orders them wrongly: the margin must still catch them."""
    noise = np.random.default_rng(seed)
    centre = np.abs(noise.normal(size=width)) if positive else noise.normal(size=width)
    vectors = [centre + 1e-3 * noise.normal(size=width) for _ in range(40)]
    rows = [a_row(n, v / np.linalg.norm(v)) for n, v in enumerate(vectors, start=1)]
    query = a_query(centre / np.linalg.norm(centre))
    asked = to_stored_precision(query.vector)

    seen = [single_precision_cosine(row.vector, asked) for row in rows]
    floor = sorted(seen, reverse=True)[9] - margin(width)
    fetched = [row for row, similarity in zip(rows, seen, strict=True) if similarity >= floor]

    assert exact_head(fetched, [query], 10) == exact_head(rows, [query], 10)


@property_test
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 96, 384]))
def test_half_the_margin_bounds_the_error_of_a_float32_cosine(seed, width):
    noise = np.random.default_rng(seed)
    stored, asked = (to_stored_precision(noise.random(width)) for _ in range(2))
    exact = oracle_cosine([float(x) for x in stored], [float(x) for x in asked])

    assert abs(single_precision_cosine(stored, asked) - exact) <= margin(width) / 2


def test_the_margin_is_small_and_grows_with_the_width():
    margins = [margin(width) for width in (1, 384, 1024, 4096)]

    assert all(narrow < wide for narrow, wide in pairwise(margins))
    assert margin(384) == pytest.approx(9.156e-5, rel=1e-3)


@pytest.mark.parametrize(("found", "size", "matching"), [(12, 12, 500), (3, 12, 3), (0, 12, 0)])
def test_a_head_as_long_as_what_matches_is_whole(found, size, matching):
    ensure_whole(found, size, matching)


@pytest.mark.parametrize(("found", "size", "matching"), [(1, 20, 400), (2, 12, 3), (0, 1, 1)])
def test_a_head_shorter_than_what_matches_is_a_fault(found, size, matching):
    with pytest.raises(Unavailable) as fault:
        ensure_whole(found, size, matching)

    assert fault.value.kind == "short_head"

import pytest

from memory.memories.rules import back_off


@pytest.mark.parametrize(
    ("sizes", "opened"),
    [
        ({0: 3, 1: 9, 2: 9, 3: 9}, {0: 1.0}),
        ({0: 2, 1: 1, 2: 9, 3: 9}, {0: 1.0, 1: 0.9}),
        ({0: 1, 2: 2, 3: 9}, {0: 1.0, 1: 0.9, 2: 0.8}),
        ({0: 2, 3: 9}, {0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7}),
        ({}, {0: 1.0, 1: 0.9, 2: 0.8, 3: 0.7}),
    ],
)
def test_a_bucket_with_fewer_than_three_borrows_from_the_next(sizes, opened):
    assert back_off(sizes) == opened

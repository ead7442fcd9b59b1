"""Constraints with triggers that are alike are a group, each in one at most, the largest first."""

from uuid import UUID

import numpy as np
import pytest

from memory.constraints.likeness_groups import group_alike

A, B, C, D, E, F = (UUID(int=n) for n in range(1, 7))


def at_degrees(*degrees: float) -> np.ndarray:
    """Unit vectors in a plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_the_midst_of_the_most_comes_first_and_then_the_nearest() -> None:
    bound = float(np.cos(np.radians(11)))

    # 30 lies within 11 degrees of both of its neighbours, which are 18 degrees apart.
    [first, second] = group_alike((A, B, C, D, E, F), at_degrees(20, 30, 38, 90, 95, 180), bound)

    assert first.ids == (B, C, A)
    assert first.similarity == pytest.approx(np.cos(np.radians(10)), abs=1e-5)
    assert second.ids == (D, E)


def test_what_is_like_nothing_is_in_no_group_and_nothing_makes_none() -> None:
    assert group_alike((A, B), at_degrees(0, 90), 0.9) == []
    assert group_alike((), np.zeros((0, 2), dtype=np.float32), 0.9) == []


def test_each_is_in_one_group_whatever_lies_between() -> None:
    ids = tuple(UUID(int=n) for n in range(40))
    found = group_alike(ids, at_degrees(*range(0, 160, 4)), float(np.cos(np.radians(9))))

    members = [one for group in found for one in group.ids]
    assert len(members) == len(set(members))
    assert [len(group.ids) for group in found] == sorted(
        (len(group.ids) for group in found), reverse=True
    )

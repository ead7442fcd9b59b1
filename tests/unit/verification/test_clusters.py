"""Failures that are alike, and the rule by which changes after them are admitted."""

from uuid import UUID

import numpy as np
import pytest

from memory.verification.clusters import FEWEST, MOST, Failure, clusters
from memory.verification.entities import Run, TrialPurpose
from memory.verification.rules import (
    Decision,
    RewardPair,
    WantedTrial,
    more_wins,
    plan_changeset,
)

BUCKET = ("weather", "owl", "reward", "continuous")


def at(angle: float):
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def failed(number: int, bucket=BUCKET, group: str | None = None) -> Failure:
    return Failure(UUID(int=number), group or f"task:{number}", bucket, f"task {number}")


def found(failures, angles, bound=0.9):
    vectors = {f"task {number}": at(angle) for number, angle in angles.items()}
    made = clusters(failures, vectors, bound)
    return [[one.outcome_id.int for one in cluster.failures] for cluster in made]


def test_near_failures_of_a_bucket_are_one_cluster_around_the_one_in_their_midst() -> None:
    angles = {1: 0.0, 2: 0.3, 3: 0.6, 4: 1.5}

    assert found([failed(one) for one in angles], angles) == [[2, 1, 3]]


def test_two_failures_are_none_and_neither_are_three_of_one_task_group() -> None:
    angles = {1: 0.0, 2: 0.0, 3: 0.0}

    assert found([failed(1), failed(2)], angles) == []
    assert found([failed(one, group="group:rain") for one in angles], angles) == []


def test_other_categories_families_and_measures_are_never_alike() -> None:
    angles = {1: 0.0, 2: 0.0, 3: 0.0}
    for place in range(4):
        other = tuple("other" if place == i else part for i, part in enumerate(BUCKET))
        assert found([failed(1), failed(2), failed(3, other)], angles) == []


def test_a_failure_is_in_one_cluster_and_a_large_cluster_keeps_its_nearest() -> None:
    angles = {one: 0.01 * one for one in range(10)} | dict.fromkeys(range(20, 23), 1.5)

    made = found([failed(one) for one in angles], angles)

    assert [len(one) for one in made] == [MOST, FEWEST]
    assert not set(made[0]) & set(made[1])


@pytest.mark.parametrize(
    ("pairs", "decision", "reason"),
    [
        ([(0.1, 0.9), (0.2, 0.8), (0.9, 0.1)], Decision.ADMITTED, "2_wins_1_losses"),
        ([(0.1, 0.9), (0.9, 0.1)], Decision.REJECTED, "1_wins_1_losses"),
        ([(0.1, 0.11), (0.9, 0.89)], Decision.REJECTED, "0_wins_0_losses"),
        ([(0.1, 0.9), (0.2, None)], Decision.UNDECIDED, "trials_missing"),
        ([(None, 0.9)], Decision.UNDECIDED, "trials_missing"),
        ([], Decision.UNDECIDED, "trials_missing"),
    ],
)
def test_a_changeset_is_admitted_iff_wins_exceed_losses(pairs, decision, reason) -> None:
    verdict = more_wins([RewardPair(*pair) for pair in pairs])

    assert (verdict.decision, verdict.reason) == (decision, reason)


def test_every_task_that_failed_is_tried_and_two_that_went_well() -> None:
    failures = [WantedTrial(TrialPurpose.SOURCE, UUID(int=one), 0.1) for one in (1, 2, 3)]
    runs = [
        Run(UUID(int=100 + task), UUID(int=task), f"task:{task}", reward)
        for task, reward in ((1, 0.9), (4, 0.7), (5, 0.9), (6, 0.8))
    ]

    wanted = plan_changeset(failures, runs)

    assert wanted[:3] == failures
    assert [(one.purpose, one.task.int) for one in wanted[3:]] == [("anchor", 5), ("anchor", 6)]

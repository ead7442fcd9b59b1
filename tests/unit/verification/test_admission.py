"""A candidate enters by the lift of its trials, at the thresholds that are written down."""

from fractions import Fraction
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import Status, Trust
from memory.memories.rules import after_probation
from memory.verification.rules import (
    Anchor,
    Decision,
    Reference,
    Trial,
    TrialVerdict,
    admission,
    improvable,
    posterior,
    trust_of,
)

OWN, OTHER = UUID(int=1), UUID(int=2)


def tried(*rewards: float | None, same: bool = True) -> list[Trial]:
    return [Trial(OWN, reward, same_task=same) for reward in rewards]


def continuous(
    trials: list[Trial], reference: float, anchors: tuple[Anchor, ...] = ()
) -> TrialVerdict:
    known = {OWN: Reference(reference), OTHER: Reference(reference)}
    return admission(trials, known, "continuous", anchors)


def binary(trials: list[Trial], successes: int, runs: int) -> TrialVerdict:
    return admission(trials, {OWN: Reference(successes / runs, runs)}, "binary", ())


@pytest.mark.parametrize(
    ("reward", "decision"), [(0.64, Decision.REJECTED), (0.65, Decision.ADMITTED)]
)
def test_one_trial_needs_a_gain_of_five_hundredths(reward: float, decision: Decision) -> None:
    assert continuous(tried(reward), 0.60).decision is decision


@given(st.integers(0, 95))
def test_the_threshold_is_inclusive_whatever_the_last_bit_says(hundredths: int) -> None:
    reference, reward = hundredths / 100, (hundredths + 5) / 100

    assert continuous(tried(reward), reference).decision is Decision.ADMITTED


def test_three_trials_must_agree_that_there_is_a_gain() -> None:
    assert continuous(tried(0.7, 0.72, 0.68), 0.6).decision is Decision.ADMITTED
    assert continuous(tried(1.0, 0.5, 0.5), 0.6).reason == "gain_uncertain"
    assert continuous(tried(1.0, 0.5), 0.6).decision is Decision.ADMITTED


@pytest.mark.parametrize(
    ("new", "reference", "probability"),
    [((1, 1), (0, 1), "5/6"), ((2, 2), (0, 2), "19/20"), ((3, 3), (1, 3), "13/14")],
)
def test_the_posterior_of_published_counts(
    new: tuple[int, int], reference: tuple[int, int], probability: str
) -> None:
    assert posterior(new, reference) == Fraction(probability)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_posteriors_of_a_pair_add_up_to_one(a: int, b: int, c: int, d: int) -> None:
    first, second = (a, a + b), (c, c + d)

    assert posterior(first, second) + posterior(second, first) == 1
    assert posterior((a + 1, a + b + 1), second) > posterior(first, second)


def test_one_success_after_one_failure_is_luck() -> None:
    assert binary(tried(1.0), 0, 1).reason == "posterior_too_low"
    assert binary(tried(1.0, 1.0), 0, 1).decision is Decision.ADMITTED
    assert binary(tried(1.0, 1.0, 1.0), 1, 3).decision is Decision.ADMITTED
    assert binary(tried(1.0, 0.0, 1.0), 0, 1).decision is Decision.REJECTED


def test_a_trial_on_another_task_is_held_against_that_task() -> None:
    trials = [*tried(0.7), Trial(OTHER, 0.9, same_task=False)]
    known = {OWN: Reference(0.6), OTHER: Reference(0.8)}

    assert admission(trials, known, "continuous", ()) == TrialVerdict(
        Decision.ADMITTED, "gain", "other_task"
    )
    assert continuous(tried(0.7), 0.6).evidence == "same_task"


@pytest.mark.parametrize(
    ("anchors", "decision"),
    [
        ([(0.9, 0.5)], Decision.REJECTED),
        ([(0.9, 0.5), (0.9, 0.95)], Decision.ADMITTED),
        ([(0.9, 0.89)], Decision.ADMITTED),
        ([(0.9, 0.5), (0.9, 0.9)], Decision.REJECTED),
    ],
)
def test_tasks_that_went_well_may_not_lose_more_than_they_win(
    anchors: list[tuple[float, float]], decision: Decision
) -> None:
    known = tuple(Anchor(before, after) for before, after in anchors)

    assert continuous(tried(0.9), 0.6, known).decision is decision


@pytest.mark.parametrize(
    ("trials", "anchors"),
    [
        (tried(), ()),
        (tried(None), ()),
        (tried(0.9, None), ()),
        (tried(0.9), (Anchor(0.9, None),)),
    ],
)
def test_nothing_is_decided_while_a_trial_is_out(
    trials: list[Trial], anchors: tuple[Anchor, ...]
) -> None:
    verdict = continuous(trials, 0.6, anchors)

    assert (verdict.decision, verdict.reason) == (Decision.UNDECIDED, "trials_missing")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_what_lost_on_average_is_never_admitted(rewards: list[float], reference: float) -> None:
    verdict = continuous(tried(*rewards), reference)

    assert verdict.decision is not Decision.UNDECIDED
    if sum(rewards) / len(rewards) <= reference:
        assert verdict.decision is Decision.REJECTED


def test_a_run_without_room_for_a_gain_teaches_nothing() -> None:
    assert improvable(0.95)
    assert not improvable(0.96)


@pytest.mark.parametrize(
    ("weight", "credited", "status"),
    [
        (1.1, 2, None),
        (1.1, 3, Status.ACTIVE),
        (1.0, 9, None),
        (0.8, 4, None),
        (0.8, 5, Status.REJECTED),
        (0.81, 9, None),
    ],
)
def test_outcomes_end_a_probation(weight: float, credited: int, status: Status | None) -> None:
    assert after_probation(weight, credited) is status


@pytest.mark.parametrize(
    ("source", "manages", "trust"),
    [
        ("human", True, Trust.TRUSTED),
        ("test", True, Trust.TRUSTED),
        ("judge", True, Trust.UNVERIFIED),
        ("none", True, Trust.UNVERIFIED),
        ("human", False, Trust.UNVERIFIED),
    ],
)
def test_trust_in_a_history_is_a_managers_to_give(
    source: str, *, manages: bool, trust: Trust
) -> None:
    assert trust_of(source, manages=manages) is trust

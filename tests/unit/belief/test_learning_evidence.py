"""What an outcome is evidence of, which one counts, and who may not praise itself."""

from dataclasses import dataclass
from uuid import UUID

import pytest
from learning_builders import A, B, C

from memory.belief.states import Evidence
from memory.kernel.errors import Rejected
from memory.outcomes.precedence import (
    Authorship,
    Circumstances,
    author_of,
    classify,
    effective_outcome,
)
from memory.tenancy.claims import verifier_rank

ANNE, BOB = UUID(int=10), UUID(int=11)


@pytest.mark.parametrize("arm", ["on", "forced_on", "retest"])
def test_a_run_with_memory_is_single_alone_and_paired_beside_one_without(arm):
    assert classify(Circumstances(arm)) == (Evidence.SINGLE, None)
    assert classify(Circumstances(arm, without=True)) == (Evidence.PAIRED, None)


def test_a_promised_pair_waits_for_its_other_half():
    assert classify(Circumstances("paired", "paired")) == (Evidence.NONE, "half_missing")
    assert classify(Circumstances("paired", "paired", without=True)) == (Evidence.PAIRED, None)


@pytest.mark.parametrize("without", [False, True])
def test_the_control_arm_is_control_whatever_else_is_reported(without):
    assert classify(Circumstances("control", without=without)) == (Evidence.CONTROL, None)


@pytest.mark.parametrize("arm", ["forced_off", "empty"])
def test_a_run_without_memory_that_no_lot_chose_is_observational(arm):
    assert classify(Circumstances(arm)) == (Evidence.NONE, "observational")


@pytest.mark.parametrize("arm", ["on", "control"])
@pytest.mark.parametrize(
    ("circumstance", "reason"),
    [
        ({"frozen": True}, "frozen"),
        ({"expired": True}, "expired"),
        ({"other_metric": True}, "other_metric"),
        ({"purpose": "preview"}, "preview"),
        ({"purpose": "replay"}, "replay"),
    ],
)
def test_what_moves_nothing_says_why(arm, circumstance, reason):
    assert classify(Circumstances(arm, **circumstance)) == (Evidence.NONE, reason)


def test_an_outcome_for_an_older_text_moves_nothing_unless_no_text_was_served():
    assert classify(Circumstances("on", current=False)) == (Evidence.NONE, "other_version")
    assert classify(Circumstances("control", current=False)) == (Evidence.CONTROL, None)


@dataclass(frozen=True)
class AnOutcome:
    name: str
    verifier: str


def test_the_highest_verifier_counts_and_the_first_at_equal_rank():
    outcomes = [
        AnOutcome("own word", "self"),
        AnOutcome("first test", "test"),
        AnOutcome("judge", "judge"),
        AnOutcome("second test", "test"),
    ]

    assert effective_outcome(outcomes).name == "first test"
    assert effective_outcome([*outcomes, AnOutcome("person", "human")]).name == "person"


def test_verifiers_are_believed_in_order_and_no_other_is_known():
    believed = sorted(["judge", "human", "self", "test"], key=verifier_rank)

    assert believed == ["self", "judge", "test", "human"]
    with pytest.raises(Rejected) as refusal:
        verifier_rank("oracle")
    assert refusal.value.field == "verifier"


SERVED = (
    Authorship(A, author=ANNE, shared=True),
    Authorship(B, author=BOB, shared=True),
    Authorship(C, author=None, shared=True),
)


def test_a_keys_word_about_its_own_memory_does_not_count():
    assert author_of(frozenset({ANNE}), SERVED) == {A}


def test_who_is_no_author_may_credit_everything():
    """An evaluator, a settlement, or a party that is alone in its namespace."""
    assert author_of(frozenset(), SERVED) == frozenset()


def test_a_memory_that_only_its_author_sees_may_be_credited_by_it():
    private = (Authorship(A, author=ANNE, shared=False),)

    assert author_of(frozenset({ANNE}), private) == frozenset()

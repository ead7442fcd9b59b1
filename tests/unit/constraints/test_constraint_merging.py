"""Which constraints are one, and which contradict each other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.entities import Wording
from memory.constraints.merging import (
    ENFORCED_AVOIDED,
    NEGATED,
    Nearness,
    Strength,
    opposed,
    same,
    stronger,
)
from memory.kernel.likeness import SAME, TWIN

ONE = Wording("parts have several units", "converting them first", "adding them as they stand")
MIRRORED = Wording(ONE.trigger, ONE.avoid, ONE.enforce)
NEAR = Nearness(0.98, 0.98, 0.98, 0.98, (0.1, 0.1))
CROSSED = Nearness(0.95, 0.95, 0.1, 0.1, (0.95, 0.95))

cosines = st.floats(-1, 1)
words = st.sampled_from(["count", "twice", "never", "12", "two", "Paris", "the cap", "units"])
said = st.lists(words, min_size=1, max_size=5).map(" ".join)
wordings = st.builds(Wording, said, said, said) | st.builds(Wording, said, st.none(), said)
nearness = st.builds(Nearness, cosines, cosines, cosines, cosines, st.tuples(cosines, cosines))
strengths = st.builds(
    Strength, st.booleans(), st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.5, 1.0])
)


def turned(near: Nearness) -> Nearness:
    """The same two constraints, the other one first."""
    ours, theirs = near.crossed
    return replace(near, crossed=(theirs, ours))


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, avoid="Adding them, as they stand."),
        replace(ONE, trigger="the parts have several units"),
        replace(ONE, enforce="con-verting them first"),
    ],
)
def test_the_same_words_but_for_articles_points_and_hyphens_are_one(other: Wording):
    assert same(ONE, other, NEAR)
    assert opposed(ONE, other, NEAR) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, avoid="adding them up as they stand"),
        replace(ONE, trigger="parts have 3 units"),
        replace(ONE, enforce="converting them never first"),
        replace(ONE, enforce="converting them last"),
        replace(ONE, avoid="adding them as in Paris"),
        replace(ONE, enforce=None),
        replace(ONE, avoid=None),
    ],
)
def test_a_word_or_another_polarity_keeps_two_apart(other: Wording):
    assert not same(ONE, other, NEAR)


def test_of_the_same_words_but_an_article_the_vectors_have_to_agree():
    other = replace(ONE, trigger="the parts have several units")

    assert not same(ONE, other, replace(NEAR, trigger=SAME - 0.01))
    assert same(ONE, ONE, replace(NEAR, trigger=0.1, lesson=0.1))


def test_enforcing_what_the_other_avoids_is_a_contradiction_and_no_twin():
    assert opposed(ONE, MIRRORED, CROSSED) == ENFORCED_AVOIDED
    assert not same(ONE, MIRRORED, CROSSED)


def test_one_half_is_enough_for_a_contradiction():
    avoiding = Wording(ONE.trigger, None, ONE.enforce)

    assert opposed(ONE, avoiding, Nearness(0.95, 0.5, None, 0.1, (0.95, None))) == ENFORCED_AVOIDED


def test_an_obligation_and_its_negation_contradict_and_two_negations_do_not():
    once = replace(ONE, enforce="not converting them first")
    twice = replace(ONE, enforce="never not converting them first")

    assert opposed(ONE, once, NEAR) == NEGATED
    assert opposed(ONE, twice, NEAR) is None


def test_avoiding_a_thing_and_enforcing_its_negation_agree():
    agreeing = Wording(ONE.trigger, "not adding them as they stand")

    assert opposed(ONE, agreeing, Nearness(0.95, 0.5, 0.1, None, (None, 0.95))) is None


def test_another_trigger_is_another_matter():
    assert opposed(ONE, MIRRORED, replace(CROSSED, trigger=TWIN - 0.01)) is None
    assert opposed(ONE, replace(MIRRORED, trigger="parts have 3 units"), CROSSED) is None


@given(wordings, wordings, nearness)
def test_neither_depends_on_which_came_first(one: Wording, other: Wording, near: Nearness):
    assert same(one, other, near) == same(other, one, turned(near))
    assert opposed(one, other, near) == opposed(other, one, turned(near))


@given(wordings, wordings, nearness)
def test_what_is_one_does_not_contradict_itself(one: Wording, other: Wording, near: Nearness):
    assert not (same(one, other, near) and opposed(one, other, near))


@given(strengths, strengths)
def test_tasks_outweigh_families_and_families_the_weight(one: Strength, other: Strength):
    keep = stronger(one, other)

    assert (keep is None) == (one == other or not (one.proven or other.proven))
    assert {keep, stronger(other, one)} in ({None}, {"first", "second"})
    if (one.tasks, one.families) > (other.tasks, other.families):
        assert keep == ("first" if one.proven else "second" if other.proven else None)


@given(strengths, strengths)
def test_what_is_not_proven_never_wins(one: Strength, other: Strength):
    if not one.proven:
        assert stronger(one, other) != "first"
        assert stronger(other, one) != "second"

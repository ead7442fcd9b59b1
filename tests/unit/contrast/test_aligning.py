"""Where two runs part."""

from hypothesis import given
from hypothesis import strategies as st

from memory.contrast.aligning import parting
from memory.contrast.steps import Step

RUNS = st.lists(st.sampled_from("abcde"), max_size=8)


def steps(keys, told="does"):
    return [Step(key, f"{told} {key}") for key in keys]


def keys(found):
    return "".join(step.key for step in found)


def test_runs_part_where_one_does_what_the_other_does_not():
    apart = parting(steps("abcd"), steps("abxd"))
    assert apart is not None
    assert (keys(apart.preferred), keys(apart.unpreferred)) == ("c", "x")
    assert apart.shared == Step("b", "does b")


def test_a_run_that_ends_early_has_nothing_of_its_own():
    apart = parting(steps("abc"), steps("ab"))
    assert apart is not None
    assert (keys(apart.preferred), keys(apart.unpreferred)) == ("c", "")


def test_a_step_done_twice_is_more_than_one_done_once():
    apart = parting(steps("aa"), steps("a"))
    assert apart is not None
    assert keys(apart.preferred) == "a"


def test_runs_that_part_at_once_share_nothing():
    apart = parting(steps("abc"), steps("xbc"))
    assert apart is not None
    assert apart.shared is None


@given(RUNS, st.randoms(use_true_random=False))
def test_the_same_steps_in_another_order_do_not_part(run, chance):
    shuffled = list(run)
    chance.shuffle(shuffled)
    assert parting(steps(run), steps(shuffled)) is None


@given(RUNS, RUNS)
def test_swapping_the_runs_swaps_the_sides_and_nothing_else(one, other):
    apart = parting(steps(one), steps(other, "makes"))
    swapped = parting(steps(other, "makes"), steps(one))
    if apart is None or swapped is None:
        assert apart is swapped
    else:
        assert (swapped.preferred, swapped.unpreferred) == (apart.unpreferred, apart.preferred)
        assert swapped.shared == apart.shared


@given(RUNS, RUNS)
def test_every_step_is_matched_once_or_its_own(one, other):
    apart = parting(steps(one), steps(other))
    own, others = (apart.preferred, apart.unpreferred) if apart else ((), ())
    assert len(one) - len(own) == len(other) - len(others)


def test_a_thousand_steps_cost_no_more_than_they_are():
    long = [str(number) for number in range(1_000)]
    apart = parting(steps(long), steps(long[::-1][:-1]))
    assert apart is not None
    assert keys(apart.preferred) == "0"

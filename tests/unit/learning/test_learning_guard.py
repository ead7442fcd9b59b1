"""The guard: losses by feedback date, and how far each ranker is believed."""

from math import exp, fsum, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON

from memory.errors import Rejected
from memory.learning.guard import (
    Lot,
    initial_record,
    learn_losses,
    probabilities,
    sampled_losses,
)
from tests.fixtures.profiles import examples

NOTHING = initial_record(2)


def after(*events, state=NOTHING):
    """Events are (losses, day)."""
    for losses, day in events:
        state = learn_losses(state, losses, NOON + day * DAY)
    return state


def believed(cell, namespace=NOTHING, prior=(0.5, 0.5), *, day=0.0):
    return probabilities(prior, cell, namespace, NOON + day * DAY)


def odds(pi):
    return pi[1] / pi[0]


def test_without_a_record_the_prior_stands():
    assert believed(NOTHING, prior=(0.8, 0.2)) == pytest.approx((0.8, 0.2))


def test_priors_need_not_sum_to_one():
    assert believed(NOTHING, prior=(8.0, 2.0)) == pytest.approx((0.8, 0.2))


def test_a_day_counts_its_losses_over_one_outcome_more_than_it_had():
    day = after(((1.0, 0.0), 0), ((0.5, 0.0), 0))

    assert odds(believed(day)) == pytest.approx(exp(4 * 1.5 / 3))


def test_a_new_day_adds_to_a_record_that_halves_in_ninety_days():
    record = after(((1.0, 0.0), 0), ((1.0, 0.0), 90))

    assert odds(believed(record, day=90)) == pytest.approx(exp(4 * (0.5 / 2 + 0.5)))
    assert odds(believed(record, day=180)) == pytest.approx(exp(2 * (0.5 / 2 + 0.5)))


def test_the_namespace_weighs_as_three_dates_of_its_mean_loss():
    everyone = after(((1.0, 0.0), 0), ((1.0, 0.0), 1), ((0.2, 0.0), 2))
    kept = 0.5 ** (1 / 90)
    losses = kept * kept * 0.5 + kept * 0.5 + 0.1
    dates = kept * kept + kept + 1

    assert odds(believed(NOTHING, everyone, day=2)) == pytest.approx(exp(4 * 3 * losses / dates))


def test_the_namespaces_mean_loss_does_not_fade_before_it_is_contradicted():
    everyone = after(((1.0, 0.0), 0))

    assert believed(NOTHING, everyone, day=500) == believed(NOTHING, everyone)


def test_an_outcome_of_an_earlier_day_joins_the_open_day():
    late = after(((1.0, 0.0), 5), ((0.5, 0.0), 3))

    assert late == after(((1.0, 0.0), 5), ((0.5, 0.0), 5))
    assert late.touched == NOON + 5 * DAY


def test_a_ranker_that_was_not_scored_lost_nothing():
    assert after(((1.0, None), 0)) == after(((1.0, 0.0), 0))


def test_feedback_dates_are_counted_by_day():
    assert after(*[((1.0, 0.0), day) for day in (0, 0.1, 1, 1, 7)]).values[1] == 3.0


def test_a_clock_that_ran_back_forgets_nothing():
    record = after(((1.0, 0.0), 5))

    assert believed(record, day=1) == believed(record, day=5)


def test_the_best_ranker_never_underflows_beside_one_that_is_ruled_out():
    record = initial_record(3)
    for day in range(400):
        record = learn_losses(record, (0.0, 4.0, 5.0), NOON + day * DAY)

    pi = probabilities((0.0, 0.5, 0.5), record, initial_record(3), NOON + 399 * DAY)

    assert pi[0] == 0.0
    assert pi[1] == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [-5.1, 5.1, nan])
def test_a_loss_outside_its_range_is_refused(loss):
    with pytest.raises(Rejected):
        after(((0.0, loss), 0))


def test_losses_of_another_number_of_rankers_are_refused():
    with pytest.raises(Rejected):
        after(((0.0, 0.0, 0.0), 0))


def test_the_ranker_that_was_drawn_answers_for_how_rarely_it_is():
    assert sampled_losses(3, Lot(1, 0.5), 0.6, 1.0) == (None, pytest.approx(0.8), None)
    assert sampled_losses(3, Lot(1, 0.5), 0.6, 0.5) == (None, pytest.approx(-0.2), None)


def test_a_rarely_drawn_ranker_loses_at_most_five():
    assert sampled_losses(2, Lot(0, 0.01), 0.0, 1.0) == (5.0, None)
    assert sampled_losses(2, Lot(0, 0.01), 1.0, 0.0) == (-5.0, None)


losses = st.lists(st.none() | st.floats(0, 5), min_size=3, max_size=3)
moments = st.floats(-50, 3000)
events = st.lists(st.tuples(losses, moments), max_size=20)
priors = st.lists(st.just(0.0) | st.floats(1e-6, 1), min_size=3, max_size=3).filter(any)
quick = examples(40)


@quick
@given(own=events, everyone=events, prior=priors, day=moments)
def test_probabilities_sum_to_one_and_no_prior_comes_from_nothing(own, everyone, prior, day):
    pi = believed(
        after(*own, state=initial_record(3)),
        after(*everyone, state=initial_record(3)),
        prior,
        day=day,
    )

    assert fsum(pi) == pytest.approx(1.0, abs=1e-12)
    assert all(share >= 0.0 for share in pi)
    assert all(share == 0.0 for share, before in zip(pi, prior, strict=True) if before == 0.0)


@quick
@given(own=events, prior=priors, order=st.permutations(range(3)), day=moments)
def test_the_order_of_rankers_carries_no_meaning(own, prior, order, day):
    blank = initial_record(3)
    pi = believed(after(*own, state=blank), blank, prior, day=day)
    permuted = [([losses[i] for i in order], at) for losses, at in own]

    turned = believed(after(*permuted, state=blank), blank, [prior[i] for i in order], day=day)

    assert turned == pytest.approx([pi[i] for i in order], rel=1e-9, abs=1e-300)


@quick
@given(own=events, day=moments, worse=st.floats(0.01, 5))
def test_losing_more_is_never_believed_more(own, day, worse):
    blank = initial_record(3)
    mild = after(*own, ([0.0, 1.0, 1.0], day), state=blank)
    hard = after(*own, ([worse, 1.0, 1.0], day), state=blank)
    prior = (0.2, 0.4, 0.4)

    before, now = believed(mild, blank, prior, day=day), believed(hard, blank, prior, day=day)

    assert now[0] <= before[0] + 1e-12


@quick
@given(days=st.lists(st.integers(0, 400), min_size=1, max_size=12))
def test_a_record_is_the_discounted_sum_of_its_days(days):
    record = after(*[((1.0, 0.5), day) for day in sorted(days)])
    last = max(days)
    expected = fsum(
        days.count(day) / (days.count(day) + 1) * 0.5 ** ((last - day) / 90) for day in set(days)
    )

    assert odds(believed(record, day=last)) == pytest.approx(exp(4 * 0.5 * expected))

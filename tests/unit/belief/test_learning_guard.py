"""The guard: losses by feedback date, and how far each ranker is believed."""

from math import exp, fsum, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_builders import DAY, NOON

from memory.belief.guard import (
    initial_record,
    learn_losses,
    losses_of,
    probabilities,
    sampled_losses,
)
from memory.belief.rankers import Draw
from memory.kernel.errors import Rejected
from tests.fixtures.profiles import examples

NAMES = ("a", "b", "c")
NOTHING = initial_record("ab")
THREE = initial_record(NAMES)


def named(numbers):
    """By ranker: the first number is a's, the second b's."""
    return dict(zip(NAMES, numbers, strict=False))


def after(*events, state=NOTHING):
    """Events are (losses, day)."""
    for losses, day in events:
        told = losses if isinstance(losses, dict) else named(losses)
        state = learn_losses(state, told, NOON + day * DAY)
    return state


def believed(cell, namespace=NOTHING, prior=(0.5, 0.5), *, day=0.0):
    found = probabilities(named(prior), cell, namespace, NOON + day * DAY)
    return tuple(found[name] for name in named(prior))


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
    record = after(*[((0.0, 4.0, 5.0), day) for day in range(400)], state=THREE)

    pi = believed(record, THREE, (0.0, 0.5, 0.5), day=399)

    assert pi[0] == 0.0
    assert pi[1] == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [-5.1, 5.1, nan])
def test_a_loss_outside_its_range_is_refused(loss):
    with pytest.raises(Rejected):
        after(((0.0, loss), 0))


def test_losses_of_no_ranker_are_refused():
    with pytest.raises(Rejected):
        after(({}, 0))


def test_the_ranker_that_was_drawn_answers_for_how_rarely_it_is():
    drawn = Draw("b", {"a": 0.3, "b": 0.5, "c": 0.2})

    assert sampled_losses(drawn, 0.6, 1.0) == {"a": None, "b": pytest.approx(0.8), "c": None}
    assert sampled_losses(drawn, 0.6, 0.5) == {"a": None, "b": pytest.approx(-0.2), "c": None}


def test_a_rarely_drawn_ranker_loses_at_most_five():
    drawn = Draw("a", {"a": 0.01, "b": 0.99})

    assert sampled_losses(drawn, 0.0, 1.0) == {"a": 5.0, "b": None}
    assert sampled_losses(drawn, 1.0, 0.0) == {"a": -5.0, "b": None}


def test_a_ranker_that_comes_later_stands_where_the_others_stand_on_average():
    record = after(((1.0, 0.0), 0), ((1.0, 0.0), 1))

    pi = believed(record, THREE, (0.25, 0.25, 0.5), day=1)
    learned = after(({"a": 1.0, "b": 0.0, "c": 0.5}, 1), state=record)

    assert odds((pi[2], pi[0])) == pytest.approx(odds((pi[1], pi[2])) / 4)
    assert losses_of(record, NAMES)["c"] == pytest.approx(
        fsum(losses_of(record, "ab").values()) / 2
    )
    assert losses_of(learned, NAMES)["c"] == pytest.approx(
        fsum(losses_of(learned, "ab").values()) / 2
    )


def test_a_ranker_that_an_outcome_says_nothing_of_loses_what_the_others_do_on_average():
    record = after(({"a": 1.0, "b": 0.0}, 0), state=THREE)

    assert losses_of(record, NAMES) == {"a": 0.5, "b": 0.0, "c": 0.25}


def test_a_ranker_that_has_gone_stays_in_the_record_and_is_not_believed_in():
    record = after(((1.0, 0.0, 0.0), 0), state=THREE)

    assert set(record.by_ranker) == set(NAMES)
    assert believed(record) == believed(after(((1.0, 0.0), 0)))


losses = st.lists(st.none() | st.floats(0, 5), min_size=3, max_size=3)
moments = st.floats(-50, 3000)
events = st.lists(st.tuples(losses, moments), max_size=20)
priors = st.lists(st.just(0.0) | st.floats(1e-6, 1), min_size=3, max_size=3).filter(any)
quick = examples(40)


@quick
@given(own=events, everyone=events, prior=priors, day=moments)
def test_probabilities_sum_to_one_and_no_prior_comes_from_nothing(own, everyone, prior, day):
    pi = believed(
        after(*own, state=THREE),
        after(*everyone, state=THREE),
        prior,
        day=day,
    )

    assert fsum(pi) == pytest.approx(1.0, abs=1e-12)
    assert all(share >= 0.0 for share in pi)
    assert all(share == 0.0 for share, before in zip(pi, prior, strict=True) if before == 0.0)


@quick
@given(own=events, prior=priors, order=st.permutations(range(3)), day=moments)
def test_the_order_of_rankers_carries_no_meaning(own, prior, order, day):
    pi = believed(after(*own, state=THREE), THREE, prior, day=day)
    permuted = [([losses[i] for i in order], at) for losses, at in own]

    turned = believed(after(*permuted, state=THREE), THREE, [prior[i] for i in order], day=day)

    assert turned == pytest.approx([pi[i] for i in order], rel=1e-9, abs=1e-300)


@quick
@given(own=events, day=moments, worse=st.floats(0.01, 5))
def test_losing_more_is_never_believed_more(own, day, worse):
    mild = after(*own, ([0.0, 1.0, 1.0], day), state=THREE)
    hard = after(*own, ([worse, 1.0, 1.0], day), state=THREE)
    prior = (0.2, 0.4, 0.4)

    before, now = believed(mild, THREE, prior, day=day), believed(hard, THREE, prior, day=day)

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


def test_a_loss_is_that_of_all_who_would_have_served_the_same():
    """Divided by how likely it was that any of them is drawn: .75 here."""
    drawn = Draw("b", {"a": 0.25, "b": 0.5, "c": 0.25}, frozenset({"a", "b"}))

    assert sampled_losses(drawn, 0.4, 1.0) == {
        "a": pytest.approx(0.8),
        "b": pytest.approx(0.8),
        "c": None,
    }


def test_a_ranker_that_is_the_same_as_no_other_stands_alone_to_the_bit():
    shares = {"a": 0.1, "b": 0.7, "c": 0.2}

    for reward in (0.0, 0.3, 0.61):
        alone = sampled_losses(Draw("a", shares), reward, 0.5)
        assert sampled_losses(Draw("a", shares, frozenset({"a"})), reward, 0.5) == alone

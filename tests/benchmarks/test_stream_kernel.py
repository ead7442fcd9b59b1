"""The kernel of guards and strengths: its arithmetic by hand, and what is the server's."""

from datetime import UTC, date, datetime
from math import exp
from random import Random
from uuid import UUID

import pytest

from benchmarks.kernels.streams.drawn import draw_expert, shown
from benchmarks.kernels.streams.figures import middle
from benchmarks.kernels.streams.guards import (
    NARROW,
    NONE,
    RATES,
    WIDE,
    Present,
    SecondOrder,
    Strength,
    candidates,
    informed,
)
from benchmarks.kernels.streams.replay import Answered, Day, follow_over
from clients.demo.streams import Question, Resolution
from memory.belief.strength import StrengthInput, initial_strength, learn_strength, strength_of

START = date(2026, 1, 1).toordinal()


def at(day):
    return datetime.fromordinal(day).replace(tzinfo=UTC)


@pytest.mark.parametrize("prior", [NARROW, WIDE, informed(WIDE)])
def test_priors_sum_to_one(prior):
    assert sum(prior.values()) == pytest.approx(1)


def test_an_agent_with_information_of_its_own_begins_without_memory():
    assert informed(WIDE)[NONE] == pytest.approx(0.70)
    assert informed(NARROW) is NARROW


def test_one_date_of_second_order_by_hand():
    guard = SecondOrder({"a": 0.5, "b": 0.5})
    for _ in range(3):
        guard.learn("c", START, {"a": 0.2, "b": 0.4})
    # Against the even mixture of .3, a is better by .1 and b worse by .1, whatever the outcomes.
    worth = {
        name: 0.5 * sum(eta * exp(eta * r - eta * eta * 0.01) for eta in RATES)
        for name, r in (("a", 0.1), ("b", -0.1))
    }

    shares = guard.shares("c", START + 1)

    assert shares["a"] == pytest.approx(worth["a"] / sum(worth.values()))
    assert guard.shares("other", START) == {"a": 0.5, "b": 0.5}


def test_a_better_expert_is_believed_in_the_end():
    guard = SecondOrder(NARROW)
    for day in range(60):
        losses = {name: 0.2 if name == "weighted/none" else 0.25 for name in NARROW}
        guard.learn("c", START + day, losses)

    assert guard.shares("c", START + 60)["weighted/none"] > 0.9


def test_strength_that_forgets_is_the_servers():
    chance, state, kernel = Random(3), initial_strength(), Strength(90)
    for day in sorted(chance.sample(range(200), 30)):
        for _ in range(chance.randint(1, 6)):
            d, e = chance.gauss(0, 0.2), chance.gauss(0.05, 0.3)
            kernel.learn("c", START + day, d * e, d * d)
            shown_ = StrengthInput((d * e, d * d), (), at(START + day))
            state = learn_strength(state, shown_, (), own_information=False)
        found = strength_of(state, (), own_information=False, now=at(START + day))
        assert kernel.of("c", START + day) == pytest.approx(found)


def test_a_drawn_expert_alone_is_judged():
    draw = draw_expert(Present(), "c", START, Random(1))
    losses = shown(draw, reward=0.2, usual=0.5)

    assert sum(draw.shares.values()) == pytest.approx(1)
    assert losses[draw.ranker] == pytest.approx(min(5, 0.3 / draw.propensity))
    assert {loss for name, loss in losses.items() if name != draw.ranker} == {0.0}


def question(name, day):
    return Question(name, name, "source", None, name, date.fromordinal(START + day), date.min)


def an_answer(name, day):
    experts = dict.fromkeys((*NARROW, *WIDE), 0.9) | {NONE: 0.5}
    return Answered(question(name, day), 0.5, experts, 0.0, 0.0, (UUID(int=1),))


@pytest.mark.parametrize("name", candidates())
def test_what_is_not_known_yet_moves_no_answer(name):
    days = [
        Day(date.fromordinal(START), (), (an_answer("one", 0),)),
        Day(date.fromordinal(START + 1), (), (an_answer("two", 1),)),
        Day(
            date.fromordinal(START + 2),
            (Resolution("one", date.fromordinal(START + 1), 0),),
            (an_answer("three", 2),),
        ),
    ]

    one, two, three = (a.given for a in follow_over(days, candidates()[name]))

    assert one == two
    assert three < two


def test_the_middle_is_the_first_day_after_half_of_the_forecasts():
    days = [0, 0, 1, 2, 3, 3]

    assert middle([an_answer("q", day) for day in days]) == date.fromordinal(START + 2)

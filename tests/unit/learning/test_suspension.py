"""How often a cell is suspended that should not be, and whether one that should be returns.

What is false depends on the form. Where answers are numbers, memory that tells nothing (share 0)
does harm when it is followed, so its suspension is right; false is the suspension of a cell where
a share of each move is right. Where only rewards are known, memory that adds nothing costs nothing
either way, and a good cell is one that adds to the reward. Measured over 100 cells, 10 outcomes a
date on 50 dates, as the share of cells that were ever suspended:

| form | of no use | of use | harmful |
|---|---|---|---|
| answers | .92 | .79 at a share of .1, .24 at .3, .07 at .5, 0 at 1 | 1 at -.3 |
| answers, own information | .95 | .33 at .3, 0 at 1 | |
| rewards, readings of sd .2 | .05 | 0 from +.02 | 1 from -.05 |
| rewards, coins against a known baseline | .04 | 0 from +.02 | .46 at -.05, .98 at -.10 |
| coins, own information | | .32 at +.05, .03 at +.10 | |

A share of .3 of moves of .2 is worth .0036 of Brier score: that is what such a suspension costs.
A reading ages and an answer does not, so a cell told by rewards returns within weeks of its turn
(and a mildly harmful one comes and goes), one told by answers only once probes outweigh its past.
"""

from random import Random

import pytest
from learning_builders import DAY, NOON

from memory.learning.strength import Shown, initial_strength, is_suspended, learn_strength

RUNS = 100
OUTCOMES = 10  # a date
PROBED = 0.05


def answers(share, chance, now):
    """Memory moves the forecast by .2 or so; `share` of the move is right, the world is a coin."""
    moved = chance.gauss(0.0, 0.2)
    return Shown((moved * (share * moved + chance.gauss(0.0, 0.45)), moved * moved), None, now)


def rewards(effect, chance, now):
    """A reading by chance of sd .2, as pairs of continuous rewards give it."""
    return Shown(None, (chance.gauss(effect, 0.2), 0.04), now)


def coins(effect, chance, now):
    """A reading of a success or failure against a known baseline."""
    return Shown(None, (float(chance.random() < 0.5 + effect) - 0.5, 0.25), now)


def life(shape, effect, seed, *, dates=50, own=False, until=None):
    """On which dates the cell ended suspended; `until` is (date, effect): what it turns to."""
    chance, state, suspended = Random(seed), initial_strength(), []
    for date in range(dates):
        now = effect if until is None or date < until[0] else until[1]
        for _ in range(OUTCOMES):
            if not is_suspended(state) or chance.random() < PROBED:
                shown = shape(now, chance, NOON + date * DAY)
                state = learn_strength(state, shown, (), own_information=own)
        suspended.append(is_suspended(state))
    return suspended


def rates(shape, effect, **how):
    """(share of cells ever suspended, share of their dates)"""
    lives = [life(shape, effect, seed, **how) for seed in range(RUNS)]
    ever = sum(any(dates) for dates in lives) / RUNS
    share = sum(map(sum, lives)) / sum(map(len, lives))
    print(f"{shape.__name__} {effect:+.2f} {how}: ever {ever:.2f}, of dates {share:.2f}")  # noqa: T201 - a report
    return ever, share


def turns(suspended):
    """The dates on which suspension began or ended."""
    return [date for date in range(1, len(suspended)) if suspended[date] != suspended[date - 1]]


@pytest.mark.parametrize("shape", [rewards, coins])
def test_memory_that_adds_nothing_is_seldom_suspended_by_rewards(shape):
    ever, share = rates(shape, 0.0)

    assert ever <= 0.12
    assert share <= 0.04


@pytest.mark.parametrize("shape", [rewards, coins])
@pytest.mark.parametrize("effect", [0.02, 0.05])
def test_memory_that_adds_a_little_is_not_suspended_by_rewards(shape, effect):
    ever, _ = rates(shape, effect)

    assert ever <= 0.03


def test_an_agent_of_its_own_information_suspends_a_good_memory_seldom():
    ever, _ = rates(rewards, 0.05, own=True)

    assert ever <= 0.10


@pytest.mark.parametrize(("share", "at_most"), [(0.3, 0.36), (0.5, 0.15), (1.0, 0.0)])
def test_answers_that_are_partly_right_are_suspended_the_less_the_more_they_are(share, at_most):
    ever, _ = rates(answers, share)

    assert ever <= at_most


def test_answers_that_tell_nothing_are_rightly_suspended():
    ever, share = rates(answers, 0.0)

    assert ever >= 0.8
    assert share >= 0.5


@pytest.mark.parametrize(
    ("shape", "effect"), [(answers, -0.3), (rewards, -0.1), (rewards, -0.05), (coins, -0.1)]
)
def test_harm_is_found_out_within_fifty_dates(shape, effect):
    ever, _ = rates(shape, effect)

    assert ever >= 0.9


@pytest.mark.parametrize("shape", [rewards, coins])
@pytest.mark.parametrize("seed", range(5))
def test_a_harmful_cell_is_suspended_and_returns_for_good_after_its_effect_turned(shape, seed):
    suspended = life(shape, -0.2, seed, dates=250, until=(60, 0.1))

    assert suspended[9]
    assert suspended[59]
    assert 60 < turns(suspended)[-1] < 150
    assert not any(suspended[150:])


def test_told_by_answers_it_returns_once_probes_outweigh_its_past():
    """Sixty dates of harm are outweighed by few answers, for few were asked while suspended."""
    suspended = life(answers, -0.5, 1, dates=400, until=(60, 0.8))

    assert turns(suspended)[0] == 9
    assert 60 < turns(suspended)[-1] < 400
    assert not suspended[-1]

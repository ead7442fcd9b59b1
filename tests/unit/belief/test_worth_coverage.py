"""How often the interval of worth of its place holds the truth, where probabilities follow the
belief and what is left out is replaced: simulated over the real fold and the real coins.

`python -m benchmarks.kernels.worth --lives 300 --seed 1` gives the figures of decision 43.
"""

import pytest

from benchmarks.kernels.worth import EFFECTS, RULES, World, play, share_held

LIVES = 45


@pytest.fixture(scope="module")
def found():
    return play(World(RULES["always, half"], paired=0.25), LIVES, seed=0)


@pytest.mark.parametrize("kind", EFFECTS)
def test_nine_intervals_of_ten_hold_the_truth(found, kind):
    shown = [one for one in found if one.kind == kind and one.shown]

    assert len(shown) >= 40
    assert share_held(found, kind) >= 0.88


def test_the_truth_that_is_asked_for_is_that_of_the_place(found):
    """What took the place adds something too, so the harmful ones' truth is their own at most."""
    truths = {kind: [one.truth for one in found if one.kind == kind] for kind in EFFECTS}

    assert min(truths["good"]) > 0.0
    assert max(truths["harmful"]) < 0.0
    assert min(truths["useless"]) < 0.0 < max(truths["useless"])


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_are_right_on_average(found, kind):
    errors = [one.effect.effect - one.truth for one in found if one.kind == kind and one.shown]

    assert abs(sum(errors) / len(errors)) < 0.05

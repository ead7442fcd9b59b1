"""What exposure and verdicts make of an outcome: vectors beside those of `test_learning_belief`."""

import random
from dataclasses import replace
from statistics import mean

import pytest
from learning_builders import DAY, NOON, A, B, C, an_observation, fresh_states, learned

from memory.belief.exposure import ExposedMemory, Naming, decide_exposure
from memory.belief.policy import POLICIES
from memory.belief.states import States

belief, steps, delta, paper = (POLICIES[name] for name in ("belief", "steps", "delta", "paper"))


def seen(on, off=None, *, h, helpful=(), harmful=()):
    return an_observation(on, off, h, helpful=helpful, harmful=harmful, exposure=h)


# mu_A mu_B P_A P_B d_A d_B b B R_single R_paired, computed by the formulas of decision 40 alone.
CONFORMANCE = [
    (seen(1.0, h={A: 1.0, B: 0.5}),
     ".036199 .018100 .009276 .009819 .009050 .004525 .581448 .018836 .105327 .100000"),
    (seen(1.0, 0.0, h={A: 0.1, B: 1.0}),
     ".041601 .075280 .009269 .008996 .010479 .019018 .493241 .015979 .105327 .116579"),
    (seen(1.0, h={A: 0.0, B: 1.0}),
     ".041601 .103233 .009269 .008386 .010479 .026587 .542894 .014057 .107027 .116579"),
    (seen(1.0, h={A: 1.0, B: 1.0}, helpful=[B], harmful=[A]),
     ".036539 .118716 .008937 .007655 .010479 .031170 .569837 .012682 .104077 .116579"),
    (seen(0.0, h={A: 1.0, B: 1.0}, helpful=[B], harmful=[A]),
     "-.015875 .076902 .008089 .007027 -.003141 .018120 .499456 .011519 .122816 .116579"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(CONFORMANCE)))
def test_the_vectors_of_exposure_and_verdicts_are_reproduced(row):
    states = learned(belief, fresh_states(belief), *(one for one, _ in CONFORMANCE[: row + 1]))

    a, b = states.memories[A].values, states.memories[B].values
    noise = states.noise.values
    deviations = [states.deviations[m].values[0] for m in (A, B)]
    found = [a[0], b[0], a[1], b[1], *deviations, *states.cell.values, noise[0], noise[2]]
    assert found == pytest.approx([float(one) for one in CONFORMANCE[row][1].split()], abs=6e-7)


@pytest.mark.parametrize("policy", [belief, steps, delta], ids=lambda p: p.name)
def test_what_could_not_have_acted_is_left_alone(policy):
    before = learned(policy, fresh_states(policy), an_observation(0.8, 0.5, (A, B)))

    after = learned(policy, before, seen(1.0, 0.0, h={A: 0.0, B: 1.0}))

    assert after.memories[A] is before.memories[A]
    assert after.memories[B].values[0] > before.memories[B].values[0]
    assert after.deviations.get(A) == before.deviations.get(A)


@pytest.mark.parametrize("policy", [steps, delta], ids=lambda p: p.name)
def test_other_presets_scale_their_step_by_it(policy):
    whole = learned(policy, fresh_states(policy), seen(1.0, 0.0, h={A: 1.0}))
    part = learned(policy, fresh_states(policy), seen(1.0, 0.0, h={A: 0.25}))
    start = policy.initial_memory().values[0]

    moved = whole.memories[A].values[0] - start
    assert part.memories[A].values[0] - start == pytest.approx(moved / 4)


def test_paper_knows_neither_exposure_nor_verdicts():
    plain = learned(paper, fresh_states(paper), an_observation(1.0, 0.4, (A, B)))
    named = seen(1.0, 0.4, h={A: 0.1, B: 1.0}, harmful=[B])

    assert not paper.weighs_exposure
    assert learned(paper, fresh_states(paper), named) == plain


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_an_outcome_from_before_counts_for_all_that_was_served_alike(policy):
    old = an_observation(1.0, 0.4, (A, B))
    whole = replace(old, exposure={A: 1.0, B: 1.0})

    assert learned(policy, fresh_states(policy), old) == learned(
        policy, fresh_states(policy), whole
    )


def judged(policy, rewards, *, off=None, served=(A, B), similarity=0.9) -> States:
    """A is named harmful and B helpful, by an evaluator, again and again."""
    found = {one: ExposedMemory(similarity) for one in served}
    naming = Naming(None, [B], [A], followed=False)
    exposure = decide_exposure(found, naming, q99=0.3)
    events = [
        an_observation(
            reward, off, served, helpful=[B], harmful=[A], now=NOON + n * DAY, exposure=exposure
        )
        for n, reward in enumerate(rewards)
    ]
    return learned(policy, fresh_states(policy, served), *events)


@pytest.mark.parametrize("similarity", [0.35, 0.9])
@pytest.mark.parametrize("served", [(A, B), (A, B, C)], ids=["two", "with a third"])
@pytest.mark.parametrize("off", [None, 0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "rewards", [[1.0] * 8, [0.0] * 8, [0.5] * 8, [0.9] * 8, [1.0, 0.0] * 4, [0.0, 1.0] * 4]
)
def test_after_eight_verdicts_a_stale_memory_stands_below_one_and_its_replacement(
    rewards, off, served, similarity
):
    states = judged(belief, rewards, off=off, served=served, similarity=similarity)

    for deviations in ({}, states.deviations):
        stale, new = (
            belief.effective_weight(states.memories[m], deviations.get(m)) for m in (A, B)
        )
        assert stale < 1.0 <= new


@pytest.mark.parametrize("policy", [steps, delta], ids=lambda p: p.name)
def test_other_presets_credit_no_residual_against_a_verdict(policy):
    good, bad = judged(policy, [1.0], off=0.0), judged(policy, [0.0], off=1.0)
    start = policy.initial_memory().values

    assert good.memories[A].values == start < good.memories[B].values
    assert bad.memories[B].values == start > bad.memories[A].values


def test_a_verdict_stops_no_residual_once_as_much_is_believed_as_it_claims():
    low = fresh_states(belief)
    fallen = replace(low.memories[A], values=(-0.15, 0.005))
    states = replace(low, memories={**low.memories, A: fallen})

    after = learned(belief, states, seen(1.0, h={A: 1.0, B: 1.0}, harmful=[A]))

    assert after.memories[A].values[0] > -0.15


LIFTS = {A: 0.2, B: -0.2, C: 0.0}


def settle(seed: int, right: float | None) -> dict[object, float]:
    """What 150 single, binary outcomes make believed, two of three served, with a verdict on one
    that is right this often.
    """
    draw = random.Random(seed)
    states = fresh_states(belief, tuple(LIFTS))
    for _ in range(150):
        served = tuple(draw.sample(sorted(LIFTS), 2))
        reward = float(draw.random() < 0.5 + sum(LIFTS[m] for m in served))
        one = draw.choice([m for m in served if LIFTS[m]])
        praises = (LIFTS[one] > 0) == (right is not None and draw.random() < right)
        helpful = [one] if praises and right is not None else []
        harmful = [] if praises or right is None else [one]
        naming = Naming(None, helpful, harmful, followed=False)
        exposure = decide_exposure({m: ExposedMemory(0.9) for m in served}, naming, q99=0.3)
        states = learned(
            belief,
            states,
            an_observation(
                reward, None, served, helpful=helpful, harmful=harmful, exposure=exposure
            ),
        )
    return {m: states.memories[m].values[0] for m in LIFTS}


def test_verdicts_that_are_right_half_the_time_leave_the_order_and_shift_nobody():
    runs = [settle(seed, right=0.5) for seed in range(20)]
    believed = {m: mean(run[m] for run in runs) for m in LIFTS}

    assert believed[B] < believed[C] < believed[A]
    assert abs(believed[A] + believed[B]) < 0.03
    assert mean(run[B] < run[A] for run in runs) >= 0.85


def test_right_verdicts_part_what_is_worth_more_and_overshoot_little():
    plain = [settle(seed, right=None) for seed in range(20)]
    told = [settle(seed, right=1.0) for seed in range(20)]

    def error(runs) -> float:
        return mean(abs(run[m] - LIFTS[m]) for run in runs for m in LIFTS)

    assert all(run[B] < run[C] < run[A] for run in told)
    assert error(told) <= error(plain) + 0.01

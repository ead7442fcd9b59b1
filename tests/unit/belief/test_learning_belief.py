"""The belief policy: what an outcome moves, by how much, and what it leaves alone."""

from dataclasses import replace
from datetime import timedelta
from math import sqrt

import pytest
from learning_builders import DAY, NOON, A, B, C, an_observation, fresh_states, learned

from memory.belief.policy import POLICIES, policy_named
from memory.belief.states import Evidence, State
from memory.kernel.errors import Rejected

belief = POLICIES["belief"]

# mu_A, P_A, d_A, D_A, mu_B, b, B, R_single, R_paired, rho, ranking weights of A and B
CONFORMANCE = [
    (None, "0.000000 .0100000 0.000000 .0025000 0.000000 .500000 .0225000 .100000 .100000 .50000",
     "1.5590 1.5590"),
    (an_observation(0.8, 0.5, (A, B)),
     ".022967 .0092344 .005742 .0024522 .022967 .500000 .0183683 .100000 .098065 .50000",
     "1.8276 1.8276"),
    (an_observation(0.9, None, (A,)),
     ".049330 .0085788 .012742 .0024059 .022967 .552440 .0157751 .100372 .098065 .50000",
     "2.0000 1.8276"),
    (an_observation(None, 0.4, ()),
     ".049330 .0085788 .012742 .0024059 .022967 .531735 .0136335 .096265 .098065 .50000",
     "2.0000 1.8276"),
    (an_observation(1.0, 0.0, (A, B)),
     ".093787 .0079859 .025210 .0023593 .070822 .465771 .0119432 .096265 .111236 .35014",
     "2.0000 2.0000"),
]  # fmt: skip


def as_printed(number, like):
    return f"{number:.{len(like.split('.')[1])}f}"


def columns(states):
    noise = states.noise.values
    deviation = states.deviations.get(A, belief.initial_deviation())
    return [
        *states.memories[A].values,
        *deviation.values,
        states.memories[B].values[0],
        *states.cell.values,
        noise[0],
        noise[2],
        noise[4] / noise[5],
    ]


def ranking_weights(states):
    return [belief.ranking_weight(states.memories[m], states.deviations.get(m)) for m in (A, B)]


@pytest.mark.parametrize("row", range(len(CONFORMANCE)))
def test_the_conformance_vector_is_reproduced_to_the_printed_digits(row):
    events = [event for event, _, _ in CONFORMANCE[1 : row + 1]]
    _, expected, weights = CONFORMANCE[row]

    states = learned(belief, fresh_states(belief), *events)

    for number, printed in zip(columns(states), expected.split(), strict=True):
        assert as_printed(number, printed) == as_printed(float(printed), printed)
    for number, printed in zip(ranking_weights(states), weights.split(), strict=True):
        assert as_printed(number, printed) == printed


@pytest.mark.parametrize(
    ("row", "expected"), [(0, 1.0), (1, 1.28709), (2, 1.62072), (3, 1.62072), (4, 2.0)]
)
def test_the_effective_weight_is_the_belief_and_its_deviation_without_optimism(row, expected):
    events = [event for event, _, _ in CONFORMANCE[1 : row + 1]]

    states = learned(belief, fresh_states(belief), *events)

    weight = belief.effective_weight(states.memories[A], states.deviations.get(A))
    assert weight == pytest.approx(expected, abs=2e-5)


def test_an_agent_without_a_deviation_ranks_as_with_a_fresh_one():
    memory = State((0.02, 0.004), NOON)

    assert belief.ranking_weight(memory, None) == belief.ranking_weight(
        memory, belief.initial_deviation()
    )


def test_a_start_weight_of_point_eight_is_a_belief_of_minus_point_oh_two():
    mu, variance = belief.initial_memory(0.8).values

    assert mu == pytest.approx(-0.02)
    assert variance == 0.01
    assert belief.effective_weight(belief.initial_memory(0.8), None) == pytest.approx(0.8)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=lambda p: p.name)
@pytest.mark.parametrize("weight", [0.0, 2.1, -1.0, float("nan"), float("inf")])
def test_a_start_weight_outside_floor_and_ceiling_is_refused(policy, weight):
    with pytest.raises(Rejected) as refusal:
        policy.initial_memory(weight)

    assert refusal.value.field == "start_weight"


def test_a_control_outcome_moves_no_memory():
    before = fresh_states(belief)

    after = belief.update(before, an_observation(None, 0.9, (A, B), helpful=(A,)))

    assert after.memories == before.memories
    assert after.deviations == {}
    assert after.cell.values[0] > 0.5


def test_a_single_outcome_of_an_empty_guideline_reads_like_a_control_outcome():
    single = belief.update(fresh_states(belief), an_observation(0.9, None, ()))
    control = belief.update(fresh_states(belief), an_observation(None, 0.9, ()))

    assert single == control


def test_an_outcome_without_evidence_moves_nothing():
    before = fresh_states(belief)

    after = belief.update(before, an_observation(1.0, None, evidence=Evidence.NONE, helpful=(A,)))

    assert after is before


def test_only_what_was_served_is_touched():
    before = fresh_states(belief, (A, B, C))

    after = belief.update(before, an_observation(0.9, None, (A,)))

    assert after.memories[B] is before.memories[B]
    assert after.memories[C] is before.memories[C]
    assert list(after.deviations) == [A]
    assert after.memories[A].touched == NOON


def test_a_memory_named_twice_counts_once():
    once = belief.update(fresh_states(belief), an_observation(0.9, None, (A, B)))
    twice = belief.update(fresh_states(belief), an_observation(0.9, None, (A, B, A)))

    assert once == twice


def test_an_authors_word_moves_its_deviation_but_not_the_belief_of_others():
    before = fresh_states(belief)

    after = belief.update(before, an_observation(1.0, 0.0, (A, B), author_of=(A,), helpful=(A,)))

    assert after.memories[A].values == before.memories[A].values
    assert after.memories[B].values[0] > 0
    assert after.deviations[A].values[0] > 0


def test_a_verdict_is_one_weak_extra_observation():
    plain = belief.update(fresh_states(belief), an_observation(0.5, None, (A,)))
    praised = belief.update(fresh_states(belief), an_observation(0.5, None, (A,), helpful=(A,)))
    blamed = belief.update(fresh_states(belief), an_observation(0.5, None, (A,), harmful=(A,)))

    mu, p = plain.memories[A].values
    spread = p + 0.25
    assert praised.memories[A].values == pytest.approx(
        (mu + p * (0.1 - mu) / spread, p - p * p / spread)
    )
    assert blamed.memories[A].values[0] == pytest.approx(mu + p * (-0.1 - mu) / spread)
    assert praised.deviations == plain.deviations


def test_a_memory_called_both_helpful_and_harmful_was_told_nothing():
    plain = belief.update(fresh_states(belief), an_observation(0.5, None, (A,)))
    both = an_observation(0.5, None, (A,), helpful=(A,), harmful=(A,))

    assert belief.update(fresh_states(belief), both) == plain


def test_a_verdict_on_a_memory_that_was_not_served_is_not_heard():
    before = fresh_states(belief)

    after = belief.update(before, an_observation(0.5, None, (A,), helpful=(B,)))

    assert after.memories[B] is before.memories[B]


def test_a_surprise_beyond_three_deviations_counts_as_three():
    noise = State((1e-4, 400.0, 1e-4, 400.0, 0.05, 0.1, 20.0))
    before = replace(fresh_states(belief), cell=State((0.5, 1e-4)), noise=noise)

    after = belief.update(before, an_observation(1.0, None, (A,)))

    spread = 0.0125 + 1e-4 + 1e-4
    assert after.memories[A].values[0] == pytest.approx(0.01 * 3 * sqrt(spread) / spread)


def test_where_off_runs_say_nothing_the_coefficient_of_a_pair_is_zero():
    noise = State((0.1, 20.0, 0.1, 20.0, 0.0, 0.0, 20.0))
    before = replace(fresh_states(belief), noise=noise)

    after = belief.update(before, an_observation(0.8, 0.5, (A,)))

    spread = 0.0125 + 0.0225 + 0.1
    assert after.memories[A].values[0] == pytest.approx(0.01 * 0.3 / spread)


def test_half_of_a_belief_is_forgotten_in_a_half_life():
    aged = belief.age_memory(State((0.08, 0.002), NOON), NOON + 90 * DAY)

    assert aged.values == pytest.approx((0.04, 0.002 + 0.75 * 0.008))
    assert aged.touched == NOON + 90 * DAY


def test_a_deviation_ages_toward_its_own_smaller_prior():
    aged = belief.age_deviation(State((0.04, 0.001), NOON), NOON + 90 * DAY)

    assert aged.values == pytest.approx((0.02, 0.001 + 0.75 * 0.0015))


def test_a_memory_that_learned_nothing_has_nothing_to_forget():
    doubted = belief.initial_memory(0.8)

    assert belief.age_memory(doubted, NOON) == doubted


def test_time_never_runs_back():
    state = State((0.08, 0.002), NOON)

    assert belief.age_memory(state, NOON - DAY) == state
    late = belief.update(
        replace(fresh_states(belief), memories={A: state}),
        an_observation(0.9, None, now=NOON - DAY),
    )
    assert late.memories[A].touched == NOON


def test_an_update_ages_what_it_moves_first():
    old = replace(fresh_states(belief), memories={A: State((0.08, 0.002), NOON)})
    now = NOON + timedelta(days=45)
    aged = replace(old, memories={A: belief.age_memory(old.memories[A], now)})

    assert belief.update(old, an_observation(0.9, None, now=now)) == belief.update(
        aged, an_observation(0.9, None, now=now)
    )


def test_an_edit_halves_what_is_believed_and_widens_the_doubt_half_way():
    memory = belief.edited_memory(State((0.08, 0.002), NOON), NOON)
    deviation = belief.edited_deviation(State((0.04, 0.001), NOON), NOON)

    assert memory.values == pytest.approx((0.04, 0.006))
    assert deviation.values == pytest.approx((0.02, 0.00175))


def test_an_edit_of_an_untouched_memory_starts_its_clock():
    edited = belief.edited_memory(belief.initial_memory(0.8), NOON)

    assert edited == State((belief.initial_memory(0.8).values[0] / 2, 0.01), NOON)


def test_a_new_cell_starts_from_the_mean_of_its_category():
    assert belief.initial_cell([]).values == (0.5, 0.0225)
    siblings = [State((0.9, 0.001), NOON), State((0.7, 0.002), NOON)]
    assert belief.initial_cell(siblings).values == pytest.approx((0.8, 0.0225))


@pytest.mark.parametrize("reward", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("field", ["reward_on", "reward_off"])
def test_a_reward_outside_zero_and_one_is_refused(field, reward):
    rewards = (reward, None) if field == "reward_on" else (0.5, reward)

    with pytest.raises(Rejected) as refusal:
        an_observation(*rewards)

    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("on", "off", "evidence"),
    [
        (0.5, None, Evidence.PAIRED),
        (0.5, 0.5, Evidence.SINGLE),
        (0.5, None, Evidence.CONTROL),
        (None, None, Evidence.SINGLE),
    ],
)
def test_rewards_that_cannot_be_such_evidence_are_refused(on, off, evidence):
    with pytest.raises(Rejected) as refusal:
        an_observation(on, off, evidence=evidence)

    assert refusal.value.field == "evidence"


def test_policies_are_found_by_name():
    assert policy_named("belief") is POLICIES["belief"]
    assert [name for name, p in POLICIES.items() if p.whole_bank] == [
        "paper",
        "paper-strict",
    ]
    with pytest.raises(Rejected) as refusal:
        policy_named("leaps")
    assert refusal.value.field == "policy"

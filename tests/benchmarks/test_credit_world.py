"""The world: what a seed means, and what is true in it."""

import numpy as np
import pytest

from benchmarks.kernels.credit.world import PER_TOPIC, SCENARIOS, draw


def redrawn(seed, *, agents=2, honest=2, tasks=2000, differing=0.0, foreign=0.0):
    """The draws of a seed, written down a second time and in their order."""
    rng = np.random.default_rng([seed, 2026])
    names = "sizes helps differs base offset topic honest agent normals coins pairs own"
    draws = (
        rng.uniform(0.05, 0.2, 96),
        rng.random(16) < 0.5,
        rng.random(96) < differing,
        rng.uniform(0.3, 0.6, (agents, 4)),
        rng.normal(0, 0.04, 96),
        rng.integers(16, size=tasks),
        rng.random(tasks) >= foreign,
        rng.integers(honest, size=tasks),
        rng.normal(0, [[0.12], [1], [1]], (3, tasks)),
        rng.random((5, tasks)),
        rng.normal(0, 1, (tasks, 48)),
        rng.normal(0, 1, (tasks, 96)),
    )
    return dict(zip(names.split(), draws, strict=True))


@pytest.fixture(scope="module")
def world():
    return draw(SCENARIOS["mixed_bin"], 1000)


def test_a_seed_is_drawn_in_the_order_that_it_means():
    world, d = draw(SCENARIOS["adversary"], 1003), redrawn(1003, agents=5, honest=4, foreign=0.2)

    assert np.array_equal(abs(world.effect[::2]), d["sizes"][::2])
    assert np.array_equal(world.effect[4::6] > 0, d["helps"])
    assert np.array_equal(world.base, d["base"])
    assert np.array_equal(world.topic, d["topic"])
    assert np.array_equal(world.agent, np.where(d["honest"], d["agent"], 4))
    assert np.array_equal(world.difficulty, d["normals"][0])
    assert np.array_equal(world.noise, d["normals"][1:])
    assert np.array_equal(np.array(world.chance), d["coins"])


def test_the_last_draws_are_those_of_similarity(world):
    d, topic = redrawn(1000), world.topic[7]
    level = [
        0.62 if m // 6 == topic else 0.48 if m // 24 == topic // 4 else 0.15 for m in range(96)
    ]
    noise = 0.06 * (np.sqrt(0.8) * np.repeat(d["pairs"][7], 2) + np.sqrt(0.2) * d["own"][7])

    assert world.similarity[7] == pytest.approx(np.array(level) + d["offset"] + noise)


def test_a_topic_has_a_helpful_a_harmful_and_an_open_memory_each_with_a_passenger(world):
    by_topic = world.effect.reshape(16, PER_TOPIC)

    assert (by_topic[:, 0] > 0).all()
    assert (by_topic[:, 2] < 0).all()
    assert (by_topic[:, 1::2] == 0).all()
    assert 0 < (by_topic[:, 4] > 0).sum() < 16


def test_an_effect_is_whole_on_its_topic_and_less_in_the_category(world):
    topic = int(world.topic[0])
    near = (topic // 4) * 4 + (topic + 1) % 4
    far = (topic + 4) % 16

    effects = world.effects[0].reshape(16, PER_TOPIC)

    assert effects[topic, 0] == world.effect[topic * PER_TOPIC]
    assert effects[near, 0] == pytest.approx(0.3 * world.effect[near * PER_TOPIC])
    assert (effects[far] == 0).all()


def test_all_effects_change_sign_half_way_through_the_drift():
    world = draw(SCENARIOS["drift"], 1000)

    assert np.array_equal(world.worth(0, 2000), -world.worth(0, 1999))


def test_half_of_the_memories_are_the_other_way_for_odd_agents():
    world = draw(SCENARIOS["cells"], 1000)
    even, odd = world.worth(0, 0), world.worth(1, 0)

    assert np.array_equal(abs(even), abs(odd))
    assert 12 < (even != odd).sum() < 36  # of 48 that do anything


def test_the_expected_reward_is_the_mean_of_many_rewards():
    tasks = range(2000)
    world = draw(SCENARIOS["paired_bin"], 1000)
    best = np.argsort(-world.effects, axis=1)[:, :3]
    outcomes = [world.outcome(t, tuple(best[t])) for t in tasks]

    lift = np.mean([o.on - o.off for o in outcomes])

    assert lift == pytest.approx(world.lift(best).mean(), abs=0.04)
    assert world.lift(best) == pytest.approx(world.best)


def test_evidence_comes_in_the_shares_of_the_scenario(world):
    kinds = [world.evidence(t) for t in range(2000)]

    assert kinds.count("paired") / 2000 == pytest.approx(0.20, abs=0.03)
    assert kinds.count("control") / 2000 == pytest.approx(0.04, abs=0.015)


def test_a_control_run_serves_nothing_and_shows_only_the_off_run(world):
    task = next(t for t in range(2000) if world.evidence(t) == "control")

    outcome = world.outcome(task, (0, 2))

    assert (outcome.served, outcome.on) == ((), None)
    assert outcome.off in (0.0, 1.0)


def test_where_feedback_is_sparse_one_outcome_in_ten_comes():
    world = draw(SCENARIOS["sparse"], 1000)

    came = sum(world.outcome(t, ()) is not None for t in range(4000))

    assert came / 4000 == pytest.approx(0.1, abs=0.02)


def test_the_adversary_lies_about_its_own_memories_only():
    world = draw(SCENARIOS["adversary"], 1000)
    truthful = draw(SCENARIOS["adversary_honest"], 1000)
    tasks = [t for t in range(2000) if world.agent[t] == 4 and world.evidence(t) == "paired"]

    assert all(world.outcome(t, (2, 0))[4:6] == (1.0, 0.0) for t in tasks)
    assert all(world.outcome(t, (0,)) == truthful.outcome(t, (0,)) for t in tasks)
    assert any(truthful.outcome(t, (2,))[4:6] != (1.0, 0.0) for t in tasks)

"""Rules in a small world, and measures on sets and weights made by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.kernels.credit.__main__ import main
from benchmarks.kernels.credit.lineup import LINEUP, USUAL
from benchmarks.kernels.credit.measures import (
    at_bounds,
    auc,
    captured,
    drift,
    mean_of,
    measured,
    served_where,
)
from benchmarks.kernels.credit.play import Played, play
from benchmarks.kernels.credit.plugged import MEMORY_IDS, Plugged
from benchmarks.kernels.credit.report import summary
from benchmarks.kernels.credit.rules import Counted, Fading, OffMean, Plain, Stepped, Valued
from benchmarks.kernels.credit.run import rows_of
from benchmarks.kernels.credit.world import SCENARIOS, Outcome, draw

SMALL = replace(SCENARIOS["mixed_bin"], tasks=200)


@pytest.fixture(scope="module")
def world():
    return draw(SMALL, 1000)


def an_outcome(on=None, off=None, served=(0,), agent=0, category=0):
    kind = "control" if on is None else "single" if off is None else "paired"
    return Outcome(0, agent, category, kind, on, off, served)


def after(rule, *outcomes):
    for outcome in outcomes:
        rule.learn(outcome, outcome.task)
    return rule.values(0, 0)


def test_the_best_sets_capture_all_and_empty_ones_nothing(world):
    best = np.argsort(-world.effects, axis=1)[:, :3]

    assert captured(world.lift(best), world.best) == pytest.approx(1.0)
    assert captured(world.lift(np.full_like(best, -1)), world.best) == 0.0


def test_true_weights_are_told_apart_perfectly_and_equal_ones_not_at_all():
    worth = np.array([0.1, 0.0, -0.2, 0.15])

    assert auc(worth, worth) == 1.0
    assert auc(-worth, worth) == 0.0
    assert auc(np.ones(4), worth) == 0.5
    assert auc(np.array([2.0, 1.0, 1.0, 1.5]), worth) == pytest.approx(0.9)


def test_a_weight_near_floor_or_ceiling_sits_at_a_bound():
    assert at_bounds(np.array([0.1, 0.12, 0.13, 1.94, 1.95, 2.0])) == pytest.approx(4 / 6)


def test_only_what_was_served_counts_as_harm():
    wanted = np.array([[True, False, True], [True, True, False]])
    served = np.array([[0, 2, -1], [2, -1, -1]])

    assert served_where(wanted, served, np.array([True, True])) == 1.0


def test_recovery_is_counted_to_the_end_of_the_first_good_window():
    lift = np.concatenate([np.full(500, 1.0), np.zeros(140), np.full(360, 1.0)])

    before, later, recovery = drift(lift, np.ones(1000), 500)

    assert (before, later, recovery) == (1.0, 0.72, 220.0)


def test_what_is_never_regained_is_capped():
    assert drift(np.repeat([1.0, 0.0], 400), np.ones(800), 400)[2] == 2000.0


def test_an_interval_is_that_of_the_mean_over_seeds():
    mean = mean_of([1.0, 2.0, 3.0])

    assert (mean.mean, mean.n) == (2.0, 3)
    assert mean.half == pytest.approx(1.96 / np.sqrt(3))


def test_the_comparison_steps_are_those_of_their_release():
    assert after(Stepped(), an_outcome(1.0, 0.0))[0] == pytest.approx(1.3)
    assert after(Stepped(), an_outcome(0.0, 1.0))[0] == pytest.approx(0.8)
    assert after(Stepped(), an_outcome(1.0, 1.0))[0] == 1.0
    assert after(Plain(), an_outcome(0.5671, 0.2842))[0] == pytest.approx(1.2829)


def test_a_value_follows_its_rewards():
    rewards = [an_outcome(1.0), an_outcome(1.0), an_outcome(0.0)]

    assert [after(Valued(), *rewards[: n + 1])[0] for n in range(3)] == pytest.approx(
        [0.30, 0.51, 0.057]
    )


def test_counters_become_a_weight():
    assert after(Counted(), an_outcome(1.0), an_outcome(1.0), an_outcome(0.2))[0] == pytest.approx(
        1 + 1 / 5
    )
    assert after(Counted(), an_outcome(0.51, 0.5))[0] == 1.0


def test_what_is_unused_fades_to_the_floor():
    rule = Fading()

    rule.learn(an_outcome(None, 0.5, ()), 100_000)

    assert rule.weight == pytest.approx(np.full(96, 0.1))


def test_an_off_mean_is_drawn_from_cell_to_category_to_all():
    usual = OffMean()
    usual.count(an_outcome(None, 1.0, (), agent=0, category=0))
    everywhere = (1.0 + 5 * 0.5) / 6

    assert usual.of(1, 3) == pytest.approx(everywhere)
    category = (1.0 + 5 * everywhere) / 6
    assert usual.of(1, 0) == pytest.approx(category)
    assert usual.of(0, 0) == pytest.approx((1.0 + 5 * category) / 6)


@pytest.mark.parametrize("name", LINEUP)
def test_every_rule_serves_at_most_three_different_memories(world, name):
    played = play(world, LINEUP[name](world), head=True)

    rows = [[m for m in row if m >= 0] for row in played.served.tolist()]
    assert all(len(set(row)) == len(row) <= 3 for row in rows)
    assert any(rows)
    assert np.isfinite(played.values).all()


def test_a_head_is_all_that_weights_may_choose_from(world):
    played = play(world, Plugged("belief", world), head=True)

    for task, row in enumerate(played.served):
        nearest = set(np.argsort(-world.similarity[task])[:12].tolist())
        assert {int(m) for m in row if m >= 0} <= nearest


def test_what_is_learnt_late_changes_nothing_that_was_served_before():
    late = replace(SMALL, delay=200)

    played = [
        play(draw(late, 1000), LINEUP[n](draw(late, 1000)), head=True) for n in ("frozen", "paper")
    ]

    assert np.array_equal(played[0].served, played[1].served)


def test_the_slot_serves_what_was_credited_least(world):
    served = play(world, Plugged("belief", world, slot_rate=1.0), head=False).served

    assert len(np.unique(served)) > len(
        np.unique(play(world, LINEUP["frozen"](world), head=False).served)
    )


def test_an_authors_word_moves_its_memory_only_where_self_credit_is_allowed():
    world = draw(SCENARIOS["adversary"], 1000)
    outcome = Outcome(0, 4, 0, "paired", 1.0, 0.0, (2,))
    rules = [Plugged("belief", world, self_credit=allowed) for allowed in (False, True)]

    for rule in rules:
        rule.learn(outcome, 0)

    guarded, open_ = (rule.learned.memories[MEMORY_IDS[2]].values[0] for rule in rules)
    assert guarded == 0.0
    assert open_ > 0.0


def test_a_measure_of_lies_counts_honest_tasks_only():
    world = draw(replace(SCENARIOS["adversary"], tasks=200), 1000)
    served = np.full((200, 3), -1)
    served[~world.honest, 0] = 2

    row = measured(world, Played(served, None, np.zeros((4, 96))))

    assert row["owned_served"] == row["captured"] == 0.0


def test_rows_become_means_and_targets(world):
    rows = [r for seed in (1000, 1001) for r in rows_of(SMALL, seed, ("frozen", "belief"))]

    found = summary(rows)

    frozen = found["tables"]["head"]["frozen"]
    assert frozen["captured"]["mixed_bin"]["n"] == 2
    assert frozen["bounds"]["mixed_bin"]["mean"] == 0.0
    statuses = {t["name"]: t["status"] for t in found["targets"]["head"]}
    assert statuses["must: captured, drift"] == "not_run"
    assert statuses["must: captured, mixed_bin"] in ("met", "missed")


def test_a_run_leaves_raw_rows_that_are_the_same_for_its_seed(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(SCENARIOS, "small", replace(SMALL, name="small"))
    words = ["--seeds", "1000", "--scenarios", "small", "--policies", "frozen,steps"]

    for name in ("a", "b"):
        assert main([*words, "--out", str(tmp_path / name)]) == 0

    first, again = ((tmp_path / n / "measurements.jsonl").read_text() for n in ("a", "b"))
    assert first == again
    assert len(first.splitlines()) == 4
    stamp = json.loads((tmp_path / "a" / "run.json").read_text())
    assert stamp["seeds"] == [1000]
    assert stamp["revision"]
    assert "head: targets" in capsys.readouterr().out


def test_a_policy_that_does_not_exist_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--policies", "luck"])

    assert "there is no luck" in capsys.readouterr().err


def test_the_usual_lineup_has_the_server_and_those_it_is_compared_with():
    assert {"belief", "paper", "steps", "delta", "frozen", "ema", "ace", "memrl"} < set(USUAL)

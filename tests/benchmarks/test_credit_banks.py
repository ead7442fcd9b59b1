"""Banks, parties and the player of the product's rules: bounds that any rule stays within, and what
is known of single rules.
"""

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.kernels.credit import product, suite
from benchmarks.kernels.credit.banks import SETTINGS, draw_bank
from benchmarks.kernels.credit.parties import CASES, believed
from benchmarks.kernels.credit.play import play as play_world
from benchmarks.kernels.credit.plugged import Plugged
from benchmarks.kernels.credit.policies import Tuned
from benchmarks.kernels.credit.product import FIRST_RELEASE, Variant
from benchmarks.kernels.credit.rows import Job, played, table
from benchmarks.kernels.credit.scene import WorldScene
from benchmarks.kernels.credit.suite import FIRST, PRODUCT, VARIANTS, means, summary
from benchmarks.kernels.credit.world import SCENARIOS, draw
from memory.belief.inclusion import InclusionRule

SEED = 1000


def served_all(bank, *, which):
    """Sets of every task: the notes of its topic for which `which` says so."""
    rows = np.full((bank.tasks, bank.k), -1)
    for task, topic in enumerate(bank.topic.tolist()):
        own = topic * bank.notes + np.arange(bank.notes)
        chosen = own[which(bank.effect[own])][: bank.k]
        rows[task, : len(chosen)] = chosen
    return rows


@pytest.mark.parametrize("name", SETTINGS)
def test_the_best_sets_are_those_of_the_oracle_and_nothing_adds_nothing(name):
    bank = draw_bank(SETTINGS[name], SEED)

    oracle = served_all(bank, which=lambda effect: effect > 0.0)
    assert bank.added(oracle) == pytest.approx(bank.best)
    assert bank.added(np.full_like(oracle, -1)) == pytest.approx(np.zeros(bank.tasks))
    assert (bank.everything <= bank.best + 1e-12).all()


def test_twins_that_are_always_served_come_to_what_their_effects_say():
    bank = draw_bank(SETTINGS["twins_single"], SEED)

    assert sorted(bank.effect[:20]) == [-0.35] * 5 + [0.0] * 5 + [0.35] * 10
    assert bank.everything.mean() == pytest.approx(0.175, abs=0.02)
    assert all(len(bank.found(task).memories) <= 3 for task in range(bank.tasks))


def test_close_notes_cancel_out_where_all_are_served():
    bank = draw_bank(SETTINGS["twins_close"], SEED)

    assert bank.everything == pytest.approx(np.zeros(bank.tasks))
    assert bank.best == pytest.approx(np.full(bank.tasks, 0.35))


def test_high_cosines_are_the_same_bank_on_another_scale():
    low, high = (draw_bank(SETTINGS[n], SEED) for n in ("twins_close", "twins_close_high"))

    assert (high.similarity - 0.8) / 0.2 == pytest.approx((low.similarity - 0.3) / 0.7)


def test_the_first_release_serves_as_the_play_of_its_time():
    world = draw(replace(SCENARIOS["mixed_bin"], tasks=300), SEED)

    then = play_world(world, Plugged("belief", world), head=True)
    now = product.play(WorldScene(world, SEED), FIRST_RELEASE, SEED)

    assert np.array_equal(then.served, now.served)
    assert np.array_equal(then.values, now.values)


def test_without_coins_twins_are_never_seen_apart_and_with_them_they_are():
    bank = draw_bank(replace(SETTINGS["twins_single"], tasks=100), SEED)

    plain = product.play(bank, Variant(coins=None, ranking="flat"), SEED).served
    coins = product.play(bank, Variant(InclusionRule(), ranking="flat"), SEED).served

    found = [len(bank.found(task).memories) for task in range(bank.tasks)]
    assert (plain >= 0).sum(axis=1).tolist() == found
    assert ((coins >= 0).sum(axis=1) < found).sum() > 10


def test_an_author_learns_of_all_its_memories():
    bank = draw_bank(replace(SETTINGS["good"], tasks=60), SEED)
    split = Tuned(variance=0.0075, author_variance=0.0025)

    alone, shared = (
        product.play(bank, Variant(coins=None, policy=policy), SEED).values[0]
        for policy in (Tuned(), split)
    )

    assert alone[-1] == 1.0, "a filler that nobody was served has learned nothing"
    assert shared[-1] > 1.1, "but its author wrote what helps"


def test_what_two_liars_say_counts_within_a_bound_and_the_honest_one_feels_the_truth():
    bounded, unbounded = (
        [believed(CASES["2 liars, 1 honest"], seed, bounded=bound) for seed in (1000, 1001)]
        for bound in (True, False)
    )

    assert all(
        one.common <= 0.05 < other.common for one, other in zip(bounded, unbounded, strict=True)
    )
    assert all(one.honest < 0.0 for one in bounded)
    assert believed(CASES["a liar alone"], SEED).honest is None


def test_rows_become_tables_and_targets():
    variants = {name: VARIANTS[name] for name in (FIRST, PRODUCT)}
    rows = [
        row
        for seed in (1000, 1001)
        for row in played(Job("bank", "twins_single", seed, variants), None)
    ]

    found = means(rows)
    auc = found[PRODUCT]["guard"]["twins_single"]["auc_200"]
    assert auc.n == 2
    assert auc.mean == table(rows)[PRODUCT, "guard"]["twins_single"]["auc_200"]
    by_name = {target["name"]: target for target in summary(rows)["targets"]}
    assert by_name["twins, with the guard: auc at 200"]["measured"] == auc.mean
    assert by_name["ten worlds: recovery, tasks"]["status"] == "not_run"


def test_a_run_leaves_what_was_measured_and_what_it_amounts_to(tmp_path, monkeypatch):
    some = [Job("bank", "good", SEED, VARIANTS, ("weighted",))]
    monkeypatch.setattr(suite, "jobs", lambda worlds: some)
    monkeypatch.setattr(suite, "SEEDS", range(2))
    said = []

    suite.run(argparse.Namespace(out=tmp_path, full=False, workers=1), said.append)

    rows = [json.loads(line) for line in (tmp_path / "measurements.jsonl").read_text().splitlines()]
    assert {row["family"] for row in rows} == {"bank", "parties"}
    kept = json.loads((tmp_path / "summary.json").read_text())
    shown = {target["name"]: target["status"] for target in kept["targets"]}
    assert shown["ten worlds: recovery, tasks"] == "not_run"
    assert shown["parties, 2 liars, 1 honest: common mean"] == "met"
    assert any(line.startswith("good: share of always serving") for line in said)

"""Verdicts alone decide which run is preferred; a group makes few pairs, whatever its size."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from contrast_builders import NOON, a_run, a_voice, an_id
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.contrast_entities import ContrastState, PairClass, RunSketch
from memory.constraints.pairs import MAX_PAIRS, pairs_of
from memory.constraints.trajectory_entities import VERIFIERS
from memory.tenancy.entities import Role

AGENTS = st.sampled_from(["alpha", "beta", "gamma"])
WRITERS = (Role.AGENT, Role.EVALUATOR, Role.ADMIN)


def any_run(fields: dict[str, Any]) -> RunSketch:
    if fields["verifier"] == "none":
        fields = fields | {"reward": None}
    return a_run(**fields)


RUNS = st.lists(
    st.fixed_dictionaries(
        {
            "agent": AGENTS,
            "reward": st.floats(0, 1),
            "verifier": st.sampled_from(VERIFIERS),
            "cost": st.none() | st.floats(0, 1e6),
            "n_steps": st.integers(0, 50),
            "family": st.none() | AGENTS,
            "voice": st.none() | st.builds(a_voice, AGENTS, st.sampled_from(WRITERS)),
            "wordless": st.booleans(),
        }
    ).map(any_run),
    max_size=24,
)


def classes(*runs: RunSketch) -> list[PairClass]:
    return [pair.pair_class for pair in pairs_of(runs)]


@given(RUNS)
def test_a_wrong_run_is_never_preferred_to_a_right_one(runs: list[RunSketch]) -> None:
    for pair in pairs_of(runs):
        assert (pair.pair_class is PairClass.DISCORDANT) == (
            pair.preferred.right is True and pair.unpreferred.right is False
        )
        assert not (pair.preferred.right is False and pair.unpreferred.right is True)


@given(RUNS)
def test_pairs_are_as_few_as_the_failures_and_never_more_than_eight(runs: list[RunSketch]) -> None:
    wrong = sum(run.right is False for run in runs)
    pairs = pairs_of(runs)

    assert len(pairs) <= min(MAX_PAIRS, max(1, wrong))
    assert len({pair.ids for pair in pairs}) == len(pairs)
    assert all(len(pair.ids) == 2 for pair in pairs)


@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_in_which_runs_came_decides_nothing(
    runs: list[RunSketch], chance: Random
) -> None:
    turned = list(runs)
    chance.shuffle(turned)

    assert {pair.ids for pair in pairs_of(turned)} == {pair.ids for pair in pairs_of(runs)}


@given(RUNS)
def test_only_what_others_vouched_for_under_two_hands_supports(runs: list[RunSketch]) -> None:
    for pair in pairs_of(runs):
        if pair.supports:
            two = (pair.preferred, pair.unpreferred)
            assert all(run.verifier in ("human", "test") for run in two)
            voices = [run.voice for run in two if run.voice is not None]
            assert len(voices) == 2
            assert voices[0].id != voices[1].id or all(voice.judges for voice in voices)


def test_weak_right_and_strong_right_are_both_right_and_neither_is_wrong() -> None:
    weak, strong = a_run("weak", cost=1.0), a_run("strong", cost=10.0)

    [pair] = pairs_of([weak, strong])

    assert (pair.pair_class, pair.preferred) == (PairClass.BOTH_RIGHT, weak)


def test_two_wrong_runs_are_both_wrong_however_strong_one_of_them_is() -> None:
    assert classes(a_run("weak", right=False), a_run("strong", right=False)) == [
        PairClass.BOTH_WRONG
    ]


@pytest.mark.parametrize("winner", ["weak", "strong"])
def test_the_right_run_is_preferred_whoever_ran_it(winner: str) -> None:
    runs = [a_run(name, right=name == winner) for name in ("weak", "strong")]

    [pair] = pairs_of(runs)

    assert (pair.preferred.agent, pair.pair_class) == (winner, PairClass.DISCORDANT)
    assert pair.supports


@pytest.mark.parametrize(
    ("costs", "steps", "preferred"),
    [
        ((7.0, 10.0), (4, 4), 0),
        ((7.1, 10.0), (4, 4), None),
        ((10.0, 2.1), (4, 4), 1),
        ((2.1, 3.0), (4, 4), 0),
        ((10.0, 10.0), (1, 9), None),
        ((None, None), (7, 10), 0),
        ((None, None), (8, 10), None),
        ((None, 10.0), (7, 10), 0),
        ((0.0, 0.0), (1, 9), None),
        ((None, None), (0, 0), None),
    ],
)
def test_of_two_right_runs_the_cheaper_is_preferred_by_thirty_per_cent_or_none(
    costs: tuple[float | None, float | None], steps: tuple[int, int], preferred: int | None
) -> None:
    runs = [
        a_run(name, cost=cost, n_steps=n)
        for name, cost, n in zip(("alpha", "beta"), costs, steps, strict=True)
    ]

    chosen = [runs.index(pair.preferred) for pair in pairs_of(runs)]

    assert chosen == ([] if preferred is None else [preferred])


def test_each_failure_is_held_against_the_best_verified_right_run() -> None:
    judged = a_run("alpha", verifier="judge", reward=1.0)
    tested = a_run("beta", verifier="test", reward=0.8)
    failures = [a_run(name, right=False) for name in ("gamma", "delta", "epsilon")]

    pairs = pairs_of([judged, tested, *failures])

    assert [pair.preferred for pair in pairs] == [tested] * 3
    assert {pair.unpreferred.agent for pair in pairs} == {"gamma", "delta", "epsilon"}


def test_among_equally_verified_runs_another_family_comes_before_another_agent() -> None:
    failure = a_run("alpha", right=False, family="a")
    own = a_run("alpha", family="a", reward=1.0)
    kin = a_run("beta", family="a", reward=1.0)
    unknown = a_run("delta", family=None, reward=0.9)
    stranger = a_run("gamma", family="g", reward=0.6)

    assert pairs_of([own, kin, unknown, stranger, failure])[0].preferred == stranger
    assert pairs_of([own, kin, failure])[0].preferred == kin
    [alone] = pairs_of([own, failure])
    assert (alone.preferred, alone.self_contrast) == (own, True)


def test_a_run_with_words_comes_before_a_better_verified_one_without() -> None:
    silent = a_run("alpha", verifier="human", wordless=True)
    spoken = a_run("beta", verifier="judge")
    failure = a_run("gamma", right=False)

    assert pairs_of([silent, spoken, failure])[0].preferred == spoken
    [pair] = pairs_of([silent, failure])
    assert (pair.state, pair.pair_class) == (ContrastState.NO_TEXT, PairClass.DISCORDANT)


def test_a_run_without_a_verdict_is_refused_and_leaves_the_others_their_pair() -> None:
    nobody_said = a_run("alpha", right=None)

    [pair] = pairs_of([nobody_said, a_run("beta")])
    assert (pair.pair_class, pair.reason) == (PairClass.UNKNOWN, "no_verdict")
    assert (pair.state, pair.supports) == (ContrastState.REFUSED, False)
    group = [nobody_said, a_run("beta"), a_run("gamma", right=False)]
    assert classes(*group) == [PairClass.DISCORDANT]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"verifier": "self"}, "self_verified"),
        ({"verifier": "judge"}, "below_test"),
        ({"voice": a_voice("alpha", verifies="self")}, "self_verified"),
        ({"voice": a_voice("alpha", verifies="judge")}, "below_test"),
        ({"voice": a_voice("beta")}, "same_key"),
        ({"voice": a_voice("alpha", agents=("alpha", "beta"))}, "same_party"),
        ({"voice": a_voice("alpha", party_id=an_id("beta"))}, "same_party"),
        ({"voice": a_voice("keeper", Role.ADMIN)}, None),
        ({"voice": None}, "self_verified"),
    ],
)
def test_why_a_pair_supports_nothing_is_said(changes: dict[str, Any], reason: str | None) -> None:
    [pair] = pairs_of([a_run("alpha", **changes), a_run("beta", right=False)])

    assert (pair.reason, pair.supports) == (reason, reason is None)
    assert pair.state is ContrastState.QUEUED


@pytest.mark.parametrize("runs", [[], [a_run()], [a_run(), a_run("beta")]])
def test_what_says_nothing_makes_no_pair(runs: list[RunSketch]) -> None:
    assert pairs_of(runs) == []


def test_a_pair_is_known_when_both_of_its_runs_are() -> None:
    late = a_run("alpha", known_at=NOON + timedelta(days=2))

    assert pairs_of([late, a_run("beta", right=False)])[0].known_at == late.known_at

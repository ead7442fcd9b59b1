"""A constraint holds for others on two tasks, on two parties' word, and on tests on either side."""

from collections.abc import Sequence
from itertools import count, product
from typing import Any

import pytest
from contrast_builders import a_voice, an_id
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.proof import (
    NO_SUPPORT,
    ONE_PARTY,
    ONE_TASK,
    ONE_WORD,
    Piece,
    Verdict,
    Voice,
    reason_against,
    reason_to_wait,
)
from memory.tenancy.entities import Role

NAMES = ("alpha", "beta", "gamma", "delta")
VERIFIERS = ("none", "self", "judge", "test", "human")
UNBOUND = a_voice("unbound", agents=None)
KEEPER, JUDGE = a_voice("keeper", Role.ADMIN), a_voice("judge", Role.EVALUATOR, verifies="test")
WORD = Piece("any", None)


def said(agent: str, voice: Voice | None = None, verifier: str = "test") -> Verdict:
    """Of a run of the agent, by its own key unless another is named."""
    return Verdict(agent, verifier, voice or a_voice(agent))


def a_piece(task: str, better: str | Verdict, worse: str | Verdict) -> Piece:
    one, other = (said(side) if isinstance(side, str) else side for side in (better, worse))
    return Piece(task, (one, other))


ALPHAS = ("one", "alpha", "beta")


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([], NO_SUPPORT),
        ([("one", "alpha", "beta")], ONE_TASK),
        ([("one", "alpha", "beta"), ("one", "gamma", "delta")], ONE_TASK),
        ([("one", "alpha", "beta"), ("two", "alpha", "beta")], ONE_WORD),
        ([("one", "alpha", "beta"), ("two", "alpha", "gamma")], ONE_WORD),
        ([("one", "beta", "alpha"), ("two", "gamma", "alpha")], ONE_WORD),
        ([("one", "alpha", "beta"), ("two", "beta", "alpha")], None),
        ([("one", "alpha", "beta"), ("two", "gamma", "delta")], None),
        ([("one", "alpha", "beta"), ("two", "beta", "gamma")], None),
    ],
    ids=str,
)
def test_two_tasks_and_two_parties_on_either_side_prove_it(
    pieces: Sequence[tuple[str, str, str]], reason: str | None
) -> None:
    assert reason_to_wait([a_piece(*piece) for piece in pieces]) == reason


def test_the_word_of_who_manages_the_bank_is_enough() -> None:
    assert reason_to_wait([WORD]) is None


@pytest.mark.parametrize("judge", [KEEPER, JUDGE])
def test_who_judges_others_vouches_for_either_side_and_the_runs_come_from_two(judge: Voice) -> None:
    two = [a_piece(task, said("alpha", judge), said("beta", judge)) for task in ("one", "two")]
    alone = [a_piece(task, said("alpha", judge), said("alpha", judge)) for task in ("one", "two")]

    assert reason_to_wait(two) is None
    assert reason_to_wait(two[:1]) == ONE_TASK
    assert reason_to_wait(alone) == ONE_PARTY


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.booleans(), st.sampled_from(VERIFIERS))),
    st.sampled_from([a_voice("liar"), UNBOUND, a_voice("liar", agents=("liar", *NAMES[:1]))]),
)
def test_a_key_that_lies_on_one_side_of_any_number_of_tasks_proves_nothing(
    runs: list[tuple[str, bool, str]], liar: Voice
) -> None:
    """The other run is honest; nobody else says what the liar says."""
    tasks = count()
    better = [
        a_piece(str(next(tasks)), said("liar", liar, verifier), said(agent))
        for agent, _, verifier in runs
    ]
    worse = [
        a_piece(str(next(tasks)), said(agent), said("liar", liar, verifier))
        for agent, _, verifier in runs
    ]

    assert reason_to_wait(better) is not None
    assert reason_to_wait(worse) is not None


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=6))
def test_one_party_under_any_names_proves_nothing(pairs: list[tuple[str, str]]) -> None:
    keys = [UNBOUND, a_voice("other unbound", agents=None, party_id=UNBOUND.party_id)]
    pieces = [
        a_piece(str(task), said(one, mine), said(other, theirs))
        for task, (one, other) in enumerate(pairs)
        for mine, theirs in product(keys, keys)
    ]

    assert reason_to_wait(pieces) == NO_SUPPORT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (a_voice("k1", agents=("m1", "m2")), a_voice("k2", agents=("m2", "m3"))),
        (a_voice("k1", agents=("m1",)), a_voice("k2", agents=("m9",), party_id=an_id("k1"))),
        (UNBOUND, a_voice("k2", agents=None)),
    ],
    ids=["one agent of both", "one party", "bound to none"],
)
def test_two_keys_that_may_speak_for_one_agent_are_one_party(one: Voice, other: Voice) -> None:
    pieces = [
        a_piece("one", said("m1", one), said("m3", other)),
        a_piece("two", said("m3", other), said("m1", one)),
    ]

    assert reason_against(said("m1", one), said("m3", other)) == "same_party"
    assert reason_to_wait(pieces) == NO_SUPPORT


def test_a_run_that_a_judge_names_after_an_agent_is_of_the_party_that_speaks_for_it() -> None:
    bound = a_voice("k1", agents=("m1", "m2"))
    mine = [a_piece(t, said("m1", bound), said("m2", KEEPER)) for t in ("one", "two")]
    apart = [a_piece(t, said("m1", bound), said("m3", KEEPER)) for t in ("one", "two")]

    assert reason_to_wait(mine) == ONE_PARTY
    # A judge vouches for the failure alone; the success is one party's word.
    assert reason_to_wait(apart) == ONE_WORD


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"verifier": "none"}, "self_verified"),
        ({"verifier": "self"}, "self_verified"),
        ({"verifier": "judge"}, "below_test"),
        ({"verifier": "human", "voice": a_voice("alpha", verifies="self")}, "self_verified"),
        ({"verifier": "human", "voice": a_voice("alpha", verifies="judge")}, "below_test"),
        ({"verifier": "human", "voice": a_voice("alpha", verifies="test")}, None),
    ],
    ids=str,
)
def test_a_verdict_below_a_test_on_either_side_counts_for_nothing_whatever_it_says(
    side: int, changes: dict[str, Any], reason: str | None
) -> None:
    weak, sound = said("alpha", **changes), said("beta")
    pair = (weak, sound) if side == 0 else (sound, weak)
    pieces = [Piece("one", pair), a_piece("two", "gamma", "delta")]

    assert reason_against(*pair) == reason
    assert reason_to_wait(pieces) == (ONE_TASK if reason else None)


def test_the_run_of_a_key_that_nobody_knows_counts_for_nothing() -> None:
    unknown = Verdict("alpha", "human", None)

    assert reason_against(unknown, said("beta")) == "self_verified"


def test_a_lie_among_honest_contrasts_takes_nothing_from_them() -> None:
    honest = [a_piece("one", "alpha", "beta"), a_piece("two", "gamma", "delta")]
    lies = [a_piece(str(n), said("liar", verifier="self"), said("alpha")) for n in range(9)]

    assert reason_to_wait([*lies, *honest]) is None

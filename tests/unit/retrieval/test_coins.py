"""Coins in what is selected: who is a contender, who is left out, and who takes the place."""

from dataclasses import replace
from itertools import product
from statistics import fmean
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from retrieval_builders import (
    FixedChance,
    a_candidate,
    a_selection,
    heads,
    property_test,
    selections,
)

from memory.belief.inclusion import KEPT, Coin, Footing, Lift, toss
from memory.belief.rankers import RANKERS
from memory.receipts.entities import Fate, Gates, Purpose
from memory.receipts.guideline_entities import Format
from memory.retrieval.coins import Stake, Tossing, inclusions, is_tossed, toss_all
from memory.retrieval.explanation import place_candidates
from memory.retrieval.selection import eligible, fates, same_rankers, select, walk_places
from memory.tenancy.entities import Learning
from tests.fixtures.builders import an_ask

GATES = Gates(raw=0.3, score=0.3)
NOT_DRAWN = 0.5
SECRET = b"s" * 32


def a_stake(number: int = 1, **changes: object) -> Stake:
    own = {
        name: changes.pop(name) for name in ("lift", "absent", "pinned", "apart") if name in changes
    }
    fields = {"lift": Lift(0.0, 0.1), "absent": 0, "pinned": False} | own
    return Stake(a_candidate(number, **changes), **fields)


@st.composite
def tossed(draw: st.DrawFn) -> tuple[list, object]:
    """A head, and a selection in which each memory has a coin."""
    head = draw(heads())
    coins = {
        c.id: Coin(draw(st.sampled_from([0.05, 0.5, 0.84])), draw(st.booleans())) for c in head
    }
    return head, replace(draw(selections()), coins=coins)


def served_ids(head, selection) -> list[UUID]:
    return [one.candidate.id for one in select(head, selection, FixedChance(NOT_DRAWN)).items]


@property_test
@given(tossed())
def test_who_is_left_out_is_served_by_no_ranker_that_looks_at_coins(case):
    head, selection = case
    out = {memory_id for memory_id, coin in selection.coins.items() if coin.left_out}

    for ranker in set(RANKERS) - {"plain"}:
        assert out.isdisjoint(served_ids(head, replace(selection, ranker=ranker)))


@property_test
@given(tossed())
def test_places_are_filled_as_if_who_is_left_out_were_not_there(case):
    head, selection = case
    coined = replace(selection, ranker="flat/none")
    kept = [c for c in head if not coined.coin(c).left_out]

    assert served_ids(head, coined) == served_ids(kept, replace(coined, coins={}))


@property_test
@given(tossed())
def test_a_contender_would_be_served_if_its_coin_kept_it(case):
    head, selection = case
    selection = replace(selection, slot_probability=0)
    walk = walk_places(head, selection)
    left_out = {c.id: rank for c, rank in walk.left_out}

    for candidate in head:
        kept = {**selection.coins, candidate.id: Coin(0.5, left_out=False)}
        ranks = served_ids(head, replace(selection, coins=kept))
        is_contender = candidate.id in walk.ids | left_out.keys()
        if selection.is_tossed:
            assert (candidate.id in ranks) == is_contender
        if candidate.id in left_out:
            assert ranks.index(candidate.id) + 1 == left_out[candidate.id]


@property_test
@given(tossed())
def test_the_plain_ranker_serves_what_the_flat_ageless_one_would_without_coins(case):
    head, selection = case

    assert served_ids(head, replace(selection, ranker="plain")) == served_ids(
        head, replace(selection, ranker="flat/none", coins={})
    )


@property_test
@given(tossed())
def test_whether_a_retrieval_is_eligible_does_not_hang_on_coins(case):
    head, selection = case

    assert eligible(head, selection) == eligible(head, replace(selection, coins={}))


@property_test
@given(tossed())
def test_rankers_are_the_same_when_they_serve_the_same(case):
    head, selection = case
    same = same_rankers(head, selection, RANKERS)

    here = walk_places(head, selection).ids
    assert selection.ranker in same
    for ranker in RANKERS:
        there = walk_places(head, replace(selection, ranker=ranker)).ids
        assert (ranker in same) == (there == here)


@property_test
@given(tossed())
def test_an_explanation_says_of_each_what_became_of_it(case):
    head, selection = case
    selected = select(head, selection, FixedChance(NOT_DRAWN))

    explained = place_candidates(head, selection)

    by_fate = {
        fate: {one.candidate.id for one in explained if one.fate is fate}
        for fate in (Fate.SERVED, Fate.LEFT_OUT)
    }
    assert by_fate[Fate.SERVED] == {one.candidate.id for one in selected.items}
    assert by_fate[Fate.LEFT_OUT] == {one.candidate.id for one in selected.left_out}
    told = {one.candidate.id: one.propensity for one in explained}
    for one in (*selected.items, *selected.left_out):
        assert told[one.candidate.id] == pytest.approx(one.propensity)


def test_the_next_takes_the_place_of_who_is_left_out():
    head = [a_candidate(n, similarity=0.9 - n / 10) for n in (1, 2, 3)]
    coins = {c.id: KEPT for c in head} | {head[0].id: Coin(0.84, left_out=True)}

    selected = select(head, a_selection(k=2, coins=coins), FixedChance(NOT_DRAWN))

    assert [(one.candidate, one.rank) for one in selected.items] == [(head[1], 1), (head[2], 2)]
    [out] = selected.left_out
    assert (out.candidate, out.rank, out.propensity, out.coin) == (
        head[0],
        1,
        0.84,
        coins[head[0].id],
    )


def test_who_comes_after_the_last_place_is_no_contender():
    head = [a_candidate(n, similarity=0.9 - n / 10) for n in (1, 2, 3)]
    coins = {c.id: Coin(0.5, left_out=n == 2) for n, c in enumerate(head)}

    walk = list(fates(head, a_selection(k=2, coins=coins)))

    assert walk[2] == (head[2], Fate.BEYOND_K)


def test_what_looks_like_a_memory_that_is_left_out_does_not_take_its_place():
    twin, other = (a_candidate(n, look_alike="same", earned=0.0) for n in (1, 2))
    coins = {twin.id: Coin(0.5, left_out=True), other.id: KEPT}

    walk = {c.id: fate for c, fate in fates([twin, other], a_selection(coins=coins))}

    assert walk == {twin.id: Fate.LEFT_OUT, other.id: Fate.LOOK_ALIKE}


def test_a_memory_below_the_floor_is_tried_by_weighted_rankers_when_its_coin_keeps_it():
    fallen = a_candidate(effective_weight=0.1, ranking_weight=0.1)
    weighted = a_selection(gates=GATES, ranker="weighted/none")
    kept = {fallen.id: Coin(0.05, left_out=False, footing=Footing.BELOW)}

    assert served_ids([fallen], weighted) == []
    assert served_ids([fallen], replace(weighted, coins=kept)) == [fallen.id]


def test_the_slot_draws_nobody_who_was_left_out():
    first, second = a_candidate(1, similarity=0.9), a_candidate(2, similarity=0.8)
    coins = {first.id: KEPT, second.id: Coin(0.5, left_out=True)}
    selection = a_selection(coins=coins, slot_probability=1.0)

    selected = select([first, second], selection, FixedChance(0.0))

    assert [one.candidate for one in selected.items] == [first]


def tossing(about: str) -> Tossing:
    return Tossing(spent=True, falls=True, secret=SECRET, about=about)


def test_contenders_are_kept_with_their_probability_whatever_falls_before_them():
    """Of 4,000 tasks, those in which a memory is a contender keep it as often as its coin says,
    also among those in which the one before it was left out.
    """
    head = [a_candidate(n, similarity=0.9 - n / 10) for n in (1, 2, 3, 4)]
    chances = dict(zip((c.id for c in head), (0.3, 0.84, 0.5, 0.05), strict=True))
    untossed = {memory_id: Coin(p, left_out=False) for memory_id, p in chances.items()}
    kept: dict[tuple[UUID, bool], list[bool]] = {}
    for task in range(4_000):
        coins = toss_all(untossed, tossing(f"task {task}"))
        walk = walk_places(head, a_selection(k=2, coins=coins))
        for candidate, fate in fates(head, a_selection(k=2, coins=coins)):
            if fate in (Fate.SERVED, Fate.LEFT_OUT):
                after = coins[head[0].id].left_out
                kept.setdefault((candidate.id, after), []).append(candidate.id in walk.ids)

    for (memory_id, after), seen in kept.items():
        if memory_id != head[0].id:
            p = chances[memory_id]
            error = (p * (1 - p) / len(seen)) ** 0.5
            assert fmean(seen) == pytest.approx(p, abs=4 * error), (memory_id.int, after)


def test_coins_fall_alike_for_every_retry_of_a_task_and_apart_for_another():
    coins = inclusions([a_stake(n) for n in range(1, 41)], GATES)

    again = [toss_all(coins, tossing("task a")) for _ in range(2)]

    assert again[0] == again[1]
    assert again[0] != toss_all(coins, tossing("task b"))
    assert {i: coin.left_out for i, coin in again[0].items()} == {
        i: toss(SECRET, "task a", i) >= coin.p for i, coin in coins.items()
    }


def test_a_memory_that_is_hardly_ever_absent_has_a_coin():
    known, new = a_stake(1, credited=20, absent=12), a_stake(2, credited=20, absent=3)

    coins = inclusions([known, new], GATES)

    assert coins[known.candidate.id] == KEPT
    assert coins[new.candidate.id].p == pytest.approx(0.8944, abs=1e-4)


def test_nothing_above_the_floor_is_left_out_where_it_alone_passes():
    alone = a_stake(1, lift=Lift(-0.05, 0.1))
    fallen = a_stake(2, effective_weight=0.1, lift=Lift(-0.09, 0.05))
    far = a_stake(3, similarity=0.2)

    coins = inclusions([alone, fallen, far], GATES)

    assert coins == {
        alone.candidate.id: KEPT,
        fallen.candidate.id: Coin(0.05, left_out=False, footing=Footing.BELOW),
    }


def test_what_fell_is_tried_as_a_new_one_is_where_the_guideline_would_be_empty():
    fallen = [a_stake(n, effective_weight=0.1, lift=Lift(-0.1 * n, 0.1)) for n in (1, 3)]

    coins = inclusions(fallen, GATES)

    assert [round(coins[one.candidate.id].p, 4) for one in fallen] == [0.5987, 0.0500]
    assert all(coin.below_floor for coin in coins.values())


def test_what_is_believed_to_harm_rests_beside_what_is_believed_to_help():
    proven, harmful = a_stake(1, lift=Lift(0.2, 0.1)), a_stake(2, lift=Lift(-0.01, 0.1), absent=99)
    unsure = a_stake(3, lift=Lift(0.05, 0.1))

    coins = inclusions([proven, harmful], GATES)

    rests = coins[harmful.candidate.id]
    assert (rests.p, rests.footing) == (0.05, Footing.OUTSHONE)
    assert rests.seen_by(weighted=True) == KEPT
    assert inclusions([unsure, harmful], GATES)[harmful.candidate.id] == KEPT


def test_what_is_outshone_is_left_out_by_rankers_that_ignore_weights_alone():
    proven, harmful = a_stake(1, lift=Lift(0.2, 0.1)), a_stake(2, lift=Lift(-0.01, 0.1), absent=99)
    head = [proven.candidate, harmful.candidate]
    coins = inclusions([proven, harmful], GATES)
    about = next(t for t in map(str, range(99)) if toss(SECRET, t, harmful.candidate.id) >= 0.05)
    selection = a_selection(coins=toss_all(coins, tossing(about)))

    served = {r: served_ids(head, replace(selection, ranker=r)) for r in RANKERS}

    for ranker, ids in served.items():
        left_out = not RANKERS[ranker].weighted and ranker != "plain"
        assert (harmful.candidate.id in ids) is not left_out, ranker


def test_copies_of_one_text_are_alone():
    copies = [a_stake(n, look_alike="same") for n in (1, 2)]

    assert set(inclusions(copies, GATES).values()) == {KEPT}


def test_a_pinned_memory_is_certain_of_its_place_wherever_it_stands():
    pinned = [a_stake(1, pinned=True), a_stake(2, pinned=True, effective_weight=0.1)]

    coins = inclusions([*pinned, a_stake(3)], GATES)

    assert [coins[one.candidate.id] for one in pinned] == [KEPT, KEPT]


def test_tried_apart_a_memory_that_was_absent_often_enough_is_kept_every_other_time():
    known = [a_stake(n, lift=Lift(0.3, 0.1), absent=50) for n in (1, 2)]
    tried = replace(known[0], apart=True)

    assert inclusions(known, GATES)[tried.candidate.id].p == 1.0
    coins = inclusions([tried, known[1]], GATES)
    assert coins[tried.candidate.id] == Coin(0.5, left_out=False)
    assert coins[known[1].candidate.id].p == 1.0


def test_tried_apart_a_memory_is_never_kept_more_often_than_before():
    for one in (a_stake(1, lift=Lift(-0.3, 0.1)), a_stake(1, effective_weight=0.1)):
        others = [a_stake(2, lift=Lift(0.3, 0.1))]
        before = inclusions([one, *others], GATES)[one.candidate.id]
        tried = inclusions([replace(one, apart=True), *others], GATES)[one.candidate.id]
        assert tried.p <= before.p
        assert tried.seen_by(weighted=True).p <= before.seen_by(weighted=True).p


def test_pinned_or_alone_a_memory_has_no_coin_though_it_shall_be_tried_apart():
    assert inclusions([a_stake(1, apart=True)], GATES)[a_stake(1).candidate.id] == KEPT
    pinned = a_stake(1, pinned=True, apart=True)
    assert inclusions([pinned, a_stake(2)], GATES)[pinned.candidate.id] == KEPT


def test_that_nobody_verified_a_memory_yet_does_not_put_it_below_the_floor():
    unverified = a_stake(1, effective_weight=0.5, probation=True)

    coins = inclusions([unverified, a_stake(2)], GATES)

    assert coins[unverified.candidate.id].p == pytest.approx(0.8944, abs=1e-4)


def test_what_relevance_keeps_out_has_no_second_chance_by_a_coin():
    irrelevant = a_stake(1, similarity=0.5, relevance=0.1)

    coins = inclusions([irrelevant, a_stake(2)], GATES)

    assert not coins[irrelevant.candidate.id].below_floor


def a_space(**changes: object) -> SimpleNamespace:
    coins = changes.pop("coins", True)
    return SimpleNamespace(
        settings=SimpleNamespace(coins=coins), **({"learning": Learning.ON} | changes)
    )


def test_an_agent_that_acts_has_coins():
    for purpose, arm in product((Purpose.ACT, Purpose.PAIRED), ("auto", "on", "off")):
        assert is_tossed(a_space(), an_ask(purpose=purpose, arm=arm), whole_bank=False)


@pytest.mark.parametrize(
    ("space", "ask", "whole_bank"),
    [
        (a_space(coins=False), an_ask(), False),
        (a_space(learning=Learning.FROZEN), an_ask(), False),
        (a_space(), an_ask(explore=False), False),
        (a_space(), an_ask(gates="off"), False),
        (a_space(), an_ask(purpose="preview"), False),
        (a_space(), an_ask(purpose="replay"), False),
        (a_space(), an_ask(all_rankers=True, format=Format.MEMORIES), False),
        (a_space(), an_ask(), True),
    ],
)
def test_where_a_coin_tells_nothing_or_is_not_wanted_none_is_tossed(space, ask, *, whole_bank):
    assert not is_tossed(space, ask, whole_bank=whole_bank)

"""Constraints are chosen by category, then by their source tasks, three of each of three."""

from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.belief.inclusion import Coin, Footing
from memory.constraints.selection import (
    BONUS,
    EACH,
    TASKS,
    ChosenConstraint,
    ConstraintCandidate,
    choose_constraints,
)
from memory.constraints.store.near import NearTask
from memory.memories.rules import MULTIPLIERS, back_off
from memory.receipts.entities import Gates

OPEN = Gates(raw=0.0, score=0.0)


def a_task(number: int) -> UUID:
    return UUID(int=1_000 + number)


def sourced(
    number: int, *similarities: tuple[int, float], **changes: object
) -> ConstraintCandidate:
    """A constraint of these tasks, each with its similarity."""
    sources = tuple(NearTask(a_task(task), similarity) for task, similarity in similarities)
    fields: dict[str, object] = {"id": UUID(int=number), "bucket": 0, "sources": sources}
    return ConstraintCandidate(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name


def chosen(*constraints: ConstraintCandidate, gates: Gates = OPEN, **how: bool) -> list[int]:
    return [one.candidate.id.int for one in found(*constraints, gates=gates, **how)]


def found(
    *constraints: ConstraintCandidate, gates: Gates = OPEN, **how: bool
) -> tuple[ChosenConstraint, ...]:
    held = Counter(one.bucket for one in constraints)
    return choose_constraints(constraints, held, gates, **how).taken


def test_three_tasks_contribute_three_constraints_each_the_nearest_task_first():
    tasks = [(task, 0.9 - task / 10) for task in range(5)]
    every = [sourced(10 * task + i, (task, near)) for task, near in tasks for i in range(5)]

    assert chosen(*reversed(every)) == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_in_a_task_the_strongest_comes_first_then_what_depends_least_on_who_ran_it():
    every = [
        sourced(1, (0, 0.9), effective_weight=1.0, agnostic_score=0.5),
        sourced(2, (0, 0.9), effective_weight=1.0, agnostic_score=0.75),
        sourced(3, (0, 0.9), effective_weight=1.2),
        sourced(4, (0, 0.9), effective_weight=1.0, agnostic_score=0.75),
    ]

    assert chosen(*every) == [3, 2, 4]


def test_a_constraint_of_two_near_tasks_is_served_once_and_by_the_nearer():
    both = sourced(1, (0, 0.9), (1, 0.8))
    others = [sourced(n, (1, 0.8)) for n in (2, 3, 4)]

    served = found(both, *others)

    assert [one.candidate.id.int for one in served] == [1, 2, 3, 4]
    assert (served[0].task_id, served[0].similarity) == (a_task(0), 0.9)


def test_a_full_bucket_keeps_the_nearer_tasks_of_other_categories_out():
    own = [sourced(n, (n, 0.2)) for n in range(3)]

    assert chosen(*own, sourced(9, (9, 1.0), bucket=3)) == [0, 1, 2]


@pytest.mark.parametrize("bucket", range(4))
def test_a_borrowed_constraint_counts_less_the_farther_it_comes_from(bucket: int):
    [one] = found(sourced(1, (0, 0.5), bucket=bucket))

    assert one.similarity == 0.5
    assert one.relevance == pytest.approx(0.5 * MULTIPLIERS[bucket])


def test_whose_model_ran_in_the_pair_counts_more_and_the_others_are_not_left_out():
    own, other = found(sourced(1, (0, 0.5), participates=True), sourced(2, (0, 0.5)))

    assert own.relevance == pytest.approx(BONUS * other.relevance)
    assert found(sourced(1, (0, 0.99), participates=True))[0].relevance == 1.0


def test_the_raw_gate_is_on_the_task_and_the_floor_on_the_score():
    weak = sourced(1, (0, 0.6), effective_weight=0.5)
    far = sourced(2, (1, 0.4), effective_weight=2.0)
    gates = Gates(raw=0.5, score=0.4)

    assert chosen(weak, far, gates=gates) == []
    # Eligible is what would be served if every weight were 1.
    assert chosen(weak, far, gates=gates, weighted=False) == [1]


def test_one_on_probation_is_enough():
    every = [sourced(n, (0, 0.9), probation=True) for n in range(2)]

    assert chosen(*every, sourced(5, (0, 0.9))) == [0, 5]


unit = st.floats(0, 1)


@st.composite
def banks(draw: st.DrawFn) -> list[ConstraintCandidate]:
    similar = {task: draw(unit) for task in range(6)}
    return [
        sourced(
            number,
            *[(task, similar[task]) for task in draw(st.sets(st.integers(0, 5), min_size=1))],
            bucket=draw(st.integers(0, 3)),
            effective_weight=draw(st.floats(0.1, 2)),
            agnostic_score=draw(unit),
            participates=draw(st.booleans()),
            probation=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 14)))
    ]


@given(bank=banks(), raw=unit, floor=st.floats(0, 0.5), data=st.data())
def test_any_bank_is_chosen_from_by_the_rules(
    bank: list[ConstraintCandidate], raw: float, floor: float, data: st.DataObject
):
    gates = Gates(raw=raw, score=floor)
    served = found(*bank, gates=gates)

    opened = back_off(Counter(one.bucket for one in bank))
    assert len({one.candidate.id for one in served}) == len(served)
    by_task = Counter(one.task_id for one in served)
    assert len(by_task) <= TASKS
    assert max(by_task.values(), default=0) <= EACH
    assert sum(one.candidate.probation for one in served) <= 1
    for one in served:
        assert one.candidate.bucket in opened
        assert one.similarity >= raw
        assert one.score >= floor
        assert 0 <= one.relevance <= 1
    assert found(*data.draw(st.permutations(bank)), gates=gates) == served


@given(bank=banks(), raw=unit, floor=st.floats(0, 0.5))
def test_what_is_served_at_neutral_weights_is_what_makes_eligible(
    bank: list[ConstraintCandidate], raw: float, floor: float
):
    neutral = [
        sourced(
            one.id.int,
            *[(s.task_id.int - 1_000, s.similarity) for s in one.sources],
            bucket=one.bucket,
            participates=one.participates,
        )
        for one in bank
    ]
    gates = Gates(raw=raw, score=floor)

    assert bool(found(*neutral, gates=gates)) == bool(found(*bank, gates=gates, weighted=False))


def test_whom_a_coin_leaves_out_the_next_of_its_task_replaces():
    every = [sourced(number, (0, 0.9)) for number in range(1, 6)]
    coins = {UUID(int=2): Coin(0.7, left_out=True), UUID(int=5): Coin(0.7, left_out=True)}

    choice = choose_constraints(every, {0: 5}, OPEN, coins=coins)

    assert [one.candidate.id.int for one in choice.taken] == [1, 3, 4]
    assert [(one.candidate.id.int, place) for one, place in choice.left_out] == [(2, 2)]
    assert {one.int for one in choice.near} == {1, 2, 3, 4, 5}


def test_a_coin_stands_in_for_the_floor_of_what_fell_below_it():
    fallen = sourced(1, (0, 0.9), effective_weight=0.1)
    gates = Gates(raw=0.1, score=0.3)
    kept = {fallen.id: Coin(0.05, left_out=False, footing=Footing.BELOW)}

    assert choose_constraints([fallen], {0: 1}, gates).taken == ()
    [one] = choose_constraints([fallen], {0: 1}, gates, coins=kept).taken
    assert one.candidate == fallen

"""Which checks the test of admission lets pass, and why not the others."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.constraints.checks.observations import CheckFinding
from memory.constraints.checks.trials import (
    HALVES_DIFFER,
    NOT_SIGNIFICANT,
    ONE_AGENT,
    ONE_FAMILY,
    STYLE,
    TOO_FEW_TASKS,
    Split,
    TriedRun,
    compare_runs,
    discovery_rates,
    halves_of,
    try_bucket,
)

KEPT, VIOLATED = CheckFinding.KEPT, CheckFinding.VIOLATED


def a_run(task, agent, finding, *, right, name="answer_long", **changes):
    values = {"id": f"{task}-{agent}-{right}", "task": task, "variant": "", "agent": agent}
    values |= {"family": agent[:1], "right": right, "findings": {name: finding}}
    return TriedRun(**values | changes)


def one_task(number, winner="a1", loser="b1", name="answer_long", **sides):
    """By default the failing run alone violates the check."""
    task = f"task-{number}"
    return [
        a_run(task, winner, sides.get("won", KEPT), right=True, name=name),
        a_run(task, loser, sides.get("lost", VIOLATED), right=False, name=name),
    ]


def alternating(number, **sides):
    """Each of two agents wins in turn."""
    agents = ("a1", "b1") if number % 2 else ("b1", "a1")
    return one_task(number, *agents, **sides)


def tried(runs, name="answer_long"):
    return next(one for one in try_bucket(runs) if one.name == name)


def test_what_separates_success_from_failure_for_every_agent_is_admitted():
    found = tried([run for n in range(12) for run in alternating(n)])

    assert found.admitted
    assert (found.tasks, found.telling, found.split) == (12, 12, Split(12, 0))
    assert found.halves == (Split(6, 0), Split(6, 0))
    assert len(found.pairs) == 12
    assert found.families == 2


def test_seven_tasks_are_too_few():
    found = tried([run for n in range(7) for run in alternating(n)])

    assert (found.reason, found.p, found.q) == (TOO_FEW_TASKS, None, None)


def test_what_an_able_agent_always_does_is_its_style_and_is_refused():
    """The trap: 30 to 0 between agents, yet nothing within one agent."""
    runs = [run for n in range(30) for run in one_task(n, "a1", "b1")]
    runs += [run for n in range(30, 36) for run in one_task(n, "b1", "a1", won=VIOLATED, lost=KEPT)]
    within = [one_task(n, "a1", "a1", won=KEPT, lost=KEPT) for n in range(40, 50)]

    found = tried(runs + [run for task in within for run in task])

    assert found.split == Split(30, 6)
    assert found.reason == NOT_SIGNIFICANT
    assert found.p > 0.2


def test_one_agent_against_itself_is_evidence_of_one_family():
    found = tried([run for n in range(10) for run in one_task(n, "a1", "a1")])

    assert found.admitted
    assert (found.families, found.against_itself) == (1, True)


def test_two_agents_of_one_family_are_not():
    found = tried([run for n in range(10) for run in one_task(n, "a1", "a2")])

    assert found.reason == ONE_FAMILY


def test_one_agent_cannot_carry_an_effect_that_the_others_do_not_show():
    """`w1` fails whenever it violates, and succeeds when not; between the others it is the other
    way round, on fewer tasks.
    """
    runs = [run for n in range(16) for run in one_task(n, "w1", "w1")]
    runs += [run for n in range(20, 26) for run in alternating(n, won=VIOLATED, lost=KEPT)]

    found = tried(runs)

    assert found.reason == ONE_AGENT


def test_the_sign_must_hold_in_both_halves():
    runs = [run for n in range(40) for run in alternating(n)]
    tasks = sorted({run.task for run in runs})
    halves = halves_of(tasks)
    turned = [
        a_run(run.task, run.agent, KEPT if run.right else VIOLATED, right=run.right)
        if halves[run.task] == 0 or int(run.task[5:]) % 3 == 0
        else a_run(run.task, run.agent, VIOLATED if run.right else KEPT, right=run.right)
        for run in runs
    ]

    found = tried(turned)

    assert found.reason in (HALVES_DIFFER, NOT_SIGNIFICANT)
    assert not found.admitted


def test_a_matter_of_style_is_tried_and_never_admitted():
    found = tried(
        [run for n in range(12) for run in alternating(n, name="text_with_call")], "text_with_call"
    )

    assert found.q < 0.1
    assert found.reason == STYLE


def test_only_runs_of_one_variant_are_compared():
    runs = one_task(1)
    apart = [runs[0], a_run("task-1", "b1", VIOLATED, right=False, variant="edited")]

    assert len(compare_runs(runs)["task-1"]) == 1
    assert compare_runs(apart) == {}


def test_noise_is_admitted_no_more_often_than_the_rate():
    draw = random.Random(5)
    admitted = 0
    for _ in range(40):
        runs = []
        for n in range(16):
            agents = draw.choice([("a1", "b1"), ("b1", "a1"), ("a1", "a1")])
            found = [draw.choice([KEPT, VIOLATED]) for _ in range(2)]
            runs += one_task(n, *agents, won=found[0], lost=found[1])
        admitted += tried(runs).admitted
    assert admitted <= 7


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_rates_are_at_least_the_chances_and_keep_their_order(chances):
    rates = discovery_rates(chances)

    assert all(rate >= chance - 1e-12 for rate, chance in zip(rates, chances, strict=True))
    assert all(rate <= 1 for rate in rates)
    ordered = sorted(zip(chances, rates, strict=True))
    assert all(one[1] <= other[1] + 1e-12 for one, other in pairwise(ordered))


@pytest.mark.parametrize("extra", [0, 3])
def test_a_task_with_many_runs_counts_once(extra):
    runs = [run for n in range(12) for run in alternating(n)]
    runs += [a_run("task-0", f"c{n}", VIOLATED, right=False) for n in range(extra)]

    assert tried(runs).split == Split(12, 0)

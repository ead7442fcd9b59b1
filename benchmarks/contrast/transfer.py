"""Leave one out: what other agents' pairs on other tasks say to avoid, held against a failure.

Held out is the odd half of the tasks, which no wording of the distiller was designed on. For each
agent L that loses there, a namespace learns from the other half alone, and from no failure of L:
what it holds comes from pairs whose losing agent differs from L. Then each held-out task that L
failed and another agent solved is asked about. Style, which an agent keeps from task to task,
cannot help here; only what was wrong can.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.contrast.bank import Bank
from benchmarks.contrast.groups import CATEGORIES, TAXONOMY, Group, Run

HALVES, HELD = 2, 1


@dataclass(frozen=True, slots=True)
class Case:
    """A held-out task with a failing and a winning run, and what there is to hold against them.

    `served`: the *avoid* texts the memory served; `random`: as many from the same namespace, drawn
    at random; `elsewhere`: as many of the other kind of task, from all there are. `stronger_lost`:
    in this suite the failing agent solves more tasks than the winning one.
    """

    task: str
    suite: str
    loser: str
    winner: str
    stronger_lost: bool
    failing: str
    winning: str
    served: tuple[str, ...]
    random: tuple[str, ...]
    elsewhere: tuple[str, ...]


def cases(
    bank: Bank, groups: Sequence[Group], rates: Mapping[tuple[str, str], float]
) -> Iterator[Case]:
    """Every held-out task once for each agent that failed it; `bank` knows all tasks."""
    told = [group for group in groups if group.distillable]
    every = [row for row in bank.every("constraints", status="active") if row["avoid"]]
    for loser in sorted({run.agent for group in told for run in group.runs}):
        held = [group for group in told if _half(group) == HELD and _failure(group, loser)]
        if not held:
            continue
        suites = {group.suite for group in held}
        others = [g for g in told if _half(g) != HELD and g.suite in suites]
        taught = _taught(Bank(bank.bench, f"{bank.slug}-{_slug(loser)}"), loser, others)
        yield from _asked(taught, loser, held, (rates, every))


def _taught(bank: Bank, loser: str, groups: Sequence[Group]) -> Bank:
    """A namespace that has seen no failure of `loser`."""
    seen = [
        replace(g, runs=tuple(r for r in g.runs if r.success or r.agent != loser)) for g in groups
    ]
    bank.open(groups, TAXONOMY)
    bank.ingest(seen)
    bank.contrast_all()
    return bank


def _asked(
    bank: Bank,
    loser: str,
    held: Sequence[Group],
    known: tuple[Mapping[tuple[str, str], float], Sequence[Mapping[str, Any]]],
) -> Iterator[Case]:
    rates, every = known
    chance = Random(loser)  # noqa: S311 - a draw for a baseline, no secret
    own = [row for row in bank.every("constraints", status="active") if row["avoid"]]
    bank.bench.say(f"{bank.slug}: {len(own)} constraints, {len(held)} held-out failures")
    for group, answer in zip(held, bank.ask(loser, held, told=True), strict=True):
        failing, winning = _failure(group, loser), _winner(group, loser, rates)
        if failing is None or winning is None:
            continue
        served = tuple(row["avoid"] for row in answer["constraints"] if row["avoid"])
        here = CATEGORIES[group.suite][0]
        yield Case(
            task=group.task,
            suite=group.suite,
            loser=loser,
            winner=winning.agent,
            stronger_lost=rates[group.suite, loser] > rates[group.suite, winning.agent],
            failing=failing.text,
            winning=winning.text,
            served=served,
            random=_drawn(chance, [row for row in own if row["category"] == here], served),
            elsewhere=_drawn(chance, [row for row in every if row["category"] != here], served),
        )


def _drawn(
    chance: Random, rows: Sequence[Mapping[str, Any]], served: Sequence[str]
) -> tuple[str, ...]:
    return tuple(row["avoid"] for row in chance.sample(rows, min(len(rows), len(served))))


def _failure(group: Group, agent: str) -> Run | None:
    """The agent's failing run with text, where it has one."""
    return next((r for r in group.runs if r.agent == agent and not r.success and r.text), None)


def _winner(group: Group, loser: str, rates: Mapping[tuple[str, str], float]) -> Run | None:
    """The successful run of the agent that solves most, of another agent than the loser."""
    solved = [run for run in group.runs if run.success and run.text and run.agent != loser]
    return max(solved, key=lambda run: (rates[group.suite, run.agent], run.agent), default=None)


def _half(group: Group) -> int:
    return int(group.digest, 16) % HALVES


def _slug(agent: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in agent.lower())

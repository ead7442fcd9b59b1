"""Leave one out: what other agents' pairs on other tasks say to avoid, held against a failure.

For each agent L that loses, and each half of the tasks, a namespace learns from the other half
alone, and from no failure of L: what it holds comes from pairs whose losing agent differs from L.
Then each held-out task that L failed and another agent solved is asked about. Style, which an agent
keeps from task to task, cannot help here; only what was wrong can.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.bench import Bench
from benchmarks.contrast.bank import Bank
from benchmarks.contrast.groups import CATEGORIES, Group, Run

HALVES = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A held-out task with a failing and a winning run, and what there is to hold against them.

    `served`: the *avoid* texts the memory served; `random`: as many from the same namespace, drawn
    at random; `elsewhere`: as many of the other kind of task. `stronger_lost`: in this suite the
    failing agent solves more tasks than the winning one.
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
    bench: Bench, slug: str, groups: Sequence[Group], rates: Mapping[tuple[str, str], float]
) -> Iterator[Case]:
    """Every held-out task once for each agent that failed it."""
    told = [group for group in groups if group.distillable]
    for loser in sorted({run.agent for group in told for run in group.runs}):
        for half in range(HALVES):
            held = [group for group in told if _half(group) == half and _failure(group, loser)]
            if held:
                others = [group for group in told if _half(group) != half]
                bank = _taught(bench, f"{slug}-{half}-{_slug(loser)}", loser, others)
                yield from _asked(bank, loser, held, rates)


def _taught(bench: Bench, slug: str, loser: str, groups: Sequence[Group]) -> Bank:
    """A namespace that has seen no failure of `loser`."""
    seen = [
        replace(g, runs=tuple(r for r in g.runs if r.success or r.agent != loser)) for g in groups
    ]
    agents = sorted({(run.agent, run.family) for group in groups for run in group.runs})
    bank = Bank(bench, slug)
    bank.open([name for name, _ in agents], [family for _, family in agents])
    bank.ingest(seen)
    bank.contrast_all()
    return bank


def _asked(
    bank: Bank, loser: str, held: Sequence[Group], rates: Mapping[tuple[str, str], float]
) -> Iterator[Case]:
    chance = Random(f"{bank.slug}")  # noqa: S311 - a draw for a baseline, no secret
    every = [row for row in bank.every("constraints", status="active") if row["avoid"]]
    bank.bench.say(f"{bank.slug}: {len(every)} constraints, {len(held)} held-out failures")
    for group, answer in zip(held, bank.ask(loser, held, told=True), strict=True):
        failing, winning = _failure(group, loser), _winner(group, loser, rates)
        served = tuple(row["avoid"] for row in answer["constraints"] if row["avoid"])
        if failing is None or winning is None:
            continue
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
            random=_drawn(chance, [row for row in every if row["category"] == here], served),
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

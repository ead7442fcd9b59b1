"""Honest parties and liars report on one memory: what everybody comes to believe of it.

The memory is served in every task, so that what is seen is how far a party's word goes, and not
what is served because of it. A liar reports 1 of every run with the memory, and 0 without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from uuid import UUID

import numpy as np

from benchmarks.kernels.credit.product import agent_id, category_id, memory_id
from benchmarks.kernels.credit.scene import evenly, stream
from benchmarks.kernels.credit.world import CONTROL, PAIRED
from memory.belief.belief import Belief
from memory.belief.fold import Learn, fold
from memory.belief.policy import Policy
from memory.belief.states import Evidence, Observation

REPORTS = 400
BASE = 0.5
SALT = 5
LIES = "liar"
MEMORY = memory_id(0)


@dataclass(frozen=True, slots=True)
class Case:
    """Who reports how often: shares that sum to 1, by party; liars are named for it.

    `truth`: what the memory really adds. `agents`: how many reports a party makes by one agent
    before it takes a new one; 0 for all by the same.
    """

    name: str
    shares: Mapping[str, float]
    truth: float = -0.2
    agents: int = 0


CASES: Mapping[str, Case] = {
    case.name: case
    for case in (
        Case("2 liars, 1 honest", {"liar 1": 1 / 3, "liar 2": 1 / 3, "honest": 1 / 3}),
        Case(
            "2 liars (60 %), 3 honest",
            {"liar 1": 0.3, "liar 2": 0.3, **dict.fromkeys(("a", "b", "c"), 0.4 / 3)},
        ),
        Case("1 liar (90 %), 1 honest", {"liar": 0.9, "honest": 0.1}),
        Case("a liar alone", {"liar": 1.0}),
        Case("1 honest, one idle", {"honest": 1.0}, truth=0.2),
        Case("the same, a new agent every ten", {"honest": 1.0}, truth=0.2, agents=10),
        Case("2 honest", {"a": 0.5, "b": 0.5}, truth=0.2),
    )
}


@dataclass(frozen=True, slots=True)
class Believed:
    """The mean that everybody counts with, and the mean of what honest parties feel themselves."""

    common: float
    honest: float | None


def believed(
    case: Case, seed: int, *, bounded: bool = True, policy: Policy | None = None
) -> Believed:
    """After 400 reports. Unbounded, every word counts in full: the rule before influence."""
    policy = policy or Belief()
    entries = list(_entries(case, seed))
    if not bounded:
        entries = [_unbounded(entry) for entry in entries]
    learned = fold(policy, entries)
    now = evenly(REPORTS)
    memory = policy.age_memory(learned.memories[MEMORY], now)
    felt: list[float] = []
    for place, name in enumerate(case.shares):
        influence = learned.influences.get((MEMORY, party_id(place)))
        aged = None if influence is None else policy.age_influence(influence, now)
        if not name.startswith(LIES):
            deviation = learned.deviations.get(
                (MEMORY, _last_agent(entries, place, len(case.shares)))
            )
            own = 0.0 if deviation is None else policy.age_deviation(deviation, now).values[0]
            felt.append(policy.feel(memory, aged).values[0] + own)
    return Believed(memory.values[0], fmean(felt) if felt else None)


def _last_agent(entries: Sequence[Learn], place: int, parties: int) -> UUID:
    """The newest agent of a party; agents are numbered in turns of the parties."""
    return next(e.agent for e in reversed(entries) if (e.agent.int - 1) % parties == place)


def party_id(place: int) -> UUID:
    return UUID(int=500 + place)


def _entries(case: Case, seed: int) -> Iterator[Learn]:
    chance = stream(seed, SALT)
    names = list(case.shares)
    reporters = chance.choice(len(names), size=REPORTS, p=list(case.shares.values()))
    draws = chance.random((4, REPORTS))
    reports = np.zeros(len(names), dtype=int)
    for task, place in enumerate(reporters.tolist()):
        lies = names[place].startswith(LIES)
        turn = int(reports[place]) // case.agents if case.agents else 0
        reports[place] += 1
        agent = agent_id(place + len(names) * turn)
        yield Learn(
            agent,
            category_id(0),
            "binary",
            _observed(case, draws[:, task].tolist(), task, place, lies=lies),
        )


def _observed(case: Case, draws: list[float], task: int, place: int, *, lies: bool) -> Observation:
    """One task in twenty is a control, one in five a pair."""
    with_memory, without, arm, pair = draws
    on = 1.0 if lies else float(with_memory < BASE + case.truth)
    off = float(without < BASE)
    evidence = Evidence.SINGLE
    if pair < PAIRED:
        evidence, off = Evidence.PAIRED, 0.0 if lies else off
    elif arm < CONTROL:
        evidence = Evidence.CONTROL
    return Observation(
        evidence=evidence,
        reward_on=None if evidence is Evidence.CONTROL else on,
        reward_off=None if evidence is Evidence.SINGLE else off,
        memories=() if evidence is Evidence.CONTROL else (MEMORY,),
        author_of=frozenset(),
        helpful=(),
        harmful=(),
        now=evenly(task),
        party=party_id(place),
    )


def _unbounded(entry: Learn) -> Learn:
    return replace(entry, observation=replace(entry.observation, party=None))

"""One rule in one world, task by task: what it served, and the weights it ends with."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from benchmarks.kernels.credit.rules import Rule
from benchmarks.kernels.credit.world import (
    BEST,
    MEMORIES,
    Floats,
    Ints,
    Outcome,
    World,
)

HEAD = 4 * BEST
SLOT_SIMILARITY = 0.45
NOBODY = -1


@dataclass(frozen=True, slots=True)
class _Serving:
    """What may be chosen from."""

    head: bool
    slot_similarity: float


@dataclass(frozen=True, slots=True)
class Played:
    """`served` has a row a task, -1 where fewer than three; the rest is by agent and memory."""

    served: Ints
    weights: Floats | None
    values: Floats


def play(
    world: World, rule: Rule, *, head: bool, slot_similarity: float = SLOT_SIMILARITY
) -> Played:
    """Serve every task and learn from its outcome once it is known.

    With `head`, weights re-rank only the most similar, as the server does; else the whole bank.
    The slot draws from what is at least as similar as `slot_similarity`.
    The control arm's selection is kept as well: what it costs is the same for all.
    """
    tasks = world.scenario.tasks
    served = np.full((tasks, BEST), NOBODY)
    due: deque[tuple[int, Outcome]] = deque()
    credited = np.zeros(MEMORIES)
    serving = _Serving(head=head, slot_similarity=slot_similarity)
    for task in range(tasks):
        while due and due[0][0] <= task:
            _learn(rule, due.popleft(), credited)
        chosen = _selected(world, rule, task, credited, serving)
        served[task, : len(chosen)] = chosen
        outcome = world.outcome(task, chosen)
        if outcome is not None:
            due.append((task + world.scenario.delay, outcome))
            if not world.scenario.delay:
                _learn(rule, due.popleft(), credited)
    return _ended(world, rule, served)


def _learn(rule: Rule, known: tuple[int, Outcome], credited: Floats) -> None:
    now, outcome = known
    credited[list(outcome.served)] += 1.0
    rule.learn(outcome, now)


def _selected(
    world: World, rule: Rule, task: int, credited: Floats, serving: _Serving
) -> tuple[int, ...]:
    """At most three, best first; now and then the last place goes to a least-credited one."""
    candidates, similarity = world.near[task]
    if serving.head:
        candidates, similarity = candidates[:HEAD], similarity[:HEAD]
    ordered = rule.order(int(world.agent[task]), task, candidates, similarity)
    best = np.argsort(-ordered.score, kind="stable")
    chosen: list[int] = candidates[best[ordered.admitted[best]][:BEST]].tolist()
    if world.slot[0, task] < rule.slot_rate:
        pool = candidates[(similarity >= serving.slot_similarity) & ~np.isin(candidates, chosen)]
        pool = pool[credited[pool] == credited[pool].min()] if len(pool) else pool
        if len(pool):
            drawn = int(pool[int(world.slot[1, task] * len(pool))])
            chosen = [*chosen[: BEST - 1], drawn]
    return tuple(chosen)


def _ended(world: World, rule: Rule, served: Ints) -> Played:
    tasks = world.scenario.tasks
    agents = range(world.scenario.honest)
    weights = [rule.weights(agent, tasks) for agent in agents]
    whole = [w for w in weights if w is not None]
    values = np.array([rule.values(agent, tasks) for agent in agents])
    return Played(served, np.array(whole) if whole else None, values)

"""The credit worlds with a guard running: one ranker is drawn a task and judged by its loss."""

from random import Random

import numpy as np

from benchmarks.kernels.credit.plugged import Plugged, agent_id, category_id, moment
from benchmarks.kernels.credit.rules import Ordered, gated
from benchmarks.kernels.credit.world import Floats, Ints, Outcome, World
from benchmarks.kernels.streams.drawn import draw_expert, shown
from benchmarks.kernels.streams.guards import NONE, Guard
from memory.belief.rankers import RANKERS, Draw

CATEGORY = "category {}"


class Guarded(Plugged):
    """The default policy behind a guard."""

    def __init__(self, world: World, guard: Guard, seed: int) -> None:
        super().__init__("belief", world)
        self._guard = guard
        self._chance = Random(seed)  # noqa: S311 - a simulation
        self._draws: dict[int, Draw] = {}
        self._category = world.category

    def order(self, agent: int, now: int, candidates: Ints, similarity: Floats) -> Ordered:
        category = CATEGORY.format(int(self._category[now]))
        draw = draw_expert(self._guard, category, moment(now).toordinal(), self._chance)
        self._draws[now] = draw
        ordered = super().order(agent, now, candidates, similarity)
        ranker = draw.ranker.partition("@")[0]
        if ranker == NONE:
            return Ordered(similarity, np.zeros(len(candidates), dtype=bool))
        if RANKERS[ranker].weighted:
            return ordered
        one = np.ones(len(candidates))
        return gated(one, one, similarity)

    def learn(self, outcome: Outcome, now: int) -> None:
        draw = self._draws.pop(outcome.task)
        if outcome.on is not None:
            cell = self.learned.cells.get((agent_id(outcome.agent), category_id(outcome.category)))
            usual = 0.5 if cell is None else cell.values[0]
            losses = shown(draw, outcome.on, usual)
            day = moment(now).toordinal()
            self._guard.learn(CATEGORY.format(outcome.category), day, losses)
        super().learn(outcome, now)

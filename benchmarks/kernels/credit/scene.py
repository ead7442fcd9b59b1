"""A scene: tasks in their order, what each finds, and what comes of serving some of it.

The ten worlds, the banks of two or three notes a topic and the notes of unreliable authors are
scenes, so that one player plays the product's rules in all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import numpy as np

from benchmarks.kernels.credit.world import (
    BEST,
    DAYS_PER_TASK,
    MEMORIES,
    RAW_GATE,
    STREAM,
    Evidence,
    Floats,
    World,
)

Kind = Literal["binary", "continuous"]
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
AUTHORS = 5
COINS = 4714  # the second word of the seed of coins and rankers, apart from every world's draws


class Report(NamedTuple):
    """What is reported of one task. `used`: those that the agent acted on, None where unsaid."""

    evidence: Evidence
    on: float | None
    off: float | None
    served: tuple[int, ...]
    used: frozenset[int] | None = None
    own: frozenset[int] = frozenset()  # the reporter wrote them: its word about them is nothing


class Found(NamedTuple):
    """The memories of the head that pass the raw gate, nearest first, and how near each is."""

    memories: list[int]
    similarity: list[float]


class Scene(Protocol):
    """What is the same whoever plays."""

    @property
    def tasks(self) -> int: ...
    @property
    def memories(self) -> int: ...
    @property
    def k(self) -> int:
        """How many memories an agent is served at most."""
        ...

    @property
    def gate(self) -> float:
        """The raw gate and score floor: the model's q99."""
        ...

    @property
    def kind(self) -> Kind: ...

    @property
    def slot(self) -> Floats:
        """Two draws a task: whether the exploration slot is drawn, and which memory."""
        ...

    @property
    def slot_gate(self) -> float:
        """The similarity from which the slot draws."""
        ...

    @property
    def coins(self) -> Floats:
        """A draw a task and memory."""
        ...

    @property
    def authors(self) -> Sequence[int]:
        """Who wrote each memory."""
        ...

    def found(self, task: int) -> Found: ...

    def agent(self, task: int) -> int: ...

    def category(self, task: int) -> int: ...

    def moment(self, task: int) -> datetime:
        """When a task is attempted; `tasks` is a moment too, the end."""
        ...

    def due(self, task: int) -> int:
        """The task before which the outcome of `task` is known: itself where at once."""
        ...

    def evidence(self, task: int) -> Evidence: ...

    def report(self, task: int, served: Sequence[int], scores: Sequence[float]) -> Report | None:
        """What is reported where this was selected, with these scores; None where nobody does."""
        ...


def coins(seed: int, tasks: int, memories: int) -> Floats:
    """The coins of a seed: the same whoever plays, so that variants differ by their rules."""
    return np.random.default_rng([seed, COINS]).random((tasks, memories))


def evenly(task: int) -> datetime:
    """When a task is attempted: 4000 tasks are 90 days."""
    return BEGINNING + timedelta(days=task * DAYS_PER_TASK)


@dataclass(frozen=True)
class WorldScene:
    """One of the ten worlds as a scene: with the head, as the server ranks."""

    world: World
    seed: int
    k: int = BEST
    gate: float = RAW_GATE
    slot_gate: float = 0.45

    @property
    def tasks(self) -> int:
        return self.world.scenario.tasks

    @property
    def memories(self) -> int:
        return MEMORIES

    @property
    def kind(self) -> Kind:
        return "binary" if self.world.scenario.binary else "continuous"

    @property
    def authors(self) -> list[int]:
        """Five authors of all kinds of memories; the last agent wrote what it owns."""
        return [AUTHORS if self.world.owned(m) else m % AUTHORS for m in range(MEMORIES)]

    @property
    def slot(self) -> Floats:
        return self.world.slot

    @property
    def coins(self) -> Floats:
        return self._coins

    @cached_property
    def _coins(self) -> Floats:
        return coins(self.seed, self.tasks, MEMORIES)

    def found(self, task: int) -> Found:
        memories, similarity = self.world.near[task]
        head = 4 * self.k
        return Found(memories[:head].tolist(), similarity[:head].tolist())

    def agent(self, task: int) -> int:
        return int(self.world.agent[task])

    def category(self, task: int) -> int:
        return int(self.world.category[task])

    def moment(self, task: int) -> datetime:
        return evenly(task)

    def due(self, task: int) -> int:
        return task + self.world.scenario.delay

    def evidence(self, task: int) -> Evidence:
        return self.world.evidence(task)

    def report(
        self,
        task: int,
        served: Sequence[int],
        scores: Sequence[float],  # noqa: ARG002 - effects add up, whatever the score
    ) -> Report | None:
        outcome = self.world.outcome(task, tuple(served))
        if outcome is None:
            return None
        foreign = outcome.agent >= self.world.scenario.honest
        own = frozenset(m for m in outcome.served if foreign and self.world.owned(m))
        return Report(outcome.evidence, outcome.on, outcome.off, outcome.served, own=own)


def stream(seed: int, salt: int) -> np.random.Generator:
    """The draws of a bank: `salt` tells banks of one seed apart."""
    return np.random.default_rng([seed, STREAM, salt])

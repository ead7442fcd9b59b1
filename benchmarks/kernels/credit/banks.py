"""Small banks of a few notes a topic, which a task of the topic finds all at once.

`twins`: ten topics, each with a good lesson and a second one, harmful on five topics and useless on
five; a task finds both and fillers up to k, so all are served. `twins_close`: three notes a topic:
right, outdated, beside the point. `good`: five topics of three notes that all help.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import fsum
from typing import Literal

import numpy as np

from benchmarks.kernels.credit.scene import Found, Kind, Report, coins, evenly, stream
from benchmarks.kernels.credit.world import (
    CONTROL,
    HIGHEST,
    LOWEST,
    RAW_GATE,
    SHARED,
    Evidence,
    Floats,
    Ints,
)

Notes = Literal["twins", "twins_close", "good"]
LIFT = 0.35
BASE = 0.5
FILLERS = 10
ON_TOPIC, FILLER = 0.62, 0.42
SPREAD, OFFSET = 0.06, 0.04
USES = 0.5  # how often an agent that says what it used acts on a memory that it was served
SALT: Mapping[Notes, int] = {"twins": 1, "twins_close": 2, "good": 3}


@dataclass(frozen=True, slots=True)
class Setting:
    """One bank and its evidence. `paired`: the share of tasks that are run twice."""

    name: str
    notes: Notes = "twins"
    k: int = 3
    tasks: int = 400
    paired: float = 0.0
    binary: bool = True
    used: bool = False
    gate: float = RAW_GATE
    late: float = 0.0  # the share of outcomes that are known only 40 tasks later

    @property
    def topics(self) -> int:
        return 5 if self.notes == "good" else 10


LATE = 40
HIGH_COSINES = 0.8

SETTINGS: Mapping[str, Setting] = {
    s.name: s
    for s in (
        Setting("twins_single"),
        Setting("twins_paired", paired=1.0),
        Setting("twins_mixed", paired=0.2),
        Setting("twins_continuous", binary=False),
        Setting("twins_late", late=0.2),
        Setting("twins_used", used=True),
        Setting("twins_k5_single", k=5),
        Setting("twins_k5_paired", k=5, paired=1.0),
        Setting("twins_k5_mixed", k=5, paired=0.2),
        Setting("twins_k5_used", k=5, used=True),
        Setting("twins_close", notes="twins_close"),
        Setting("twins_close_mixed", notes="twins_close", paired=0.2),
        Setting("twins_close_k5", notes="twins_close", k=5),
        Setting("twins_close_high", notes="twins_close", gate=HIGH_COSINES),
        Setting("good", notes="good", tasks=200),
        Setting("good_paired", notes="good", tasks=200, paired=1.0),
    )
}


@dataclass(frozen=True)
class Bank:
    """One seed of one setting. Memories: the notes topic by topic, then the fillers."""

    setting: Setting
    effect: Floats
    topic: Ints
    similarity: Floats  # (tasks, notes of a topic + fillers found)
    fillers: Ints  # (tasks, fillers found)
    draws: Mapping[str, Floats]  # a draw a task: on, off, arm, pair, late
    noise: Floats  # (2, tasks)
    uses: Floats  # (tasks, places): which of the served the agent acts on
    slot: Floats
    seed: int
    slot_gate: float = field(default=0.0)

    @property
    def tasks(self) -> int:
        return self.setting.tasks

    @property
    def memories(self) -> int:
        return len(self.effect)

    @property
    def k(self) -> int:
        return self.setting.k

    @property
    def gate(self) -> float:
        return self.setting.gate

    @property
    def kind(self) -> Kind:
        return "binary" if self.setting.binary else "continuous"

    @property
    def authors(self) -> list[int]:
        """One wrote them all."""
        return [0] * self.memories

    @property
    def notes(self) -> int:
        """How many notes a topic has."""
        return (self.memories - FILLERS) // self.setting.topics

    @property
    def coins(self) -> Floats:
        return self._coins

    @cached_property
    def _coins(self) -> Floats:
        return coins(self.seed, self.tasks, self.memories)

    @cached_property
    def _found(self) -> list[Found]:
        own = self.topic[:, None] * self.notes + np.arange(self.notes)
        memories = np.concatenate([own, self.memories - FILLERS + self.fillers], axis=1)
        order = np.argsort(-self.similarity, axis=1, kind="stable")
        near = np.take_along_axis(self.similarity, order, axis=1)
        ids = np.take_along_axis(memories, order, axis=1)
        passing = (near >= self.gate).sum(axis=1).tolist()
        rows = zip(ids.tolist(), near.tolist(), passing, strict=True)
        return [Found(memories[:n], similarity[:n]) for memories, similarity, n in rows]

    def found(self, task: int) -> Found:
        return self._found[task]

    def agent(self, task: int) -> int:  # noqa: ARG002 - one agent
        return 0

    def category(self, task: int) -> int:  # noqa: ARG002 - one category
        return 0

    def moment(self, task: int) -> datetime:
        return evenly(task)

    def due(self, task: int) -> int:
        return task + (LATE if self.draws["late"][task] < self.setting.late else 0)

    def evidence(self, task: int) -> Evidence:
        if self.draws["pair"][task] < self.setting.paired:
            return "paired"
        return "control" if self.draws["arm"][task] < CONTROL else "single"

    def report(
        self,
        task: int,
        served: Sequence[int],
        scores: Sequence[float],  # noqa: ARG002 - effects add up, whatever the score
    ) -> Report:
        evidence = self.evidence(task)
        if evidence == "control":
            return Report(evidence, None, self._reward(task, 0.0, 1), ())
        acted = list(served)
        if self.setting.used:
            acted = [m for m in served if self.uses[task, m] < USES]
        on = self._reward(task, fsum(self.effect[m] for m in acted), 0)
        off = self._reward(task, 0.0, 1) if evidence == "paired" else None
        used = frozenset(acted) if self.setting.used else None
        return Report(evidence, on, off, tuple(served), used)

    def _reward(self, task: int, added: float, run: int) -> float:
        mean = expected(added)
        if self.setting.binary:
            return float(self.draws["off" if run else "on"][task] < mean)
        return min(1.0, max(0.0, mean + 0.1 * float(self.noise[run, task])))

    def added(self, served: Ints) -> Floats:
        """What the served sets add to the expected reward of each task; -1 where fewer."""
        there = served >= 0
        effects = np.where(there, self.effect[np.where(there, served, 0)], 0.0)
        share = USES if self.setting.used else 1.0
        return np.clip(BASE + share * effects.sum(axis=1), LOWEST, HIGHEST) - BASE

    @cached_property
    def best(self) -> Floats:
        """The same of the best sets: all the notes of the topic that help."""
        helpful = np.maximum(self.effect, 0.0)[: -FILLERS or None].reshape(-1, self.notes)
        share = USES if self.setting.used else 1.0
        return np.clip(BASE + share * helpful.sum(axis=1), LOWEST, HIGHEST)[self.topic] - BASE

    @cached_property
    def everything(self) -> Floats:
        """The same where the most similar are always served."""
        rows = [self.found(task).memories[: self.k] for task in range(self.tasks)]
        return self.added(np.array([row + [-1] * (self.k - len(row)) for row in rows]))


def expected(added: float) -> float:
    return min(HIGHEST, max(LOWEST, BASE + added))


def draw_bank(setting: Setting, seed: int) -> Bank:
    """The bank of a seed. Banks of one kind of notes have the same effects and topics at a seed."""
    chance = stream(seed, SALT[setting.notes])
    effect = np.concatenate([_effects(setting.notes, chance).ravel(), np.zeros(FILLERS)])
    notes = (len(effect) - FILLERS) // setting.topics
    tasks = setting.tasks
    topic = chance.integers(setting.topics, size=tasks)
    offset = chance.normal(0, OFFSET, len(effect))
    names = ["on", "off", "arm", "pair", "late"]
    draws = dict(zip(names, chance.random((5, tasks)), strict=True))
    noise = chance.normal(0, 1, (2, tasks))
    slot = chance.random((2, tasks))
    uses = chance.random((tasks, len(effect)))
    found = max(0, setting.k - notes)
    shared = chance.normal(0, 1, (tasks, 1))
    own = chance.normal(0, 1, (tasks, notes + FILLERS))[:, : notes + found]
    fillers = np.argsort(chance.random((tasks, FILLERS)), axis=1)[:, :found]
    ids = np.concatenate(
        [topic[:, None] * notes + np.arange(notes), len(effect) - FILLERS + fillers], axis=1
    )
    level = np.array([ON_TOPIC] * notes + [FILLER] * found)
    together = np.where(level == ON_TOPIC, SHARED, 0.0)
    spread = together**0.5 * shared + (1 - together) ** 0.5 * own
    near = level + offset[ids] + SPREAD * spread
    # A model whose unrelated texts are alike has every cosine nearer to 1, by the same share.
    near = 1.0 - (1.0 - near) * (1.0 - setting.gate) / (1.0 - RAW_GATE)
    return Bank(setting, effect, topic, near, fillers, draws, noise, uses, slot, seed)


def _effects(notes: Notes, chance: np.random.Generator) -> Floats:
    """(topics, notes of a topic)."""
    match notes:
        case "twins":
            second = np.where(chance.permutation(10) < 5, -LIFT, 0.0)  # noqa: PLR2004 - half of them
            return np.stack([np.full(10, LIFT), second], axis=1)
        case "twins_close":
            return np.tile([LIFT, -LIFT, 0.0], (10, 1))
        case "good":
            return chance.uniform(0.05, 0.20, (5, 3))

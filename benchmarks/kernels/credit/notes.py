"""Notes of unreliable authors as a scene: the suite `notes` without a server, to choose constants.

A bank of notes, fifty questions a date whose outcomes are known before the next, and an agent that
lets what it is served vote. Order 0 is for tuning, others are for reporting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.kernels.credit.product import Played
from benchmarks.kernels.credit.scene import BEGINNING, Found, Kind, Report, coins, stream
from benchmarks.kernels.credit.world import CONTROL, Evidence, Floats
from benchmarks.notes.data import KINDS, Data, Note, Question, deal

TUNING_ORDER, REPORTED_ORDERS = 0, (1, 2)
A_DATE = 50
KAPPA = 1.0
SALT = 4

Reward = Literal["brier", "right"]


@dataclass(frozen=True, slots=True)
class NotesSetting:
    """Which bank, how many of the tasks, and what is reported: `brier`, in pairs, or `right`."""

    name: str
    bank: int
    tasks: int | None
    reward: Reward = "brier"
    k: int = 10


SETTINGS = {
    s.name: s
    for s in (
        NotesSetting("notes_150_right", 150, 600, "right", 8),
        NotesSetting("notes_300_right", 300, 1500, "right", 8),
        NotesSetting("notes_1000_right", 1000, None, "right", 8),
        NotesSetting("notes_300", 300, 1500),
        NotesSetting("notes_1000", 1000, None),
    )
}


@dataclass(frozen=True, slots=True)
class Vectors:
    """Embeddings of all questions by id, and the q99 of their model."""

    by_id: dict[str, Floats]
    q99: float

    @classmethod
    def load(cls, path: Path) -> "Vectors":
        """As `python -m benchmarks.kernels.credit.embed` wrote them."""
        with np.load(path) as file:
            rows = file["vectors"].astype(np.float64)
            return cls(dict(zip(file["ids"].tolist(), rows, strict=True)), float(file["q99"]))


@dataclass(frozen=True)
class Notes:
    """One order of one setting."""

    setting: NotesSetting
    notes: Sequence[Note]
    questions: Sequence[Question]
    similarity: Floats  # (tasks, notes)
    gate: float
    seed: int
    slot_gate: float = field(default=0.0)

    @property
    def tasks(self) -> int:
        return len(self.questions)

    @property
    def memories(self) -> int:
        return len(self.notes)

    @property
    def k(self) -> int:
        return self.setting.k

    @property
    def kind(self) -> Kind:
        return "binary" if self.setting.reward == "right" else "continuous"

    @property
    def slot(self) -> Floats:
        return self._draws[:2]

    @cached_property
    def _draws(self) -> Floats:
        return stream(self.seed, SALT).random((3, self.tasks))

    @property
    def coins(self) -> Floats:
        return self._coins

    @cached_property
    def _coins(self) -> Floats:
        return coins(self.seed, self.tasks, self.memories)

    @property
    def authors(self) -> list[int]:
        return self._authors

    @cached_property
    def _authors(self) -> list[int]:
        names = sorted({note.author for note in self.notes})
        return [names.index(note.author) for note in self.notes]

    @cached_property
    def says(self) -> np.ndarray:
        return np.array([KINDS.index(note.says) for note in self.notes])

    @cached_property
    def truth(self) -> np.ndarray:
        return np.array([KINDS.index(question.kind) for question in self.questions])

    @cached_property
    def rates(self) -> Floats:
        """(tasks, kinds): how often each was true before the task's date, one of each at first."""
        known = np.eye(len(KINDS))[self.truth].cumsum(axis=0)
        before = np.arange(self.tasks) // A_DATE * A_DATE
        seen = 1.0 + np.where(before[:, None] > 0, known[before - 1], 0.0)
        return seen / seen.sum(axis=1, keepdims=True)

    @cached_property
    def _found(self) -> list[Found]:
        order = np.argsort(-self.similarity, axis=1, kind="stable")[:, : 4 * self.k]
        near = np.take_along_axis(self.similarity, order, axis=1)
        passing = (near >= self.gate).sum(axis=1).tolist()
        rows = zip(order.tolist(), near.tolist(), passing, strict=True)
        return [Found(ids[:n], similarity[:n]) for ids, similarity, n in rows]

    def found(self, task: int) -> Found:
        return self._found[task]

    def agent(self, task: int) -> int:  # noqa: ARG002 - one agent
        return 0

    def category(self, task: int) -> int:  # noqa: ARG002 - one category
        return 0

    def moment(self, task: int) -> datetime:
        return BEGINNING + timedelta(days=task // A_DATE)

    def due(self, task: int) -> int:
        return (task // A_DATE + 1) * A_DATE

    def evidence(self, task: int) -> Evidence:
        if self.setting.reward == "brier":
            return "paired"
        return "control" if self._draws[2, task] < CONTROL else "single"

    def report(self, task: int, served: Sequence[int], scores: Sequence[float]) -> Report:
        evidence = self.evidence(task)
        off = None if evidence == "single" else self._reward(task, self.rates[task])
        if evidence == "control":
            return Report(evidence, None, off, ())
        on = self._reward(task, self.answer(task, served, scores))
        return Report(evidence, on, off, tuple(served))

    def answer(self, task: int, served: Sequence[int], scores: Sequence[float]) -> Floats:
        """The probabilities of the six kinds: each note votes by its score over the rates."""
        votes = KAPPA * self.rates[task]
        if len(served):
            votes = votes + np.bincount(self.says[list(served)], scores, minlength=len(KINDS))
        return votes / votes.sum()

    def _reward(self, task: int, shares: Floats) -> float:
        if self.setting.reward == "right":
            return float(int(shares.argmax()) == self.truth[task])
        return 1.0 - self.loss(task, shares)

    def loss(self, task: int, shares: Floats) -> float:
        """Half the Brier score, from 0 to 1."""
        error = shares.copy()
        error[self.truth[task]] -= 1.0
        return float(error @ error) / 2

    @cached_property
    def right(self) -> np.ndarray:
        """Which notes say what is true of their own question."""
        return np.array([note.right for note in self.notes])


def draw_notes(
    setting: NotesSetting, data: Data, vectors: Vectors, *, order: int, seed: int
) -> Notes:
    """One order; `seed` is that of slots, coins and controls."""
    dealt = deal(data, setting.bank, order, setting.tasks)
    bank = np.array([vectors.by_id[note.id] for note in dealt.notes])
    asked = np.array([vectors.by_id[question.id] for question in dealt.tasks])
    similarity = np.clip(asked @ bank.T, 0.0, None)
    return Notes(setting, dealt.notes, dealt.tasks, similarity, vectors.q99, seed)


def figures(scene: Notes, played: Played) -> dict[str, float]:
    """Mean loss, its part in the first 500 tasks, and the accuracy of the last half."""
    answers = [
        scene.answer(task, row[row >= 0].tolist(), scores[row >= 0].tolist())
        for task, (row, scores) in enumerate(zip(played.served, played.scores, strict=True))
    ]
    losses = np.array([scene.loss(task, shares) for task, shares in enumerate(answers)])
    hits = np.array([a.argmax() for a in answers]) == scene.truth
    return {
        "loss": float(losses.mean()),
        "loss_first": float(losses[:500].mean()),
        "loss_last": float(losses[scene.tasks // 2 :].mean()),
        "accuracy": float(hits.mean()),
        "accuracy_last": float(hits[scene.tasks // 2 :].mean()),
    }


GOOD, BAD = 2.0, 0.1


def oracle(scene: Notes) -> dict[str, float]:
    """The figures of one that weighs by the truth: right notes 2, wrong ones .1."""
    weight = np.where(scene.right, GOOD, BAD)
    served = np.full((scene.tasks, scene.k), -1)
    scores = np.zeros((scene.tasks, scene.k))
    for task in range(scene.tasks):
        found = scene.found(task)
        score = weight[found.memories] * np.array(found.similarity)
        order = np.argsort(-score, kind="stable")
        chosen = order[score[order] >= scene.gate][: scene.k]
        served[task, : len(chosen)] = np.array(found.memories, dtype=int)[chosen]
        scores[task, : len(chosen)] = score[chosen]
    return figures(scene, Played(served, scores, {}, np.zeros((0, 0)), 0.0))

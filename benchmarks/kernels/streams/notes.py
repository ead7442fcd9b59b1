"""Notes of unreliable authors, replayed without a server: what a guard leaves of their gain.

A question with the kind that most of its rules give is a note; every note that is served votes for
its kind over the running rates. One order only, the one for tuning. 50 tasks a date, pairs.
"""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import fsum
from pathlib import Path
from random import Random
from uuid import UUID

import numpy as np

from benchmarks.kernels.streams.drawn import draw_expert, shown
from benchmarks.kernels.streams.guards import NONE, SHORTER, Guard, shorter
from benchmarks.kernels.streams.vectors import vectors_of
from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES
from memory.belief.rankers import ASKED, FLAT_AGELESS, Candidate, displayed_score
from memory.belief.states import Evidence, Observation
from memory.receipts.entities import Gates
from memory.retrieval.selection import Selection, select, select_by_all

KINDS = ("description", "entity", "human", "abbreviation", "location", "number")
BANK, K, A_DATE, ORDER = 1000, 10, 50, 0
CATEGORY, AGENT = "questions", UUID(int=1)
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC).toordinal()
_POLICY = POLICIES["belief"]
_CATEGORY = UUID(int=2)

Shares = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Note:
    id: UUID
    text: str
    says: str


@dataclass
class Notes:
    """A deal of the questions with the head of every task."""

    notes: Sequence[_Note]
    tasks: Sequence[tuple[str, str]]  # text, kind
    near: Sequence[Sequence[tuple[int, float]]]
    gates: Gates


def deal(data: Path, folder: Path) -> Notes:
    """The order for tuning: shuffled by its number over the ids in order."""
    questions = sorted(_rows(data / "questions.jsonl.gz"), key=lambda row: row["id"])
    rules = {row["id"]: row["kind"] for row in _rows(data / "rules.jsonl.gz")}
    Random(ORDER).shuffle(questions)  # noqa: S311 - an order, no secret
    kept = [row for row in questions if row["rules"]][:BANK]
    taken = {row["id"] for row in kept}
    notes = [
        _Note(UUID(int=1000 + n), row["text"], _majority([rules[r] for r in row["rules"]]))
        for n, row in enumerate(kept)
    ]
    tasks = [(row["text"], row["kind"]) for row in questions if row["id"] not in taken]
    vectors = vectors_of([row["text"] for row in questions], folder)
    bank = vectors.of([note.text for note in notes]).astype(np.float64)
    similar = np.clip(vectors.of([text for text, _ in tasks]).astype(np.float64) @ bank.T, 0.0, 1.0)
    order = np.argsort(-similar, axis=1, kind="stable")[:, : 4 * K]
    near = [
        [(int(m), float(row[m])) for m in places]
        for row, places in zip(similar, order, strict=True)
    ]
    return Notes(notes, tasks, near, Gates(raw=vectors.q99, score=vectors.q99))


def _majority(kinds: Sequence[str]) -> str:
    return Counter(kinds).most_common(1)[0][0]


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@dataclass(frozen=True, slots=True)
class _Served:
    """One task: each list's answer, what the agent answered, and what that was made of."""

    experts: Mapping[str, Shares]
    answer: Shares
    memories: tuple[UUID, ...]
    draw: "object | None" = None


@dataclass
class Play:
    """All tasks in order with one guard; `drawn`: by one list at a time, else all are scored."""

    notes: Notes
    guard: Guard
    drawn: bool
    learned: Learned = field(default_factory=Learned)
    seen: Counter[str] = field(default_factory=lambda: Counter(KINDS))

    def gains(self) -> list[float]:
        """Of every task, half the Brier score of similarity less that of the answer."""
        found: list[float] = []
        chance = Random(ORDER)  # noqa: S311 - a simulation
        for start in range(0, len(self.notes.tasks), A_DATE):
            found += self._date(range(start, min(start + A_DATE, len(self.notes.tasks))), chance)
        return found

    def _date(self, tasks: range, chance: Random) -> list[float]:
        day = BEGINNING + tasks[0] // A_DATE
        now = datetime.fromordinal(day).replace(tzinfo=UTC)
        rates = {kind: self.seen[kind] / self.seen.total() for kind in KINDS}
        gains: list[float] = []
        entries: list[Learn] = []
        shown_losses: list[Mapping[str, float]] = []
        for task in tasks:
            truth = self.notes.tasks[task][1]
            some = self._candidates(task, now)
            similarity = _vote(rates, self._flat(some, now))
            losses, answer, served = self._answer(some, now, rates, truth, chance)
            gains.append(_loss(similarity, truth) - _loss(answer, truth))
            shown_losses.append(losses)
            if served:
                entries.append(self._entry(answer, rates, truth, served, now))
            self.seen[truth] += 1
        for losses in shown_losses:
            self.guard.learn(CATEGORY, day, losses)
        self.learned = fold(_POLICY, entries, start=self.learned)
        return gains

    def _answer(
        self, some: list[Candidate], now: datetime, rates: Shares, truth: str, chance: Random
    ) -> tuple[Mapping[str, float], Shares, tuple[UUID, ...]]:
        if self.drawn:
            return self._by_one(some, now, rates, truth, chance)
        ranked = select_by_all(some, Selection(K, self.notes.gates, now))
        experts: dict[str, Shares] = {NONE: rates}
        for ranker in ASKED:
            voices = [
                (score, one.candidate)
                for one in ranked
                if (score := one.scores[ranker]) is not None
            ]
            experts[ranker] = _vote(rates, voices)
            voices.sort(key=lambda voice: -voice[0])
            for k in SHORTER:
                experts[shorter(ranker, k)] = _vote(rates, voices[:k])
        shares = self.guard.shares(CATEGORY, now.toordinal())
        answer = {k: fsum(share * experts[e][k] for e, share in shares.items()) for k in KINDS}
        losses = {expert: _loss(one, truth) for expert, one in experts.items()}
        return losses, answer, tuple(one.candidate.id for one in ranked)

    def _by_one(
        self, some: list[Candidate], now: datetime, rates: Shares, truth: str, chance: Random
    ) -> tuple[Mapping[str, float], Shares, tuple[UUID, ...]]:
        draw = draw_expert(self.guard, CATEGORY, now.toordinal(), chance)
        ranker, _, k = draw.ranker.partition("@")
        chosen: tuple[Candidate, ...] = ()
        if ranker != NONE:
            selection = Selection(int(k or K), self.notes.gates, now, ranker)
            chosen = tuple(item.candidate for item in select(some, selection, chance).items)
        answer = _vote(rates, [(one.effective_weight * one.similarity, one) for one in chosen])
        cell = self.learned.cells.get((AGENT, _CATEGORY))
        usual = 0.5 if cell is None else cell.values[0]
        losses = shown(draw, 1.0 - _loss(answer, truth), usual)
        return losses, answer, tuple(one.id for one in chosen)

    def _flat(self, some: list[Candidate], now: datetime) -> list[tuple[float, Candidate]]:
        chosen = select(
            some,
            Selection(K, self.notes.gates, now, slot_probability=0.0),
            Random(0),  # noqa: S311 - never asked
        )
        return [
            (displayed_score(FLAT_AGELESS, i.candidate, now), i.candidate) for i in chosen.items
        ]

    def _candidates(self, task: int, now: datetime) -> list[Candidate]:
        found: list[Candidate] = []
        for place, similarity in self.notes.near[task]:
            note = self.notes.notes[place]
            state = self.learned.memories.get(note.id) or _POLICY.initial_memory()
            state = _POLICY.age_memory(state, now)
            deviation = self.learned.deviations.get((note.id, AGENT))
            own = None if deviation is None else _POLICY.age_deviation(deviation, now)
            found.append(
                Candidate(
                    id=note.id,
                    version=1,
                    group=str(note.id),
                    kind=note.says,
                    similarity=similarity,
                    relevance=similarity,
                    effective_weight=_POLICY.effective_weight(state, own),
                    ranking_weight=_POLICY.ranking_weight(state, own),
                    learned_at=datetime.fromordinal(BEGINNING).replace(tzinfo=UTC),
                    credited=0,
                )
            )
        return found

    def _entry(
        self, answer: Shares, rates: Shares, truth: str, served: tuple[UUID, ...], now: datetime
    ) -> Learn:
        on, off = 1.0 - _loss(answer, truth), 1.0 - _loss(rates, truth)
        observation = Observation(Evidence.PAIRED, on, off, served, frozenset(), (), (), now)
        return Learn(AGENT, _CATEGORY, "continuous", observation)


def _vote(rates: Shares, voices: Sequence[tuple[float, Candidate]]) -> Shares:
    total = 1.0 + fsum(score for score, _ in voices)
    return {
        kind: (rates[kind] + fsum(score for score, one in voices if one.kind == kind)) / total
        for kind in KINDS
    }


def _loss(shares: Shares, truth: str) -> float:
    return min(1.0, fsum((shares[kind] - (kind == truth)) ** 2 for kind in KINDS) / 2)

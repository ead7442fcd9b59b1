"""A stream replayed without a server, causally, over the server's pure functions.

Every outcome is learned on the first day of the stream after it became known; the day's questions
are asked then. The head, the gates, the rankers, what is kept once, beliefs and their ageing are
the server's. What the agent answers from each expert's list is written down; the follower that
plays (who is followed, and how far) changes beliefs only by the reward of the mixed answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import fsum
from pathlib import Path
from uuid import UUID, uuid5

import numpy as np

from benchmarks.kernels.streams.guards import NONE, SHORTER, Follower, shorter
from benchmarks.kernels.streams.vectors import Vectors, vectors_of
from clients.demo.agent import Analog, Rates, forecast
from clients.demo.replay import lesson, midnight
from clients.demo.streams import Batch, Question, Resolution, Stream
from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES
from memory.belief.rankers import ASKED, RANKERS, Candidate
from memory.belief.states import Evidence, Observation
from memory.kernel.normal_form import look_alike_form
from memory.receipts.entities import Gates
from memory.retrieval.selection import Selection, select_by_all

AGENT = UUID(int=1)
_NAMES = UUID(int=14)
_HEAD = 4  # times k
_POLICY = POLICIES["belief"]


@dataclass(frozen=True, slots=True)
class Answered:
    """One forecast: the agent's own, and each expert's answer; `truth` None while unknown."""

    question: Question
    prior: float
    experts: Mapping[str, float]
    full: float
    given: float
    served: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Day:
    """What became known before a day's questions, and how these were answered."""

    day: date
    known: tuple[Resolution, ...]
    answered: tuple[Answered, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """Where the stream ends, whether the agent starts from the price, and how many it pools."""

    until: date | None = None
    sees_price: bool = False
    k: int = 30


@dataclass(slots=True)
class _Memory:
    id: UUID
    question: Question
    lesson: str
    outcome: int
    learned_at: datetime
    look_alike: str


@dataclass
class _Bank:
    """What is remembered, in the order in which it came."""

    vectors: Vectors
    memories: list[_Memory] = field(default_factory=list[_Memory])
    seen: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    def add(self, question: Question, row: Resolution, learned: date) -> None:
        text = lesson(question, row)
        said = (question.source, question.text, text)
        if said in self.seen:
            return
        self.seen.add(said)
        self.memories.append(
            _Memory(
                UUID(int=1000 + len(self.memories)),
                question,
                text,
                row.outcome,
                midnight(learned),
                f"{look_alike_form(question.text)}\n{look_alike_form(text)}",
            )
        )


@dataclass
class Replay:
    """One pass over a stream with one follower."""

    stream: Stream
    follower: Follower
    setting: Setting
    folder: Path
    _learned: Learned = field(default_factory=Learned)
    _open: dict[str, Answered] = field(default_factory=dict[str, Answered])
    _rates: Rates = field(default_factory=Rates)

    def play(self) -> list[Day]:
        warmup = [q for q, _ in self.stream.warmup]
        asked = [*warmup, *self.stream.questions]
        self._bank = _Bank(vectors_of([q.text for q in asked], self.folder))
        q99 = self._bank.vectors.q99
        self._gates = Gates(raw=q99, score=q99)
        self._questions = {question.id: question for question in asked}
        for question, row in self.stream.warmup:
            self._rates.learn(question.source, row.outcome)
            self._bank.add(question, row, date.fromordinal(row.resolved_on.toordinal() + 1))
        days: list[Day] = []
        for batch in self.stream.batches():
            if self.setting.until is not None and batch.day >= self.setting.until:
                break
            self._learn(batch)
            answered = self._ask(batch)
            days.append(Day(batch.day, batch.known, answered))
        return days

    def _learn(self, batch: Batch) -> None:
        day, entries = batch.day, list[Learn]()
        for row in batch.known:
            was, y = self._open.pop(row.question_id), row.outcome
            teach(self.follower, was, y, day)
            entries.append(_entry(was, y, midnight(day)))
        # The server folds each outcome as the one before left the states; so does one fold of all.
        self._learned = fold(_POLICY, entries, start=self._learned)
        for row in batch.known:
            question = self._questions[row.question_id]
            self._rates.learn(question.source, row.outcome)
            self._bank.add(question, row, day)

    def _ask(self, batch: Batch) -> tuple[Answered, ...]:
        if not batch.questions:
            return ()
        vectors, memories = self._bank.vectors, self._bank.memories
        similar = np.zeros((len(batch.questions), 0))
        if memories:
            bank = vectors.of([memory.question.text for memory in memories]).astype(np.float64)
            asked = vectors.of([question.text for question in batch.questions])
            similar = np.clip(asked.astype(np.float64) @ bank.T, 0.0, 1.0)
        weights = self._weights(midnight(batch.day))
        answered: list[Answered] = []
        for question, row in zip(batch.questions, similar, strict=True):
            price = question.price if self.setting.sees_price else None
            prior = self._rates.prior(question.source) if price is None else price
            near = np.argsort(-row, kind="stable")[: _HEAD * self.setting.k].tolist()
            some = [_candidate(memories[m], float(row[m]), weights[m]) for m in near]
            experts, served = self._experts(
                prior, some, {memories[m].id: memories[m] for m in near}, batch.day
            )
            one = Answered(question, prior, experts, 0.0, 0.0, served)
            one = follow(self.follower, one, batch.day)
            answered.append(one)
            self._open[question.id] = one
        return tuple(answered)

    def _experts(
        self, prior: float, some: Sequence[Candidate], memories: Mapping[UUID, _Memory], day: date
    ) -> tuple[dict[str, float], tuple[UUID, ...]]:
        selection = Selection(k=self.setting.k, gates=self._gates, as_of=midnight(day))
        ranked = select_by_all(some, selection)
        experts = {NONE: prior}
        for ranker in ASKED:
            scored = [
                Analog(score, memories[one.candidate.id].outcome)
                for one in ranked
                if (score := one.scores[ranker]) is not None
            ]
            experts[ranker] = forecast(prior, scored)
            if not RANKERS[ranker].weighted:
                scored.sort(key=lambda analog: -analog.score)
                for k in SHORTER:
                    experts[shorter(ranker, k)] = forecast(prior, scored[:k])
        return experts, tuple(one.candidate.id for one in ranked)

    def _weights(self, now: datetime) -> list[tuple[float, float]]:
        found: list[tuple[float, float]] = []
        for memory in self._bank.memories:
            state = self._learned.memories.get(memory.id) or _POLICY.initial_memory()
            deviation = self._learned.deviations.get((memory.id, AGENT))
            aged = None if deviation is None else _POLICY.age_deviation(deviation, now)
            state = _POLICY.age_memory(state, now)
            found.append(
                (_POLICY.effective_weight(state, aged), _POLICY.ranking_weight(state, aged))
            )
        return found


def follow(follower: Follower, one: Answered, day: date) -> Answered:
    """The same forecast as this follower answers it."""
    at, source = day.toordinal(), one.question.source
    shares = follower.guard.shares(source, at)
    full = fsum(share * one.experts[expert] for expert, share in shares.items())
    full = min(1.0, max(0.0, full))
    given = one.prior + follower.strength.of(source, at) * (full - one.prior)
    return Answered(
        one.question, one.prior, one.experts, full, min(1.0, max(0.0, given)), one.served
    )


def teach(follower: Follower, was: Answered, y: int, day: date) -> None:
    """Score every expert and the move that memory made."""
    at, source = day.toordinal(), was.question.source
    losses = {expert: (p - y) ** 2 for expert, p in was.experts.items()}
    follower.guard.learn(source, at, losses)
    moved = was.full - was.prior
    if was.served:
        follower.strength.learn(source, at, moved * (y - was.prior), moved * moved)


def follow_over(days: Sequence[Day], follower: Follower) -> list[Answered]:
    """Forecasts of another follower over answers that were written down."""
    opened, found = dict[str, Answered](), list[Answered]()
    for day in days:
        for row in day.known:
            teach(follower, opened.pop(row.question_id), row.outcome, day.day)
        for one in day.answered:
            followed = follow(follower, one, day.day)
            opened[one.question.id] = followed
            found.append(followed)
    return found


def _candidate(memory: _Memory, similarity: float, weights: tuple[float, float]) -> Candidate:
    return Candidate(
        id=memory.id,
        version=1,
        group=memory.question.event_id,
        kind="experience",
        similarity=similarity,
        relevance=similarity,
        effective_weight=weights[0],
        ranking_weight=weights[1],
        learned_at=memory.learned_at,
        credited=0,
        look_alike=memory.look_alike,
        trusted=True,
    )


def _entry(was: Answered, y: int, now: datetime) -> Learn:
    """A pair; where nothing was served, a reading of what the agent reaches without memory."""
    off = 1.0 - (was.prior - y) ** 2
    evidence, on = Evidence.CONTROL, None
    if was.served:
        evidence, on = Evidence.PAIRED, 1.0 - (was.full - y) ** 2
    observation = Observation(evidence, on, off, was.served, frozenset(), (), (), now)
    return Learn(AGENT, uuid5(_NAMES, was.question.source), "continuous", observation)

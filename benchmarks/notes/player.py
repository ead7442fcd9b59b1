"""One arm over REST: fifty questions a date, their outcomes reported and applied before the next.

Every task is a pair. The run without memory is the seat's own answer, which costs nothing here, so
chance withholds nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import perf_counter

from memlift_client import (
    BatchedReportFields,
    ExperienceFields,
    MemLift,
    MemLiftProblem,
    Retrieval,
    RetrievalFields,
    TaskFields,
)

from benchmarks.notes.arms import NOTHING, Arm, Heard
from benchmarks.notes.data import Note, Question
from benchmarks.notes.vote import Asked, RewardKind, Seat, Shares, choose, loss, mix

AGENT, CATEGORY = "classifier", "question"
FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
A_DATE = 50
BATCH = 250
CONFLICT = 409
DECAY = "decay"
PAGE = 200


@dataclass(frozen=True, slots=True)
class Done:
    """One task in one arm. Losses are from 0 to 1; `served` counts the notes in the context,
    `served_right` those of them that are right, `used` those that fit the question: the agent goes
    by them. `losses` has that of the answer by each list.
    """

    date: int
    place: int
    id: str
    truth: str
    answer: str
    loss: float
    without: float
    right: bool
    served: int
    served_right: int
    used: tuple[str, ...]
    losses: Mapping[str, float]
    arm: str | None
    ranker: str | None
    receipt: str | None
    ms: float


@dataclass(frozen=True, slots=True)
class Weight:
    """A note at the end: what its weight has come to, and whether it still serves."""

    note: str
    author: str
    worth: float
    right: bool
    weight: float
    served: int
    credited: int
    retired: bool


@dataclass(frozen=True, slots=True)
class Bank:
    """The namespace of one arm, with the notes in it."""

    arm: Arm
    memory: MemLift
    notes: Mapping[str, Note]

    def ask(self, tasks: Sequence[Question], k: int, now: datetime) -> list[Retrieval]:
        """What is remembered for the questions of a date, each by a key of its own."""
        asks = [
            RetrievalFields(
                agent=AGENT,
                task=TaskFields(text=task.text, key=task.id, category=CATEGORY),
                k=k,
                purpose="paired",
                format="memories",
                all_rankers=self.arm.all_rankers,
                as_of=now,
            )
            for task in tasks
        ]
        return [item.unwrap() for item in self.memory.retrieve_all(asks)]

    def learn(self, done: Sequence[Done], kind: RewardKind, now: datetime) -> None:
        """Report the pairs of a date, apply them, and let what has fallen retire. Where nothing
        was served, both runs are one, which teaches nothing.
        """
        if self.arm.learning == "frozen":
            return
        reports = [self._report(one, kind, now) for one in done if one.served]
        for item in self.memory.report_all(reports) if reports else ():
            item.unwrap()
        self.memory.apply_outcomes()
        self.memory.run_job(DECAY, now=now)

    def _report(self, one: Done, kind: RewardKind, now: datetime) -> BatchedReportFields:
        report = BatchedReportFields(
            retrieval_id=str(one.receipt),
            reward=1.0 - one.loss,
            without={"reward": 1.0 - one.without},
            reward_kind=kind,
            evaluator="truth",
            verifier="test",
            known_at=now,
        )
        if len(one.losses) > 1:
            report["answers"] = {name: 1.0 - lost for name, lost in one.losses.items()}
        if self.arm.tells_used:
            report["used"] = one.used
        return report

    def weights(self) -> Iterator[Weight]:
        """Of every note, those among them that have retired."""
        living = {row.memory_id: row for row in self.memory.each_weight(limit=PAGE)}
        for one in self.memory.each_experience(limit=PAGE):
            note, row = self.notes[str(one.metadata["note"])], living.get(one.id)
            found = row or self.memory.get_weight(one.id)
            yield Weight(
                note=note.id,
                author=note.author,
                worth=note.worth,
                right=note.right,
                weight=found.effective_weight,
                served=found.served,
                credited=found.credited,
                retired=one.status == "retired",
            )


def open_bank(client: MemLift, slug: str, arm: Arm, notes: Sequence[Note]) -> Bank:
    """The namespace `slug`, filled; where an earlier run was ended in it, as that left it."""
    try:
        client.create_namespace(
            slug, clock="replay", learning=arm.learning, policy=arm.policy, settings=arm.settings
        )
    except MemLiftProblem as problem:
        if problem.status != CONFLICT:
            raise
    memory = client.within(slug)
    if memory.list_experiences(limit=1).total < len(notes):
        for start in range(0, len(notes), BATCH):
            drafts = [_experience(note, arm) for note in notes[start : start + BATCH]]
            for item in memory.remember_all(drafts):
                item.unwrap()
    return Bank(arm, memory, {note.id: note for note in notes})


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with what was served for it, and the part of that which fits the question: by
    this part the agent goes.
    """

    task: Question
    retrieval: Retrieval | None
    heard: Heard
    used: Heard


@dataclass(frozen=True, slots=True)
class Player:
    """Who answers, and from which bank; without a bank, alone."""

    seat: Seat
    bank: Bank | None

    def play(self, date: int, tasks: Sequence[Question], rates: Shares) -> list[Done]:
        """A date: ask, answer with and without the notes, report, apply."""
        now, began = FIRST_DAY + date * DAY, perf_counter()
        got = self.bank.ask(tasks, self.seat.heard, now) if self.bank else [None] * len(tasks)
        ms = (perf_counter() - began) * 1000 / len(tasks)
        turns = [self._take(task, retrieval) for task, retrieval in zip(tasks, got, strict=True)]
        answers = self._answer(turns, rates)
        alone = self.seat.answer([Asked(one.task, rates) for one in turns])
        done = [
            replace(self._score(*answered), date=date, place=date * A_DATE + place, ms=ms)
            for place, answered in enumerate(zip(turns, answers, alone, strict=True))
        ]
        if self.bank:
            self.bank.learn(done, self.seat.reward_kind, now + DAY)
        return done

    def _take(self, task: Question, retrieval: Retrieval | None) -> Turn:
        if self.bank is None or retrieval is None:
            return Turn(task, None, NOTHING, NOTHING)
        bank, heard = self.bank, self.bank.arm.listen(retrieval)
        lists = {name: some[: self.seat.heard] for name, some in heard.lists.items()}
        fitting = {
            name: [voice for voice in some if bank.notes[voice.note].fits(task)]
            for name, some in lists.items()
        }
        return Turn(task, retrieval, Heard(lists, heard.shares), Heard(fitting, heard.shares))

    def _answer(self, turns: Sequence[Turn], rates: Shares) -> list[dict[str, Shares]]:
        """Of each turn, the answer by each of its lists; all are asked at once."""
        asked = [
            Asked(one.task, rates, voices) for one in turns for voices in one.used.lists.values()
        ]
        answers = iter(self.seat.answer(asked))
        return [{name: next(answers) for name in one.used.lists} for one in turns]

    def _score(self, turn: Turn, answers: Mapping[str, Shares], alone: Shares) -> Done:
        truth, retrieval, voices = turn.task.kind, turn.retrieval, turn.heard.voices
        aided = mix(answers, turn.used.shares)
        answer, notes = choose(aided), self.bank.notes if self.bank else {}
        return Done(
            date=0,
            place=0,
            id=turn.task.id,
            truth=truth,
            answer=answer,
            loss=loss(aided, truth),
            without=loss(alone, truth),
            right=answer == truth,
            served=len(voices),
            served_right=sum(notes[voice.note].right for voice in voices),
            used=tuple(voice.memory for voice in turn.used.voices),
            losses={name: loss(shares, truth) for name, shares in answers.items()},
            arm=retrieval and retrieval.arm,
            ranker=retrieval and retrieval.ranker,
            receipt=retrieval and retrieval.retrieval_id,
            ms=0.0,
        )


def _experience(note: Note, arm: Arm) -> ExperienceFields:
    return ExperienceFields(
        agent=note.author,
        situation=note.situation,
        lesson=note.lesson,
        category=CATEGORY,
        learned_at=FIRST_DAY,
        metadata={"note": note.id, "says": note.says},
        weight=arm.start(note),
    )

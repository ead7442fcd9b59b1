"""Replay a stream through the server: what became known is reported, then the day is forecast.

Every call of a day carries the day's midnight as its time. Outcomes handed out on a day were known
by then, so they are reported, applied and remembered first; the retrievals of the day then ask the
memory as of that same moment: at its newest known outcome, never before it.

Every retrieval asks for the lists of all rankers, so that one answer a ranker can be given and
reported: then each outcome tells of all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import TypeVar

from memlift_client import (
    BatchedReportFields,
    ExperienceFields,
    MemLift,
    Retrieval,
    RetrievalFields,
    TaskFields,
)

from clients.demo.agent import Rates
from clients.demo.answering import Answer, by_record
from clients.demo.statistics import Scored
from clients.demo.streams import Batch, Question, Resolution, Stream

AGENT = "analog"
K = 30
LARGEST_BATCH = 256
WITHOUT = "without memory"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Open:
    """A forecast whose outcome is not known yet, and the receipt it waits under."""

    question: Question
    receipt: str
    task_id: str | None
    prior: float
    answer: Answer


@dataclass(slots=True)
class Arm:
    """One way to remember: a namespace of its own, how the agent answers by what it gets from
    there, and the forecasts that are open in it.
    """

    name: str
    memory: MemLift
    answer: Callable[[float, Retrieval], Answer] = by_record
    open: dict[str, Open] = field(default_factory=dict[str, Open])

    def learn(self, known: Sequence[Resolution], day: date) -> list[tuple[Resolution, Open]]:
        """Report, apply, remember; returns what was closed."""
        closed = [(row, self.open.pop(row.question_id)) for row in known]
        for part in parts([_outcome(row, was, day) for row, was in closed]):
            for item in self.memory.report_all(part):
                item.unwrap()
        if closed:
            self.memory.apply_outcomes()
        for part in parts([_experience(row, was, day) for row, was in closed]):
            for item in self.memory.remember_all(part):
                item.unwrap()
        return closed

    def forecast(self, questions: Sequence[Question], priors: Mapping[str, float]) -> None:
        """Ask what is remembered of questions like these, and answer by it."""
        answers: list[Retrieval] = []
        for part in parts([ask(question) for question in questions]):
            answers += [item.unwrap() for item in self.memory.retrieve_all(part)]
        for question, retrieval in zip(questions, answers, strict=True):
            prior = priors[question.id]
            self.open[question.id] = Open(
                question,
                retrieval.receipt,
                retrieval.task_id,
                prior,
                self.answer(prior, retrieval),
            )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is, after one day."""

    day: date
    asked: int
    learned: int
    scored: Sequence[Scored]


def replay(stream: Stream, arms: Sequence[Arm], told: Callable[[Progress], None]) -> list[Scored]:
    """Every resolved forecast of the stream, by each arm and without memory."""
    rates = Rates()
    scored: list[Scored] = []
    for batch in stream.batches():
        scored += _learned(batch, arms, rates)
        priors = {question.id: rates.prior(question.source) for question in batch.questions}
        for arm in arms:
            arm.forecast(batch.questions, priors)
        told(Progress(batch.day, len(batch.questions), len(batch.known), scored))
    return scored


def _learned(batch: Batch, arms: Sequence[Arm], rates: Rates) -> list[Scored]:
    closed = {arm.name: arm.learn(batch.known, batch.day) for arm in arms}
    scored: list[Scored] = []
    for position, row in enumerate(batch.known):
        opened = {name: pairs[position][1] for name, pairs in closed.items()}
        first = next(iter(opened.values()))
        rates.learn(first.question.source, row.outcome)
        answers = {name: was.answer.given for name, was in opened.items()}
        scored.append(
            Scored(
                first.question.event_id,
                first.question.source,
                first.question.week,
                row.outcome,
                {WITHOUT: first.prior, **answers},
            )
        )
    return scored


def ask(question: Question) -> RetrievalFields:
    """How the agent asks about a question: each ranker's k memories, as data, and both runs
    promised.
    """
    return RetrievalFields(
        agent=AGENT,
        task=task_of(question),
        k=K,
        all_rankers=True,
        purpose="paired",
        format="memories",
        as_of=midnight(question.asked_on),
    )


def task_of(question: Question) -> TaskFields:
    """The question as a task: its source is the category, its event the group."""
    task = TaskFields(
        text=question.text,
        key=question.id,
        category=question.source,
        group_key=question.event_id,
    )
    if question.topic is not None:
        task["subcategory"] = question.topic
    return task


def _outcome(row: Resolution, was: Open, day: date) -> BatchedReportFields:
    outcome = BatchedReportFields(
        retrieval_id=was.receipt,
        metric="brier",
        value=_answered(was.answer.given),
        truth={"y": [row.outcome]},
        without={"value": _answered(was.prior)},
        reward_kind="continuous",
        evaluator="resolution",
        verifier="test",
        known_at=midnight(day),
    )
    if was.answer.rankers:
        outcome["full"] = {"value": _answered(was.answer.full)}
        outcome["answers"] = {r: _answered(p) for r, p in was.answer.rankers.items()}
    return outcome


def _answered(probability: float) -> dict[str, list[float]]:
    return {"p": [probability]}


def _experience(row: Resolution, was: Open, day: date) -> ExperienceFields:
    experience = ExperienceFields(
        agent=AGENT,
        situation=was.question.text,
        lesson=lesson(was.question, row),
        category=was.question.source,
        learned_at=midnight(day),
        metadata={"outcome": row.outcome, "event": was.question.event_id},
    )
    if was.question.topic is not None:
        experience["subcategory"] = was.question.topic
    if was.task_id is not None:
        experience["task_id"] = was.task_id
    return experience


def lesson(question: Question, row: Resolution) -> str:
    """What the outcome taught, in a sentence."""
    answer = "YES" if row.outcome else "NO"
    reference = f"; the reference value was {question.reference}" if question.reference else ""
    return f"This resolved {answer} on {row.resolved_on}{reference}."


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """As many at once as one call takes."""
    for start in range(0, len(items), LARGEST_BATCH):
        yield items[start : start + LARGEST_BATCH]

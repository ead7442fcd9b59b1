"""Streams of resolved questions, read without a look ahead.

A stream is two files, NAME_questions.jsonl.gz (what a forecaster may see) and
NAME_resolutions.jsonl.gz (how they resolved). `Stream.batches` owns the clock: an outcome of a day
is handed out once, in the first batch of a later day, and never before the batch that asked.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TypeVar, cast

Row = TypeVar("Row")


class BadStream(Exception):
    """The files are not a stream; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Question:
    """One forecast to make. Nothing in here was known only after `asked_on`.

    `event_id` joins the forecasts of one question: they stand or fall together. `topic` is coarser
    than the text and finer than, or across, `source`. `price` is the crowd's probability of YES
    that day; `yes_ask` and `no_ask` what a one-dollar contract cost, where they were kept apart.
    """

    id: str
    event_id: str
    source: str
    topic: str | None
    text: str
    asked_on: date
    week: date
    reference: str | None = None
    price: float | None = None
    yes_ask: float | None = None
    no_ask: float | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a question: 1 yes, 0 no; known on the day after `resolved_on`."""

    question_id: str
    resolved_on: date
    outcome: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One day: what has become known since the last batch, then what is asked."""

    day: date
    known: tuple[Resolution, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """Questions with their resolutions; `description` says where they are from."""

    name: str
    description: str
    questions: tuple[Question, ...]
    resolutions: tuple[Resolution, ...]
    # Resolved before the stream begins; a forecaster may know them from the start.
    warmup: tuple[tuple[Question, Resolution], ...] = ()

    def batches(self) -> Iterator[Batch]:
        """One batch for each day with questions, in order, and a last one without questions for
        what was still open.
        """
        by_id = {resolution.question_id: resolution for resolution in self.resolutions}
        waiting: list[Resolution] = []
        for day, asked in self._by_day():
            yield Batch(day, _known(waiting, day), asked)
            waiting = [row for row in waiting if row.resolved_on >= day]
            waiting += [by_id[question.id] for question in asked if question.id in by_id]
        if waiting:
            end = max(row.resolved_on for row in waiting) + timedelta(days=1)
            yield Batch(end, _known(waiting, end), ())

    def _by_day(self) -> list[tuple[date, tuple[Question, ...]]]:
        days: dict[date, list[Question]] = {}
        for question in self.questions:
            days.setdefault(question.asked_on, []).append(question)
        return [(day, tuple(days[day])) for day in sorted(days)]

    def sample(self, most: int) -> "Stream":
        """Whole events in order of the sha256 of their id, while the total is at most `most`
        questions: over all days, and the same for everyone.
        """
        sizes: dict[str, int] = {}
        for question in self.questions:
            sizes[question.event_id] = sizes.get(question.event_id, 0) + 1
        chosen: set[str] = set()
        total = 0
        for event in sorted(sizes, key=_digest):
            total += sizes[event]
            if total > most:
                break
            chosen.add(event)
        questions = tuple(q for q in self.questions if q.event_id in chosen)
        ids = {question.id for question in questions}
        kept = tuple(row for row in self.resolutions if row.question_id in ids)
        return replace(self, questions=questions, resolutions=kept)


def read_stream(folder: Path, name: str) -> Stream:
    """The stream NAME in `folder`. Raises BadStream where it is not there or not of the format."""
    listed = list(_rows(folder / f"{name}_questions.jsonl.gz", _question))
    resolutions = tuple(_rows(folder / f"{name}_resolutions.jsonl.gz", _resolution))
    by_id = {row.question_id: row for row in resolutions}
    before = (question for question, warmup in listed if warmup)
    return Stream(
        name,
        f"the stream `{name}` in {folder}",
        tuple(question for question, warmup in listed if not warmup),
        resolutions,
        tuple((question, by_id[question.id]) for question in before if question.id in by_id),
    )


def _known(waiting: Sequence[Resolution], day: date) -> tuple[Resolution, ...]:
    known = (row for row in waiting if row.resolved_on < day)
    return tuple(sorted(known, key=lambda row: (row.resolved_on, row.question_id)))


def _digest(event_id: str) -> str:
    return sha256(event_id.encode()).hexdigest()


def _question(row: Mapping[str, object]) -> tuple[Question, bool]:
    """A question, and whether it belongs to the warm-up: resolved before the stream begins."""
    reference = row.get("reference_value")
    topic = row.get("category")
    question = Question(
        id=str(row["id"]),
        event_id=str(row["event_id"]),
        source=str(row["source"]),
        topic=None if topic is None else str(topic),
        text=str(row["question"]),
        asked_on=date.fromisoformat(str(row["forecast_at"])),
        week=date.fromisoformat(str(row["week"])),
        reference=None if reference is None else str(reference),
        price=_price(row, "market_probability"),
        yes_ask=_price(row, "yes_ask"),
        no_ask=_price(row, "no_ask"),
    )
    return question, row.get("split", "stream") != "stream"


def _price(row: Mapping[str, object], name: str) -> float | None:
    price = row.get(name)
    return None if price is None else float(cast("float", price))


def _resolution(row: Mapping[str, object]) -> Resolution:
    outcome = cast("int", row["outcome"])
    if outcome not in (0, 1):
        raise ValueError(f"the outcome is {outcome}, neither 0 nor 1")
    return Resolution(str(row["id"]), date.fromisoformat(str(row["resolved_at"])), int(outcome))


def _rows(path: Path, read: Callable[[Mapping[str, object]], Row]) -> Iterator[Row]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield _parsed(f"{path}, line {number}", line, read)
    except OSError as fault:
        raise BadStream(f"{path} cannot be read: {fault}") from fault


def _parsed(place: str, line: str, read: Callable[[Mapping[str, object]], Row]) -> Row:
    try:
        return read(json.loads(line))
    except KeyError as fault:
        raise BadStream(f"{place}: {fault} is missing") from fault
    except ValueError as fault:
        raise BadStream(f"{place}: {fault}") from fault

"""What a streaming evaluation writes down, and how far it had come: one JSON object a line.

OUT/run.json            the stream, the arms, settings, revision, hardware, start and end
OUT/questions.jsonl     one a forecast, with its outcome
OUT/ARM/forecasts.jsonl one a forecast of this arm, in the order of the stream
OUT/ARM/bank.jsonl      one a batch that is done: how many memories, how long it took
OUT/ARM/weights.jsonl   one a memory, at the end
OUT/ARM/trajectories.jsonl  the weights over time of the strongest and the most fallen memories
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.streams.player import Forecast
from clients.demo.streams import Question, Resolution

Row = Mapping[str, object]


class Progress:
    """What one arm has done. A batch counts once its line in bank.jsonl is written; what a run
    that was ended in between had written of the next is dropped.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.days = {
            str(row["day"]): int(str(row["forecasts"])) for row in read_lines(folder / "bank.jsonl")
        }
        kept = read_lines(folder / "forecasts.jsonl")[: sum(self.days.values())]
        self.write("forecasts", kept)
        # A batch whose forecasts did not all reach the disk is not done.
        if len(kept) < sum(self.days.values()):
            raise ValueError(f"{folder} has fewer forecasts than its batches say; begin anew")

    def done(self, day: date) -> bool:
        return str(day) in self.days

    def add(self, day: date, forecasts: Iterable[Forecast], state: Row) -> None:
        """The forecasts of a day, then the line that makes them count."""
        rows = [_forecast(one) for one in forecasts]
        self._append("forecasts", rows)
        self._append("bank", [{"day": str(day), "forecasts": len(rows), **state}])
        self.days[str(day)] = len(rows)

    def write(self, name: str, rows: Iterable[Row]) -> None:
        write_lines(self._folder / f"{name}.jsonl", rows)

    def _append(self, name: str, rows: Iterable[Row]) -> None:
        with (self._folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file, none where there is no file; what was cut off at its end is
    left.
    """
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    """All at once, so that a reader never sees a half."""
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fresh.replace(path)


def question_row(question: Question, row: Resolution | None, second_half: date) -> Row:
    return {
        "id": question.id,
        "event": question.event_id,
        "source": question.source,
        "topic": question.topic,
        "asked_on": str(question.asked_on),
        "week": str(question.week),
        "price": question.price,
        "yes_ask": question.yes_ask,
        "no_ask": question.no_ask,
        "outcome": None if row is None else row.outcome,
        "resolved_on": None if row is None else str(row.resolved_on),
        "half": "second" if question.asked_on >= second_half else "first",
    }


def _forecast(one: Forecast) -> Row:
    return {
        "id": one.question.id,
        "without": one.prior,
        "given": one.answer.given,
        "full": one.answer.full,
        "strength": one.strength,
        "retrieve_ms": one.retrieve_ms,
        "served": one.served,
        "empty_reason": one.reason,
    }

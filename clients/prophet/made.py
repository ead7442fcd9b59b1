"""Forecasts that were made: one a line in a file, so that a stopped evaluation goes on."""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from clients.prophet.event import Event
from clients.prophet.forecaster import Answer
from clients.prophet.resolutions import BadRecords, read_records
from clients.prophet.usage import Usage

FILE = "forecasts.jsonl"


@dataclass(slots=True)
class Made:
    """By window. With a folder each is written down as it is made, whole lines at a time; without,
    it is kept for the report alone.
    """

    out: Path | None = None
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    resumed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def begin(cls, out: Path | None) -> "Made":
        """With what the folder has. Raises BadRecords where its file holds something else."""
        if out is None:
            return cls()
        out.mkdir(parents=True, exist_ok=True)
        path = out / FILE
        _drop_torn_line(path)
        rows = read_records(path) if path.exists() else []
        try:
            answers = {str(row["window"]): _answer(row) for row in rows}
        except (KeyError, TypeError) as fault:
            raise BadRecords(f"{path} holds something else than forecasts: {fault}") from fault
        return cls(out, answers, len(answers))

    @property
    def usage(self) -> Usage:
        """What all of them cost."""
        return sum((one.usage for one in self.answers.values()), Usage())

    def add(self, event: Event, answer: Answer) -> None:
        row = {
            "window": event.key,
            "probabilities": dict(answer.probabilities),
            "rationale": answer.rationale,
            "usage": asdict(answer.usage),
        }
        with self._lock:
            self.answers[event.key] = answer
            if self.out is not None:
                with (self.out / FILE).open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def _answer(row: Mapping[str, object]) -> Answer:
    usage = Usage(**cast("dict[str, int]", row["usage"]))
    probabilities = cast("dict[str, float]", row["probabilities"])
    return Answer(dict(probabilities), str(row["rationale"]), usage)


def _drop_torn_line(path: Path) -> None:
    """What was stopped in mid-line is made anew."""
    if not path.exists():
        return
    whole = path.read_bytes()
    if whole and not whole.endswith(b"\n"):
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])

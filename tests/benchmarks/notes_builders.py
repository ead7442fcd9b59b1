"""Questions and rules in the form of the benchmark's files, made up here."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.notes.data import KINDS, QUESTIONS, RULES
from benchmarks.notes.player import Done, Weight

CITIES = ("lisbon", "oslo", "quito", "cairo", "hanoi", "dublin", "lima", "sofia")
ASKED: Mapping[str, str] = {
    "location": "in what country is the city of {} ?",
    "number": "how many people live in the city of {} ?",
    "human": "who is the mayor of the city of {} ?",
    "entity": "what dish is the city of {} famous for ?",
    "description": "why is the city of {} called so ?",
    "abbreviation": "what do the letters on a car from {} stand for ?",
}


def write_data(folder: Path) -> Path:
    """48 questions of six kinds. Two authors are always right, one is right of one kind only."""
    rules = [
        {
            "id": "r0",
            "kind": "location",
            "pattern": "country",
            "example": "In what country is the city of Rome ?",
        },
        {
            "id": "r1",
            "kind": "number",
            "pattern": "how many",
            "example": "How many people live in the city of Rome ?",
        },
        {
            "id": "r2",
            "kind": "human",
            "pattern": "who|what|why",
            "example": "Who is the mayor of the city of Rome ?",
        },
    ]
    questions = [
        {
            "id": f"{place}-{kind}",
            "text": ASKED[kind].format(city),
            "kind": kind,
            "rules": [{"location": "r0", "number": "r1"}.get(kind, "r2")],
        }
        for place, city in enumerate(CITIES)
        for kind in KINDS
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / QUESTIONS, questions)
    _write(folder / RULES, rules)
    return folder


def done(place: int, *, loss: float, right: bool, date: int | None = None, **more: Any) -> Done:
    """A task, fifty a date where nothing else is said."""
    usual: dict[str, Any] = {
        "date": place // 50 if date is None else date,
        "place": place,
        "id": f"q{place}",
        "truth": "human",
        "answer": "human" if right else "entity",
        "loss": loss,
        "without": 0.4,
        "right": right,
        "served": 2,
        "served_right": 1,
        "used": (),
        "losses": {},
        "arm": "paired",
        "ranker": "flat/none",
        "receipt": f"receipt-{place}",
        "ms": 1.0,
    }
    return Done(**{**usual, **more})


def weigh(note: str, weight: float, worth: float, *, retired: bool = False) -> Weight:
    return Weight(note, "r0", worth, worth > 0.5, weight, 10, 5, retired)


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

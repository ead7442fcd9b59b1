"""The corpus: lessons of six trades in five languages, tasks with the lesson that is right for
each, texts with code, pairs that say the same or not, and corrections of what was served.

It was written by one person before anything was measured. A third of the lessons and tasks are kept
aside (`aside`): nothing in the server was changed after looking at them.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENGLISH = "en"
FOLDER = Path(__file__).parent
CITE = "{cite}"
"""In a correction: the place of a citation of the served memory."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What an agent reported; `language` is such as `en`."""

    id: str
    trade: str
    language: str
    situation: str
    lesson: str
    aside: bool

    @property
    def is_code(self) -> bool:
        """Whether it has lines of its own."""
        return "\n" in self.lesson


@dataclass(frozen=True, slots=True)
class AskedTask:
    """A task as its agent gets it; `right` is the lesson that helps with it."""

    id: str
    trade: str
    language: str
    text: str
    right: str
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lessons that say the same, or not; of the written cases or of the corpus' own."""

    source: str
    same: bool
    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Saying:
    """What a reader of a served lesson stores: a correction, or an echo."""

    situation: str
    served: str
    said: str
    kind: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """All of it, in the order in which it was written."""

    lessons: Mapping[str, Lesson]
    tasks: tuple[AskedTask, ...]
    pairs: tuple[Pair, ...]
    sayings: tuple[Saying, ...]
    code: tuple[Lesson, ...]


def read_corpus() -> Corpus:
    """The files beside this module."""
    lessons = [Lesson(**row) for row in _rows("lessons")]
    return Corpus(
        lessons={one.id: one for one in lessons},
        tasks=tuple(AskedTask(**row) for row in _rows("tasks")),
        pairs=tuple(Pair(**row) for row in _rows("pairs")),
        sayings=tuple(_sayings()),
        code=tuple(map(_read_code, _rows("code"))),
    )


def _read_code(row: Mapping[str, str]) -> Lesson:
    """A text that is there to be read back; each is asked for by a situation of its own."""
    situation = f"{row['id']} of the code collection is needed"
    return Lesson(row["id"], "code", ENGLISH, situation, row["text"], aside=False)


def _sayings() -> Iterator[Saying]:
    rows = list(_rows("corrections"))
    served = {row["id"]: row for row in rows if row["kind"] == "served"}
    for row in rows:
        if row["kind"] != "served":
            about = served[row["of"]]
            yield Saying(about["situation"], about["lesson"], row["lesson"], row["kind"])


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)

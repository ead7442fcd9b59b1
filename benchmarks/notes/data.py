"""Questions of six kinds, the rules that people wrote for them, and how an order deals them out.

A question with the kind that most of its rules give is a note: right for little more than half of
them, and wrong in earnest for the rest. The questions that are no notes are the tasks.
"""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

KINDS = ("description", "entity", "human", "abbreviation", "location", "number")
QUESTIONS, RULES = "questions.jsonl.gz", "rules.jsonl.gz"
FOLDER = "notes"
EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Rule:
    """What somebody made of one question: every text that fits `pattern` asks for `kind`."""

    id: str
    kind: str
    pattern: str
    example: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the kind of thing that it asks for, and the rules whose pattern it fits."""

    id: str
    text: str
    kind: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A memory: what it says, by whom, and its worth, which is how often that is right, in [0, 1].
    One that names a `rule` fits only the questions of that rule; others fit all.
    """

    id: str
    situation: str
    lesson: str
    says: str
    author: str
    worth: float
    rule: str | None = None

    @property
    def right(self) -> bool:
        """Right more often than not."""
        return self.worth > EVEN

    def fits(self, question: Question) -> bool:
        return self.rule is None or self.rule in question.rules


@dataclass(frozen=True, slots=True)
class Data:
    """All questions and rules, as they stand in the files."""

    questions: Sequence[Question]
    rules: Mapping[str, Rule]


@dataclass(frozen=True, slots=True)
class Deal:
    """What one order makes of the questions: a bank of notes, and the tasks as they come."""

    notes: Sequence[Note]
    tasks: Sequence[Question]


def read(folder: Path) -> Data:
    """From `folder`, or from its folder `notes`. Raises SystemExit where the files are in neither
    or name a kind that is none of the six.
    """
    found = [place for place in (folder, folder / FOLDER) if (place / QUESTIONS).exists()]
    if not found:
        raise SystemExit(f"--data: {folder} holds no {QUESTIONS}, nor does its folder {FOLDER}")
    rules = [Rule(**row) for row in _rows(found[0] / RULES)]
    questions = [
        Question(row["id"], row["text"], row["kind"], tuple(row["rules"]))
        for row in _rows(found[0] / QUESTIONS)
    ]
    strange = {one.kind for one in (*rules, *questions)} - set(KINDS)
    if strange:
        raise SystemExit(f"--data: {found[0]} names kinds that are none of {KINDS}: {strange}")
    return Data(questions, {rule.id: rule for rule in rules})


def deal(data: Data, bank: int, order: int, tasks: int | None = None) -> Deal:
    """Shuffled by `order`: the first `bank` questions with a rule become notes, the others are
    tasks, all of them or the first so many.
    """
    shuffled = shuffle(data.questions, order)
    notes = [write_note(question, data.rules) for question in shuffled if question.rules][:bank]
    if len(notes) < bank:
        raise SystemExit(f"a bank of {bank} needs as many questions with a rule, not {len(notes)}")
    taken = {note.id for note in notes}
    return Deal(notes, [one for one in shuffled if one.id not in taken][:tasks])


def write_note(question: Question, rules: Mapping[str, Rule]) -> Note:
    """The kind that most of its rules give; of several, the one that is named first."""
    named = [rules[rule].kind for rule in question.rules]
    [(says, _)] = Counter(named).most_common(1)
    return Note(
        id=question.id,
        situation=question.text,
        lesson=f"This asks for: {says}",
        says=says,
        author=question.rules[named.index(says)],
        worth=float(says == question.kind),
    )


def shuffle(questions: Sequence[Question], order: int) -> list[Question]:
    """The order `order` of these questions, however they stood in the file."""
    shuffled = sorted(questions, key=lambda question: question.id)
    Random(order).shuffle(shuffled)  # noqa: S311 - an order, no secret
    return shuffled


def _rows(path: Path) -> list[Mapping[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]

"""What a topic is: one trap of Python or SQL, what people say about it, and tasks that meet it."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

Language = Literal["python", "sql"]
Worth = Literal["right", "wrong", "beside"]


@dataclass(frozen=True, slots=True)
class Check:
    """An asserted test: two Python expressions that are to be equal. In `call`, the answer is
    `solve`; of a query it is `solve({table: rows}, name=value, …)`, and gives the rows.
    """

    call: str
    expected: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What chance makes of a topic: words for the text of the task, and its tests."""

    words: Mapping[str, str]
    checks: tuple[Check, ...]


class Draw(Protocol):
    """Makes a task's data: hard ones tell right from wrong, easy ones do not."""

    def __call__(self, random: Random, *, hard: bool) -> Drawn: ...


@dataclass(frozen=True, slots=True)
class Topic:
    """A trap. The answer takes `parameters`; a query names them `:parameter`, and finds
    the tables of `schema`. `first_idea` is what the agent would write unadvised.

    The two `situations` say the same, so that either may stand over the right note and the other
    over the wrong one. Every lesson names one snippet, between backticks.
    """

    key: str
    language: Language
    parameters: tuple[str, ...]
    first_idea: str
    situations: tuple[str, str]
    right: str
    wrong: str
    beside: tuple[str, str]
    wordings: tuple[str, ...]
    draw: Draw
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One piece of folk wisdom. `worth` is the truth, which neither agent nor server is told."""

    topic: str
    language: Language
    worth: Worth
    author: str
    situation: str
    lesson: str

    @property
    def name(self) -> str:
        return f"{self.topic}/{self.worth}"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done. The agent sees all but `checks`, `topic` and `hard`."""

    key: str
    topic: str
    hard: bool
    language: Language
    text: str
    parameters: tuple[str, ...]
    schema: str
    first_idea: str
    checks: tuple[Check, ...]


def check(call: str, expected: object) -> Check:
    """That `call` gives the value `expected`, which can be written down."""
    return Check(call, repr(expected))


def solve(*values: object) -> str:
    """The call of an answer with these values."""
    return f"solve({', '.join(repr(value) for value in values)})"

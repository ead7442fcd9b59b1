"""What small questions about a namespace were answered with, until what they read changes. No I/O.

An answer names the kinds of rows that it was read from. A change of a kind ends all answers that
were read from it, those under way too: what was asked before the change is not remembered after it.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

MOST = 4_096
"""So many answers are remembered; the one not asked for the longest goes first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: its name, with what, and the kinds of rows that the answer depends on."""

    name: str
    about: Hashable
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """How often each kind of a question had changed when it was asked."""

    changes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and as of when."""

    value: object
    moment: Moment


class Answers:
    """Of one namespace."""

    def __init__(self) -> None:
        self._changes = Counter[str]()
        self._known: OrderedDict[Question, Answered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def moment(self, question: Question) -> Moment:
        return Moment(tuple(self._changes[kind] for kind in question.kinds))

    def find(self, question: Question) -> Answered | None:
        """The answer that still holds."""
        found = self._known.get(question)
        if found is None or found.moment != self.moment(question):
            return None
        self._known.move_to_end(question)
        return found

    def remember(self, question: Question, value: object, asked: Moment) -> None:
        """`asked`: the moment before the database was asked. An answer that a change overtook is
        not kept.
        """
        if asked != self.moment(question):
            return
        self._known[question] = Answered(value, asked)
        self._known.move_to_end(question)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    def forget(self, kinds: Iterable[str]) -> None:
        """Rows of these kinds have changed."""
        self._changes.update(kinds)

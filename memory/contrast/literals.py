"""The literals of a task: what a lesson drawn from it must not carry to another task.

A literal is a number other than 0, 1 and 2, a quoted string, an identifier (a token with an
underscore, an inner capital or a digit, or one named beside the task), and a capitalised word that
is neither first in its sentence nor in the stop list below.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal


def words(*lines: str) -> frozenset[str]:
    """The words of some lines of a list."""
    return frozenset(" ".join(lines).split())


STOP_LIST = words(
    "A An And Any As At Be But By Do Each For From He Her His How I If In Is It Its My No Not Of",
    "On Or Our She So That The Their Then There These They This Those To Was We What When Where",
    "Which While Who Why With You Your",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May",
    "June July August September October November December",
    "Mr Mrs Ms Miss Dr Prof St Jr Sr",
    "Python Java Any Bool Boolean Callable Dict Exception False Iterable Float Int Integer List",
    "None Optional Sequence Set Str String True Tuple Union",
    "Args Constraints Example Examples Input Inputs Note Notes Output Outputs Parameters Return",
    "Returns",
)
"""Words whose capital says nothing: function words, days, months, titles, and what documentation
and types of programs are written with.
"""

# So small and so frequent that they belong to no task.
COMMON = frozenset({Decimal(0), Decimal(1), Decimal(2)})

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<![\w.])\.\d+|[\u00bc-\u00be\u2150-\u215e]")
# An apostrophe inside or behind a word opens nothing; three quotes fence a text.
QUOTED = re.compile(
    r"(?<![\w\"])\"([^\"\n]{1,200})\"|(?<![\w'])'([^'\n]{1,200})'"
    r"|(?<!`)`([^`\n]{1,200})`|\u201c([^\u201d\n]{1,200})\u201d|\u2018([^\u2019\n]{1,200})\u2019"
)
_FENCE = re.compile(r"\"\"\"|'''|```")
TOKEN = re.compile(r"\w+")
# A sentence begins at the start, behind a full stop, after an empty line, and on a line that
# follows a finished one or opens with a bullet.
_SENTENCE_START = re.compile(
    r"(?:^|[.!?][\"'\u201d\u2019)]*\s|\n\s*\n|[.!?:;)][\"'\u201d\u2019]*\s*\n|\n\s*(?:[-*#>\u2022]|\d+[.)]))"
    r"[^\w\n]*$"
)
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|[A-Z])\.\s+[^\w\n]*$")
# Where a sentence begins is seen in so many characters before a word.
_NEAR = 200


@dataclass(frozen=True, slots=True)
class Literals:
    """The literals of one task."""

    numbers: frozenset[str]
    strings: frozenset[str]
    identifiers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    """Every lower-case word of the task: a name that is one of them counts only when capitalised.
    """

    def found_in(self, text: str) -> tuple[str, ...]:
        """Which of them the text contains, each once, in the order of the kinds above."""
        numbers = [number for number in map(plain, NUMBER.findall(text)) if number in self.numbers]
        strings = [string for string in sorted(self.strings) if _holds(text, string)]
        tokens = TOKEN.findall(text)
        identifiers = [token for token in tokens if token.casefold() in self.identifiers]
        names = [token for token in tokens if self._named(token)]
        return tuple(dict.fromkeys([*numbers, *strings, *identifiers, *names]))

    def _named(self, token: str) -> bool:
        if token.casefold() not in self.names:
            return False
        return token[:1].isupper() or token.casefold() not in self.words


def literals_of(task_text: str, identifiers: Collection[str] = ()) -> Literals:
    """The literals of a task; `identifiers` adds names such as its entry point."""
    text = _FENCE.sub("\n\n", task_text)
    tokens = TOKEN.findall(text)
    named = {token.casefold() for name in identifiers for token in TOKEN.findall(name)}
    numbers = (plain(number) for number in NUMBER.findall(text))
    return Literals(
        numbers=frozenset(number for number in numbers if not _common(number)),
        strings=frozenset(_folded(string) for string in quoted_in(text)),
        identifiers=frozenset({t.casefold() for t in tokens if is_identifier(t)} | named),
        names=frozenset(name.casefold() for name in _names(text)),
        words=frozenset(token for token in tokens if token.islower()),
    )


def quoted_in(text: str) -> Iterator[str]:
    """What stands between quotes, and is more than white space."""
    for match in QUOTED.finditer(text):
        string = next(group for group in match.groups() if group is not None)
        if string.strip():
            yield string


def is_identifier(token: str) -> bool:
    """Whether a token is written like a name in a program."""
    if not any(character.isalnum() for character in token):
        return False
    if any(character.isupper() for character in token[1:]) or "_" in token:
        return True
    return any(c.isdigit() for c in token) and not token.isdigit()


def plain(number: str) -> str:
    """A number without separators and trailing zeros: 1,000.0 and 1000 are one number."""
    digits = number.replace(",", "")
    return format(Decimal(digits).normalize(), "f") if digits[-1:].isdecimal() else number


def _common(number: str) -> bool:
    return number[-1:].isdecimal() and Decimal(number) in COMMON


def _names(text: str) -> Iterator[str]:
    """Capitalised words that are not first in their sentence."""
    for match in TOKEN.finditer(text):
        word = match.group()
        if word[0].isupper() and word not in STOP_LIST and not opens_sentence(match):
            yield word


def opens_sentence(word: re.Match[str]) -> bool:
    """Whether a sentence begins with this word of a text."""
    before = word.string[max(0, word.start() - _NEAR - 1) : word.start()]
    near = before if len(before) <= _NEAR else "x" + before[-_NEAR:]
    return bool(_SENTENCE_START.search(near)) and not _ABBREVIATED.search(near)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(text: str, string: str) -> bool:
    """Whether a text contains a quoted string; one without words counts in quotes only."""
    folded = _folded(text)
    if not TOKEN.search(string):
        return string in {_folded(quoted) for quoted in quoted_in(text)}
    before = r"(?<!\w)" if string[0].isalnum() else ""
    behind = r"(?!\w)" if string[-1].isalnum() else ""
    return re.search(before + re.escape(string) + behind, folded) is not None

"""What meaning vectors are blind to: numbers, names and negations, and their order.

Two sentences that differ in one of them are near one another for any embedding model and still say
different things. Order counts ("from 5 to 6" is not "from 6 to 5"): a pair that is kept apart costs
a second memory, a pair wrongly joined loses a fact.
"""

import re
from collections.abc import Iterator

TWIN = 0.90
"""Cosine from which two texts may be twins."""


_WORD = re.compile(r"\d+(?:[.,:]\d+)*%?|\w+(?:[./_'\u2019-]\w+)*|[.!?:;\n«»\"()]")


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*%?")


_ENDS = frozenset('.!?:;\n«»"()')


_NEGATIONS = frozenset(
    {
        *("no", "not", "never", "none", "nothing", "nobody", "neither", "nor"),
        *("without", "cannot", "except", "unless", "avoid", "stop"),
    }
)


_NUMERALS = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
}


def signature(text: str) -> tuple[list[str], list[str], int]:
    """Numbers and names in their order, and how often something is negated."""
    words = [word.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for word in _WORD.findall(text)]
    numbers = [number for word in words if (number := _number(word)) is not None]
    return numbers, list(_names(words)), sum(map(_negates, words))


def _number(word: str) -> str | None:
    if _NUMBER.fullmatch(word):
        return word
    return _NUMERALS.get(word.casefold())


def _names(words: list[str]) -> Iterator[str]:
    """Identifiers, and capitalised words; the first word of a sentence is capital by custom."""
    first = True
    for word in words:
        if word in _ENDS:
            first = True
            continue
        if _identifies(word) or (word[0].isupper() and not first and not _negates(word)):
            yield word
        first = False


def _identifies(word: str) -> bool:
    """camelCase, snake_case, a.b, v2: written so on purpose, wherever it stands."""
    if _NUMBER.fullmatch(word):
        return False
    inner = word[1:]
    mixed = any(letter.isupper() for letter in inner) or any(letter.isdigit() for letter in word)
    return mixed or any(sign in word for sign in "_./")


def _negates(word: str) -> bool:
    plain = word.casefold()
    return plain in _NEGATIONS or plain.endswith("n't")

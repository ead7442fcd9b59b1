"""Tells a number by where it comes from, and by the noun that stands with it: the given apples,
the apples found before, a number that is not given.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from memory.contrast.words import MASSES, NUMBER_WORDS, PARTICLES

_QUANTITY = re.compile(
    r"(?P<money>[$\u00a3\u20ac]\s?)?(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)(?P<percent>\s?%|\s?percent\b)?"
    r"|\b(?P<word>[a-z]+)\b",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[-\s]*([^\W\d_]+)")
_PLURAL = re.compile(r"[^\W\d_]{2,}[^su\W]s$")
# What may stand between a number and its noun.
_BETWEEN = re.compile(
    r"(?:[-\s]+(?:more|fewer|less|other|additional|different|whole|of|the|his|her|their|its|these))+\b"
)
MAX_NOUN_WORDS = 3
# Small enough to stand as they are.
SMALL = (0.0, 1.0, 2.0)


@dataclass(slots=True)
class Quantities:
    """The numbers of a task, and those that a run has worked out so far."""

    given: dict[float, str]
    allowed: Collection[str]
    """The words a noun may be made of."""
    worked_out: dict[float, str] = field(default_factory=dict[float, str])

    def opened(self) -> "Quantities":
        """The same task, with nothing worked out."""
        return Quantities(self.given, self.allowed)

    def found(self, value: float, words: str, like: Iterable[float] = ()) -> None:
        """Notes a number that the run came to, the words behind it, and numbers of its kind."""
        named = noun(words, self.allowed)
        kinds = filter(None, (self._noun_of(_key(number)) for number in like))
        self.worked_out[_key(value)] = named or next(kinds, "")

    def _noun_of(self, key: float) -> str:
        kind = self.given.get(key) or self.worked_out.get(key, "")
        return "" if kind == "percentage" else kind.removesuffix(" per unit")

    def named(self, value: float) -> str:
        """The noun of a number that the run came to."""
        return self.worked_out.get(_key(value), "")

    def told(self, value: float) -> str:
        """A number, without saying it."""
        key = _key(value)
        if key in SMALL:
            return f"{key:.0f}"
        if key in self.given:
            return fold(f"the given {self.given[key] or 'number'}")
        if key in self.worked_out:
            return fold(f"the {self.worked_out[key] or 'number'} found so far")
        return "a number that is not given"


def quantities_of(task: str, allowed: Collection[str]) -> Quantities:
    """The numbers of a task, each with its noun."""
    given: dict[float, str] = {}
    for match in _QUANTITY.finditer(task):
        value = _value(match)
        if value is not None:
            given.setdefault(_key(value), _kind(match, task, allowed))
    return Quantities(given, allowed)


def _value(match: re.Match[str]) -> float | None:
    if match["number"]:
        return float(match["number"].replace(",", ""))
    number = NUMBER_WORDS.get(match["word"].casefold())
    return None if number is None else float(number)


def _kind(match: re.Match[str], task: str, allowed: Collection[str]) -> str:
    if match["percent"]:
        return "percentage"
    if match["money"]:
        each = re.match(r"\s+(?:each|per|an?)\b", task[match.end() :])
        return "dollars per unit" if each else "dollars"
    return noun(task[match.end() : match.end() + 60], allowed)


def noun(text: str, allowed: Collection[str]) -> str:
    """The noun phrase at the start of a text: up to its first plural, else one word."""
    found: list[str] = []
    at = skipped.end() if (skipped := _BETWEEN.match(text)) else 0
    while len(found) < MAX_NOUN_WORDS and (match := _NOUN.match(text, at)):
        word = match[1]
        if word in PARTICLES or not word.islower() or word not in allowed:
            break
        found.append(word)
        if _PLURAL.match(word) or word in MASSES:
            return " ".join(found)
        at = match.end()
    return found[0] if found else ""


def fold(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def _key(value: float) -> float:
    return float(f"{value:.6g}")

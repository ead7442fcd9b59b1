"""When two texts say the same, and what meaning vectors are blind to.

Sentences that differ in a number, a name, a negation or an opposite are near one another for any
embedding model and still say different things, and so do sentences with their words exchanged. A
pair that is kept apart costs a second memory; a pair wrongly joined loses a fact.
"""

import re
from collections.abc import Iterator

from memory.kernel.normal_form import normal_form

TWIN = 0.90
"""Cosine from which two texts are alike enough to be looked at together."""


SAME = 0.97
"""Cosine from which two texts with the same words may differ in an article or an auxiliary."""


# Articles and auxiliaries, by language. What may be another word in another of these languages
# ("die", "hat", "des"), negates, or says when, where, how much or in what order, is not among them.
_EMPTY_WORDS = frozenset(
    {
        *("a", "an", "the", "is", "are", "am", "was", "were", "be", "been", "being"),
        *("has", "have", "had", "do", "does", "did"),
        *("der", "das", "den", "dem", "ein", "eine", "einen", "einem", "einer", "eines"),
        *("ist", "sind", "wird", "werden"),
        *("le", "la", "les", "un", "une", "est", "sont"),
        *("el", "los", "las", "una", "unos", "unas", "es", "son", "está", "están"),
    }
)


def says_the_same(one: str, other: str, cosine: float) -> bool:
    """Whether two texts are one: equal in their normal form; or, near as they are, the same words
    in the same order but for articles and auxiliaries.
    """
    first, second = normal_form(one), normal_form(other)
    if first == second:
        return True
    return cosine >= SAME and content_words(first) == content_words(second)


def content_words(normal: str) -> list[str]:
    """The words of a text in normal form, in their order, without articles and auxiliaries."""
    return [word for word in normal.split(" ") if word not in _EMPTY_WORDS]


def negates(word: str) -> bool:
    """Whether a word of a text in normal form turns a sentence round."""
    return word in _NEGATIONS or word in _FOREIGN_NEGATIONS


_WORD = re.compile(r"\d+(?:[.,:]\d+)*%?|\w+(?:[./_'\u2019-]\w+)*|[.!?:;\n«»\"()]")


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*%?")


_ENDS = frozenset('.!?:;\n«»"()')


_NEGATIONS = frozenset(
    {
        *("no", "not", "never", "none", "nothing", "nobody", "neither", "nor"),
        *("without", "cannot", "except", "unless", "avoid", "stop"),
    }
)


_FOREIGN_NEGATIONS = frozenset(
    {
        *("nicht", "nie", "niemals", "kein", "keine", "keinen", "keinem", "keiner", "ohne"),
        *("pas", "jamais", "aucun", "aucune", "sans", "ne"),
        *("nunca", "jamás", "ningún", "ninguna", "sin"),
        *("не", "никогда", "без", "нет"),
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

"""What in a text is to be found as it is written: paths, error codes, names in code, words of
scripts that an English vocabulary does not know.
"""

import re
from collections.abc import Collection

SPACED_OUT = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff"  # Han
)
"""Scripts that put no space between words."""

LONGEST = 200
"""Characters that a term has at most; a longer run is no name."""

_UNSPACED = re.compile(f"[{SPACED_OUT}]+")


_SYLLABIC = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


SYLLABLES, LETTERS = 3, 4
"""So many characters that two texts share name something, where each is a syllable or a letter."""


# Letters and digits of a spaced script, joined by what joins names; a leading / or . or - is kept,
# as in /etc, .env and --force.
_WORD = re.compile(
    rf"(?:/|\.{{1,2}}/|\.|--?)?(?:(?![{SPACED_OUT}])\w)+(?:[./:\\@#+'-]{{1,2}}(?:(?![{SPACED_OUT}])\w)+)*"
)


_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]")


# The folder that a path begins at, and the place in a file that it points to.
_HERE = re.compile(r"^(?:\.{1,2}/)+")
_LINE = re.compile(r"(?::\d+){1,2}$")


def find_identifiers(text: str) -> frozenset[str]:
    """The names in a text: with a digit, a joining sign or an inner capital, or all in capitals;
    case folded, and a path in one form however it was written.
    """
    words = {word for word in _words(text) if _is_identifier(word)}
    return frozenset(normalise_path(word).casefold() for word in words)


def find_names_to_look_for(text: str) -> frozenset[str]:
    """The identifiers by which a memory is looked for: a word that is only in capitals may as well
    be said with emphasis. Of a path also its ends, for a memory may name it from further inside.
    """
    words = (word for word in _words(text) if not (word.isalpha() and word.isupper()))
    named = {form for word in words if _is_identifier(word) for form in _forms(word)}
    return frozenset(form.casefold() for form in named)


def normalise_path(word: str) -> str:
    r"""`./a/b.py:12` and `a\b.py` as `a/b.py`: without the folder it begins at, without the line
    that it points to, and with the slashes of the web; other names as they are.
    """
    path = _HERE.sub("", word.replace("\\", "/"))
    place = _LINE.search(path)
    if place is not None and _is_identifier(bare := path[: place.start()]):
        path = bare
    return path if _is_identifier(path) else word


def _forms(word: str) -> list[str]:
    """The path in its one form, its ends, and as it is: so older versions have stored it."""
    path = normalise_path(word)
    parts = path.split("/")
    ends = ("/".join(parts[place:]) for place in range(1, len(parts)))
    return [word, path, *(end for end in ends if _is_identifier(end) and not end.isalpha())]


def find_raw_terms(text: str) -> list[str]:
    """The terms of the field beside word pieces, as often as they occur: identifiers, words with a
    letter beyond Latin, and pairs of characters where a script has no spaces; case folded.
    """
    terms = [w.casefold() for w in _words(text) if _is_identifier(w) or not w.isascii()]
    for run in _UNSPACED.findall(text):
        pairs = [run[place : place + 2] for place in range(len(run) - 1)]
        terms.extend(pairs or [run])
    return terms


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if len(word) <= LONGEST]


def _is_identifier(word: str) -> bool:
    if len(word) == 1:
        return False
    if word.isalpha():
        return word.isupper() or bool(_INNER_CAPITAL.search(word))
    return not _is_plain(word)


def _is_plain(word: str) -> bool:
    """A whole number, or ordinary words joined by a hyphen or an apostrophe, name nothing."""
    return word.isdigit() or all(part.isalpha() for part in word.replace("'", "-").split("-"))


def find_shared_runs(asked: str, text: str, rare: Collection[str]) -> tuple[str, ...]:
    """The longest runs of a script without spaces that both texts hold and that have a pair of
    characters in `rare`: of three characters at least where one writes a syllable, else of four.
    """
    found: dict[str, None] = {}
    for run in _UNSPACED.findall(asked):
        least = SYLLABLES if _SYLLABIC.match(run) else LETTERS
        start = 0
        while start + least <= len(run):
            end = start + least
            if run[start:end] not in text:
                start += 1
                continue
            while end < len(run) and run[start : end + 1] in text:
                end += 1
            shared = run[start:end]
            if any(shared[place : place + 2] in rare for place in range(len(shared) - 1)):
                found[shared] = None
            start = end - 1
    return tuple(sorted(found))

"""Makes memory text safe to show: quoted material on one line, never in the voice of the system.

Whoever may store a memory writes what other agents will read, so its text is neutralised before it
is compiled: it cannot end its own quotation, cite what it is not, hide from the reader, start a
line of its own, or become a link, an image, markup or a model's control token. Every word is kept;
only its form changes. Joiners and variation selectors are invisible and go too, which takes some
emoji and some scripts apart: legible, and worth what it closes.
"""

import re
import unicodedata
from uuid import UUID

OPEN, CLOSE = "«", "»"


CITATION_WIDTHS = (8, 12, 16, 32)


_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})


# Invisible without being format characters: joiners, fillers, variation selectors, tags.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)


_QUOTES = str.maketrans({OPEN: "\u2039", CLOSE: "\u203a"})


_BLOCK_MARKS = re.compile(r"^(?:(?:#+|>+|[-*_=]{3,})(?: |$))+")


# Square, full-width, lenticular and tortoise-shell brackets; m and colon also in full width.
_FORGED = re.compile(
    r"[\[\uff3b\u3010\u3014]\s*[m\uff4d]\s*[:\uff1a]\s*([\w.\u2026-]*)"
    r"\s*[\]\uff3d\u3011\u3015]?",
    re.IGNORECASE,
)


# Addresses first: the brackets they gain must not make a link of what follows them.
_RULES = (
    (re.compile(r":(?=//)"), "[:]"),
    (re.compile(r"www\.", re.IGNORECASE), "www[.]"),
    (re.compile(r"`{3,}"), "'''"),
    (re.compile(r"~{3,}"), "'''"),
    (re.compile(r"!(?=\[)"), "! "),
    (re.compile(r"\](?=[\[(:])"), "] "),
    (re.compile(r"<(?=[^\s\d=])"), "< "),
    (re.compile(r"\[(?=/?inst\b)", re.IGNORECASE), "[ "),
)


def neutral(text: str) -> str:
    """The text on one line, with nothing in it that a reader or a renderer would act on."""
    segments = (_BLOCK_MARKS.sub("", _visible(segment)) for segment in text.splitlines())
    line = " / ".join(segment for segment in segments if segment).translate(_QUOTES)
    line = _FORGED.sub(r"(not a citation: \1)", line)
    for pattern, harmless in _RULES:
        line = pattern.sub(harmless, line)
    return line.strip()


def quoted(neutral_text: str) -> str:
    """Neutral text between the marks that only we write."""
    return f"{OPEN}{neutral_text}{CLOSE}"


def quote(text: str) -> str:
    """Any text, made neutral and marked as not ours."""
    return quoted(neutral(text))


def citation(memory_id: UUID, width: int) -> str:
    """A short reference to a memory: the end of its id, where ids of one minute differ."""
    return f"[m:{memory_id.hex[-width:]}]"


def citation_width(memory_ids: set[UUID]) -> int:
    """The fewest digits that tell these memories apart."""
    return next(
        width
        for width in CITATION_WIDTHS
        if len({memory_id.hex[-width:] for memory_id in memory_ids}) == len(memory_ids)
    )


def _visible(segment: str) -> str:
    """What a reader would see of one line, its white space collapsed."""
    spaced = " ".join(segment.split())
    if not spaced.isprintable():
        spaced = "".join(c for c in spaced if unicodedata.category(c) not in _HIDDEN_CATEGORIES)
    return " ".join(_HIDDEN.sub("", spaced).split())

r"""Makes memory text safe to show: quoted, as it was stored, and never in the voice of the system.

Whoever may store a memory writes what other agents will read. Its text is shown in one of two ways:

* one line stands between « and »;
* several lines stand as a block, each behind the prefix `  | `, so that none of them begins a line.

Within either, a character that could be read as something else is written by **the one escape**:
`\u{hex}`, its code point, as in `\u{3c}|im_start|>`. Escaped are our own marks and what looks like
them; what cites, or looks like a citation, in whatever script; control tokens of chat templates,
active HTML, character references; links and images, and the colon of an address; what nobody sees
(zero-width, direction, control characters, tags); and a backslash that would begin an escape of its
own. Nothing is dropped: `unquote` gives the stored text back, character by character. Code keeps
its lines, indentation, comments and operators.

A joiner stays between letters of the scripts that need it, and in a picture.
"""

import re
import unicodedata
from collections.abc import Iterator

from memory.kernel.confusables import bare, is_hidden
from memory.kernel.control_tokens import PATTERNS

OPEN, CLOSE = "«", "»"


PREFIX = "  | "
"""What every line of a block begins with."""


_MARKS = frozenset("«»≪≫⟪⟫")


_ESCAPE = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


_MARKERS = (
    *PATTERNS,
    # A citation, closed or not: [m1], [ M : 018f.
    re.compile(r"\[(?=\s{0,8}m\s{0,8}(?:[:\d]))", re.IGNORECASE),
    # Markdown: an image, a link; addresses, which some renderers make into links by themselves.
    re.compile(r"!(?=\[[^\[\]\n]{0,300}\][(\[])"),
    re.compile(r"\](?=\()"),
    re.compile(r":(?=//)"),
    re.compile(r"(?<=www)\.", re.IGNORECASE),
)


# Behind the prefix a fence at the beginning of a line opens nothing; elsewhere it might.
_FENCE = re.compile(r"`(?=``)|~(?=~~)")


_BEGINNING = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


# Without one of these an ASCII text holds no marker at all.
_SUSPECT = re.compile(r"[<>&\[\]!:`~\\]|www", re.IGNORECASE)


_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")


_LABEL = re.compile(r"\[(m:?[0-9a-f]+)\]")


def quote(text: str) -> str:
    """Any text on one line, between the marks that only we write."""
    return f"{OPEN}{_escape(text, frozenset(_hidden(text, lines=False)))}{CLOSE}"


def block(text: str) -> str:
    """Any text, each of its lines behind the prefix that only we write."""
    shown = _escape(text, frozenset(_hidden(text, lines=True)), _fences(text))
    return "\n".join(f"{PREFIX}{line}" for line in shown.split("\n"))


def shown(text: str) -> str:
    """One line as a quotation; several as a block that begins a line of its own."""
    return f"\n{block(text)}" if "\n" in text else quote(text)


def unquote(quoted: str) -> str:
    """The text that `quote` or `block` was given."""
    if quoted.startswith(OPEN) and quoted.endswith(CLOSE):
        return _unescape(quoted[len(OPEN) : -len(CLOSE)])
    return _unescape("\n".join(line.removeprefix(PREFIX) for line in quoted.split("\n")))


def is_visible(text: str) -> bool:
    """Whether a reader would see anything of it."""
    return any(not is_hidden(one) and not one.isspace() for one in text)


def citation(number: int) -> str:
    """A reference to a memory, by its number within one guideline."""
    return f"[m{number}]"


def labels(line: str) -> list[str]:
    """The citations of a line, without their brackets; a quotation in it holds none."""
    return _LABEL.findall(line)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _escape(text: str, hidden: frozenset[int], kept: frozenset[int] = frozenset[int]()) -> str:
    """The text with the one escape; at the places `kept` a fence is left as it is."""
    if not hidden and text.isascii() and _SUSPECT.search(text) is None:
        return text
    found = hidden | frozenset(_markers(text)) | (frozenset(_runs(text)) - kept)
    if not found:
        return text
    return "".join(
        f"\\u{{{ord(one):x}}}" if place in found else one for place, one in enumerate(text)
    )


def _hidden(text: str, *, lines: bool) -> Iterator[int]:
    """What is not seen, or would be seen on top of our own marks."""
    if text.isascii() and text.isprintable():
        return
    for place, one in enumerate(text):
        begins = place == 0 or text[place - 1] == "\n"
        if one == "\n" or text.startswith("\r\n", place):
            if not lines:
                yield place
        elif (is_hidden(one) and not _joins(text, place)) or (begins and _combines(one)):
            yield place


def _joins(text: str, place: int) -> bool:
    """Whether a joiner does its work: in a picture, or between letters without capitals."""
    if text[place] not in _JOINERS or place == 0:
        return False
    before = unicodedata.category(text[place - 1])
    if before in {"So", "Sk"} or text[place - 1] == "\ufe0f":
        return True
    after = unicodedata.category(text[place + 1]) if place + 1 < len(text) else ""
    return before in {"Lo", "Mn", "Mc"} and after in {"Lo", "Mn", "Mc"}


def _combines(one: str) -> bool:
    return unicodedata.category(one)[0] == "M"


def _markers(text: str) -> Iterator[int]:
    """Where something begins that could be read as a marker, however its letters are drawn."""
    for place, one in enumerate(text):
        if one in _MARKS:
            yield place
    for found in _ESCAPE.finditer(text):
        yield found.start()
    read, places = (text, None) if text.isascii() else _read(text)
    for pattern in _MARKERS:
        for found in pattern.finditer(read):
            yield found.start() if places is None else places[found.start()]


def _read(text: str) -> tuple[str, list[int]]:
    """What it can be read as, and which character of the text each of that comes from."""
    parts = [(piece, place) for place, one in enumerate(text) for piece in bare(one)]
    return "".join(piece for piece, _ in parts), [place for _, place in parts]


def _runs(text: str) -> Iterator[int]:
    return (found.start() for found in _FENCE.finditer(text))


def _fences(text: str) -> frozenset[int]:
    return frozenset(
        place for found in _BEGINNING.finditer(text) for place in range(found.start(), found.end())
    )

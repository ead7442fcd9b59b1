"""Text that somebody stored, shown so that it can do nothing: escaped, its direction kept to
itself, and what is invisible made visible.

Nothing is rendered: a markdown image stays the characters that it is. Joiners and variation
selectors inside an emoji are part of the picture and stay.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from markupsafe import Markup, escape

BRIEF = 160
_KEPT = frozenset("\n\t")
_JOINERS = frozenset("\u200d\ufe0f\ufe0e")
# Invisible without being control or format characters.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_PICTURES = frozenset({"So", "Sk"})


def stored(text: str | None) -> Markup:
    """The text as a part of a page."""
    if text is None:
        return Markup("")
    return Markup('<bdi class="stored" dir="auto">{}</bdi>').format(_visible(text))


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a stored text, marked or not."""

    text: str
    is_marked: bool = False


def marked(parts: Sequence[TextPart]) -> Markup:
    """A text in parts, of which some are marked."""
    shown = (
        Markup("<mark>{}</mark>").format(_visible(one.text))
        if one.is_marked
        else _visible(one.text)
        for one in parts
    )
    return Markup('<bdi class="stored" dir="auto">{}</bdi>').format(Markup("").join(shown))


def brief(text: str | None, length: int = BRIEF) -> Markup:
    """The beginning of it, on one line, where a list has no place for more."""
    if text is None:
        return Markup("")
    line = " ".join(text.split())
    shown = line if len(line) <= length else f"{line[: length - 1]}…"
    return Markup('<bdi dir="auto">{}</bdi>').format(_visible(shown))


def plain(text: str) -> str:
    """The same where a page can hold no mark-up, as in the choices of a form."""
    return "".join(
        f"[U+{ord(one):04X}]" if _is_hidden(one) and not _in_a_picture(text, place) else one
        for place, one in enumerate(text)
    )


def editable(text: str) -> str:
    """The same in a field of a form, where what turns the direction of text would act: it is
    written by its code, and stored so if the field is changed.
    """
    return _TURNING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def is_plain(text: str) -> bool:
    """Whether it can be shown as it is."""
    return plain(text) == text


def short(memory_id: UUID) -> str:
    """The end of an id, as citations have it: the beginnings of one minute's ids are alike."""
    return memory_id.hex[-8:]


def _visible(text: str) -> Markup:
    return Markup("").join(_shown(text, place) for place in range(len(text)))


def _shown(text: str, place: int) -> Markup:
    character = text[place]
    if not _is_hidden(character) or character in _KEPT or _in_a_picture(text, place):
        return escape(character)
    return Markup('<span class="unseen" title="{}">U+{}</span>').format(
        unicodedata.name(character, "a character that is not shown"), f"{ord(character):04X}"
    )


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    category = unicodedata.category(character)
    return category in _HIDDEN_CATEGORIES or _FILLERS.match(character) is not None


def _in_a_picture(text: str, place: int) -> bool:
    """Whether it joins or varies a symbol that stands before it."""
    if text[place] not in _JOINERS or place == 0:
        return False
    before = text[place - 1]
    if before == "\ufe0f" and place > 1:
        before = text[place - 2]
    return unicodedata.category(before) in _PICTURES

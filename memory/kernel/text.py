"""Text is cleaned here and nowhere else; the limits of every text field stand in this file.

Cleaning removes NUL (Postgres cannot store it) and puts the text into NFC. Lone surrogates, which
no encoding can carry, are refused, and so are long rows of combining marks, which NFC would take
for ever to sort. Limits are measured after cleaning; what is read back is the cleaned text.
"""

import json
import math
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import cast

from memory.kernel.errors import Rejected, TooLarge

# An instruction takes part of every guideline it serves, so it is short.
INSTRUCTION = 600


SITUATION = 4_000


LESSON = 4_000


TASK = 8_000


RATIONALE = 16_000


NAME = 200


KEY = 200


METADATA_BYTES = 8_192


ANSWERS_BYTES = 65_536


METADATA_DEPTH = 6


SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


# As in the stream-safe format of Unicode (UAX 15): no word of any language has more in a row.
MARKS_IN_A_ROW = 30


# So many characters at most become one in NFC: what is longer than that is above the limit anyway.
COMPOSED_OF = 4


# The controls C0 and C1, what ends a line, and what turns the direction of text.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


# What cleaning drops with the white space at the ends, and is none to who typed it; NUL anywhere.
_DROPPED = re.compile("[\x00\x1c-\x1f\x85\u2028\u2029]")


# Letters and marks of Unicode that are drawn as nothing: fillers, joiners, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def cleaned(text: str, field: str, limit: int) -> str:
    """`text` without NUL and in NFC. Raises Rejected when blank or not encodable, TooLarge above
    `limit` characters of what would be stored.
    """
    bare = _trim(text.replace("\x00", ""))
    if len(bare) > COMPOSED_OF * limit:
        raise _too_long(field, f"{len(bare)} characters", limit)
    clean = bare if bare.isascii() else _composed(bare, field)
    if len(clean) > limit:
        grown = f" in Unicode's form NFC, {len(bare)} as sent" if len(clean) > len(bare) else ""
        raise _too_long(field, f"{len(clean)} characters{grown}", limit)
    if not clean:
        raise Rejected(f"{field} is blank", field=field)
    return clean


def known_name(text: str, field: str) -> str:
    """As `cleaned`, for a name that may be in use: older ones hold control characters. One that
    cleaning would drop stands in no name, and without it another name would be found.
    """
    clean = cleaned(text, field, NAME)
    ends = text[: len(text) - len(text.lstrip())] + text[len(text.rstrip()) :]
    if (dropped := _DROPPED.search("\x00" if "\x00" in text else ends)) is not None:
        raise _acting(field, dropped[0])
    return clean


def cleaned_name(text: str, field: str) -> str:
    """As `known_name`, for a name that is being made: it stands on a line, in a terminal or a page,
    so something of it is seen, and nothing in it may move a cursor, end the line or turn its
    direction.
    """
    clean = known_name(text, field)
    if (acting := _ACTING.search(clean)) is not None:
        raise _acting(field, acting[0])
    if all(unicodedata.category(one)[0] in "CZ" or _BLANK.match(one) for one in clean):
        raise Rejected(f"{field} has invisible characters alone", field=field)
    return clean


def optional_name(text: str | None, field: str) -> str | None:
    """As `cleaned_name`, where the field may be left out."""
    return None if text is None else cleaned_name(text, field)


def optional_known_name(text: str | None, field: str) -> str | None:
    """As `known_name`, where the field may be left out."""
    return None if text is None else known_name(text, field)


def counted(n: int, one: str, many: str | None = None) -> str:
    """So many of something: `1 outcome`, `2 outcomes`."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def escape_controls(text: str, kept: str = "") -> str:
    r"""The text with each control character written by its number, as in `\u{1b}`, but for those
    that are `kept`.
    """

    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] in kept else f"\\u{{{ord(found[0]):x}}}"

    return _ACTING.sub(escape, text)


def _acting(field: str, character: str) -> Rejected:
    return Rejected(
        f"{field} has the control character U+{ord(character):04X}; a name has none", field=field
    )


def _too_long(field: str, size: str, limit: int) -> TooLarge:
    return TooLarge(f"{field} has {size}; the limit is {limit}", field=field, limit=limit)


def _composed(text: str, field: str) -> str:
    """The text in NFC, which may leave white space at its ends."""
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise Rejected(f"{field} contains a lone surrogate", field=field) from fault
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MARKS_IN_A_ROW:
            raise Rejected(
                f"{field} has more than {MARKS_IN_A_ROW} combining marks in a row",
                field=field,
                limit=MARKS_IN_A_ROW,
            )
    return _trim(unicodedata.normalize("NFC", text))


def _trim(text: str) -> str:
    """Without white space at its ends. The first of several lines keeps its indentation: the
    others are read by it, in code above all.
    """
    bare = text.strip()
    if "\n" not in bare:
        return bare
    indentation = text[: len(text) - len(text.lstrip())].rpartition("\n")[2]
    return bare if indentation.strip(" \t") else indentation + bare


def exact(text: str, field: str, limit: int) -> str:
    """A caller's key as it is: one that cleaning would change is refused, for it would become
    another key. Raises as `cleaned`.
    """
    if "\x00" in text:
        raise _no_key("a NUL character", field, limit)
    clean = cleaned(text, field, limit)
    if clean == text:
        return text
    if clean == text.strip():
        raise _no_key("white space at an end", field, limit)
    raise _no_key("characters that are not in Unicode's form NFC", field, limit)


def _no_key(what: str, field: str, limit: int) -> Rejected:
    return Rejected(
        f"{field} has {what}; a key is taken as it is: at most {limit} characters, in form NFC,"
        " without NUL, none of them white space at an end",
        field=field,
        limit=limit,
    )


def optional_exact(text: str | None, field: str, limit: int) -> str | None:
    """As `exact`, where the key may be left out."""
    return None if text is None else exact(text, field, limit)


def optional(text: str | None, field: str, limit: int) -> str | None:
    """As `cleaned`, where the field may be left out."""
    return None if text is None else cleaned(text, field, limit)


def slug(text: str, field: str) -> str:
    """A name that can stand in a URL: lower-case letters, digits and hyphens, at most 63."""
    if not SLUG.fullmatch(text):
        raise Rejected(f"{field} must match {SLUG.pattern}", field=field, limit=SLUG.pattern)
    return text


def cleaned_json(
    value: Mapping[str, object],
    field: str,
    limit: int = METADATA_BYTES,
    *,
    longest: int = METADATA_BYTES,
) -> dict[str, object]:
    """Free JSON: cleaned strings of at most `longest` characters, numbers that a double can hold,
    at most 6 levels and `limit` bytes. A fault names the path of the value.
    """
    clean = cast("dict[str, object]", _clean_value(value, field, METADATA_DEPTH, longest))
    size = len(json.dumps(clean, ensure_ascii=False).encode())
    if size > limit:
        raise TooLarge(f"{field} has {size} bytes; the limit is {limit}", field=field, limit=limit)
    return clean


def _clean_value(value: object, field: str, depth: int, longest: int) -> object:
    if depth < 0:
        raise Rejected(
            f"{field} is nested deeper than {METADATA_DEPTH}", field=field, limit=METADATA_DEPTH
        )
    match value:
        case str():
            return _clean_string(value, field, longest)
        case float() if not math.isfinite(value):
            raise Rejected(f"{field} contains a number that is not finite", field=field)
        case int() if abs(value) > sys.float_info.max:
            raise Rejected(f"{field} contains a number beyond {sys.float_info.max}", field=field)
        case Mapping():
            members = cast("Mapping[str, object]", value)
            clean = {
                _clean_string(key, field, longest): _clean_value(
                    item, f"{field}.{key[:NAME]}", depth - 1, longest
                )
                for key, item in members.items()
            }
            if len(clean) < len(members):
                raise Rejected(f"{field} has two names that are one after cleaning", field=field)
            return clean
        case list():
            return [
                _clean_value(item, f"{field}.{place}", depth - 1, longest)
                for place, item in enumerate(cast("list[object]", value))
            ]
        case _:
            return value


def _clean_string(text: str, field: str, longest: int) -> str:
    return cleaned(text, field, longest) if text.strip("\x00 ") else ""

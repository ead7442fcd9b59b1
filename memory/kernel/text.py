"""Text is cleaned here and nowhere else; the limits of every text field stand in this file.

Cleaning removes NUL (Postgres cannot store it) and puts the text into NFC. Lone surrogates, which
no encoding can carry, are refused. What is read back is the cleaned text.
"""

import json
import math
import re
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


def cleaned(text: str, field: str, limit: int) -> str:
    """`text` without NUL and in NFC. Raises Rejected when blank or not encodable, TooLarge above
    `limit` characters.
    """
    if len(text) > limit:
        raise TooLarge(
            f"{field} has {len(text)} characters; the limit is {limit}", field=field, limit=limit
        )
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise Rejected(f"{field} contains a lone surrogate", field=field) from fault
    clean = unicodedata.normalize("NFC", text.replace("\x00", "")).strip()
    if not clean:
        raise Rejected(f"{field} is blank", field=field)
    return clean


def optional(text: str | None, field: str, limit: int) -> str | None:
    """As `cleaned`, where the field may be left out."""
    return None if text is None else cleaned(text, field, limit)


def slug(text: str, field: str) -> str:
    """A name that can stand in a URL: lower-case letters, digits and hyphens, at most 63."""
    if not SLUG.fullmatch(text):
        raise Rejected(f"{field} must match {SLUG.pattern}", field=field, limit=SLUG.pattern)
    return text


def cleaned_json(
    value: Mapping[str, object], field: str, limit: int = METADATA_BYTES
) -> dict[str, object]:
    """Free JSON: cleaned strings, finite numbers, at most 6 levels and `limit` bytes."""
    clean = cast("dict[str, object]", _clean_value(value, field, METADATA_DEPTH))
    size = len(json.dumps(clean, ensure_ascii=False).encode())
    if size > limit:
        raise TooLarge(f"{field} has {size} bytes; the limit is {limit}", field=field, limit=limit)
    return clean


def _clean_value(value: object, field: str, depth: int) -> object:
    if depth < 0:
        raise Rejected(
            f"{field} is nested deeper than {METADATA_DEPTH}", field=field, limit=METADATA_DEPTH
        )
    match value:
        case str():
            return _clean_string(value, field)
        case float() if not math.isfinite(value):
            raise Rejected(f"{field} contains a number that is not finite", field=field)
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {
                _clean_string(key, field): _clean_value(item, field, depth - 1)
                for key, item in items
            }
        case list():
            return [_clean_value(item, field, depth - 1) for item in cast("list[object]", value)]
        case _:
            return value


def _clean_string(text: str, field: str) -> str:
    return cleaned(text, field, METADATA_BYTES) if text.strip("\x00 ") else ""

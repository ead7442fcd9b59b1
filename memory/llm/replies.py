"""Reads the JSON that a language model meant, whatever it put around or into it.

Taken: fences, prose before and after, a draft before the answer, trailing commas, escapes that
JSON does not know, line breaks inside strings. Not taken, and named: nothing at all, an answer that
breaks off, the schema in place of the answer, another shape.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import cast

from memory.kernel.errors import Rejected
from memory.kernel.text import cleaned
from memory.llm.redaction import redacted

MAX_ANSWER = 64_000


# Braces in prose may begin objects that are none; after this many the answer is given up.
MAX_OBJECTS = 8


MAX_INNER = 64


_ESCAPE = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]|(.|$))""", re.DOTALL)


# A string that is not closed goes to the end: else its end would be looked for from each quote.
_STRING = r""""[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)"""


_TOKEN = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)


class Malformed(Rejected):
    """The answer cannot be used. `kind`: malformed, empty, truncated, echoed, uncited or
    over_budget.
    """

    code = "malformed"


def read_object(text: str, wanted: Collection[str]) -> dict[str, object]:
    """The last object in `text` that has the wanted keys. Raises Malformed."""
    if not text.strip("\ufeff \t\r\n"):
        raise Malformed("the answer is empty", code="empty")
    if len(text) > MAX_ANSWER:
        raise Malformed(f"the answer has {len(text)} characters")
    spans, unclosed = _objects(text)
    found = [read for span in spans if (read := _loaded(span)) is not None]
    for read in reversed(found):
        if all(key in read for key in wanted):
            return read
    if any(_is_schema(read) for read in found):
        raise Malformed("the answer is the schema", code="echoed")
    if unclosed:
        raise Malformed("the answer breaks off", code="truncated")
    raise Malformed(f"no JSON object with {', '.join(sorted(wanted))}")


def inner_objects(text: str, wanted: str) -> list[dict[str, object] | str]:
    """The objects with the wanted key at any depth, in their order: read, or as they stand where
    they cannot be. For an answer that is not whole as it should be.
    """
    found: list[dict[str, object] | str] = []
    text = text[:MAX_ANSWER]
    start = text.find("{")
    for _ in range(MAX_INNER):
        if start < 0:
            break
        end = _end(text, start)
        one = None if end is None else _with(text[start:end], wanted)
        if one is not None:
            found.append(one)
        start = text.find("{", start + 1 if one is None or end is None else end)
    return found


def _with(span: str, wanted: str) -> dict[str, object] | str | None:
    """The object, if it has the key itself; its text, if it cannot be read and nothing is in it."""
    read = _loaded(span)
    if read is not None:
        return read if wanted in read else None
    return span if wanted in span and "{" not in span[1:] else None


def text_of(read: Mapping[str, object], key: str, limit: int) -> str:
    """A text field: cleaned, without secrets, within its limit. Raises Malformed."""
    value = read.get(key)
    if not isinstance(value, str):
        raise Malformed(f"{key} is not a text")
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        return cleaned(redacted(whole), key, limit)
    except Rejected as fault:
        raise Malformed(fault.detail) from fault


def list_of(read: Mapping[str, object], key: str, limit: int) -> list[object]:
    """A list field of 1 to `limit` parts. Raises Malformed."""
    value = read.get(key)
    if not isinstance(value, list):
        raise Malformed(f"{key} is not a list")
    parts = cast("list[object]", value)
    if not 1 <= len(parts) <= limit:
        raise Malformed(f"{key} has {len(parts)} parts; the limit is 1 to {limit}")
    return parts


def object_of(value: object, name: str) -> dict[str, object]:
    """An object inside the answer. Raises Malformed."""
    if not isinstance(value, dict):
        raise Malformed(f"{name} is not an object")
    return cast("dict[str, object]", value)


def _objects(text: str) -> tuple[list[str], bool]:
    """The outermost balanced objects, and whether some brace was never closed."""
    spans: list[str] = []
    unclosed = False
    start = text.find("{")
    for _ in range(MAX_OBJECTS):
        if start < 0:
            break
        end = _end(text, start)
        if end is None:
            unclosed = True
            start = text.find("{", start + 1)
        else:
            spans.append(text[start:end])
            start = text.find("{", end)
    return spans, unclosed


_MARK = re.compile(_STRING + r"|[{}]", re.DOTALL)


def _end(text: str, start: int) -> int | None:
    """Where the object that begins at `start` ends; braces inside strings do not count."""
    depth = 0
    for mark in _MARK.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark.group(), 0)
        if depth == 0:
            return mark.end()
    return None


def _loaded(span: str) -> dict[str, object] | None:
    for attempt in (span, _repaired(span)):
        try:
            read = json.loads(attempt, strict=False, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        return cast("dict[str, object]", read)
    return None


def _repaired(span: str) -> str:
    """Without trailing commas; a backslash that begins no escape is one to be read."""
    return _TOKEN.sub(lambda token: _ESCAPE.sub(_escape, token.group().strip(",")), span)


def _escape(escape: re.Match[str]) -> str:
    return escape.group() if escape.group(1) is None else "\\\\" + escape.group(1)


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _is_schema(read: Mapping[str, object]) -> bool:
    return "$schema" in read or ("properties" in read and "type" in read)

"""What a row of the file may look like: checks of one line, and new ids for it. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum, auto
from math import isfinite
from typing import Any, cast
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.transfer.entities import MAX_DEPTH

Row = dict[str, Any]


class ValueKind(Enum):
    """What a column holds, as JSON has it."""

    ID = "a UUID"
    TEXT = "a text"
    SMALL = "a whole number of 16 bits"
    WHOLE = "a whole number of 32 bits"
    BIG = "a whole number of 64 bits"
    NUMBER = "a finite number"
    FLAG = "true or false"
    MOMENT = "a time with its zone"
    DAY = "a date"
    BYTES = "bytes in hexadecimal"
    DOCUMENT = "JSON in a text"
    VECTOR = "a vector"


class Holds(Enum):
    """Which ids a column names, for whoever gives new ones."""

    NOTHING = auto()
    ID = auto()
    KEY = auto()
    MODEL = auto()
    IDS_INSIDE = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """One column: `many` of its kind, or one; `may_lack` where an older file need not have it."""

    kind: ValueKind
    many: bool = False
    nullable: bool = False
    may_lack: bool = False
    holds: Holds = Holds.NOTHING


UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"\\x(?:[0-9a-f]{2})*")
_VECTOR = re.compile(r"\[-?[0-9][0-9.e+-]*(?:,-?[0-9][0-9.e+-]*)*\]")
_WITH_PREFIX = re.compile(rf"(|task:|memory:)({UUID_TEXT.pattern})")


def read_line(line: bytes) -> Row:
    """The row in a line. Raises Rejected where it is no JSON object, or not one that can be
    stored.
    """
    try:
        row = _loads(line.decode())
    except UnicodeDecodeError as fault:
        raise Rejected("is not UTF-8") from fault
    if not isinstance(row, dict):
        raise Rejected("is not a JSON object")
    # Only an escape can bring what Postgres cannot store: text itself was checked above.
    if b"\\u" in line and not _is_storable(row):
        raise Rejected("holds a NUL or half a character")
    return cast("Row", row)


def _loads(text: str) -> object:
    try:
        return json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_no_constant)
    except RecursionError as fault:
        raise Rejected(f"is nested more than {MAX_DEPTH} deep", limit=MAX_DEPTH) from fault
    except ValueError as fault:
        raise Rejected("is not JSON") from fault


def _whole(text: str) -> float:
    # Postgres writes a float's negative zero like this; as a whole number it would lose its sign.
    return -0.0 if text == "-0" else int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def _no_constant(text: str) -> object:
    raise ValueError(text)


def _is_storable(value: object) -> bool:
    for part in _leaves(value):
        if isinstance(part, str) and ("\0" in part or not _is_encodable(part)):
            return False
    return True


def _is_encodable(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leaves(value: object) -> list[object]:
    """All keys and values inside. Raises Rejected beyond MAX_DEPTH."""
    found: list[object] = []
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH and isinstance(part, (dict, list)):
            raise Rejected(f"is nested more than {MAX_DEPTH} deep", limit=MAX_DEPTH)
        if isinstance(part, dict):
            inside = cast("dict[str, object]", part)
            found += inside.keys()
            waiting += [(one, depth + 1) for one in inside.values()]
        elif isinstance(part, list):
            waiting += [(one, depth + 1) for one in cast("list[object]", part)]
        else:
            found.append(part)
    return found


def check_row(row: Row, shapes: Mapping[str, Shape]) -> None:
    """Raises Rejected where a column is unknown, missing, or holds what it cannot."""
    if unknown := row.keys() - shapes.keys():
        name = min(unknown)
        raise Rejected(f"has a column that is not known: {name[:63]!r}", field=name[:63])
    for name, shape in shapes.items():
        if name not in row:
            raise Rejected(f"lacks the column {name}", field=name)
        _check_value(row[name], name, shape)


def _check_value(value: object, name: str, shape: Shape) -> None:
    if value is None:
        if not shape.nullable:
            raise Rejected(f"has null for {name}", field=name)
        return
    holds = _TESTS[shape.kind]
    if shape.many:
        well = isinstance(value, list) and all(holds(one) for one in cast("list[object]", value))
    else:
        well = holds(value)
    if not well:
        each = "a list, each " if shape.many else ""
        raise Rejected(f"has something else for {name} than {each}{shape.kind.value}", field=name)


def _within(bits: int) -> Callable[[object], bool]:
    most = 2 ** (bits - 1)
    return lambda value: type(value) is int and -most <= value < most


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < 2**1023)


def _is_moment(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_day(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_document(value: object) -> bool:
    if not isinstance(value, str):
        return False
    read = _loads(value)
    leaves = _leaves(read)
    return "\\u" not in value or all(
        not isinstance(part, str) or ("\0" not in part and _is_encodable(part)) for part in leaves
    )


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


_TESTS: Mapping[ValueKind, Callable[[object], bool]] = {
    ValueKind.ID: _matches(UUID_TEXT),
    ValueKind.TEXT: lambda value: isinstance(value, str),
    ValueKind.SMALL: _within(16),
    ValueKind.WHOLE: _within(32),
    ValueKind.BIG: _within(64),
    ValueKind.NUMBER: _is_number,
    ValueKind.FLAG: lambda value: isinstance(value, bool),
    ValueKind.MOMENT: _is_moment,
    ValueKind.DAY: _is_day,
    ValueKind.BYTES: _matches(_HEX),
    ValueKind.DOCUMENT: _is_document,
    ValueKind.VECTOR: _matches(_VECTOR),
}


@dataclass(slots=True)
class Renaming:
    """What rows are called where they are read in.

    `models` are this database's ids of the file's models. With a `salt` of 62 bits every row gets
    a new id: times stay in front, so that order by id stays, and two ids never become one. Ids of
    keys that the file does not have, such as an operator's, stay as they are.
    """

    models: Mapping[str, str]
    salt: int | None = None
    keys: set[str] = field(default_factory=set[str])

    def rename(self, row: Row, shapes: Mapping[str, Shape]) -> None:
        """Raises Rejected where a row names a model that the manifest does not."""
        for name, shape in shapes.items():
            if shape.holds is Holds.NOTHING or row.get(name) is None:
                continue
            if shape.holds is Holds.MODEL:
                row[name] = self._model(row[name])
            elif self.salt is not None:
                row[name] = self._renamed(row[name], shape)

    def _model(self, id_: str) -> str:
        if id_ not in self.models:
            raise Rejected("names a model that the manifest does not", field="model_id")
        return self.models[id_]

    def _renamed(self, value: Any, shape: Shape) -> object:
        if shape.holds is Holds.KEY and value not in self.keys:
            return value
        if shape.kind is ValueKind.DOCUMENT:
            return json.dumps(self._inside(json.loads(value)), ensure_ascii=False)
        return self._inside(value)

    def _inside(self, value: object) -> object:
        if isinstance(value, dict):
            inside = cast("dict[str, object]", value)
            return {str(self._inside(key)): self._inside(one) for key, one in inside.items()}
        if isinstance(value, list):
            return [self._inside(one) for one in cast("list[object]", value)]
        if isinstance(value, str) and (found := _WITH_PREFIX.fullmatch(value)):
            return found[1] + self._new(found[2])
        return value

    def _new(self, id_: str) -> str:
        return id_ if self.salt is None else str(UUID(int=UUID(id_).int ^ self.salt))

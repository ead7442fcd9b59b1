"""What is wrong with the shape of a field, in the words of who sent JSON rather than of Python."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel

from server.expected import expected_fields

_OBJECT = "must be an object"
_TIME = "must be a time as in RFC 3339, with a zone"
_UUID = "must be an id, a UUID"
_NUMBER = "must be a number"
_WHOLE = "must be a whole number"
_FLAG = "must be true or false"

_SAID: Mapping[str, str] = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "missing_keyword_only_argument": "is missing",
    "none_required": "must be null",
    "uuid_parsing": _UUID,
    "uuid_type": _UUID,
    "uuid_version": _UUID,
    "dict_type": _OBJECT,
    "model_type": _OBJECT,
    "dataclass_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "mapping_type": _OBJECT,
    "iterable_type": "must be a list",
    "string_type": "must be a text",
    "string_unicode": "contains a lone surrogate",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_long": "must not have more than {max_length} entries; it has {actual_length}",
    "too_short": "must not have fewer entries than {min_length}; it has {actual_length}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "union_tag_invalid": "must be of a kind in {expected_tags}, not {tag}",
    "union_tag_not_found": "must say of which kind it is, in {discriminator}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "finite_number": "must be a finite number",
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": "has too many digits",
    "bool_type": _FLAG,
    "bool_parsing": _FLAG,
    "json_invalid": "must be JSON",
    "json_type": "must be JSON",
    "recursion_loop": "must not hold itself",
    "invalid_key": "must have texts as names",
    "datetime_type": _TIME,
    "datetime_parsing": _TIME,
    "datetime_from_date_parsing": _TIME,
    "datetime_object_invalid": _TIME,
    "timezone_aware": _TIME,
    "date_type": "must be a date such as 2026-03-01",
    "date_parsing": "must be a date such as 2026-03-01",
    "time_delta_type": "must be a span of time such as PT1H",
    "time_delta_parsing": "must be a span of time such as PT1H",
    "url_parsing": "must be a URL",
    "url_type": "must be a URL",
    "url_scheme": "must be a URL that begins with {expected_schemes}",
}
"""What is said of an error, by its type; in braces what its context holds."""


_OURS = frozenset({"value_error", "assertion_error"})
"""Types of error whose message is of our own nouns."""


_OTHERWISE = "has a form that is not taken here"


_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


_TOO_SHORT = frozenset({"string_too_short", "too_short"})


_LISTS = frozenset({"tuple_type", "list_type", "set_type", "frozen_set_type"})


_ITEMS: Mapping[object, str] = {
    UUID: "ids",
    str: "texts",
    int: "whole numbers",
    float: "numbers",
    datetime: "times",
    dict: "objects",
}
"""What items of a list are called."""


_LIST_TYPES = (tuple, list, set, frozenset)


FieldType = tuple[tuple[object, ...], bool]
"""The path of a field, and whether it is a list."""


def words_of(error: Mapping[str, object], body: object) -> str:
    """What to say of an error, where the request's body is of the type `body`, if it is known."""
    kind = str(error["type"])
    if kind in _LISTS:
        items = items_at(body, cast("Sequence[object]", error.get("loc") or ())[1:])
        return "must be a list" if items is None else f"must be a list of {items}"
    if kind in _UNKNOWN:
        known = expected_fields(body, cast("Sequence[object]", error.get("loc") or ()))
        expected = f"; expected are {', '.join(known)}" if known else ""
        return f"is no field here{expected}"
    if kind in _OURS:
        return str(error["msg"]).partition(", ")[2]
    context = cast("Mapping[str, object]", error.get("ctx") or {})
    if kind in _TOO_SHORT and context.get("min_length") == 1:
        return "must not be empty"
    return _SAID.get(kind, _OTHERWISE).format_map(_Told(context))


class _Told(dict[str, object]):
    """What the context of an error holds; a count that it does not know is `more`."""

    def __missing__(self, name: str) -> str:
        return "more"


def items_at(body: object, path: Sequence[object]) -> str | None:
    """What the items of the list are called that stands at this path of a body; None where that
    cannot be said.
    """
    here = body
    for part in path:
        inner = [_step(one, part) for one in _choices(here)]
        here = next((one for one in inner if one is not None), None)
        if here is None:
            return None
    lists = [one for one in _choices(here) if get_origin(one) in _LIST_TYPES]
    if not lists:
        return None
    items = {_name(one) for one in _choices(get_args(lists[0])[0])} - {None}
    return items.pop() if len(items) == 1 else None


def field_types(kind: object, above: tuple[object, ...] = ()) -> Iterator[FieldType]:
    """Each field of a body, with those below it: its path, and whether it is a list."""
    for one in _choices(kind):
        if get_origin(one) in _LIST_TYPES:
            yield from field_types(get_args(one)[0], (*above, 0))
        elif isinstance(one, type) and _is_object(one):
            for name, inner in get_type_hints(cast("type[Any]", one)).items():
                path = (*above, name)
                if name.startswith("_") or name == "model_config" or name in above:
                    continue
                yield path, any(get_origin(c) in _LIST_TYPES for c in _choices(inner))
                yield from field_types(inner, path)


def _choices(kind: object) -> list[object]:
    """The members of a union, without annotations and None; a type that is none, alone."""
    if get_origin(kind) is Annotated:
        return _choices(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _choices(part) if part is not NoneType]
    return [kind]


def _step(kind: object, part: object) -> object | None:
    """The type one step down: of a field, or of an item."""
    if isinstance(part, int):
        arguments = get_args(kind)
        return arguments[0] if arguments else None
    if not isinstance(kind, type):
        return None
    return get_type_hints(cast("type[Any]", kind)).get(str(part))


def _name(kind: object) -> str | None:
    if isinstance(kind, type):
        if issubclass(kind, str):
            return _ITEMS[str]
        return _ITEMS.get(kind) or ("objects" if _is_object(kind) else None)
    return _ITEMS[str] if get_origin(kind) is Literal else _ITEMS.get(get_origin(kind))


def _is_object(kind: type[object]) -> bool:
    return issubclass(kind, BaseModel) or is_dataclass(kind)

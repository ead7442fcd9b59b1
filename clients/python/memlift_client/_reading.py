"""From JSON to frozen values: each model states its fields, this reads them.

Unknown members are skipped and unknown values of an enumeration are kept, so that a newer server
does not break an older client.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from memlift_client._faults import UnexpectedAnswer

Model = TypeVar("Model")


def read(model: type[Model], document: Mapping[str, object]) -> Model:
    """`model` with its fields taken from `document`. Raises UnexpectedAnswer where one is missing
    or of another shape.
    """
    values: dict[str, object] = {}
    for part, kind in _parts(model):
        if part.name in document:
            values[part.name] = _value(kind, document[part.name], f"{model.__name__}.{part.name}")
        elif part.default is MISSING and part.default_factory is MISSING:
            raise UnexpectedAnswer(f"the answer has no {part.name}, which {model.__name__} needs")
    return model(**values)


@cache
def _parts(model: type) -> tuple[tuple[Field[object], object], ...]:
    hints = get_type_hints(model)
    return tuple((part, hints[part.name]) for part in fields(model))


def _value(kind: object, value: object, name: str) -> object:
    if get_origin(kind) in (Union, types.UnionType):
        return None if value is None else _value(_something(kind), value, name)
    reader = _READERS.get(get_origin(kind) or kind)
    if reader is not None:
        return reader(kind, value, name)
    if is_dataclass(kind):
        document = cast("Mapping[str, object]", _of(Mapping, value, name))
        return read(cast("type[object]", kind), document)
    return value


def _something(kind: object) -> object:
    return next(arm for arm in get_args(kind) if arm is not type(None))


def _of(kind: type, value: object, name: str) -> object:
    if not isinstance(value, kind):
        raise UnexpectedAnswer(f"{name} is not what the contract says: {str(value)[:80]}")
    return value


def _moment(_: object, value: object, name: str) -> datetime:
    try:
        return datetime.fromisoformat(cast("str", _of(str, value, name)))
    except ValueError as fault:
        raise UnexpectedAnswer(f"{name} is no time: {value}") from fault


def _day(_: object, value: object, name: str) -> date:
    try:
        return date.fromisoformat(cast("str", _of(str, value, name)))
    except ValueError as fault:
        raise UnexpectedAnswer(f"{name} is no day: {value}") from fault


def _tuple(kind: object, value: object, name: str) -> tuple[object, ...]:
    inner = get_args(kind)[0]
    parts = cast("Sequence[object]", _of(list, value, name))
    return tuple(_value(inner, part, name) for part in parts)


def _mapping(kind: object, value: object, name: str) -> Mapping[str, object]:
    inner = get_args(kind)[1]
    parts = cast("Mapping[str, object]", _of(Mapping, value, name))
    return {key: _value(inner, part, name) for key, part in parts.items()}


def _plain(kind: object, value: object, name: str) -> object:
    return _of(cast("type", kind), value, name)


def _number(_: object, value: object, name: str) -> float:
    return float(cast("float", _of((int | float), value, name)))  # pyright: ignore[reportArgumentType] - isinstance takes a union


_READERS: dict[Any, Callable[[object, object, str], object]] = {
    datetime: _moment,
    date: _day,
    tuple: _tuple,
    Mapping: _mapping,
    str: _plain,
    int: _plain,
    bool: _plain,
    float: _number,
}

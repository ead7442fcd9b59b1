"""Rows become nouns in one place a store, checked when the module is imported."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import ColumnElement, FromClause, RowMapping

Noun = TypeVar("Noun")
Reader = Callable[[Any], object]


class RowMapper(Generic[Noun]):
    """Makes a noun of a row: a column for each field, by name.

    `source` holds tables and labelled columns; `columns` are those of them that the noun has a
    field for, to be selected. `computed` makes the fields that no column holds, each of the whole
    row. Raises TypeError where a field has neither, so that drift is found at import.
    """

    def __init__(
        self,
        noun: type[Noun],
        source: Iterable[FromClause | ColumnElement[Any]],
        *,
        computed: Mapping[str, Callable[[Any], object]] | None = None,
    ) -> None:
        self._noun = noun
        self._computed = dict(computed or {})
        names = [field.name for field in fields(noun)]  # pyright: ignore[reportArgumentType] - every noun is a dataclass
        found: dict[str, ColumnElement[Any]] = {}
        for part in source:
            for column in part.columns if isinstance(part, FromClause) else (part,):
                found.setdefault(str(column.key), column)
        missing = [name for name in names if name not in found and name not in self._computed]
        unknown = self._computed.keys() - set(names)
        if missing or unknown:
            raise TypeError(
                f"{noun.__name__}: no column for {missing}, no field for {sorted(unknown)}"
            )
        stored = [name for name in names if name not in self._computed]
        self.columns: tuple[ColumnElement[Any], ...] = tuple(found[name] for name in stored)
        hints = get_type_hints(noun, include_extras=True)
        self._readers = [(name, _reader(hints[name])) for name in stored]

    def __call__(self, row: RowMapping | Mapping[str, Any]) -> Noun:
        values = {
            name: row[name] if reader is None else reader(row[name])
            for name, reader in self._readers
        }
        values |= {name: make(row) for name, make in self._computed.items()}
        return self._noun(**values)


def _reader(kind: object) -> Reader | None:
    """What makes a stored value the field's: an enum of its text, a tuple of an array."""
    if get_origin(kind) is Annotated:
        return _reader(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        inner = [_reader(arm) for arm in get_args(kind) if arm is not type(None)]
        reader = next((one for one in inner if one is not None), None)
        return None if reader is None else lambda value: None if value is None else reader(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if get_origin(kind) is tuple:
        return tuple
    return None

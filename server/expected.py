"""Which fields a body takes at some place, for who sent one that it does not take."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter

Schema = Mapping[str, Any]
REFERENCE = "#/$defs/"


def expected_fields(body: object, place: Sequence[object]) -> list[str]:
    """The names that the object takes in which an unknown field stands, in a body of this type;
    empty where that is not known. `place` is that of the field, as a validation error tells it.
    """
    if body is None or not place or place[0] != "body":
        return []
    whole = _schema_of(body)
    found: list[Schema] = [whole]
    for step in place[1:-1]:
        found = [inner for one in found for inner in _within(whole, one, step)]
    return sorted({name for one in found for name in _objects(whole, one)})


@cache
def _schema_of(kind: Any) -> Schema:
    return TypeAdapter(kind).json_schema()


def _arms(whole: Schema, schema: Schema) -> list[Schema]:
    """What a schema may stand for, references followed."""
    if "$ref" in schema:
        return _arms(whole, whole["$defs"][str(schema["$ref"]).removeprefix(REFERENCE)])
    arms = cast("Sequence[Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
    return [inner for arm in arms for inner in _arms(whole, arm)] or [schema]


def _within(whole: Schema, schema: Schema, step: object) -> list[Schema]:
    """The schemas of a member or an item."""
    found: list[Schema] = []
    for arm in _arms(whole, schema):
        if isinstance(step, int) and "items" in arm:
            found.append(arm["items"])
        elif step in arm.get("properties", {}):
            found.append(arm["properties"][step])
    return found


def _objects(whole: Schema, schema: Schema) -> list[str]:
    return [name for arm in _arms(whole, schema) for name in arm.get("properties", {})]

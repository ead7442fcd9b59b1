"""Types of fields that nouns share: strict numbers, times with a zone, texts with their limits.

A noun is a frozen dataclass that serves as the API's shape unless the wire differs. Its fields are
described by the string below each of them, its limits stand in its annotations and, where cleaning
comes first, in `__post_init__`.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import core_schema

from memory.kernel.errors import MemoryFault
from memory.kernel.field_words import describe_fields
from memory.kernel.text import INSTRUCTION, KEY, LESSON, NAME, SITUATION, TASK

PLUS_LOST = re.compile(r"[Tt]\d\d:\d\d(:\d\d(\.\d+)?)? \d\d:?\d\d$")
"""A time whose `+` an address turned into a space."""
RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
# Far enough for every stream, near enough that adding a span to a time never leaves the calendar.
FIRST_YEAR, LAST_YEAR = 1900, 2200


class PartOf:
    """Marks a mapping of some of a noun's fields: checked as the noun would, the rest left out."""

    def __init__(self, noun: type) -> None:
        self._noun = noun

    def __get_pydantic_core_schema__(
        self, _: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def given(value: object, make: core_schema.ValidatorFunctionWrapHandler) -> object:
            whole = asdict(make(value))
            return {name: whole[name] for name in whole if name in cast("dict[str, object]", value)}

        return core_schema.no_info_wrap_validator_function(given, handler(self._noun))


INPUT = ConfigDict(extra="forbid", json_schema_extra=describe_fields)
"""Of nouns that callers bring: an unknown field is refused, so that a typing error is not lost."""
OUTPUT = ConfigDict(
    json_schema_serialization_defaults_required=True, json_schema_extra=describe_fields
)
"""Of nouns that callers are shown: every field is there, whatever its default."""
BOTH_WAYS = INPUT | OUTPUT
"""Of nouns that callers bring and are shown."""


def _written(value: object) -> object:
    """Only text of RFC 3339 is a time: a bare number could be seconds or milliseconds."""
    if isinstance(value, str) and PLUS_LOST.search(value):
        raise ValueError("must be a time with a zone: write the + of its zone as %2B in an address")
    if not isinstance(value, str) or not RFC_3339.fullmatch(value):
        raise ValueError("must be a time as in RFC 3339, with a zone")
    return value


def _in_range(moment: datetime) -> datetime:
    if not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise ValueError(f"must lie in the years {FIRST_YEAR}…{LAST_YEAR - 1}")
    return moment.astimezone(UTC)


def _below_field(value: object, make: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
    try:
        return make(value)
    except MemoryFault as fault:
        raise fault.below(str(info.field_name)) from None


def _below_item(value: object, make: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
    try:
        return make(value)
    except MemoryFault as fault:
        if not isinstance(value, (list, tuple)):
            raise
        items = cast("Sequence[object]", value)
        # The first item with a fault: all shorter lists are without one.
        place = bisect_left(
            range(len(items)), x=True, key=lambda last: _has_fault(items[: last + 1], make)
        )
        raise fault.below(str(place)).below(str(info.field_name)) from None


def _has_fault(value: object, make: ValidatorFunctionWrapHandler) -> bool:
    try:
        make(value)
    except MemoryFault:
        return True
    except ValidationError:
        return False
    return False


Nested = WrapValidator(_below_field)
"""Marks a noun in a noun: its faults name the whole path, such as `run.result`."""
NestedItems = WrapValidator(_below_item)
"""Marks a list of nouns: their faults name the whole path, such as `steps.3.text`."""


def hint(maximum: int) -> dict[str, object]:
    """Shows the limit of a text in the contract; the noun enforces it, after cleaning."""
    return {"minLength": 1, "maxLength": maximum}


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Surprise = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1, le=1)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_in_range)]
Name = Annotated[str, Field(json_schema_extra=hint(NAME))]  # pyright: ignore[reportArgumentType] - JSON values
CallerKey = Annotated[str, Field(json_schema_extra=hint(KEY))]  # pyright: ignore[reportArgumentType] - JSON values
Situation = Annotated[str, Field(json_schema_extra=hint(SITUATION))]  # pyright: ignore[reportArgumentType] - JSON values
Lesson = Annotated[str, Field(json_schema_extra=hint(LESSON))]  # pyright: ignore[reportArgumentType] - JSON values
Instruction = Annotated[str, Field(json_schema_extra=hint(INSTRUCTION))]  # pyright: ignore[reportArgumentType] - JSON values
TaskText = Annotated[str, Field(json_schema_extra=hint(TASK))]  # pyright: ignore[reportArgumentType] - JSON values

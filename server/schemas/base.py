"""What all shapes share: strict numbers, times with a zone, texts, and pages of a list."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.field_words import describe_fields, field_words
from memory.kernel.fields import Flag, Moment, Name, Number, hint
from memory.kernel.paging import MAX_PAGE
from memory.kernel.text import NAME, cleaned
from memory.tasks.entities import category_of

DEFAULT_PAGE = 50
MAX_CURSOR = 2_000


class In(BaseModel):
    """What a caller sends: unknown fields are refused, so that a slip of the pen is not lost."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, json_schema_extra=describe_fields
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """A query's fields are parameters of their own, described by what is known of each."""
        for name, words in field_words(cls).items():
            field = cls.model_fields[name]
            field.description = field.description or words


class Out(BaseModel):
    """What a caller gets; made from the noun of the same fields."""

    model_config = ConfigDict(from_attributes=True, frozen=True, json_schema_extra=describe_fields)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


UtcTime = Annotated[datetime, AfterValidator(_utc)]

Row = TypeVar("Row")

__all__ = [
    "AgentQuery",
    "Flag",
    "In",
    "ListQuery",
    "Listing",
    "Moment",
    "Name",
    "Number",
    "Out",
    "Refusable",
    "Rows",
    "UtcTime",
    "category_of",
    "changed",
    "hint",
    "named",
]


def _refusal(value: object, make: ValidatorFunctionWrapHandler) -> object:
    try:
        return make(value)
    except MemoryFault as fault:
        return fault


Refusable = WrapValidator(_refusal)
"""Marks the nouns of a batch: one that breaks a limit becomes its fault, and the others go on."""


class Listing(Out, Generic[Row]):
    """One page of a list."""

    items: list[Row]
    """The rows of this page, in the order of the list."""
    total: int
    """How many rows match on all pages."""
    next_cursor: str | None = None
    """Where the next page begins; null on the last one."""


class Rows(Out, Generic[Row]):
    """A list that is never long enough to be paged, and is not counted."""

    items: list[Row]
    """All rows, in the order of the list."""


class ListQuery(In):
    """How a list is paged; a filter is a shape that adds its fields to this one."""

    limit: int = Field(DEFAULT_PAGE, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(None, max_length=MAX_CURSOR)


class AgentQuery(ListQuery):
    """A list that can be narrowed to one agent."""

    agent: Name | None = None

    def agent_name(self) -> str | None:
        return named(self.agent, "agent")


def named(text: str | None, field: str) -> str | None:
    """A name in a filter, cleaned as the stored one was, so that the two can be equal. What would
    make another name of it does not get here (`server.routing`).
    """
    return None if text is None else cleaned(text, field, NAME)


def changed(shape: In) -> Mapping[str, object]:
    """The fields a caller gave. Raises Rejected when there is none: success must have an effect."""
    given = {name: getattr(shape, name) for name in shape.model_fields_set}
    if not given:
        raise Rejected("the body changes nothing", field="body")
    return given

"""What all shapes share: strict numbers, times with a zone, texts, and pages of a list."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from memory.kernel.errors import Rejected
from memory.kernel.paging import MAX_PAGE
from memory.kernel.text import KEY, NAME, cleaned
from memory.tasks.entities import CategoryName

RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
# Far enough for every stream, near enough that adding a span to a time never leaves the calendar.
FIRST_YEAR, LAST_YEAR = 1900, 2200
DEFAULT_PAGE = 50
MAX_CURSOR = 2_000


class In(BaseModel):
    """What a caller sends: unknown fields are refused, so that a slip of the pen is not lost."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Out(BaseModel):
    """What a caller gets; made from the noun of the same fields."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def _written(value: object) -> object:
    """Only text of RFC 3339 is a time: a bare number could be seconds or milliseconds."""
    if not isinstance(value, str) or not RFC_3339.fullmatch(value):
        raise ValueError("must be a time as in RFC 3339, with a zone")
    return value


def _in_range(moment: datetime) -> datetime:
    if not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise ValueError(f"must lie in the years {FIRST_YEAR}…{LAST_YEAR - 1}")
    return moment.astimezone(UTC)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def hint(maximum: int) -> dict[str, object]:
    """Shows the limit of a text in the contract; the noun enforces it, after cleaning."""
    return {"minLength": 1, "maxLength": maximum}


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_in_range)]
UtcTime = Annotated[datetime, AfterValidator(_utc)]
Name = Annotated[str, Field(json_schema_extra=hint(NAME))]  # pyright: ignore[reportArgumentType] - JSON values
CallerKey = Annotated[str, Field(json_schema_extra=hint(KEY))]  # pyright: ignore[reportArgumentType] - JSON values
Free = dict[str, object]

Row = TypeVar("Row")


class Listing(Out, Generic[Row]):
    """One page of a list; `total` counts all that match, `next_cursor` is null on the last page."""

    items: list[Row]
    total: int
    next_cursor: str | None = None


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
    """A name in a filter, cleaned as the stored one was, so that the two can be equal."""
    return None if text is None else cleaned(text, field, NAME)


def category_of(category: str | None, subcategory: str | None) -> CategoryName | None:
    """Two flat fields of the wire as one noun."""
    if category is not None:
        return CategoryName(category, subcategory)
    if subcategory is not None:
        raise Rejected("subcategory needs a category", field="category")
    return None


def changed(shape: In) -> Mapping[str, object]:
    """The fields a caller gave. Raises Rejected when there is none: success must have an effect."""
    given = {name: getattr(shape, name) for name in shape.model_fields_set}
    if not given:
        raise Rejected("the body changes nothing", field="body")
    return given

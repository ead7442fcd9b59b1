"""The kinds of task a namespace knows, as data: two levels, in versions that never change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast

from pydantic import Field

from memory.kernel.errors import Rejected, TooLarge
from memory.kernel.fields import INPUT, OUTPUT, Name, hint
from memory.kernel.text import cleaned, cleaned_name
from memory.tasks.entities import GENERAL_KEPT, claims_general

DESCRIPTION = 500


MAX_ENTRIES = 500
"""The most categories and subcategories of a taxonomy, counted together."""


Description = Annotated[str, Field(json_schema_extra=hint(DESCRIPTION))]  # pyright: ignore[reportArgumentType] - JSON values


@dataclass(frozen=True, slots=True)
class Subcategory:
    """A kind of task on the second level."""

    __pydantic_config__ = INPUT

    name: Name
    """How it is known within its category."""
    description: Description
    """What it is, in a line; tasks are compared with this and the name."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A category with its subcategories."""

    __pydantic_config__ = INPUT

    name: Name
    """How the category is known."""
    description: Description
    """What it is, in a line; tasks are compared with this and the name."""
    related: Annotated[tuple[Name, ...], Field(max_length=MAX_ENTRIES)] = ()
    """Other categories of the taxonomy whose lessons may fit as well."""
    subcategories: Annotated[
        tuple[Subcategory, ...], Field(json_schema_extra={"maxItems": MAX_ENTRIES})
    ] = ()
    """The kinds of task within it."""

    def stored(self) -> dict[str, object]:
        return {
            "name": self.name,
            "description": self.description,
            "related": list(self.related),
            "subcategories": [
                {"name": one.name, "description": one.description} for one in self.subcategories
            ],
        }

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "Branch":
        below = cast("Sequence[Mapping[str, str]]", stored.get("subcategories", ()))
        return cls(
            str(stored["name"]),
            str(stored["description"]),
            tuple(cast("Sequence[str]", stored.get("related", ()))),
            tuple(Subcategory(one["name"], one["description"]) for one in below),
        )


@dataclass(frozen=True, slots=True)
class TaxonomyDraft:
    """A taxonomy as its caller brings it; without `allow_new`, what it does not name is refused."""

    categories: tuple[Branch, ...]
    allow_new: bool = False

    def __post_init__(self) -> None:
        if not self.categories:
            raise Rejected("a taxonomy has at least one category", field="categories", limit=1)
        entries = sum(1 + len(branch.subcategories) for branch in self.categories)
        if entries > MAX_ENTRIES:
            raise TooLarge(
                f"the taxonomy has {entries} categories and subcategories; the limit is "
                f"{MAX_ENTRIES}",
                field="categories",
                limit=MAX_ENTRIES,
            )
        branches = tuple(_cleaned(one, f"categories.{n}") for n, one in enumerate(self.categories))
        object.__setattr__(self, "categories", branches)
        names = [branch.name for branch in branches]
        _require_different(names, "categories")
        for place, branch in enumerate(branches):
            if claims_general(branch.name):
                raise Rejected(GENERAL_KEPT, field=f"categories.{place}.name")
            below = [one.name for one in branch.subcategories]
            _require_different(below, f"categories.{place}.subcategories")
            if not set(branch.related) <= set(names) - {branch.name}:
                raise Rejected(
                    f"related of {branch.name} names what is no other category",
                    field=f"categories.{place}.related",
                )


@dataclass(frozen=True, slots=True)
class TaxonomyVersion:
    """A version of the taxonomy; 0 is the shipped one, which names nothing until it is brought."""

    __pydantic_config__ = OUTPUT

    version: int
    """Grows with each change; the ETag."""
    categories: tuple[Branch, ...]
    """The first level, each with its second."""
    allow_new: bool
    """Whether categories are accepted that it does not name."""
    recorded_at: datetime | None
    """From when on it is in force; null of the shipped one."""

    def names(self) -> Iterator[tuple[str, str | None, str]]:
        """Category, subcategory and description of every entry."""
        for branch in self.categories:
            yield branch.name, None, branch.description
            for one in branch.subcategories:
                yield branch.name, one.name, one.description


def _cleaned(branch: Branch, place: str) -> Branch:
    below = tuple(
        Subcategory(
            cleaned_name(one.name, f"{place}.subcategories.{n}.name"),
            cleaned(one.description, f"{place}.subcategories.{n}.description", DESCRIPTION),
        )
        for n, one in enumerate(branch.subcategories)
    )
    return Branch(
        cleaned_name(branch.name, f"{place}.name"),
        cleaned(branch.description, f"{place}.description", DESCRIPTION),
        tuple(cleaned_name(name, f"{place}.related.{n}") for n, name in enumerate(branch.related)),
        below,
    )


def _require_different(names: Sequence[str], field: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise Rejected(f"{name} is named twice", field=f"{field}.{place}.name")

"""Shapes of the taxonomy: the kinds of task a namespace knows."""

from typing import Annotated

from pydantic import Field

from memory.constraints.taxonomy import shipped_draft
from memory.constraints.taxonomy_entities import (
    DESCRIPTION,
    MAX_ENTRIES,
    Branch,
    Subcategory,
    TaxonomyDraft,
    TaxonomyVersion,
)
from memory.kernel.errors import Rejected
from server.schemas.base import Flag, In, Name, Out, UtcTime, hint

Description = Annotated[str, Field(json_schema_extra=hint(DESCRIPTION))]  # pyright: ignore[reportArgumentType] - JSON values


class SubcategoryIn(In):
    """A kind of task on the second level; its name and description are what tasks are held
    against.
    """

    name: Name
    description: Description


class BranchIn(In):
    """A category; `related` names others of the taxonomy whose lessons may fit as well."""

    name: Name
    description: Description
    related: list[Name] = Field(default_factory=list[str], max_length=MAX_ENTRIES)
    subcategories: list[SubcategoryIn] = Field(
        default_factory=list[SubcategoryIn], json_schema_extra={"maxItems": MAX_ENTRIES}
    )

    def to_branch(self) -> Branch:
        below = tuple(Subcategory(one.name, one.description) for one in self.subcategories)
        return Branch(self.name, self.description, tuple(self.related), below)


class TaxonomyIn(In):
    """A taxonomy of one's own, or (`default`) the shipped one. Without `allow_new`, labels that it
    does not name are refused. At most 500 entries.
    """

    categories: list[BranchIn] | None = Field(None, json_schema_extra={"maxItems": MAX_ENTRIES})
    default: Flag = False
    allow_new: Flag = False

    def to_draft(self) -> TaxonomyDraft:
        if self.default == (self.categories is not None):
            raise Rejected("give exactly one of categories and default", field="categories")
        if self.categories is None:
            return shipped_draft(allow_new=self.allow_new)
        branches = tuple(one.to_branch() for one in self.categories)
        return TaxonomyDraft(branches, self.allow_new)


class SubcategoryOut(Out):
    name: str
    description: str


class BranchOut(Out):
    name: str
    description: str
    related: list[str]
    subcategories: list[SubcategoryOut]


class TaxonomyOut(Out):
    """A version of the taxonomy; 0 is the shipped one, which names nothing as long as it is not
    brought.
    """

    version: int
    allow_new: bool
    recorded_at: UtcTime | None
    categories: list[BranchOut]

    @classmethod
    def of(cls, taxonomy: TaxonomyVersion) -> "TaxonomyOut":
        return cls.model_validate(taxonomy)

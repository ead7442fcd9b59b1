"""The shape in which a taxonomy is brought."""

from typing import Annotated

from pydantic import Field

from memory.constraints.taxonomy import shipped_draft
from memory.constraints.taxonomy_entities import MAX_ENTRIES, Branch, TaxonomyDraft
from memory.kernel.errors import Rejected
from server.schemas.base import Flag, In


class TaxonomyPut(In):
    """A taxonomy of one's own, or the shipped one; at most 500 entries. Differs from
    `TaxonomyDraft`: the shipped one can be named instead of brought.
    """

    categories: Annotated[
        tuple[Branch, ...] | None,
        Field(
            description="the first level, each with its second",
            json_schema_extra={"maxItems": MAX_ENTRIES},
        ),
    ] = None
    default: Flag = Field(default=False, description="whether the shipped taxonomy is meant")
    allow_new: Flag = Field(
        default=False, description="whether categories are accepted that it does not name"
    )

    def to_draft(self) -> TaxonomyDraft:
        if self.default == (self.categories is not None):
            raise Rejected("give exactly one of categories and default", field="categories")
        if self.categories is None:
            return shipped_draft(allow_new=self.allow_new)
        return TaxonomyDraft(self.categories, self.allow_new)

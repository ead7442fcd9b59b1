"""What is asked of the feed of changes."""

from typing import Annotated

from pydantic import Field

from memory.insight.changes import MAX_CHANGES_READ
from server.schemas.base import In

MAX_PLACE = 4_000


class ChangesQuery(In):
    """Differs from `Page`: a place is signed, and a reader keeps it for hours."""

    after: Annotated[str, Field(min_length=1, max_length=MAX_PLACE)] | None = None
    """The place after which changes are wanted, from an answer before; without it none are told,
    and the answer says where to begin.
    """
    limit: Annotated[int, Field(ge=1, le=MAX_CHANGES_READ)] = 100
    """How many changes are told at most; with fewer there may still be more."""

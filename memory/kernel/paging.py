"""Keyset paging: every list asks for one row more than the page, and says where the next page
begins.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memory.kernel.errors import Rejected


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows to list: at most `limit`, after the position a cursor names."""

    limit: int
    after: tuple[object, ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_PAGE:
            raise Rejected(f"limit must lie in 1…{MAX_PAGE}", field="limit", limit=MAX_PAGE)


MAX_PAGE = 200


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Listed(Generic[Row]):
    """One page of rows, how many there are in all, and where the next page begins (None: at the
    end).
    """

    items: Sequence[Row]
    total: int
    next: tuple[object, ...] | None


def listed(
    found: Sequence[Row],
    page: Page,
    total: int | None,
    position: Callable[[Row], tuple[object, ...]],
) -> Listed[Row]:
    """The page of `found` (up to limit + 1 rows), with the position after its last row if more
    follow.
    """
    rows = found[: page.limit]
    return Listed(rows, total or 0, position(rows[-1]) if len(found) > page.limit else None)

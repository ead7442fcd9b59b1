"""Keyset paging: every list asks for one row more than the page, and says where the next page
begins.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from memory.domain.task import Listed, Page

Row = TypeVar("Row")


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

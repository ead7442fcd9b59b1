"""Pages of rows whose ids grow with time."""

from typing import TypeVar
from uuid import UUID

from sqlalchemy import Column, Select

from memory.kernel.paging import Page

Rows = TypeVar("Rows", bound=Select[tuple[object, ...]])


def page_by_id(rows: Rows, key: Column[UUID], page: Page, *, newest_first: bool = False) -> Rows:
    """The rows of a page and one more, by ids that grow with time."""
    if page.after is not None:
        last = UUID(str(page.after[0]))
        rows = rows.where(key < last if newest_first else key > last)
    return rows.order_by(key.desc() if newest_first else key).limit(page.limit + 1)

"""Which receipts a list has, and in which order of their ids lists are turned."""

from datetime import datetime
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Column, ColumnElement, Select, exists, true

from memory.kernel.paging import Page
from memory.receipts.entities import ReceiptFilter
from memory.receipts.tables import outcome, retrieval
from memory.tasks.tables import agent, category

Rows = TypeVar("Rows", bound=Select[tuple[object, ...]])


def matching_receipts(wanted: ReceiptFilter, now: datetime) -> ColumnElement[bool]:
    """Over receipts joined with their agents and categories."""
    condition: ColumnElement[bool] = true() & _in_state(wanted.state, now)
    for column, value in (
        (agent.c.name, wanted.agent),
        (category.c.name, wanted.category),
        (retrieval.c.arm, wanted.arm),
    ):
        if value is not None:
            condition &= column == value
    return condition


def _in_state(state: str, now: datetime) -> ColumnElement[bool]:
    answered = exists().where(
        outcome.c.retrieval_id == retrieval.c.id,
        outcome.c.status.in_(("accepted", "applied")),
    )
    states: dict[str, ColumnElement[bool]] = {
        "pending": (retrieval.c.expires_at > now) & ~answered,
        "expired": (retrieval.c.expires_at <= now) & ~answered,
        "answered": answered,
    }
    return states.get(state, true())


def turned(rows: Rows, key: Column[UUID], page: Page, newest_first: bool) -> Rows:  # noqa: FBT001 - how the list is turned, said by its filter
    """The rows of a page and one more, by ids that grow with time."""
    if page.after is not None:
        last = UUID(str(page.after[0]))
        rows = rows.where(key < last if newest_first else key > last)
    return rows.order_by(key.desc() if newest_first else key).limit(page.limit + 1)

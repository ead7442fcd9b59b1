"""Pages of a list: the cursor in the link is signed, as the API's is, and bound to the filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlencode

from memory.kernel.paging import Listed, Page
from server.cursors import place_of
from server.dashboard.list_files import FORMAT, file_addresses
from server.dashboard.viewer import PageViewer
from server.shared import shared_of

ROWS = 50
UNFILTERING = frozenset({"sort", "order", "cursor", "limit", FORMAT})
TIME = "recorded"
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Shown(Generic[Row]):
    """One page of rows, with the true total, and links to the first and the next page, and to the
    whole list as a file where it can be had as one.
    """

    rows: Sequence[Row]
    total: int
    first: str | None
    next: str | None
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    filtered: bool = False
    """Whether the address narrows the list: an empty list and an empty answer are two things."""


def page_of(viewer: PageViewer, rows: int = ROWS) -> Page:
    """The page that the address asks for. Raises Rejected for a cursor of another list."""
    cursor = viewer.request.query_params.get("cursor")
    if not cursor:
        return Page(rows)
    return Page(rows, shared_of(viewer.request).cursors.read(cursor, _place(viewer)))


def shown(viewer: PageViewer, listed: Listed[Row], *, files: bool = False) -> Shown[Row]:
    """The page with its links; they keep filter and order. With `files` its function answers
    `wants_file` (`list_files.py`).
    """
    after = None
    if listed.next is not None:
        cursor = shared_of(viewer.request).cursors.write(listed.next, _place(viewer))
        after = address(viewer, {"cursor": cursor})
    first = address(viewer, {}) if "cursor" in viewer.request.query_params else None
    addresses = file_addresses(viewer) if files else {}
    return Shown(listed.items, listed.total, first, after, addresses, is_filtered(viewer))


def is_filtered(viewer: PageViewer) -> bool:
    """Whether the address says more than where the page begins and in which order."""
    given = viewer.request.query_params.multi_items()
    return any(value.strip() and name not in UNFILTERING for name, value in given)


def address(viewer: PageViewer, changes: Mapping[str, str]) -> str:
    """The same page with other parameters; without a cursor, unless one is among them."""
    kept = {
        name: value
        for name, value in viewer.request.query_params.multi_items()
        if name not in ("cursor", FORMAT) and name not in changes and value
    }
    query = urlencode({**kept, **changes})
    path = viewer.request.url.path
    return f"{path}?{query}" if query else path


@dataclass(frozen=True, slots=True)
class ListOrder:
    """By which column, and whether the largest comes first."""

    column: str
    descending: bool


def sort_of(viewer: PageViewer, columns: Sequence[str], default: ListOrder) -> ListOrder:
    """The order that the address asks for, among those there are."""
    column = viewer.request.query_params.get("sort", "")
    if column not in columns:
        return default
    return ListOrder(column, viewer.request.query_params.get("order") == "desc")


def order_in_time(viewer: PageViewer) -> ListOrder:
    """The order of a list that is kept as it was recorded: the newest first unless asked."""
    return sort_of(viewer, (TIME,), ListOrder(TIME, descending=True))


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's title that sorts: `order` is how it is sorted now, for aria-sort."""

    url: str
    order: str


def heading(viewer: PageViewer, sort: ListOrder, column: str) -> Heading:
    """Where a click on the title of `column` leads."""
    here = sort.column == column
    turned = here and not sort.descending
    url = address(viewer, {"sort": column, "order": "desc" if turned else "asc"})
    order = ("descending" if sort.descending else "ascending") if here else "none"
    return Heading(url, order)


def headings(viewer: PageViewer, sort: ListOrder, columns: Sequence[str]) -> dict[str, Heading]:
    """Every title that sorts, by column, for the macro `th`."""
    return {column: heading(viewer, sort, column) for column in columns}


def _place(viewer: PageViewer) -> str:
    where = "" if viewer.namespace is None else str(viewer.namespace.id)
    request = viewer.request
    return place_of(
        where, request.url.path, [i for i in request.query_params.multi_items() if i[1]]
    )

"""A list as a file: the rows of its page, by the page's own filters and order, as CSV or JSON.

Rows are written as the API answers them, so nobody reads in a file what the page hides. The first
rows are fetched before the answer begins: what is refused is a page, not half a file.
"""

import csv
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from functools import cache
from io import StringIO
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

from fastapi import Response
from starlette.responses import StreamingResponse

from memory.kernel.errors import Rejected
from memory.kernel.paging import MAX_PAGE, Listed, Page
from server.answers import adapter_of
from server.dashboard.viewer import PageViewer

FORMAT = "format"
MEDIA = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
MAX_ROWS = 10_000
"""A file has at most so many rows; its name says when there are more."""
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula; the last four are the wide forms of the
first, which some read alike.
"""
FORMULA = re.compile(rf"(\A|[;|\t\r\n])(?=[{re.escape(''.join(DANGEROUS))}])")
DEEPEST = 3

Row = TypeVar("Row")
Fetch = Callable[[Page], Awaitable[Listed[Row]]]
Fields = Mapping[str, Any]
Path = tuple[str, ...]


def wants_file(viewer: PageViewer) -> bool:
    """Whether the address asks for the list as a file."""
    return bool(viewer.request.query_params.get(FORMAT))


async def file_of(viewer: PageViewer, name: str, fetch: Fetch[Row]) -> Response:
    """The list as the file that the address asks for. Raises Rejected for any other format."""
    wanted = viewer.request.query_params.get(FORMAT, "")
    if wanted not in MEDIA:
        raise Rejected("format is csv or json", field=FORMAT, limit=list(MEDIA))
    first = await fetch(Page(MAX_PAGE))
    lines = _csv(first, fetch) if wanted == "csv" else _json(first, fetch)
    file = _file_name(viewer, name, first.total)
    told = {"Content-Disposition": f'attachment; filename="{file}.{wanted}"'}
    return StreamingResponse(lines, media_type=MEDIA[wanted], headers=told)


async def all_at_once(rows: Sequence[Row], page: Page) -> Listed[Row]:
    """A list without pages, as `file_of` asks for it: whole at first, then at its end."""
    return Listed(rows if page.after is None else (), len(rows), None)


def file_addresses(viewer: PageViewer) -> Mapping[str, str]:
    """Where the list of this page is had as a file, by format."""
    kept = [
        (name, value)
        for name, value in viewer.request.query_params.multi_items()
        if value and name not in ("cursor", FORMAT)
    ]
    path = viewer.request.url.path
    return {wanted: f"{path}?{urlencode([*kept, (FORMAT, wanted)])}" for wanted in MEDIA}


def defused(text: str) -> str:
    """A cell that no spreadsheet runs: what looks like a formula begins with an apostrophe. So it
    does behind what a spreadsheet set to another separator takes for the end of a cell.
    """
    return FORMULA.sub(r"\1'", text)


def _file_name(viewer: PageViewer, name: str, total: int) -> str:
    where = name if viewer.namespace is None else f"{viewer.namespace.slug}-{name}"
    return f"{where}-first-{MAX_ROWS}-of-{total}" if total > MAX_ROWS else where


async def _rows(first: Listed[Row], fetch: Fetch[Row]) -> AsyncGenerator[Sequence[Fields]]:
    async for rows in _rows_of(first, fetch):
        yield [_fields(row) for row in rows]


async def _rows_of(first: Listed[Row], fetch: Fetch[Row]) -> AsyncGenerator[Sequence[Row]]:
    """The rows, page by page, until the list or the limit ends."""
    page, left = first, MAX_ROWS
    while True:
        yield page.items[:left]
        left -= len(page.items)
        if page.next is None or left <= 0:
            return
        page = await fetch(Page(MAX_PAGE, page.next))


def _fields(row: object) -> Fields:
    return cast("Fields", adapter_of(type(row)).dump_python(row, mode="json"))


async def _json(first: Listed[Row], fetch: Fetch[Row]) -> AsyncGenerator[str]:
    complete = json.dumps(first.total <= MAX_ROWS)
    yield f'{{"total": {first.total}, "complete": {complete}, "items": ['
    before = ""
    async for rows in _rows(first, fetch):
        for row in rows:
            yield f"{before}\n{json.dumps(row, ensure_ascii=False)}"
            before = ","
    yield "\n]}\n"


async def _csv(first: Listed[Row], fetch: Fetch[Row]) -> AsyncGenerator[str]:
    """What is nested has a column for each part, named by its path with points between."""
    if not first.items:
        return
    columns = _columns(type(first.items[0]))
    yield _line([".".join(path) for path in columns])
    async for rows in _rows(first, fetch):
        yield "".join(_line([_cell(_at(row, path)) for path in columns]) for row in rows)


@cache
def _columns(kind: type) -> Sequence[Path]:
    """The paths of what a noun of this kind is written with, whatever is null in a row."""
    schema = adapter_of(kind).json_schema(mode="serialization")
    return list(_leaves(schema, schema.get("$defs", {}), ()))


def _leaves(schema: Fields, known: Fields, above: Path) -> Generator[Path]:
    parts = [_resolved(part, known) for part in schema.get("anyOf", [schema])]
    nested = [part for part in parts if "properties" in part]
    if len(nested) != 1 or len(above) > DEEPEST:
        yield above
        return
    for name, part in nested[0]["properties"].items():
        yield from _leaves(_resolved(part, known), known, (*above, name))


def _resolved(part: Fields, known: Fields) -> Fields:
    name = part.get("$ref", "").rpartition("/")[2]
    return cast("Fields", known[name]) if name else part


def _at(row: object, path: Path) -> object:
    for name in path:
        row = cast("Fields", row).get(name) if isinstance(row, Mapping) else None
    return row


def _cell(value: object) -> str:
    """Text as it is, but for what would be a formula; numbers are never one."""
    match value:
        case None:
            return ""
        case str():
            return defused(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _line(cells: Sequence[str]) -> str:
    """One line of CSV, as RFC 4180 has it."""
    written = StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue()

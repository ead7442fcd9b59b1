"""How calls are put together: verbs for the request, readers for the answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from memlift_client._faults import Problem, UnexpectedAnswer
from memlift_client._reading import read
from memlift_client._results_bank import BatchItem, Page
from memlift_client._wire import Call, Reply, Request, encoded, parameters

Result = TypeVar("Result")
Reader = Callable[[Reply], Result]
_NO_STATUS: frozenset[int] = frozenset()


def get(
    path: str, reader: Reader[Result], *, scoped: bool = True, accepted: frozenset[int] = _NO_STATUS
) -> Call[Result]:
    return Call(Request("GET", path), reader, scoped, accepted)


def listed(
    path: str, filters: Mapping[str, object], reader: Reader[Result], *, scoped: bool = True
) -> Call[Result]:
    return Call(Request("GET", path, parameters(filters)), reader, scoped)


def posted(
    path: str, fields: Mapping[str, object] | None, reader: Reader[Result], *, scoped: bool = True
) -> Call[Result]:
    return Call(Request("POST", path, content=encoded(fields or {})), reader, scoped)


def patched(
    path: str, fields: Mapping[str, object], version: int, reader: Reader[Result]
) -> Call[Result]:
    return Call(Request("PATCH", path, content=encoded(fields), version=version), reader)


def reworded(
    path: str, fields: Mapping[str, object], version: int, reader: Reader[Result]
) -> Call[Result]:
    """A POST that names the version it is meant for, as an edit does."""
    return Call(Request("POST", path, content=encoded(fields), version=version), reader)


def replaced(
    path: str, fields: Mapping[str, object], version: int | None, reader: Reader[Result]
) -> Call[Result]:
    """A PUT; it may name the version it is meant for."""
    return Call(Request("PUT", path, content=encoded(fields), version=version), reader)


def deleted(
    path: str, reader: Reader[Result], *, scoped: bool = True, confirmation: str | None = None
) -> Call[Result]:
    return Call(Request("DELETE", path, parameters({"confirmation": confirmation})), reader, scoped)


def nothing(_: Reply) -> None:
    """For answers without a body."""


def one(noun: type[Result]) -> Reader[Result]:
    return lambda reply: read(noun, reply.body())


def page(noun: type[Result]) -> Reader[Page[Result]]:
    def reader(reply: Reply) -> Page[Result]:
        body = reply.body()
        rows = tuple(read(noun, row) for row in _rows(body))
        cursor = body.get("next_cursor")
        total = body.get("total", len(rows))
        return Page(rows, cast("int", total), None if cursor is None else str(cursor))

    return reader


def batch(noun: type[Result], member: str | None = None) -> Reader[tuple[BatchItem[Result], ...]]:
    """Items of a batch; the value stands under `member`, or (None) in the item itself."""

    def reader(reply: Reply) -> tuple[BatchItem[Result], ...]:
        return tuple(_item(noun, member, row) for row in _rows(reply.body()))

    return reader


def _item(noun: type[Result], member: str | None, row: Mapping[str, object]) -> BatchItem[Result]:
    status = cast("int", row.get("status"))
    index = cast("int", row.get("index"))
    problem = cast("Mapping[str, object] | None", row.get("problem"))
    if problem is not None:
        return BatchItem(index, status, None, Problem.read(problem, status))
    value = row if member is None else cast("Mapping[str, object]", row.get(member) or {})
    return BatchItem(index, status, read(noun, value), None)


def _rows(body: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    rows = body.get("items")
    if not isinstance(rows, list):
        raise UnexpectedAnswer("the answer has no items")
    return cast("Sequence[Mapping[str, object]]", rows)

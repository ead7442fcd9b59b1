"""Answers as bytes: each shape is written once, by its own serializer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response

from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Listed, Page
from server.cursors import Cursors, place_of
from server.dependencies import call_of
from server.errors import problem_of
from server.idempotency import FIRST_FAILURE, Idle
from server.middleware import request_id_of
from server.schemas.base import Listing, ListQuery
from server.schemas.problems import Problem
from server.shared import shared_of

JSON = "application/json"
Noun = TypeVar("Noun")
Made = TypeVar("Made")
Result = TypeVar("Result")


def answered(noun: object, status: int = 200, version: int | None = None) -> Response:
    """The noun as JSON; `version` becomes the ETag."""
    headers = None if version is None else {"ETag": f'"{version}"'}
    return Response(written(noun), status_code=status, headers=headers, media_type=JSON)


def written(noun: object) -> bytes:
    """A noun, or a shape where the wire differs, by its own serializer."""
    if isinstance(noun, BaseModel):
        return noun.__pydantic_serializer__.to_json(noun)
    return adapter_of(type(noun)).dump_json(noun)


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def listing(
    kind: type[Noun], nouns: Sequence[Noun], total: int, next_cursor: str | None
) -> Response:
    """A page of nouns. They were checked when they were made, so nothing is checked again."""
    page = Listing[kind].model_construct(items=list(nouns), total=total, next_cursor=next_cursor)
    return answered(page)


def all_of(kind: type[Noun], nouns: Sequence[Noun]) -> Response:
    """A list of nouns that is never long enough to be paged."""
    return listing(kind, nouns, len(nouns), None)


@dataclass(frozen=True, slots=True)
class Pages:
    """Turns a cursor into a page, and what follows a page into a cursor."""

    cursors: Cursors
    place: str

    def page(self, query: ListQuery) -> Page:
        after = None if query.cursor is None else self.cursors.read(query.cursor, self.place)
        return Page(query.limit, after)

    def page_of(self, kind: type[Noun], listed: Listed[Noun]) -> Response:
        """A page of nouns that are answered as they are."""
        after = None if listed.next is None else self.cursors.write(listed.next, self.place)
        return listing(kind, listed.items, listed.total, after)


async def pages_of(request: Request) -> Pages:
    """The pages of the list this request asks for."""
    inside = "namespace" in request.path_params
    where = str((await call_of(request)).namespace.id) if inside else ""
    place = place_of(where, request.url.path, request.query_params.multi_items())
    return Pages(shared_of(request).cursors, place)


PagesDep = Annotated[Pages, Depends(pages_of)]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch's problems carry the id of the request that brought them."""

    request_id: str | None

    def problem(self, fault: MemoryFault) -> Problem:
        return problem_of(fault, self.request_id)

    def answered(self, shape: object, statuses: Iterable[int]) -> Response:
        """207; idle when no item had an effect, so that the batch may be tried again."""
        kind = Idle if all(status >= FIRST_FAILURE for status in statuses) else Response
        return kind(written(shape), status_code=207, media_type=JSON)


async def batch_of(request: Request) -> Batch:
    return Batch(request_id_of(request.scope))


BatchDep = Annotated[Batch, Depends(batch_of)]


def made(makers: Iterable[Callable[[], Made]]) -> list[Made | MemoryFault]:
    """One noun an item, or the fault that kept it from being made."""
    return [_made(maker) for maker in makers]


def _made(maker: Callable[[], Made]) -> Made | MemoryFault:
    try:
        return maker()
    except MemoryFault as fault:
        return fault


def rejoined(
    drafts: Sequence[Made | MemoryFault], results: Iterable[Result | MemoryFault]
) -> list[Result | MemoryFault]:
    """Results of the good drafts, and the faults of the others, in the order they came."""
    left = iter(results)
    return [draft if isinstance(draft, MemoryFault) else next(left) for draft in drafts]


def only(results: Sequence[Result | MemoryFault]) -> Result:
    """The result of a batch of one; a fault is raised."""
    [result] = results
    if isinstance(result, MemoryFault):
        raise result
    return result

"""Namespaces: make, read, change, delete in two steps."""

from typing import Annotated

from fastapi import Query, Response

from memory.tenancy import service as tenancy
from memory.tenancy.entities import Deletion, Namespace, NamespaceChange, NamespaceDraft
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Now, Operates, Operator, Reader, Reads, Version
from server.routing import router_at
from server.schemas.base import Listing, ListQuery

router = router_at("/v1/namespaces", "namespaces")


@router.post("", status_code=201, response_model=Namespace)
async def create_namespace(
    engine: EngineDep, key: Operator, now: Now, body: NamespaceDraft
) -> Response:
    """Make a namespace: the boundary that no data crosses."""
    made = await tenancy.create_namespace(engine, key, body, now)
    return answered(made, 201, version=made.version)


@router.get("", response_model=Listing[Namespace])
async def list_namespaces(
    engine: EngineDep, key: Reader, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The namespaces that the key reaches."""
    listed = await tenancy.list_namespaces(engine, key, pages.page(query))
    return pages.page_of(Namespace, listed)


@router.get("/{namespace}", response_model=Namespace)
async def get_namespace(call: Reads) -> Response:
    """A namespace and its settings."""
    return answered(call.namespace, version=call.namespace.version)


@router.patch("/{namespace}", response_model=Namespace)
async def change_namespace(
    engine: EngineDep, call: Manages, version: Version, body: NamespaceChange
) -> Response:
    """Freeze or resume learning; merge settings."""
    changed = await tenancy.change_namespace(engine, call, body, version)
    return answered(changed, version=changed.version)


@router.post("/{namespace}/deletion", status_code=202, response_model=Deletion)
async def request_deletion(engine: EngineDep, call: Operates) -> Response:
    """First step of a deletion: answers with what the second one needs."""
    return answered(await tenancy.request_deletion(engine, call), 202)


@router.delete("/{namespace}", status_code=204)
async def delete_namespace(
    engine: EngineDep,
    call: Operates,
    confirmation: Annotated[str, Query(min_length=1, max_length=200)],
) -> Response:
    """Second step of a deletion: everything in the namespace is gone."""
    await tenancy.delete_namespace(engine, call, confirmation)
    return Response(status_code=204)

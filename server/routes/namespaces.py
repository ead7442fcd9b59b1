"""Namespaces: make, read, change, delete in two steps."""

from typing import Annotated

from fastapi import Query, Response

from memory.tenancy import service as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Now, Operates, Operator, Reader, Reads, Version
from server.routing import router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.namespaces import DeletionOut, NamespaceIn, NamespaceOut, NamespacePatch

router = router_at("/v1/namespaces", "namespaces")


@router.post("", status_code=201, response_model=NamespaceOut)
async def create_namespace(
    engine: EngineDep, key: Operator, now: Now, body: NamespaceIn
) -> Response:
    """Make a namespace: the boundary that no data crosses."""
    made = await flow.create_namespace(engine, key, body.to_draft(), now)
    return answered(NamespaceOut.of(made), 201, version=made.version)


@router.get("", response_model=Listing[NamespaceOut])
async def list_namespaces(
    engine: EngineDep, key: Reader, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The namespaces that the key reaches."""
    listed = await flow.list_namespaces(engine, key, pages.page(query))
    return pages.answered(listed, NamespaceOut.of)


@router.get("/{namespace}", response_model=NamespaceOut)
async def get_namespace(call: Reads) -> Response:
    """A namespace and its settings."""
    return answered(NamespaceOut.of(call.namespace), version=call.namespace.version)


@router.patch("/{namespace}", response_model=NamespaceOut)
async def change_namespace(
    engine: EngineDep, call: Manages, version: Version, body: NamespacePatch
) -> Response:
    """Freeze or resume learning; merge settings."""
    changed = await flow.change_namespace(engine, call, body.to_change(), version)
    return answered(NamespaceOut.of(changed), version=changed.version)


@router.post("/{namespace}/deletion", status_code=202, response_model=DeletionOut)
async def request_deletion(engine: EngineDep, call: Operates) -> Response:
    """First step of a deletion: answers with what the second one needs."""
    return answered(DeletionOut.of(await flow.request_deletion(engine, call)), 202)


@router.delete("/{namespace}", status_code=204)
async def delete_namespace(
    engine: EngineDep,
    call: Operates,
    confirmation: Annotated[str, Query(min_length=1, max_length=200)],
) -> Response:
    """Second step of a deletion: everything in the namespace is gone."""
    await flow.delete_namespace(engine, call, confirmation)
    return Response(status_code=204)

"""Namespaces, keys, who is calling, and what was changed by whom."""

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request, Response

from memory.curation.service import list_changes
from memory.outcomes import policy_change
from memory.tenancy import service as access
from memory.tenancy import service as tenancy
from memory.tenancy.entities import (
    AuditEntry,
    AuditFilter,
    Deletion,
    Key,
    KeyCreated,
    KeyDraft,
    Namespace,
    NamespaceChange,
    NamespaceDraft,
)
from server.answers import PagesDep, answered
from server.dependencies import (
    EngineDep,
    Manager,
    Manages,
    Now,
    Operates,
    Operator,
    Reader,
    Reads,
    Version,
)
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.tenancy import Me
from server.shared import shared_of

namespaces_router = router_at("/v1/namespaces", "namespaces")


@namespaces_router.post("", status_code=201, response_model=Namespace)
async def create_namespace(
    engine: EngineDep, key: Operator, now: Now, body: NamespaceDraft
) -> Response:
    """Make a namespace: the boundary that no data crosses."""
    made = await tenancy.create_namespace(engine, key, body, now)
    return answered(made, 201, version=made.version)


@namespaces_router.get("", response_model=Listing[Namespace])
async def list_namespaces(
    engine: EngineDep, key: Reader, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The namespaces that the key reaches."""
    listed = await tenancy.list_namespaces(engine, key, pages.page(query))
    return pages.page_of(Namespace, listed)


@namespaces_router.get("/{namespace}", response_model=Namespace)
async def get_namespace(call: Reads) -> Response:
    """A namespace and its settings."""
    return answered(call.namespace, version=call.namespace.version)


@namespaces_router.patch("/{namespace}", response_model=Namespace)
async def change_namespace(
    engine: EngineDep, call: Manages, version: Version, body: NamespaceChange
) -> Response:
    """Freeze or resume learning, merge settings, change the policy."""
    changed = await policy_change.change_namespace(engine, call, body, version)
    return answered(changed, version=changed.version)


@namespaces_router.post("/{namespace}/deletion", status_code=202, response_model=Deletion)
async def request_deletion(engine: EngineDep, call: Operates) -> Response:
    """First step of a deletion: answers with what the second one needs."""
    return answered(await tenancy.request_deletion(engine, call), 202)


@namespaces_router.delete("/{namespace}", status_code=204)
async def delete_namespace(
    engine: EngineDep,
    call: Operates,
    confirmation: Annotated[str, Query(min_length=1, max_length=200)],
) -> Response:
    """Second step of a deletion: everything in the namespace is gone."""
    await tenancy.delete_namespace(engine, call, confirmation)
    return Response(status_code=204)


keys_router = router_at("/v1/keys", "keys")


@keys_router.post("", status_code=201, response_model=KeyCreated)
async def create_key(
    engine: EngineDep, key: Manager, now: Now, body: KeyDraft, request: Request
) -> Response:
    """Make a key; its token is shown this once."""
    made, token = await access.create_key(engine, key, body, now)
    shared_of(request).callers.living.add(made.id)
    return answered(KeyCreated(**asdict(made), token=str(token)), 201)


@keys_router.get("", response_model=Listing[Key])
async def list_keys(
    engine: EngineDep, key: Manager, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The keys that the caller manages, without their tokens."""
    return pages.page_of(Key, await access.list_keys(engine, key, pages.page(query)))


@keys_router.delete("/{key_id}", status_code=204)
async def revoke_key(engine: EngineDep, key: Manager, now: Now, key_id: UUID) -> Response:
    """End a key; what it wrote stays."""
    await access.revoke_key(engine, key, key_id, now)
    return Response(status_code=204)


me_router = router_at("/v1/me", "keys")


@me_router.get("", response_model=Me)
async def me(key: Reader) -> Response:
    """The key of this request, and what it reaches."""
    return answered(Me.of(key))


audit_router = router_at(f"{INSIDE}/audit", "namespaces")


@audit_router.get("", response_model=Listing[AuditEntry])
async def list_audit(
    engine: EngineDep, call: Manages, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """The audit of the namespace."""
    return pages.page_of(
        AuditEntry, await list_changes(engine, call, AuditFilter(), pages.page(query))
    )

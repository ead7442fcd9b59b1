"""Namespaces are made, opened, changed, and deleted in two steps."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from memory.domain.access import Act, AuditEntry, Call, Key
from memory.domain.namespace import (
    Deletion,
    Namespace,
    NamespaceChange,
    NamespaceDraft,
    NamespaceSettings,
)
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.errors import Conflict, Rejected
from memory.flows.access import reached
from memory.learning.policy import policy_named
from memory.storage.calls import CallStore, Deed
from memory.storage.namespaces import NamespaceStore

CONFIRM_WITHIN = timedelta(minutes=10)


async def create_namespace(
    engine: Engine, key: Key, draft: NamespaceDraft, now: datetime
) -> Namespace:
    """A new, empty namespace."""
    key.require(Act.OPERATE)
    policy_named(draft.policy)
    async with engine.database.transaction() as connection:
        made = await NamespaceStore(connection).create(draft, key.id, now)
        deed = Deed("namespace.create", made.slug, {"clock": made.clock, "policy": made.policy})
        await CallStore(connection).note(deed, key.id, made.id, now)
    return made


async def open_namespace(engine: Engine, key: Key, slug: str) -> Namespace:
    """The namespace, for a key that reaches it; to any other it does not exist."""
    async with engine.database.transaction() as connection:
        return reached(key, await NamespaceStore(connection).by_slug(slug))


async def list_namespaces(engine: Engine, key: Key, page: Page) -> Listed[Namespace]:
    """All namespaces for an operator, its own for any other key."""
    async with engine.database.transaction() as connection:
        return await NamespaceStore(connection).browse(page, key.namespace_id)


async def change_namespace(
    engine: Engine, call: Call, change: NamespaceChange, version: int
) -> Namespace:
    """Turn learning on or off, or change settings."""
    call.key.require(Act.MANAGE)
    values: dict[str, object] = {}
    if change.learning is not None:
        values["learning"] = change.learning
    if change.settings is not None:
        values["settings"] = _merged(call.namespace.settings, change.settings).stored()
    if not values:
        raise Rejected("the change changes nothing", field="body")
    async with engine.database.transaction() as connection:
        changed = await NamespaceStore(connection).change(call.namespace, values, version)
        deed = Deed("namespace.change", changed.slug, {"fields": sorted(values)})
        await CallStore(connection).note(deed, call.key.id, changed.id, call.now)
    return changed


async def request_deletion(engine: Engine, call: Call) -> Deletion:
    """First step: a confirmation, good for ten minutes. Nothing is deleted yet."""
    call.key.require(Act.OPERATE)
    confirmation = secrets.token_urlsafe(24)
    async with engine.database.transaction() as connection:
        await NamespaceStore(connection).request_deletion(
            call.namespace.id, _digest(confirmation), call.now
        )
        deed = Deed("namespace.deletion_requested", call.namespace.slug, {})
        await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)
    return Deletion(confirmation, call.now + CONFIRM_WITHIN)


async def delete_namespace(engine: Engine, call: Call, confirmation: str) -> None:
    """Second step: every row of the namespace is gone; the audit trail keeps the fact."""
    call.key.require(Act.OPERATE)
    async with engine.database.transaction() as connection:
        store = NamespaceStore(connection)
        requested = await store.deletion_of(call.namespace.id)
        if requested is None or call.now - requested[0] > CONFIRM_WITHIN:
            raise Conflict("ask for the deletion first", code="deletion_not_requested")
        if not hmac.compare_digest(requested[1], _digest(confirmation)):
            raise Rejected("the confirmation is another one", field="confirmation")
        await store.delete(call.namespace.id)
        deed = Deed("namespace.delete", call.namespace.slug, {})
        await CallStore(connection).note(deed, call.key.id, call.namespace.id, call.now)


async def audit_trail(engine: Engine, call: Call, page: Page) -> Listed[AuditEntry]:
    """What was done to this namespace, and by which key."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await CallStore(connection).trail(call.namespace.id, page)


def _merged(current: NamespaceSettings, change: Mapping[str, object]) -> NamespaceSettings:
    unknown = sorted(set(change) - set(NamespaceSettings.__slots__))
    if unknown:
        raise Rejected(f"unknown setting {unknown[0]}", field=f"settings.{unknown[0]}")
    return replace(current, **change)  # pyright: ignore[reportArgumentType] - names were checked


def _digest(confirmation: str) -> bytes:
    return sha256(confirmation.encode()).digest()

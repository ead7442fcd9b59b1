"""Namespaces, keys and sessions are made, opened, changed and ended; repeats answered once."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, NotFound, Rejected, Unauthenticated
from memory.kernel.paging import Listed, Page
from memory.kernel.postgres.database import Connection
from memory.tenancy.entities import (
    LONGEST,
    Act,
    Attempt,
    AuditEntry,
    AuditEvent,
    Call,
    Deletion,
    Key,
    KeyDraft,
    Namespace,
    NamespaceChange,
    NamespaceDraft,
    NamespaceSettings,
    Recorded,
    Role,
    Session,
    Token,
    digest,
    fresh_id,
)
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.keys import KeyStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.tenancy.store.sessions import DashboardSessionStore

DEFAULT_NAMESPACE = "default"


FIRST_KEY_LOCK = "first-key"


async def authenticate(engine: Engine, token: str, now: datetime) -> Key:
    """The key that `token` belongs to. Raises Unauthenticated for any other text."""
    async with engine.database.transaction() as connection:
        return await _authenticate(connection, token, now)


async def enter(engine: Engine, token: str, slug: str, now: datetime) -> tuple[Key, Namespace]:
    """The key, and the namespace it reaches; to a key that does not reach it, it is not there."""
    async with engine.database.transaction() as connection:
        key = await _authenticate(connection, token, now)
        found = await NamespaceStore(connection).by_slug(slug)
    return key, require_reach(key, found)


def require_reach(key: Key, namespace: Namespace) -> Namespace:
    """The namespace, for a key that reaches it. Raises NotFound for any other."""
    if key.namespace_id is not None and key.namespace_id != namespace.id:
        raise NotFound("no such namespace", code="namespace_not_found", field="namespace")
    return namespace


async def _authenticate(connection: Connection, token: str, now: datetime) -> Key:
    parsed = Token.parse(token)
    store = KeyStore(connection)
    found = await store.find(parsed.key_id)
    if found is None or not parsed.matches(found[1]):
        raise Unauthenticated("the key is not known")
    key = found[0]
    key.require_alive(now)
    await store.record_use(key, now)
    return key


async def ensure_operator_key(engine: Engine, given: str | None, now: datetime) -> Token | None:
    """The first operator key, with the `default` namespace; None where there is one already.

    `given` is a token from a secret; without it one is made.
    """
    async with engine.database.transaction() as connection:
        store = KeyStore(connection)
        await store.lock(FIRST_KEY_LOCK)
        await NamespaceStore(connection).ensure(NamespaceDraft(DEFAULT_NAMESPACE), now)
        if await store.has_operator():
            return None
        draft = KeyDraft(Role.OPERATOR, "first operator")
        if given is not None:
            token = Token.parse(given)
            await store.add_token(draft, None, now, token)
            return token
        _, token = await store.add(draft, None, None, now)
        return token


async def create_key(engine: Engine, key: Key, draft: KeyDraft, now: datetime) -> tuple[Key, Token]:
    """A new key and its token, which nobody can read again."""
    key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        namespace_id = None
        if draft.namespace is not None:
            namespace_id = (await NamespaceStore(connection).by_slug(draft.namespace)).id
        _require_may_grant(key, namespace_id)
        made, token = await KeyStore(connection).add(draft, namespace_id, key.id, now)
        event = AuditEvent("key.create", str(made.id), {"role": made.role, "name": made.name})
        await CallStore(connection).record(event, key.id, namespace_id, now)
    return made, token


async def list_keys(engine: Engine, key: Key, page: Page) -> Listed[Key]:
    """All keys for an operator, those of its namespace for an admin."""
    key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await KeyStore(connection).browse(page, key.namespace_id)


async def revoke_key(engine: Engine, key: Key, key_id: UUID, now: datetime) -> None:
    """From now on the key opens nothing."""
    key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        store = KeyStore(connection)
        found = await store.get(key_id)
        if key.role is not Role.OPERATOR and found.namespace_id != key.namespace_id:
            raise NotFound("no such key", code="key_not_found", field="id")
        if found.id == key.id:
            raise Rejected("a key cannot revoke itself", field="id")
        await store.revoke(key_id, now)
        event = AuditEvent("key.revoke", str(key_id), {})
        await CallStore(connection).record(event, key.id, found.namespace_id, now)


def _require_may_grant(key: Key, namespace_id: UUID | None) -> None:
    if key.role is Role.OPERATOR:
        return
    if namespace_id is None:
        raise Forbidden("only an operator makes operator keys", field="role")
    if namespace_id != key.namespace_id:
        raise NotFound("no such namespace", code="namespace_not_found", field="namespace")


async def begin(engine: Engine, attempt: Attempt, now: datetime) -> Recorded | None:
    """None where the work is to be done now; else the answer that was recorded.

    Raises Rejected for another body under the key, Conflict while the first call runs.
    """
    async with engine.database.transaction() as connection:
        return await CallStore(connection).begin(attempt, now)


async def finish(engine: Engine, attempt: Attempt, answer: Recorded) -> None:
    """The work is done and committed: from now on this is the answer."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).finish(attempt, answer)


async def abandon(engine: Engine, attempt: Attempt) -> None:
    """The work had no effect: the key is free again."""
    async with engine.database.transaction() as connection:
        await CallStore(connection).abandon(attempt)


CONFIRM_WITHIN = timedelta(minutes=10)


async def create_namespace(
    engine: Engine, key: Key, draft: NamespaceDraft, now: datetime
) -> Namespace:
    """A new, empty namespace."""
    key.require(Act.OPERATE)
    async with engine.database.transaction() as connection:
        made = await NamespaceStore(connection).create(draft, key.id, now)
        event = AuditEvent(
            "namespace.create", made.slug, {"clock": made.clock, "policy": made.policy}
        )
        await CallStore(connection).record(event, key.id, made.id, now)
    return made


async def open_namespace(engine: Engine, key: Key, slug: str) -> Namespace:
    """The namespace, for a key that reaches it; to any other it does not exist."""
    async with engine.database.transaction() as connection:
        return require_reach(key, await NamespaceStore(connection).by_slug(slug))


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
        values["settings"] = _merge_settings(call.namespace.settings, change.settings).stored()
    async with engine.database.transaction() as connection:
        changed = await NamespaceStore(connection).change(call.namespace, values, version)
        event = AuditEvent("namespace.change", changed.slug, {"fields": sorted(values)})
        await CallStore(connection).record(event, call.key.id, changed.id, call.now)
    return changed


async def request_deletion(engine: Engine, call: Call) -> Deletion:
    """First step: a confirmation, good for ten minutes. Nothing is deleted yet."""
    call.key.require(Act.OPERATE)
    confirmation = secrets.token_urlsafe(24)
    async with engine.database.transaction() as connection:
        await NamespaceStore(connection).request_deletion(
            call.namespace.id, _digest(confirmation), call.now
        )
        event = AuditEvent("namespace.deletion_requested", call.namespace.slug, {})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
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
            raise Rejected("this is not the confirmation that was handed out", field="confirmation")
        await store.delete(call.namespace.id)
        event = AuditEvent("namespace.delete", call.namespace.slug, {})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)


async def audit_trail(engine: Engine, call: Call, page: Page) -> Listed[AuditEntry]:
    """What was done to this namespace, and by which key."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await CallStore(connection).trail(call.namespace.id, page)


def _merge_settings(current: NamespaceSettings, change: Mapping[str, object]) -> NamespaceSettings:
    known = {field.name for field in fields(NamespaceSettings)}
    for name in sorted(change.keys() - known):
        raise Rejected(f"unknown setting {name}", field=f"settings.{name}")
    return replace(current, **change)  # pyright: ignore[reportArgumentType] - names were checked


def _digest(confirmation: str) -> bytes:
    return sha256(confirmation.encode()).digest()


SEEN_INTERVAL = timedelta(minutes=1)
"""A session's use is written down at most this often, so that reading does not write."""


async def open_session(engine: Engine, token: str, now: datetime) -> tuple[str, Key]:
    """The id of a new session, and its key. Raises Unauthenticated for a token of no use."""
    key = await authenticate(engine, token, now)
    session_id = fresh_id()
    async with engine.database.transaction() as connection:
        store = DashboardSessionStore(connection)
        await store.forget(now)
        await store.open(Session(digest(session_id), key.id, now, now, now + LONGEST))
    return session_id, key


async def enter_session(engine: Engine, session_id: str, now: datetime) -> Key:
    """The key of a session. Raises Unauthenticated when either is over."""
    async with engine.database.transaction() as connection:
        store = DashboardSessionStore(connection)
        session = await store.find(digest(session_id))
        if session is None:
            raise Unauthenticated("the session is not known; log in", code="session_over")
        session.require_alive(now)
        key = await KeyStore(connection).get(session.key_id)
        # The key is asked each time: who revokes it ends its sessions at once.
        key.require_alive(now)
        if now - session.seen_at >= SEEN_INTERVAL:
            await store.seen(session.sha256, now)
        await KeyStore(connection).record_use(key, now)
    return key


async def close_session(engine: Engine, session_id: str) -> None:
    """From now on the id opens nothing."""
    async with engine.database.transaction() as connection:
        await DashboardSessionStore(connection).close(digest(session_id))

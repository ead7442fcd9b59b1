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
from memory.kernel.postgres.database import Connection, Database, DeferredCommit, translated
from memory.tenancy.entities import (
    Act,
    Attempt,
    AuditEntry,
    AuditEvent,
    AuditFilter,
    AuditIndex,
    Call,
    Deletion,
    Key,
    KeyDraft,
    Namespace,
    NamespaceChange,
    NamespaceDraft,
    Recorded,
    Role,
    Token,
)
from memory.tenancy.identity import require_match, require_reach
from memory.tenancy.namespace_settings import NamespaceSettings, settle
from memory.tenancy.session_entities import (
    LINK_LIFE,
    LONGEST,
    Session,
    digest,
    fresh_id,
    link_digest,
)
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.keys import KeyStore
from memory.tenancy.store.moves import MoveStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.tenancy.store.sessions import DashboardSessionStore

DEFAULT_NAMESPACE = "default"


FIRST_KEY_LOCK = "first-key"


async def authenticate(engine: Engine, token: str, now: datetime) -> Key:
    """The key that `token` belongs to. Raises Unauthenticated for any other text: without a
    connection where it is not even a token.
    """
    parsed = Token.parse(token)
    async with engine.database.transaction() as connection:
        return await _authenticate(connection, parsed, now)


async def _authenticate(connection: Connection, parsed: Token, now: datetime) -> Key:
    store = KeyStore(connection)
    key = require_match(await store.find(parsed.key_id), parsed.digest(), now)
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


async def recover_operator_key(
    database: Database, token: Token, now: datetime, *, keep: bool
) -> list[Key]:
    """Makes `token` an operator's key, for whoever has the database itself. The operator keys that
    no other key made, which may lie anywhere, end with that unless `keep`; these are returned.

    Raises Conflict where the token names a key that there is or was.
    """
    async with database.transaction() as connection:
        store = KeyStore(connection)
        await store.lock(FIRST_KEY_LOCK)
        if await store.find(token.key_id) is not None:
            raise Conflict(
                "the database has this key already, or had it: bring a new one",
                code="key_known",
            )
        before = [] if keep else await store.first_operators(now)
        await store.add_token(KeyDraft(Role.OPERATOR, "recovered operator"), None, now, token)
        for old in before:
            await store.revoke(old.id, now)
        ended = {"revoked": [str(old.id) for old in before]}
        event = AuditEvent("key.recover", str(token.key_id), ended)
        await CallStore(connection).record(event, None, None, now)
    return before


async def create_key(engine: Engine, key: Key, draft: KeyDraft, now: datetime) -> tuple[Key, Token]:
    """A new key and its token, which nobody can read again. Nobody grants a higher claim than
    their own. Raises Rejected for a key that has ended before it begins.
    """
    key.require(Act.MANAGE)
    if draft.expires_at is not None and draft.expires_at <= now:
        raise Rejected("expires_at must lie in the future", field="expires_at")
    namespace_id = None
    if draft.namespace is not None:
        async with engine.database.transaction() as connection:
            namespace_id = (await NamespaceStore(connection).by_slug(draft.namespace)).id
    async with engine.database.effect(namespace_id) as connection:
        _require_may_grant(key, draft, namespace_id)
        key.require_claim(draft.highest_claim, "verifies")
        made, token = await KeyStore(connection).add(draft, namespace_id, key.id, now)
        named: dict[str, object] = {
            "role": made.role,
            "name": made.name,
            "verifies": made.verifies,
            "expires_at": None if made.expires_at is None else made.expires_at.isoformat(),
        }
        event = AuditEvent("key.create", str(made.id), named)
        await CallStore(connection).record(event, key.id, namespace_id, now)
    return made, token


async def list_living_ids(engine: Engine, now: datetime, since: UUID | None) -> set[UUID]:
    """Which keys open something, by id; with `since` those whose id is not below it. For the
    server itself, which tells nobody.
    """
    async with engine.database.transaction() as connection:
        return await KeyStore(connection).living(now, since)


async def list_keys(engine: Engine, key: Key, page: Page) -> Listed[Key]:
    """All keys for an operator, those of its namespace for an admin."""
    key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await KeyStore(connection).browse(page, key.namespace_id)


async def get_key(engine: Engine, key: Key, key_id: UUID) -> Key:
    """One of the keys that this one manages. Raises NotFound for others."""
    key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await _get_managed(KeyStore(connection), key, key_id)


async def revoke_key(engine: Engine, key: Key, key_id: UUID, now: datetime) -> None:
    """From now on the key opens nothing."""
    key.require(Act.MANAGE)
    found = await get_key(engine, key, key_id)
    if found.id == key.id:
        raise Rejected("a key cannot revoke itself", field="id")
    async with engine.database.transaction(found.namespace_id) as connection:
        await KeyStore(connection).revoke(key_id, now)
        event = AuditEvent("key.revoke", str(key_id), {})
        await CallStore(connection).record(event, key.id, found.namespace_id, now)


async def _get_managed(store: KeyStore, key: Key, key_id: UUID) -> Key:
    found = await store.get(key_id)
    if key.role is not Role.OPERATOR and found.namespace_id != key.namespace_id:
        raise NotFound(f"no such key: {key_id}", code="key_not_found", field="id")
    return found


def _require_may_grant(key: Key, draft: KeyDraft, namespace_id: UUID | None) -> None:
    if key.role is Role.OPERATOR:
        return
    if namespace_id is None:
        raise Forbidden("only an operator makes operator keys", field="role")
    if namespace_id != key.namespace_id:
        slug = draft.namespace
        raise NotFound(f"no such namespace: {slug}", code="namespace_not_found", field="namespace")


async def begin(engine: Engine, attempt: Attempt) -> Recorded | None:
    """None where the work is to be done now; else the answer that was recorded.

    Raises Rejected for another body under the key, Conflict while the first call runs.
    """
    async with engine.database.transaction() as connection:
        return await CallStore(connection).begin(attempt)


async def finish(
    engine: Engine, attempt: Attempt, answer: Recorded, effect: DeferredCommit | None = None
) -> None:
    """The work is done: from now on this is the answer. Effect and answer are committed together,
    where the effect waits for that.

    Raises Conflict, and the effect is not kept, where this took so long that another call under the
    same key has taken its place.
    """
    if effect is None or effect.connection is None:
        async with engine.database.transaction() as connection:
            await CallStore(connection).finish(attempt, answer)
        return
    with translated():
        kept = await CallStore(effect.connection).finish(attempt, answer)
    if not kept:
        raise Conflict(
            "another call under this idempotency key has begun since",
            code="idempotency_running",
            field="Idempotency-Key",
            retry_after=1,
        )
    await effect.keep()


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
    draft.settings.require_daily_tokens(engine.settings.llm.daily_tokens)
    draft.settings.require_daily_cost(engine.settings.llm.daily_cost)
    draft.settings.require_llm_models(engine.llms)
    async with engine.database.effect() as connection:
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
    """Turn learning on or off, or change settings. Of the policy at most that it stays as it is."""
    call.key.require(Act.MANAGE)
    values: dict[str, object] = {}
    if change.learning is not None:
        values["learning"] = change.learning
    if change.settings is not None:
        policy, settings = call.namespace.policy, call.namespace.settings
        merged = merge_settings(engine, policy, settings, change.settings)
        values["settings"] = merged.stored()
    async with engine.database.transaction(call.namespace.id) as connection:
        changed = await NamespaceStore(connection).change(call.namespace, values, version)
        event = AuditEvent("namespace.change", changed.slug, {"fields": sorted(values)})
        await CallStore(connection).record(event, call.key.id, changed.id, call.now)
    return changed


async def request_deletion(engine: Engine, call: Call) -> Deletion:
    """First step: a confirmation, good for ten minutes. Nothing is deleted yet."""
    call.key.require(Act.OPERATE)
    confirmation = secrets.token_urlsafe(24)
    async with engine.database.effect(call.namespace.id) as connection:
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
            raise Conflict(
                f"ask for the deletion first (POST /v1/namespaces/{call.namespace.slug}/deletion),"
                " and confirm it within ten minutes",
                code="deletion_not_requested",
            )
        if not hmac.compare_digest(requested[1], _digest(confirmation)):
            raise Rejected("this is not the confirmation that was handed out", field="confirmation")
        await MoveStore(connection).require_at_rest(call.namespace.id)
        await store.delete(call.namespace.id)
        event = AuditEvent("namespace.delete", call.namespace.slug, {})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)


async def audit_trail(
    engine: Engine, call: Call, wanted: AuditFilter, page: Page
) -> Listed[AuditEntry]:
    """What was done to this namespace, and by which key."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        return await CallStore(connection).trail(call.namespace.id, wanted, page)


async def index_audit(engine: Engine, call: Call) -> AuditIndex:
    """Which actions the trail has, and which keys; an operator's key has no name for an admin."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction() as connection:
        actions, key_ids = await CallStore(connection).actions_and_keys(call.namespace.id)
        known = await KeyStore(connection).some(key_ids)
    names = {key_id: known[key_id].name for key_id in key_ids & known.keys()}
    if call.key.role is not Role.OPERATOR:
        mine = call.key.namespace_id
        names = {
            key_id: name for key_id, name in names.items() if known[key_id].namespace_id == mine
        }
    return AuditIndex(tuple(sorted(actions)), {one: names.get(one) for one in sorted(key_ids)})


def merge_settings(
    engine: Engine, policy: str, current: NamespaceSettings, change: Mapping[str, object]
) -> NamespaceSettings:
    """The settings in force under a policy once a change was laid over the current ones. Raises
    Rejected for what neither the policy nor the server admits.
    """
    known = {field.name for field in fields(NamespaceSettings)}
    for name in sorted(change.keys() - known):
        raise Rejected(f"unknown setting {name}", field=f"settings.{name}")
    merged = replace(current, **change)  # pyright: ignore[reportArgumentType] - names were checked
    if "llm_daily_tokens" in change:
        merged.require_daily_tokens(engine.settings.llm.daily_tokens)
    if "llm_daily_cost" in change:
        merged.require_daily_cost(engine.settings.llm.daily_cost)
    if "llm_models" in change:
        merged.require_llm_models(engine.llms)
    return settle(policy, merged)


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


async def create_login_link(database: Database, token: str, now: datetime) -> str:
    """A code that opens one session of the token's key, within LINK_LIFE. Raises Unauthenticated
    for a token of no use.
    """
    parsed, code = Token.parse(token), fresh_id()
    async with database.transaction() as connection:
        key = await _authenticate(connection, parsed, now)
        link = Session(link_digest(code), key.id, now, now, now + LINK_LIFE)
        await DashboardSessionStore(connection).open(link)
        event = AuditEvent("login_link.create", str(key.id), {})
        await CallStore(connection).record(event, key.id, key.namespace_id, now)
    return code


async def open_linked_session(engine: Engine, code: str, now: datetime) -> tuple[str, Key]:
    """The id of a new session for a link that logs in, which is used up by that, and its key.
    Raises Unauthenticated where it was used before or is too old.
    """
    session_id = fresh_id()
    async with engine.database.transaction() as connection:
        store = DashboardSessionStore(connection)
        link = await store.take(link_digest(code))
        if link is None or now >= link.expires_at:
            minutes = LINK_LIFE // timedelta(minutes=1)
            raise Unauthenticated(
                f"the link was used before, or is older than {minutes} minutes: "
                "`memlift open` makes a new one",
                code="link_over",
            )
        key = await KeyStore(connection).get(link.key_id)
        key.require_alive(now)
        await store.forget(now)
        await store.open(Session(digest(session_id), key.id, now, now, now + LONGEST))
        event = AuditEvent("login_link.use", str(key.id), {})
        await CallStore(connection).record(event, key.id, key.namespace_id, now)
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


async def require_session(engine: Engine, session_id: str, now: datetime) -> None:
    """Raises Unauthenticated where the session or its key is over; asking is no use of either."""
    async with engine.database.transaction() as connection:
        session = await DashboardSessionStore(connection).find(digest(session_id))
        if session is None:
            raise Unauthenticated("the session is not known; log in", code="session_over")
        session.require_alive(now)
        (await KeyStore(connection).get(session.key_id)).require_alive(now)


async def require_living(engine: Engine, key_id: UUID, now: datetime) -> None:
    """Raises Unauthenticated where the key has ended; asking is no use of it."""
    async with engine.database.transaction() as connection:
        (await KeyStore(connection).get(key_id)).require_alive(now)


async def close_session(engine: Engine, session_id: str) -> None:
    """From now on the id opens nothing."""
    async with engine.database.transaction() as connection:
        await DashboardSessionStore(connection).close(digest(session_id))

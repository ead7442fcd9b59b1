"""Who may come in: keys are checked, made, listed and revoked."""

from datetime import datetime
from uuid import UUID

from memory.domain.access import Act, Key, KeyDraft, KeyView, Role, Token
from memory.domain.namespace import Namespace, NamespaceDraft
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.errors import Forbidden, NotFound, Rejected, Unauthenticated
from memory.storage.calls import CallStore, Deed
from memory.storage.database import Connection
from memory.storage.keys import KeyStore
from memory.storage.namespaces import NamespaceStore

DEFAULT_NAMESPACE = "default"
FIRST_KEY_LOCK = "first-key"


async def authenticate(engine: Engine, token: str, now: datetime) -> Key:
    """The key that `token` belongs to. Raises Unauthenticated for any other text."""
    async with engine.database.transaction() as connection:
        return await _known(connection, token, now)


async def enter(engine: Engine, token: str, slug: str, now: datetime) -> tuple[Key, Namespace]:
    """The key, and the namespace it reaches; to a key that does not reach it, it is not there."""
    async with engine.database.transaction() as connection:
        key = await _known(connection, token, now)
        found = await NamespaceStore(connection).by_slug(slug)
    return key, reached(key, found)


def reached(key: Key, namespace: Namespace) -> Namespace:
    """The namespace, for a key that reaches it. Raises NotFound for any other."""
    if key.namespace_id is not None and key.namespace_id != namespace.id:
        raise NotFound("no such namespace", code="namespace_not_found", field="namespace")
    return namespace


async def _known(connection: Connection, token: str, now: datetime) -> Key:
    parsed = Token.parse(token)
    store = KeyStore(connection)
    found = await store.find(parsed.key_id)
    if found is None or not parsed.matches(found[1]):
        raise Unauthenticated("the key is not known")
    key = found[0]
    key.require_alive(now)
    await store.used(key, now)
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
        _require_reach(key, namespace_id)
        made, token = await KeyStore(connection).add(draft, namespace_id, key.id, now)
        deed = Deed("key.create", str(made.id), {"role": made.role, "name": made.name})
        await CallStore(connection).note(deed, key.id, namespace_id, now)
    return made, token


async def list_keys(engine: Engine, key: Key, page: Page) -> Listed[KeyView]:
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
        deed = Deed("key.revoke", str(key_id), {})
        await CallStore(connection).note(deed, key.id, found.namespace_id, now)


def _require_reach(key: Key, namespace_id: UUID | None) -> None:
    if key.role is Role.OPERATOR:
        return
    if namespace_id is None:
        raise Forbidden("only an operator makes operator keys", field="role")
    if namespace_id != key.namespace_id:
        raise NotFound("no such namespace", code="namespace_not_found", field="namespace")

"""Sessions at the dashboard: opened with a key's token, looked up at each request, closed."""

from datetime import datetime, timedelta

from memory.domain.access import Key
from memory.domain.session import LONGEST, Session, digest, fresh_id
from memory.engine import Engine
from memory.errors import Unauthenticated
from memory.flows.access import authenticate
from memory.storage.keys import KeyStore
from memory.storage.sessions import DashboardSessionStore

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
        await KeyStore(connection).used(key, now)
    return key


async def close_session(engine: Engine, session_id: str) -> None:
    """From now on the id opens nothing."""
    async with engine.database.transaction() as connection:
        await DashboardSessionStore(connection).close(digest(session_id))

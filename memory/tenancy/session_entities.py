"""Sessions of the dashboard: a browser keeps an id, the server its hash and whose key it is."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from memory.kernel.errors import Unauthenticated

ID_BYTES = 32


IDLE = timedelta(hours=12)
"""A session that is not used for this long is over."""


LONGEST = timedelta(days=7)
"""However much it is used, a session is over after this long."""


LINK_LIFE = timedelta(minutes=10)
"""A link that logs in does so within this long, and once."""


_FORM = b"memlift form 1"


_LINK = b"memlift link 1"


def fresh_id() -> str:
    """What the browser keeps; here, only its hash is."""
    return secrets.token_urlsafe(ID_BYTES)


def digest(session_id: str) -> bytes:
    return sha256(session_id.encode()).digest()


def link_digest(code: str) -> bytes:
    """What is kept of a link that logs in; no id of a session has such a digest."""
    return hmac.new(code.encode(), _LINK, sha256).digest()


def form_token(session_id: str) -> str:
    """What a form of this session carries; another site's page cannot know it."""
    return hmac.new(session_id.encode(), _FORM, sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Session:
    """A session as stored: its hash and its key, never the id."""

    sha256: bytes
    key_id: UUID
    created_at: datetime
    seen_at: datetime
    expires_at: datetime

    def require_alive(self, now: datetime) -> None:
        """Raises Unauthenticated when it was idle for too long, or is too old."""
        if now >= self.expires_at or now - self.seen_at >= IDLE:
            raise Unauthenticated("the session is over; log in again", code="session_over")

"""Cursors: where the next page begins, signed so that a caller cannot make one up.

A cursor is bound to its namespace, path and filter; elsewhere it is refused. The signing key must
be the same in all processes that serve one database. Where the database URL has a password, the
key is derived from it; otherwise it lies in the data directory, made at first start. Changing
either ends open lists: they begin anew.
"""

import base64
import binascii
import hmac
import json
import os
import secrets
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from memory.kernel.errors import Rejected

KEY_BYTES = 32
MAC_BYTES = 16
SIGNER_BYTES = 4
PURPOSE = b"memlift cursor 1"


class Cursors:
    """Signs and reads cursors with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @property
    def signer(self) -> str:
        """Which key signs; nothing of the key can be read off it."""
        return hmac.digest(self._key, b"signer", "sha256")[:SIGNER_BYTES].hex()

    def write(self, position: tuple[object, ...], place: str) -> str:
        """The cursor for `position` in the list called `place`."""
        payload = json.dumps(position, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._mac(payload, place) + payload).decode().rstrip("=")

    def read(self, cursor: str, place: str) -> tuple[object, ...]:
        """The position in a cursor of this very list. Raises Rejected for any other."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError) as fault:
            raise _bad() from fault
        mac, payload = raw[:MAC_BYTES], raw[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(payload, place)):
            raise _bad()
        return tuple(json.loads(payload))

    def _mac(self, payload: bytes, place: str) -> bytes:
        bound = sha256(place.encode("utf-8", "surrogatepass")).digest() + payload
        return hmac.digest(self._key, bound, "sha256")[:MAC_BYTES]


def place_of(namespace: str, path: str, filters: list[tuple[str, str]]) -> str:
    """The name of one list: the same rows in the same order, whatever the page."""
    kept = sorted(item for item in filters if item[0] not in ("limit", "cursor"))
    return json.dumps([namespace, path, kept])


def signing_key(database_url: str | None, data: Path) -> bytes:
    """The key that all processes on one database share, see above."""
    password = urlsplit(database_url).password if database_url else None
    if password:
        return hmac.digest(password.encode(), PURPOSE, "sha256")
    return _kept_key(data / "secrets" / "cursor.key")


def _kept_key(file: Path) -> bytes:
    """Reads the key, making it first where there is none. The link appears whole or not at all,
    so that two processes starting together end up with one key.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not file.exists():
        draft = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(secrets.token_bytes(KEY_BYTES))
        try:
            file.hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_bytes()


def _bad() -> Rejected:
    return Rejected(
        "the cursor is altered, or from another list or filter", code="bad_cursor", field="cursor"
    )

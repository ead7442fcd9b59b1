"""One signed POST to one address, after Standard Webhooks: the body's bytes, its id and the time
are signed with HMAC-SHA256, so that a receiver can tell who sent it and when.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import httpx2

from memory.webhooks.addresses import ForbiddenTarget, LookedUpUrl, resolve
from memory.webhooks.entities import Sent, signing_key

TIMEOUT = 10.0
"""Seconds for one try, from the name to the status."""


DELIVERED = range(200, 300)
GONE = 410


@dataclass(frozen=True, slots=True)
class Message:
    """What is told: its id, what happened where and when, and about what."""

    id: UUID
    kind: str
    namespace: str
    recorded_at: datetime
    data: Mapping[str, object]

    def body(self) -> bytes:
        """The same bytes at every try."""
        said = {
            "type": self.kind,
            "timestamp": self.recorded_at.isoformat().replace("+00:00", "Z"),
            "namespace": self.namespace,
            "data": dict(self.data),
        }
        return json.dumps(said, separators=(",", ":"), sort_keys=True).encode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


async def send(
    message: Message, url: str, secret: str, *, now: datetime, allowed: Collection[str]
) -> Sent:
    """Post it once; no redirect is followed, and of the answer only the status is read."""
    body, timestamp = message.body(), int(now.timestamp())
    headers = {
        "content-type": "application/json",
        "user-agent": "memlift-webhook/1",
        "webhook-id": str(message.id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, str(message.id), timestamp, body),
    }
    try:
        async with asyncio.timeout(TIMEOUT):
            status = await _post(await resolve(url, allowed), headers, body)
    except ForbiddenTarget as fault:
        return Sent(delivered=False, fault=fault.kind)
    except (TimeoutError, httpx2.TimeoutException):
        return Sent(delivered=False, fault="timeout")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return Sent(delivered=False, fault="not_reached")
    return Sent(delivered=status in DELIVERED, status=status)


async def _post(target: LookedUpUrl, headers: Mapping[str, str], body: bytes) -> int:
    # The environment names no proxy here: it would reach what this machine may not.
    async with (
        httpx2.AsyncClient(follow_redirects=False, trust_env=False, timeout=TIMEOUT) as client,
        client.stream(
            "POST",
            target.url,
            content=body,
            headers={**headers, "host": target.authority},
            # The certificate must be of the name, though the connection goes to the address.
            extensions={"sni_hostname": target.host},
        ) as answer,
    ):
        return answer.status_code

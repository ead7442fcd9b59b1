"""Webhooks, the events that they hear of, and what became of each delivery."""

import base64
import binascii
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT
from memory.webhooks.addresses import URL, require_url

EventKind = Literal[
    "job.failed",
    "job.quarantined",
    "cell.suspended",
    "key.muted",
    "ticket.open",
    "memory.quarantined",
    "outcome.set_aside",
]
KINDS: tuple[EventKind, ...] = get_args(EventKind)
DeliveryKind = Literal[EventKind, "webhook.test"]
TEST = "webhook.test"
"""What a test sends; no webhook asks for it."""


PREFIX = "whsec_"
SECRET_BYTES = (24, 64)


MAX_WEBHOOKS = 16
"""In one namespace."""


PAUSES = tuple(
    timedelta(seconds=seconds) for seconds in (5, 300, 1_800, 7_200, 14_400, 28_800, 36_000)
)
"""Before each further try; together about a day."""


DISABLED_AFTER = 5
"""Deliveries in a row that failed after all their tries: nobody is there any more."""


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """An address that is to hear of some events."""

    __pydantic_config__ = INPUT

    url: Annotated[str, Field(json_schema_extra={"pattern": "^https?://", "maxLength": URL})]
    """Where events are posted: https, or what the operator's MEMLIFT_WEBHOOK_HOSTS names."""
    kinds: Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=len(KINDS))]
    """Which events it hears of."""
    secret: Annotated[str, Field(json_schema_extra={"pattern": f"^{PREFIX}"})] | None = field(
        default=None, repr=False
    )
    """What deliveries are signed with: `whsec_` and 24 to 64 bytes in Base64; made if not given."""

    def __post_init__(self) -> None:
        require_url(self.url)
        object.__setattr__(self, "kinds", tuple(dict.fromkeys(self.kinds)))
        if self.secret is not None:
            signing_key(self.secret)


def signing_key(secret: str) -> bytes:
    """The bytes of a secret. Raises Rejected for any other text, and does not repeat it."""
    low, high = SECRET_BYTES
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not (secret.startswith(PREFIX) and low <= len(key) <= high):
        raise Rejected(
            f"secret must be {PREFIX} followed by {low} to {high} bytes in Base64",
            field="secret",
            limit=[low, high],
        )
    return key


def fresh_secret() -> str:
    """One that nobody can guess."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that hears of some events."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the webhook."""
    url: str
    """Where events are posted."""
    kinds: tuple[EventKind, ...]
    """Which events it hears of."""
    created_at: datetime
    """When it was made."""
    key_id: UUID | None
    """The key that made it."""
    failures: int
    """Deliveries in a row that failed after all their tries."""
    disabled_at: datetime | None
    """Since when nothing is sent there; null where it hears of events."""
    disabled_reason: Literal["failures", "gone"] | None
    """`failures`: five deliveries in a row failed; `gone`: it answered 410."""


@dataclass(frozen=True, slots=True)
class WebhookCreated(Webhook):
    """A webhook with its secret, which is shown this once."""

    secret: str = field(default="", repr=False)
    """What deliveries are signed with."""


DeliveryState = Literal["waiting", "delivered", "failed"]


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """One event on its way to one address; its id is the header `webhook-id`."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the delivery; the same at every try."""
    kind: DeliveryKind
    """What happened."""
    data: Mapping[str, object]
    """Ids and codes; no texts."""
    state: DeliveryState
    """Whether it arrived, failed for good, or waits for the next try."""
    attempts: int
    """How often it was tried."""
    next_at: datetime | None
    """When it is tried next."""
    status: int | None
    """The HTTP status of the last answer."""
    fault: str | None
    """Why the last try failed without one."""
    recorded_at: datetime
    """When it happened."""
    finished_at: datetime | None
    """When it arrived or failed for good."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one try."""

    __pydantic_config__ = OUTPUT

    delivered: bool
    """Whether it was answered with a status from 200 to 299."""
    status: int | None = None
    """The HTTP status of the answer; null where there was none."""
    fault: str | None = None
    """Why there was none."""

"""Who calls, and within which boundary: keys, roles, namespaces, dashboard sessions."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from memory.kernel.errors import Forbidden, Rejected, Unauthenticated
from memory.kernel.text import NAME, cleaned
from memory.kernel.text import slug as checked_slug


class Role(StrEnum):
    """What a key is for; `operator` reaches all namespaces, the others one."""

    AGENT = "agent"
    EVALUATOR = "evaluator"
    READER = "reader"
    ADMIN = "admin"
    OPERATOR = "operator"


class Act(StrEnum):
    """What a caller may want to do inside a namespace."""

    READ = "read"
    REMEMBER = "remember"
    RETRIEVE = "retrieve"
    REPORT = "report"
    PREDICT = "predict"
    SETTLE = "settle"
    INSPECT = "inspect"
    MANAGE = "manage"
    OPERATE = "operate"


_ALL = frozenset(Role)


_MANAGERS = frozenset({Role.ADMIN, Role.OPERATOR})


ALLOWED: dict[Act, frozenset[Role]] = {
    Act.READ: _ALL,
    Act.REMEMBER: _MANAGERS | {Role.AGENT},
    Act.RETRIEVE: _MANAGERS | {Role.AGENT},
    Act.REPORT: _MANAGERS | {Role.AGENT, Role.EVALUATOR},
    Act.PREDICT: _MANAGERS | {Role.AGENT},
    Act.SETTLE: _MANAGERS | {Role.EVALUATOR},
    Act.INSPECT: _MANAGERS | {Role.READER},
    Act.MANAGE: _MANAGERS,
    Act.OPERATE: frozenset({Role.OPERATOR}),
}


SECRET_BYTES = 32


MAX_AGENTS = 64


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is stored: never the token, only its hash."""

    id: UUID
    namespace_id: UUID | None
    role: Role
    agents: tuple[str, ...] | None
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = None

    def may(self, act: Act) -> bool:
        return self.role in ALLOWED[act]

    def require(self, act: Act) -> None:
        """Raises Forbidden where the role does not allow `act`."""
        if not self.may(act):
            raise Forbidden(f"a key of role {self.role} may not {act}")

    def speaks_for(self, agent: str) -> bool:
        """A key bound to agents speaks only for them; an unbound one for any."""
        return self.agents is None or agent in self.agents

    def require_agent(self, agent: str) -> None:
        if not self.speaks_for(agent):
            raise Forbidden(f"this key does not speak for agent {agent}", field="agent")

    def sees_private(self, agent: str) -> bool:
        """Private memories of `agent` are for keys bound to it; an unbound key never sees them."""
        return self.agents is not None and agent in self.agents

    def require_alive(self, now: datetime) -> None:
        if self.revoked_at is not None or (self.expires_at is not None and self.expires_at <= now):
            raise Unauthenticated("the key is expired or revoked")


@dataclass(frozen=True, slots=True)
class Token:
    """`ml_<key id as 32 hex digits>_<64 hex digits>`: shown once, then only its hash is kept."""

    key_id: UUID
    secret: str

    def __str__(self) -> str:
        return f"ml_{self.key_id.hex}_{self.secret}"

    @classmethod
    def fresh(cls, key_id: UUID) -> "Token":
        return cls(key_id, secrets.token_hex(SECRET_BYTES))

    @classmethod
    def parse(cls, text: str) -> "Token":
        """Raises Unauthenticated for anything that is not a token."""
        parts = text.split("_")
        try:
            prefix, key_id, secret = parts
            token = cls(UUID(hex=key_id), secret)
        except ValueError as fault:
            raise Unauthenticated("the key is malformed") from fault
        if prefix != "ml" or str(token) != text:
            raise Unauthenticated("the key is malformed")
        return token

    def digest(self) -> bytes:
        return sha256(str(self).encode()).digest()

    def matches(self, digest: bytes) -> bool:
        """In constant time."""
        return hmac.compare_digest(self.digest(), digest)


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """A key to be made; `agents` None leaves it unbound."""

    role: Role
    name: str
    namespace: str | None = None
    agents: tuple[str, ...] | None = None
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cleaned(self.name, "name", NAME))
        if (self.role is Role.OPERATOR) != (self.namespace is None):
            raise Rejected(
                "an operator key has no namespace, every other has one", field="namespace"
            )
        if self.agents is None:
            return
        if not 1 <= len(self.agents) <= MAX_AGENTS:
            raise Rejected(f"agents takes 1…{MAX_AGENTS} names", field="agents", limit=MAX_AGENTS)
        names = tuple(cleaned(agent, "agents", NAME) for agent in self.agents)
        object.__setattr__(self, "agents", names)


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key with the slug of its namespace."""

    key: Key
    namespace: str | None


POLICIES = ("belief", "paper", "steps", "delta")
"""The rules by which a namespace may learn; `memory.belief.policy` holds them."""


class Clock(StrEnum):
    """`wall`: known_at is the server's clock. `replay`: callers set it, and no job runs by
    itself.
    """

    WALL = "wall"
    REPLAY = "replay"


class Learning(StrEnum):
    """`frozen`: outcomes are stored and move nothing."""

    ON = "on"
    FROZEN = "frozen"


class Taxonomy(StrEnum):
    """`open`: an unknown category is made at first use. `closed`: it is refused."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """Knobs of one namespace; None leaves the server's default.

    raw_gate, score_floor: [0, 1], 0 switches off. control_rate: [0, 1), 0 switches the control arm
    off. slot_rate: [0, 1), the chance that the last place goes to a least-credited memory.
    max_memories: the quota of living memories. daily_credits: how many outcomes of one agent's key
    count for one memory in a day. verification_trials: how often a candidate is tried, 1…16.
    verification_days: after so many days without a verdict it goes on probation, 1…365.
    meta_guidelines: whether guidelines are compiled by one.
    """

    raw_gate: float | None = None
    score_floor: float | None = None
    control_rate: float | None = None
    slot_rate: float = 0.03
    categories: Taxonomy = Taxonomy.OPEN
    max_memories: int = 1_000_000
    daily_credits: int = 50
    verification_trials: int = 3
    verification_days: int = 7
    meta_guidelines: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", Taxonomy(self.categories))
        for field in ("raw_gate", "score_floor", "control_rate", "slot_rate"):
            value: float | None = getattr(self, field)
            if value is not None and not 0.0 <= value <= 1.0:
                raise Rejected(
                    f"settings.{field} lies outside [0, 1]", field=f"settings.{field}", limit=[0, 1]
                )
        for field, most in (
            ("max_memories", 10**12),
            ("daily_credits", 10**12),
            ("verification_trials", 16),
            ("verification_days", 365),
        ):
            if not 1 <= getattr(self, field) <= most:
                path = f"settings.{field}"
                raise Rejected(f"{path} must lie in 1…{most}", field=path, limit=[1, most])

    def stored(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "NamespaceSettings":
        known = {name: value for name, value in stored.items() if name in cls.__slots__}
        return cls(**known)  # pyright: ignore[reportArgumentType] - written by `stored`, above


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as it stands; `version` is its ETag, `bank_version` the order of its bank.

    `signal`: residuals of one memory on different dates agree, so weights may carry something.
    """

    id: UUID
    slug: str
    clock: Clock
    learning: Learning
    policy: str
    settings: NamespaceSettings
    bank_version: int
    n_memories: int
    newest_known_at: datetime | None
    model_id: UUID | None
    signal: bool
    version: int
    created_at: datetime
    deletion_requested_at: datetime | None

    def known_at(self, given: datetime | None, now: datetime, field: str = "known_at") -> datetime:
        """When a fact could be known: the server's clock in `wall`, the caller's word in
        `replay`.
        """
        if self.clock is Clock.WALL:
            if given is not None:
                raise Rejected(
                    f"{field} is the server's in a namespace with clock wall", field=field
                )
            return now
        if given is None:
            raise Rejected(f"{field} is required in a namespace with clock replay", field=field)
        return utc(given, field)


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, inside which namespace, and when."""

    key: Key
    namespace: Namespace
    now: datetime


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """What the audit trail shall hold: what was done to what. Never the text itself."""

    action: str
    subject: str
    detail: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: UUID
    key_id: UUID | None
    action: str
    subject: str
    detail: Mapping[str, object]
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call under an idempotency key."""

    key_id: UUID
    method: str
    path: str
    idempotency_key: str
    body_sha256: bytes
    namespace_id: UUID | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answer that a repeated call gets again."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class NamespaceDraft:
    """A namespace to be made; its slug and clock never change."""

    slug: str
    clock: Clock = Clock.WALL
    learning: Learning = Learning.ON
    policy: str = "belief"
    settings: NamespaceSettings = NamespaceSettings()

    def __post_init__(self) -> None:
        checked_slug(self.slug, "slug")
        if self.policy not in POLICIES:
            raise Rejected(
                f"There is no policy {self.policy!r}; there are {', '.join(POLICIES)}.",
                field="policy",
                limit=list(POLICIES),
            )


@dataclass(frozen=True, slots=True)
class NamespaceChange:
    """What to change; settings are merged over those in force."""

    learning: Learning | None = None
    settings: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """The second step needs this confirmation, before it expires."""

    confirmation: str
    expires_at: datetime


def utc(moment: datetime, field: str) -> datetime:
    """The same moment in UTC; a time without zone is refused, for it could be any of 38 moments."""
    if moment.tzinfo is None:
        raise Rejected(f"{field} has no time zone", field=field)
    return moment.astimezone(UTC)


ID_BYTES = 32


IDLE = timedelta(hours=12)
"""A session that is not used for this long is over."""


LONGEST = timedelta(days=7)
"""However much it is used, a session is over after this long."""


_FORM = b"memlift form 1"


def fresh_id() -> str:
    """What the browser keeps; here, only its hash is."""
    return secrets.token_urlsafe(ID_BYTES)


def digest(session_id: str) -> bytes:
    return sha256(session_id.encode()).digest()


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

"""Who calls, and within which boundary: keys, roles, namespaces, dashboard sessions."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Forbidden, Rejected, Unauthenticated
from memory.kernel.fields import BOTH_WAYS, INPUT, OUTPUT, Flag, Moment, Name, PartOf, Share
from memory.kernel.text import NAME, SLUG, cleaned
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
    """A key, without its token: of that only the hash is stored."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the key for ever; the middle of its token."""
    namespace_id: Annotated[UUID | None, Field(exclude=True)]
    role: Role
    """What the key is for."""
    agents: tuple[str, ...] | None
    """The agents it speaks for; null where it is bound to none and speaks for any."""
    name: str
    """Its name among people."""
    namespace: str | None
    """Slug of the one namespace that it reaches; null for an operator's, which reaches all."""
    created_at: datetime
    """When it was made."""
    expires_at: datetime | None
    """From then on it opens nothing; null where it does not end by itself."""
    revoked_at: datetime | None
    """When it was ended by hand."""
    last_used_at: datetime | None
    """When it was last used, to the minute."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCreated(Key):
    """A new key: the one time that its token is shown."""

    __pydantic_config__ = OUTPUT

    token: str = field(repr=False)
    """What a caller sends as `Authorization: Bearer`; nobody can read it again."""


@dataclass(frozen=True, slots=True)
class KeyDraft:
    """A key to be made: every role but `operator` lives in one namespace."""

    __pydantic_config__ = INPUT

    role: Role
    """What the key is for."""
    name: Name
    """Its name among people."""
    namespace: str | None = None
    """Slug of the namespace that it reaches; none for an operator's."""
    agents: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_AGENTS)] | None = None
    """The agents it speaks for; without them it speaks for any."""
    expires_at: Moment | None = None
    """From then on it opens nothing."""

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


PolicyName = Literal["belief", "paper", "steps", "delta"]
"""The rules by which a namespace may learn; `memory.belief.policy` holds them."""
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


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


MAX_COUNT, MAX_TRIALS, MAX_DAYS = 10**12, 16, 365
Count = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """Settings of one namespace; null leaves the server's default."""

    __pydantic_config__ = BOTH_WAYS

    raw_gate: Share | None = None
    """The least cosine at which a memory is considered; 0 switches the gate off."""
    score_floor: Share | None = None
    """The least score at which a memory is served; 0 switches the floor off."""
    control_rate: Share | None = None
    """The share of retrievals that serve nothing, to measure lift; 0 switches it off."""
    slot_rate: Share = 0.03
    """The chance that the last place goes to a memory with few outcomes."""
    categories: Taxonomy = Taxonomy.OPEN
    """Whether an unknown category is made at first use or refused."""
    max_memories: Count = 1_000_000
    """The quota of living memories."""
    daily_credits: Count = 50
    """How many outcomes of one agent's key count for one memory in a day."""
    verification_trials: Annotated[int, Field(strict=True, ge=1, le=MAX_TRIALS)] = 3
    """How often a candidate is tried before it is decided on."""
    verification_days: Annotated[int, Field(strict=True, ge=1, le=MAX_DAYS)] = 7
    """After so many days without a decision a candidate goes on probation."""
    meta_guidelines: Flag = True
    """Whether a guideline is compiled under a meta-guideline."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", Taxonomy(self.categories))
        shares = {
            "raw_gate": self.raw_gate,
            "score_floor": self.score_floor,
            "control_rate": self.control_rate,
            "slot_rate": self.slot_rate,
        }
        for name, share in shares.items():
            if share is not None and not 0.0 <= share <= 1.0:
                path = f"settings.{name}"
                raise Rejected(f"{path} lies outside [0, 1]", field=path, limit=[0, 1])
        _require_count(self.max_memories, "max_memories", MAX_COUNT)
        _require_count(self.daily_credits, "daily_credits", MAX_COUNT)
        _require_count(self.verification_trials, "verification_trials", MAX_TRIALS)
        _require_count(self.verification_days, "verification_days", MAX_DAYS)

    def stored(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "NamespaceSettings":
        names = {field.name for field in fields(cls)}
        known = {name: value for name, value in stored.items() if name in names}
        return cls(**known)  # pyright: ignore[reportArgumentType] - written by `stored`, above


def _require_count(value: int, name: str, most: int) -> None:
    if not 1 <= value <= most:
        path = f"settings.{name}"
        raise Rejected(f"{path} must lie in 1…{most}", field=path, limit=[1, most])


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as it stands."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the namespace for ever."""
    slug: str
    """Its name in paths."""
    clock: Clock
    """Whether facts are known when they come, or when their caller says."""
    learning: Learning
    """Whether outcomes move anything."""
    policy: PolicyName
    """The rule by which it learns."""
    settings: NamespaceSettings
    """The settings in force."""
    bank_version: int
    """Grows with each change of what is remembered; orders all that happens inside."""
    n_memories: Annotated[int, Field(exclude=True)]
    newest_known_at: datetime | None
    """The latest time of an outcome that was applied."""
    model_id: Annotated[UUID | None, Field(exclude=True)]
    signal: Annotated[bool, Field(exclude=True)]  # Whether weights may carry something.
    version: int
    """Grows with each change of the settings; the ETag."""
    created_at: datetime
    """When it was made."""
    deletion_requested_at: datetime | None
    """When its deletion was last asked for."""

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
    """One line of the audit trail."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the entry for ever; later entries have larger ids."""
    key_id: UUID | None
    """The key that did it; null for what the server does by itself."""
    action: str
    """What was done, such as `memory.trust`."""
    subject: str
    """The id or the slug of what it was done to."""
    detail: Mapping[str, object]
    """What else is to be known of it, never the text itself."""
    recorded_at: datetime
    """When it was done."""


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
    """A namespace to be made; slug, clock and policy never change."""

    __pydantic_config__ = INPUT

    slug: Annotated[str, Field(json_schema_extra={"pattern": f"^{SLUG.pattern}$"})]
    """Its name in paths."""
    clock: Clock = Clock.WALL
    """Whether facts are known when they come, or when their caller says."""
    learning: Learning = Learning.ON
    """Whether outcomes move anything."""
    policy: PolicyName = "belief"
    """The rule by which it learns."""
    settings: NamespaceSettings = NamespaceSettings()
    """What shall differ from the server's defaults."""

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
    """What to change of a namespace. Raises Rejected where that is nothing."""

    __pydantic_config__ = INPUT

    learning: Learning | None = None
    """Whether outcomes move anything."""
    settings: Annotated[Mapping[str, object], PartOf(NamespaceSettings)] | None = None
    """Merged over those in force; a null returns a setting to the server's default."""

    def __post_init__(self) -> None:
        if self.learning is None and self.settings is None:
            raise Rejected("the body changes nothing", field="body")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What the second step of a deletion needs."""

    __pydantic_config__ = OUTPUT

    confirmation: str
    """To be sent with the second step."""
    expires_at: datetime
    """From then on the first step has to be repeated."""


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

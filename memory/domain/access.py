"""Who calls: keys, their roles, and what a role may do."""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from memory.domain.namespace import Namespace
from memory.domain.text import NAME, cleaned
from memory.errors import Forbidden, Rejected, Unauthenticated


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


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, inside which namespace, and when."""

    key: Key
    namespace: Namespace
    now: datetime


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

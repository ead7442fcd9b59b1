"""Who calls, and within which boundary: keys, roles, namespaces, dashboard sessions."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

from pydantic import Field

from memory.kernel.errors import Forbidden, Rejected, Unauthenticated
from memory.kernel.fields import INPUT, OUTPUT, Moment, Name, PartOf
from memory.kernel.text import SLUG, cleaned_name
from memory.kernel.text import slug as checked_slug
from memory.tenancy.claims import CLAIMS, HIGHEST, VERIFIERS, Verifier, verifier_rank
from memory.tenancy.namespace_settings import NamespaceSettings, settle


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
TOKEN = re.compile(rf"ml_[0-9a-f]{{32}}_[0-9a-f]{{{2 * SECRET_BYTES}}}")


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
    verifies: Verifier
    """The highest verifier that it may claim for a result: self < judge < test < human."""
    party_id: Annotated[UUID | None, Field(exclude=True)]
    """Whose word its word is, see `memory.tenancy.parties`; null for keys that judge others."""
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
    reserved: Annotated[tuple[str, ...], Field(exclude=True)] = ()
    """Of a key that is bound to no agent: the agents that other keys are, or were, bound to."""

    def may(self, act: Act) -> bool:
        return self.role in ALLOWED[act]

    def require(self, act: Act) -> None:
        """Raises Forbidden where the role does not allow `act`."""
        if not self.may(act):
            able = " and ".join(role for role in Role if role in ALLOWED[act])
            raise Forbidden(f"a key of role {self.role} may not {act}; {able} may")

    def speaks_for(self, agent: str) -> bool:
        """A key bound to agents speaks only for them; an unbound one for any, but an agent's
        unbound key not for those that ever had keys of their own.
        """
        return agent not in self.reserved if self.agents is None else agent in self.agents

    def require_agent(self, agent: str) -> None:
        if not self.speaks_for(agent):
            why = f": agent {agent} has, or had, a key of its own" if self.agents is None else ""
            raise Forbidden(f"this key does not speak for agent {agent}{why}", field="agent")

    def sees_private(self, agent: str) -> bool:
        """Private memories of `agent` are for keys bound to it; an unbound key never sees them."""
        return self.agents is not None and agent in self.agents

    @property
    def claims(self) -> tuple[Verifier, ...]:
        """What it may claim, the most believed first."""
        return tuple(reversed(VERIFIERS[: verifier_rank(self.verifies) + 1]))

    def require_claim(self, verifier: str, field: str = "verifier") -> None:
        """Raises Forbidden for more than the key verifies: no claim is lowered silently."""
        if verifier != "none" and verifier_rank(verifier) > verifier_rank(self.verifies):
            raise Forbidden(
                f"this key may claim {self.verifies} at most, not {verifier}",
                code="claim_too_high",
                field=field,
                limit=self.verifies,
            )

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
        if not TOKEN.fullmatch(text):
            raise Unauthenticated("the key is malformed")
        _, key_id, secret = text.split("_")
        return cls(UUID(hex=key_id), secret)

    def digest(self) -> bytes:
        return sha256(str(self).encode()).digest()


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
    """In the future: from then on it opens nothing."""
    verifies: Verifier | None = None
    """The highest verifier that it may claim for a result; without one, what its role has:
    `self` for agents and readers, `test` for evaluators, `human` for admins and operators.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cleaned_name(self.name, "name"))
        verifies = self.highest_claim
        if verifier_rank(verifies, "verifies") > verifier_rank(HIGHEST[self.role]):
            raise Rejected(
                f"a key of role {self.role} may claim {HIGHEST[self.role]} at most",
                field="verifies",
                limit=HIGHEST[self.role],
            )
        object.__setattr__(self, "verifies", verifies)
        if (self.role is Role.OPERATOR) != (self.namespace is None):
            raise Rejected(
                "an operator key has no namespace, every other has one", field="namespace"
            )
        if self.agents is None:
            return
        if not 1 <= len(self.agents) <= MAX_AGENTS:
            raise Rejected(f"agents takes 1…{MAX_AGENTS} names", field="agents", limit=MAX_AGENTS)
        names = tuple(cleaned_name(agent, f"agents.{n}") for n, agent in enumerate(self.agents))
        object.__setattr__(self, "agents", names)

    @property
    def highest_claim(self) -> Verifier:
        """What the key may claim: what was asked for, else what its role has."""
        return self.verifies or CLAIMS[self.role]


PolicyName = Literal["belief", "paper", "paper-strict", "steps", "delta"]
"""The rules by which a namespace may learn; `memory.belief.policy` holds them."""
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


def require_policy(name: str) -> None:
    """Raises Rejected when there is none of that name."""
    if name not in POLICIES:
        raise Rejected(
            f"There is no policy {name!r}; there are {', '.join(POLICIES)}.",
            field="policy",
            limit=list(POLICIES),
        )


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


@dataclass(frozen=True, slots=True)
class ApartTrial:
    """That a memory shall be tried apart from what is always served beside it: its coin falls more
    often, until it was absent in so many outcomes, or until a time.
    """

    asked_at: datetime
    until: datetime
    absences: int
    """It ends with the outcome that makes the memory's absences so many."""

    def is_on(self, at: datetime, absences: int) -> bool:
        """Whether it goes on at that time, after so many outcomes without the memory."""
        return self.asked_at <= at < self.until and absences < self.absences

    def stored(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "asked_at": self.asked_at.isoformat(),
            "until": self.until.isoformat(),
            "absences": self.absences,
        }

    @classmethod
    def read_all(cls, stored: Mapping[str, Mapping[str, Any]]) -> "Mapping[UUID, ApartTrial]":
        """Those of a namespace, by memory."""
        return {
            UUID(memory_id): cls(
                datetime.fromisoformat(one["asked_at"]),
                datetime.fromisoformat(one["until"]),
                int(one["absences"]),
            )
            for memory_id, one in stored.items()
        }


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
    # Keys the coins; shown to nobody.
    secret: Annotated[bytes, Field(exclude=True)] = field(repr=False)
    # By memory; some may be over.
    apart_trials: Annotated[Mapping[UUID, ApartTrial], Field(exclude=True)]
    version: int
    """Grows with each change of the settings; the ETag."""
    created_at: datetime
    """When it was made."""
    deletion_requested_at: datetime | None
    """When its deletion was last asked for."""
    elsewhere: str | None = None
    """In lists: `arriving` from another deployment, or its new address once it has moved."""

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
    """The id or the slug of what it was done to; the nil UUID for a private memory."""
    detail: Mapping[str, object]
    """What else is to be known of it, never the text itself; nothing of a private memory, and no
    reason once that was erased.
    """
    recorded_at: datetime
    """When it was done."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which lines of the audit trail to list, the oldest first unless asked otherwise; None does
    not filter.
    """

    action: str | None = None
    key_id: UUID | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class AuditIndex:
    """What an audit trail can be narrowed down to: the actions in it, and the keys that acted, each
    with its name where the caller manages it.
    """

    actions: tuple[str, ...]
    keys: Mapping[UUID, str | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call under an idempotency key."""

    key_id: UUID
    method: str
    path: str
    idempotency_key: str
    body_sha256: bytes
    namespace_id: UUID | None
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answer that a repeated call gets again."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class NamespaceDraft:
    """A namespace to be made; slug and clock never change."""

    __pydantic_config__ = INPUT

    slug: Annotated[str, Field(json_schema_extra={"pattern": f"^{SLUG.pattern}$"})]
    """Its name in paths."""
    clock: Clock = Clock.WALL
    """Whether facts are known when they come, or when their caller says."""
    learning: Learning = Learning.ON
    """Whether outcomes move anything."""
    policy: PolicyName = "belief"
    """The rule by which it learns."""
    settings: NamespaceSettings = NamespaceSettings()  # noqa: RUF009 - it is frozen
    """What shall differ from the defaults."""

    def __post_init__(self) -> None:
        checked_slug(self.slug, "slug")
        require_policy(self.policy)
        object.__setattr__(self, "settings", settle(self.policy, self.settings))


@dataclass(frozen=True, slots=True)
class NamespaceChange:
    """What to change of a namespace. Raises Rejected where that is nothing."""

    __pydantic_config__ = INPUT

    learning: Learning | None = None
    """Whether outcomes move anything."""
    settings: Annotated[Mapping[str, object], PartOf(NamespaceSettings)] | None = None
    """Merged over those in force. Null: `raw_gate`, `score_floor`, `control_rate`, `rerank`
    and the daily limits are left to the server, `retention_days` is for ever; no other takes it."""
    policy: PolicyName | None = None
    """The rule by which it learns from now on: every belief is refolded from the recorded
    outcomes, as `what-if` foresees. Refused where older outcomes are kept as their result alone.
    """

    def __post_init__(self) -> None:
        if self.learning is None and self.settings is None and self.policy is None:
            raise Rejected("the body changes nothing", field="body")
        if self.policy is not None:
            require_policy(self.policy)


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

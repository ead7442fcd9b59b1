"""Shapes of keys, of who one is, and of the audit."""

from uuid import UUID

from pydantic import Field

from memory.tenancy.entities import MAX_AGENTS, AuditEntry, Key, KeyDraft, KeyView, Role, Token
from server.schemas.base import Free, In, Moment, Name, Out, UtcTime


class KeyIn(In):
    """A key to be made: every role but `operator` lives in one namespace."""

    role: Role
    name: Name
    namespace: str | None = None
    agents: list[Name] | None = Field(None, min_length=1, max_length=MAX_AGENTS)
    expires_at: Moment | None = None

    def to_draft(self) -> KeyDraft:
        return KeyDraft(
            role=self.role,
            name=self.name,
            namespace=self.namespace,
            agents=None if self.agents is None else tuple(self.agents),
            expires_at=self.expires_at,
        )


class KeyOut(Out):
    """A key, without its token."""

    id: UUID
    name: str
    role: Role
    namespace: str | None
    agents: tuple[str, ...] | None
    created_at: UtcTime
    expires_at: UtcTime | None
    revoked_at: UtcTime | None
    last_used_at: UtcTime | None

    @classmethod
    def of(cls, view: KeyView) -> "KeyOut":
        key = view.key
        return cls(
            id=key.id,
            name=key.name,
            role=key.role,
            namespace=view.namespace,
            agents=key.agents,
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            last_used_at=key.last_used_at,
        )


class KeyCreated(KeyOut):
    """The one time that a token is shown."""

    token: str

    @classmethod
    def made(cls, view: KeyView, token: Token) -> "KeyCreated":
        return cls(**dict(KeyOut.of(view)), token=str(token))


class Me(Out):
    """What the key of this request is."""

    key_id: UUID
    name: str
    role: Role
    namespace: str | None
    agents: tuple[str, ...] | None
    expires_at: UtcTime | None

    @classmethod
    def of(cls, key: Key, namespace: str | None) -> "Me":
        return cls(
            key_id=key.id,
            name=key.name,
            role=key.role,
            namespace=namespace,
            agents=key.agents,
            expires_at=key.expires_at,
        )


class AuditOut(Out):
    """One entry of the audit."""

    id: UUID
    key_id: UUID | None
    action: str
    subject: str
    detail: Free
    recorded_at: UtcTime

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditOut":
        return cls.model_validate(entry)

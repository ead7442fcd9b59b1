"""Shapes of keys and namespaces where the wire differs."""

from uuid import UUID

from memory.tenancy.claims import Verifier
from memory.tenancy.entities import Key, Role
from server.schemas.base import Out, UtcTime


class Me(Out):
    """What the key of this request is.

    Differs from `Key`: it answers whose key this is, not when it was made and used.
    """

    key_id: UUID
    """Names the key."""
    name: str
    role: Role
    namespace: str | None
    agents: tuple[str, ...] | None
    verifies: Verifier
    """The highest verifier that it may claim for a result: self < judge < test < human."""
    expires_at: UtcTime | None

    @classmethod
    def of(cls, key: Key) -> "Me":
        return cls(
            key_id=key.id,
            name=key.name,
            role=key.role,
            namespace=key.namespace,
            agents=key.agents,
            verifies=key.verifies,
            expires_at=key.expires_at,
        )

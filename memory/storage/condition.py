"""ServerStore: questions about the database server itself, asked as the login."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.domain.learning import Check
from memory.storage.migrate import at_head, head

ROLE = "memlift_app"


class ServerStore:
    """What readiness asks of the database."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def migrations(self) -> Check:
        """Whether the schema is the one this code was written for."""
        if await self._connection.run_sync(at_head):
            return Check(ok=True, detail=f"at {head()}")
        return Check(ok=False, detail=f"not at {head()}: run `memlift migrate`")

    async def role(self) -> Check:
        """Row-level security binds no superuser and no BYPASSRLS role."""
        row = (
            await self._connection.execute(
                text("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = :role"),
                {"role": ROLE},
            )
        ).first()
        if row is None:
            return Check(ok=False, detail=f"role {ROLE} is missing: run `memlift migrate`")
        if row.rolsuper or row.rolbypassrls:
            return Check(ok=False, detail=f"role {ROLE} is a superuser or has BYPASSRLS")
        return Check(ok=True, detail=ROLE)

"""ModelStore: which models made vectors, and what was measured of them."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.inference.tables import embedding_model
from memory.kernel.engine import RegisteredModel
from memory.kernel.ids import new_id
from memory.kernel.ports import ModelIdentity
from memory.tenancy.tables import namespace


class ModelStore:
    """Embedding models; shared by all namespaces, for they hold no memory."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def find(self, identity: ModelIdentity) -> RegisteredModel | None:
        row = await self._connection.execute(
            select(embedding_model).where(
                embedding_model.c.name == identity.name,
                embedding_model.c.revision == identity.revision,
                embedding_model.c.sha256 == identity.sha256,
            )
        )
        found = row.mappings().first()
        if found is None:
            return None
        return RegisteredModel(found["id"], identity, found["calibration"])

    async def register(
        self, identity: ModelIdentity, calibration: Mapping[str, float], now: datetime
    ) -> RegisteredModel:
        """Two processes may register at once: the first one's calibration stands."""
        await self._connection.execute(
            insert(embedding_model)
            .values(
                id=new_id(),
                name=identity.name,
                revision=identity.revision,
                sha256=identity.sha256,
                width=identity.width,
                calibration=dict(calibration),
                state="active",
                created_at=now,
            )
            .on_conflict_do_nothing()
        )
        found = await self.find(identity)
        assert found is not None
        return found

    async def calibration(self, model_id: UUID) -> Mapping[str, float]:
        """What was measured of a registered model."""
        found = await self._connection.scalar(
            select(embedding_model.c.calibration).where(embedding_model.c.id == model_id)
        )
        assert found is not None
        return found

    async def others(self, model_id: UUID) -> list[tuple[str, str]]:
        """(slug, model name) of namespaces whose vectors another model made."""
        rows = await self._connection.execute(
            select(namespace.c.slug, embedding_model.c.name)
            .join(embedding_model, embedding_model.c.id == namespace.c.model_id)
            .where(namespace.c.model_id != model_id)
            .order_by(namespace.c.slug)
        )
        return [(row.slug, row.name) for row in rows]

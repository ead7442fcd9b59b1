"""ModelStore: which models made vectors, and what was measured of them."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select, text
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
        # One that came with an imported namespace was measured elsewhere, and not by us.
        if found is None or found["state"] != "active":
            return None
        return RegisteredModel(found["id"], identity, found["calibration"])

    async def register(
        self, identity: ModelIdentity, calibration: Mapping[str, float], now: datetime
    ) -> RegisteredModel:
        """Two processes may register at once: the first one's calibration stands."""
        drafted = insert(embedding_model).values(
            id=new_id(), **_row(identity, calibration, now), state="active"
        )
        await self._connection.execute(
            drafted.on_conflict_do_update(
                index_elements=["name", "revision", "sha256"],
                set_={"calibration": drafted.excluded.calibration, "state": "active"},
                where=embedding_model.c.state != "active",
            )
        )
        found = await self.find(identity)
        assert found is not None
        return found

    async def know(
        self, identity: ModelIdentity, calibration: Mapping[str, float], now: datetime
    ) -> UUID:
        """The id of a model that vectors from elsewhere are of. Its calibration stands until a
        process of ours registers the model.
        """
        await self._connection.execute(
            insert(embedding_model)
            .values(id=new_id(), **_row(identity, calibration, now), state="retired")
            .on_conflict_do_nothing()
        )
        found = await self._connection.scalar(
            select(embedding_model.c.id).where(
                embedding_model.c.name == identity.name,
                embedding_model.c.revision == identity.revision,
                embedding_model.c.sha256 == identity.sha256,
            )
        )
        assert isinstance(found, UUID)
        return found

    async def calibration(self, model_id: UUID) -> Mapping[str, float]:
        """What was measured of a registered model."""
        found = await self._connection.scalar(
            select(embedding_model.c.calibration).where(embedding_model.c.id == model_id)
        )
        assert found is not None
        return found

    async def serves(self, model_id: UUID) -> bool:
        """Whether this model made the vectors of any namespace."""
        row = await self._connection.execute(
            select(namespace.c.id).where(namespace.c.model_id == model_id).limit(1)
        )
        return row.first() is not None

    async def may_begin(self, model_id: UUID) -> bool:
        """Whether a namespace without vectors may get its first from this model: where vectors of
        other models alone are stored, the model may have been chosen by mistake.
        """
        row = await self._connection.execute(
            select(
                func.count(namespace.c.model_id),
                func.count().filter(namespace.c.model_id == model_id),
            )
        )
        stored, same = row.one()
        return same > 0 or stored == 0

    async def hold_vectors(self, namespace_id: UUID) -> None:
        """Until the transaction ends the namespace is not moved to another model, and nothing
        in it is erased. Taken before the
        bank's version, against deadlock.
        """
        await self._connection.execute(_HOLD, {"name": _lock_name(namespace_id)})

    async def hold_vectors_alone(self, namespace_id: UUID) -> None:
        """Until the transaction ends nobody else writes vectors or moves the namespace. Taken
        first.
        """
        await self._connection.execute(_HOLD_ALONE, {"name": _lock_name(namespace_id)})

    async def model_of(self, namespace_id: UUID) -> UUID | None:
        """The model whose vectors the namespace is searched by, as it stands."""
        return await self._connection.scalar(
            select(namespace.c.model_id).where(namespace.c.id == namespace_id)
        )

    async def others(self, model_id: UUID) -> dict[str, ModelIdentity]:
        """By slug, the models of namespaces whose vectors another model made."""
        rows = await self._connection.execute(
            select(namespace.c.slug, *_IDENTITY)
            .join(embedding_model, embedding_model.c.id == namespace.c.model_id)
            .where(namespace.c.model_id != model_id)
            .order_by(namespace.c.slug)
        )
        return {
            row.slug: ModelIdentity(row.name, row.revision, row.sha256, row.width) for row in rows
        }


_IDENTITY = (
    *(embedding_model.c.name, embedding_model.c.revision),
    *(embedding_model.c.sha256, embedding_model.c.width),
)


_HOLD = text("SELECT pg_advisory_xact_lock_shared(hashtextextended(:name, 0))")


_HOLD_ALONE = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


def _lock_name(namespace_id: UUID) -> str:
    return f"vectors/{namespace_id}"


def _row(
    identity: ModelIdentity, calibration: Mapping[str, float], now: datetime
) -> dict[str, object]:
    return {
        "name": identity.name,
        "revision": identity.revision,
        "sha256": identity.sha256,
        "width": identity.width,
        "calibration": dict(calibration),
        "created_at": now,
    }

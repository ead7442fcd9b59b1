"""The embedding model is registered once it is loaded; a store of another model is refused."""

import asyncio
from datetime import datetime
from uuid import UUID

from memory.inference.calibration import calibrate
from memory.inference.embedder import LocalEmbedder
from memory.inference.store import ModelStore
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Unavailable
from memory.kernel.postgres.database import Connection
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

RETRY = 2.0
"""Seconds between attempts to register a model while the database is away."""


async def register_model(engine: Engine, now: datetime) -> None:
    """Wait for the model, measure it if it is new here, and make it the engine's."""
    if isinstance(engine.embedder, LocalEmbedder):
        identity = await engine.embedder.wait_until_ready()
    else:
        identity = engine.embedder.identity
    assert identity is not None
    async with engine.database.transaction() as connection:
        known = await ModelStore(connection).find(identity)
    if known is None:
        measured = await calibrate(engine.embedder)
        numbers = {"q99": measured.q99, "median": measured.median, "largest": measured.largest}
        async with engine.database.transaction() as connection:
            known = await ModelStore(connection).register(identity, numbers, now)
    engine.registered = known


async def keep_registering(engine: Engine, now: datetime) -> None:
    """Register the model, however long the database stays away; say why while it does not work."""
    while engine.registered is None:
        try:
            await register_model(engine, now)
        except MemoryFault as fault:
            engine.failure = fault.detail
            if isinstance(engine.embedder, LocalEmbedder) and engine.embedder.failure:
                return
            await asyncio.sleep(RETRY)


def require_model(engine: Engine, namespace: Namespace) -> UUID:
    """The registered model's id. Raises Unavailable where the namespace's vectors are another's."""
    model = engine.model
    if namespace.model_id is not None and namespace.model_id != model.id:
        raise Unavailable(
            f"namespace {namespace.slug} holds vectors of another model than "
            f"{model.identity.name}; start the server with the model that made them",
            code="model_mismatch",
        )
    return model.id


async def adopt_model(connection: Connection, engine: Engine, namespace: Namespace) -> UUID:
    """Before vectors are written: the first writer decides the namespace's model, for ever
    after.
    """
    model_id = require_model(engine, namespace)
    if namespace.model_id is None:
        used = await NamespaceStore(connection).use_model(namespace.id, model_id)
        if used != model_id:
            raise Unavailable(
                f"namespace {namespace.slug} was begun with another model just now",
                code="model_mismatch",
            )
    return model_id

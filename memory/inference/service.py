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


MISMATCH_RETRY = 30.0
"""Seconds after which a namespace of another model may be asked for again: so long a server takes
to be started with that model, about.
"""


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
                if not engine.embedder.may_recover:
                    return
                engine.embedder.start()
            await asyncio.sleep(RETRY)


def require_model(engine: Engine, namespace: Namespace) -> UUID:
    """The registered model's id. Raises Unavailable where the namespace's vectors are another's."""
    model = engine.model
    if namespace.model_id is not None and namespace.model_id != model.id:
        raise _mismatch(engine, namespace, "holds vectors of another embedding model than that of")
    return model.id


async def adopt_model(connection: Connection, engine: Engine, namespace: Namespace) -> UUID:
    """Before vectors are written, and before the bank's version is taken: the first writer decides
    the namespace's model, and until the transaction ends nobody moves it to another one.
    """
    model_id = require_model(engine, namespace)
    store = ModelStore(connection)
    await store.hold_vectors(namespace.id)
    used = await store.model_of(namespace.id)
    if used is None:
        if not await store.may_begin(model_id):
            raise _mismatch(
                engine, namespace, "is new, and no namespace of this database has the model of"
            )
        used = await NamespaceStore(connection).use_model(namespace.id, model_id)
    if used != model_id:
        raise _mismatch(engine, namespace, "was just moved to another embedding model than that of")
    return model_id


def _mismatch(engine: Engine, namespace: Namespace, what: str) -> Unavailable:
    """What an operator can do about it is the same whatever came about."""
    return Unavailable(
        f"namespace {namespace.slug} {what} this server, {engine.model.identity.label}; ask a "
        "server that has its model, which `memlift re-embed --status` names, start this one with "
        "it (MEMLIFT_EMBEDDING_MODEL, MEMLIFT_EMBEDDING_DTYPE), or move the namespace with "
        "`memlift re-embed`",
        code="model_mismatch",
        retry_after=MISMATCH_RETRY,
    )

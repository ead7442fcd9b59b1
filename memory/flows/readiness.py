"""Whether the server can do its work now, and what is missing if not."""

from datetime import datetime, timedelta

from memory.domain.learning import Check
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.storage.condition import ServerStore
from memory.storage.models import ModelStore
from memory.storage.work import WorkStore

SILENCE = timedelta(seconds=30)
"""A leader that has not been heard for this long is missing."""


async def readiness(engine: Engine, now: datetime) -> dict[str, Check]:
    """Each condition by name; the server is ready when all are ok."""
    checks = {"embedder": _embedder(engine)}
    try:
        async with engine.database.login() as connection:
            server = ServerStore(connection)
            checks["database"] = Check(ok=True, detail="reachable")
            checks["migrations"] = await server.migrations()
            if not checks["migrations"].ok:
                return checks
            checks["role"] = await server.role()
        checks |= await _inside(engine, now)
    except MemoryFault as fault:
        checks["database"] = Check(ok=False, detail=fault.detail)
    return checks


def _embedder(engine: Engine) -> Check:
    if engine.registered is None:
        return Check(ok=False, detail=engine.failure or "the embedding model is loading")
    return Check(ok=True, detail=engine.registered.identity.name)


async def _inside(engine: Engine, now: datetime) -> dict[str, Check]:
    async with engine.database.transaction() as connection:
        beat = await WorkStore(connection).last_beat()
        others: list[tuple[str, str]] = []
        if engine.registered is not None:
            others = await ModelStore(connection).others(engine.registered.id)
    led = beat is not None and now - beat[1] <= SILENCE
    leader = Check(ok=led, detail=f"led by {beat[0]}" if beat and led else "no process leads")
    model = Check(ok=not others, detail="one model")
    if others:
        names = ", ".join(f"{slug} ({name})" for slug, name in others[:5])
        model = Check(ok=False, detail=f"vectors of another model in: {names}")
    return {"leader": leader, "model": model}

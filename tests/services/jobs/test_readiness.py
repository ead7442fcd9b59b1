"""Which namespaces this process can serve is told apart from whether it can serve any."""

from memory.inference.store import ModelStore
from memory.jobs.checks import readiness
from memory.kernel.engine import Engine
from memory.kernel.ports import ModelIdentity
from memory.tenancy.entities import Key
from memory.tenancy.tables import namespace
from tests.fixtures.engine import NOON, Caller, a_namespace


async def test_a_namespace_of_another_model_is_named_and_keeps_nobody_else_waiting(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    served, call = await calls(await a_namespace(engine, operator)), await calls(wall)
    async with engine.database.transaction() as connection:
        stranger = ModelIdentity("another-model", "1", "5" * 64, 8)
        model_id = await ModelStore(connection).know(stranger, {}, NOON)
        rows = namespace.update()
        moved = rows.where(namespace.c.id == call.namespace.id)
        await connection.execute(moved.values(model_id=model_id))
        # As its first vector leaves it.
        kept = rows.where(namespace.c.id == served.namespace.id)
        await connection.execute(kept.values(model_id=engine.model.id))

    checks = await readiness(engine)

    async with engine.database.transaction() as connection:
        await connection.execute(moved.values(model_id=engine.model.id))
    assert checks["model"].ok
    assert not checks["other_models"].ok
    assert f"{wall}, of another-model (" in checks["other_models"].detail
    assert (await readiness(engine))["other_models"].ok

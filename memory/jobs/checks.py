"""What a server looks at to say whether it is ready, and what does not go on beside requests."""

from collections import Counter
from collections.abc import Mapping, Sequence

from memory.inference.embedder import LocalEmbedder
from memory.inference.store import ModelStore
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.ports import ModelIdentity, tell_apart
from memory.kernel.postgres.compatibility import Check, ServerStore
from memory.kernel.postgres.database import POOL_EXHAUSTED
from memory.kernel.postgres.leadership import LEASE, FailingJob, WorkStore
from memory.kernel.text import counted
from memory.llm.cost_entities import ServerDay
from memory.llm.provider import ProviderClient
from memory.llm.store import ServerBudgetStore


async def readiness(engine: Engine) -> dict[str, Check]:
    """The server checks by name; requests are served when all but `leader` and `jobs` are ok.

    Raises Unavailable where every connection is busy: that tells nothing of the database.
    """
    checks = {"embedder": _check_embedder(engine)}
    llms = {name: one.client for name, one in engine.llms.items()}
    asked = {name: one for name, one in llms.items() if isinstance(one, ProviderClient)}
    if asked:
        checks["language_model"] = _check_llms(asked)
    try:
        async with engine.database.login() as connection:
            server = ServerStore(connection)
            checks["database"] = Check(ok=True, detail="reachable")
            checks |= await server.migrations()
            if not checks["migrations"].ok:
                return checks
            checks["role"] = await server.role()
        checks |= await _check_inside(engine)
    except MemoryFault as fault:
        if fault.kind == POOL_EXHAUSTED:
            raise
        checks["database"] = Check(ok=False, detail=fault.detail)
    return checks


def _check_embedder(engine: Engine) -> Check:
    if engine.registered is None:
        return Check(ok=False, detail=engine.failure or "the embedding model is loading")
    if isinstance(engine.embedder, LocalEmbedder) and (why := engine.embedder.absence) is not None:
        return Check(ok=False, detail=why)
    return Check(ok=True, detail=engine.registered.identity.label)


def _check_llms(clients: Mapping[str, ProviderClient]) -> Check:
    """Whether the next question to each would be sent; which is which, where there are several."""
    found = {name: _check_llm(client) for name, client in clients.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    away = {name: one for name, one in found.items() if not one.ok}
    said = (f"{name}: {one.detail}" for name, one in (away or found).items())
    return Check(ok=not away, detail="; ".join(said))


def _check_llm(client: ProviderClient) -> Check:
    """Whether the next question would be sent to the language model."""
    if client.failure is not None:
        return Check(ok=False, detail=client.failure)
    if (pause := client.pause) is not None:
        said = f"{client.name} is left alone for {pause.seconds:.0f} s after {pause.reason}"
        return Check(ok=False, detail=said)
    return Check(ok=True, detail=client.name)


async def _check_inside(engine: Engine) -> dict[str, Check]:
    async with engine.database.transaction() as connection:
        beat = await WorkStore(connection).last_beat()
        failing = await WorkStore(connection).failing()
        models = await _check_models(engine, ModelStore(connection))
        limit = engine.settings.llm.server_daily_cost
        if limit is not None:
            models["server_cost"] = _check_cost(await ServerBudgetStore(connection).today(), limit)
    led = beat is not None and beat[1] <= LEASE
    leader = Check(ok=led, detail=f"led by {beat[0]}" if beat and led else "no process leads")
    return {"leader": leader, "jobs": _check_jobs(failing), **models}


async def _check_models(engine: Engine, store: ModelStore) -> dict[str, Check]:
    """Whether this process has the model of any namespace, and whether it has that of all: one of
    another model is refused alone.
    """
    serves, there = True, "one model"
    others: dict[str, ModelIdentity] = {}
    if (own := engine.registered) is not None:
        others = await store.others(own.id)
        serves = not others or await store.serves(own.id)
        label, *labels = tell_apart([own.identity, *others.values()])
        named = [f"{slug}, of {one}" for slug, one in zip(others, labels, strict=True)][:5]
        if others:
            there = f"vectors of another model than {label} in: {'; '.join(named)}"
    return {
        "model": Check(
            ok=serves, detail="the one that namespaces are served by" if serves else there
        ),
        "other_models": Check(ok=not others, detail=there),
    }


def _check_cost(today: ServerDay, limit: float) -> Check:
    """Whether every question was within what all namespaces together may spend today."""
    spent = today.cost + today.cost_reserved
    said = f"${spent:.4f} of ${limit:.4f} spent or set aside today (UTC)"
    if today.stopped:
        said += f", {counted(today.stopped, 'question')} beyond it not asked"
    return Check(ok=not today.stopped, detail=said)


def _check_jobs(failing: Sequence[FailingJob]) -> Check:
    """Whether each job's last run went well, by job in how many namespaces it did not."""
    counts = sorted(Counter(one.job for one in failing).items())
    if not counts:
        return Check(ok=True, detail="none fails")
    named = ", ".join(f"{job} (namespaces: {count})" for job, count in counts)
    return Check(ok=False, detail=named)

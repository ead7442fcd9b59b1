"""What language models may cost all namespaces of a server together in a day."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.jobs.checks import readiness
from memory.kernel.engine import Engine, NamedLlm
from memory.kernel.ports import Prompt, Reply
from memory.kernel.postgres.database import Database, PoolSettings
from memory.llm.client import noting_stops
from memory.llm.cost_entities import ServerDay
from memory.llm.store import ServerBudgetStore
from memory.tenancy.entities import NamespaceChange, Role
from memory.tenancy.service import change_namespace
from server.schemas.health import Ready
from tests.fixtures.engine import a_namespace
from tests.fixtures.llm_builders import a_summary, on_record, spent, with_llm

ANSWER = '{"situation": "a forecast of rain", "lesson": "look at more than one day"}'
PRICE = (1e-6, 4e-6)
EACH = 1_000 * PRICE[0] + 100 * PRICE[1]
"""What an answer costs: less than is set aside for it."""


class Waiting:
    """Answers when as many have asked as will, so that all of them are under way at once."""

    def __init__(self, name: str = "someone/unheard-of") -> None:
        self.name, self.asked = name, 0
        self.go = asyncio.Event()
        self.go.set()

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        self.asked += 1
        await self.go.wait()
        return Reply(ANSWER, 1_100, written=100)


@pytest.fixture(autouse=True)
async def unspent(engine: Engine) -> AsyncGenerator[None]:
    """The day of the whole server begins with nothing spent."""
    await forget_the_day(engine)
    yield
    await forget_the_day(engine)


async def forget_the_day(engine: Engine) -> None:
    async with engine.database.transaction() as connection:
        await connection.execute(text("DELETE FROM server_budget"))


async def today(engine: Engine) -> ServerDay:
    async with engine.database.transaction() as connection:
        return await ServerBudgetStore(connection).today()


async def test_two_processes_and_many_namespaces_never_pass_the_limit_together(
    engine: Engine, operator, calls, database_url: str
) -> None:
    llm = Waiting()
    llm.go.clear()
    slugs = [await a_namespace(engine, operator) for _ in range(4)]
    namespaces = [await calls(slug) for slug in slugs]
    other = Database(database_url, PoolSettings(size=4, timeout=timedelta(minutes=2)))
    limit = 0.035
    here = with_llm(engine, llm, price=PRICE, together=limit)
    there = replace(here, database=other)

    async def ask(place: int) -> bool:
        asking = (here, there)[place % 2]
        return await a_summary(asking, namespaces[place // 2 % 4]) is not None

    asked = [asyncio.create_task(ask(place)) for place in range(24)]
    stopped = 0
    while llm.asked + stopped < len(asked):
        await asyncio.sleep(0)
        stopped = (await today(engine)).stopped
    under_way = await today(engine)
    llm.go.set()
    answered = await asyncio.gather(*asked)
    await other.close()

    assert 0 < under_way.cost_reserved <= limit
    assert under_way.cost == 0
    # Not one more would have fitted: what is set aside for each is the same.
    assert under_way.cost_reserved * (llm.asked + 1) / llm.asked > limit
    assert sum(answered) == llm.asked < len(asked)
    found = await today(engine)
    assert found.cost == pytest.approx(llm.asked * EACH)
    assert found.cost_reserved == pytest.approx(0.0, abs=1e-12)
    assert found.stopped == len(asked) - llm.asked
    each = [await spent(here, one) for one in namespaces]
    assert sum(one.cost for one in each) == pytest.approx(found.cost)
    assert sum(one.stopped for one in each) == found.stopped
    # What a namespace had set aside before the server said no came back.
    assert [one.reserved for one in each] == [0, 0, 0, 0]
    assert [one.cost_reserved for one in each] == pytest.approx([0.0] * 4, abs=1e-12)


async def test_a_limit_that_is_reached_says_so_wherever_somebody_looks(
    engine: Engine, calls, wall: str
) -> None:
    asking = with_llm(engine, Waiting(), price=PRICE, together=0.005)
    call = await calls(wall)
    assert (await readiness(asking))["server_cost"].ok

    while await a_summary(asking, call) is not None:
        assert asking.llm_counters.results["summarise", "done"] < 9
    with noting_stops() as stops:
        assert await a_summary(asking, call) is None

    *_, last = await on_record(asking, call)
    assert (last.status, last.fault) == ("stopped", "server_budget_exhausted")
    assert [one.detail for one in stops] == [last.detail]
    assert (
        "less is left of the $0.0050 that language models may cost this server" in stops[0].detail
    )
    assert asking.llm_counters.results["summarise", "server_budget_exhausted"] == 2
    found = await spent(asking, call)
    assert (found.server_cost_limit, found.server_cost_reached) == (0.005, True)
    assert found.server_cost == pytest.approx(found.cost)
    check = (await readiness(asking))["server_cost"]
    assert check.detail == (
        f"${found.cost:.4f} of $0.0050 spent or set aside today (UTC), 2 questions beyond it not"
        " asked"
    )
    ready = Ready.of({"server_cost": check})
    assert (ready.status, ready.degraded) == ("ready", ["daily cost limit reached"])


async def test_what_others_spend_is_told_to_operators_alone(
    engine: Engine, calls, wall: str
) -> None:
    asking = with_llm(engine, Waiting(), price=PRICE, together=1.0)
    await a_summary(asking, await calls(wall))

    admin = await spent(asking, await calls(wall, role=Role.ADMIN))

    assert (admin.server_cost, admin.server_cost_limit) == (None, 1.0)
    assert (await spent(asking, await calls(wall))).server_cost == pytest.approx(EACH)


async def test_what_costs_nothing_is_asked_beyond_any_limit_and_what_nobody_can_price_never(
    engine: Engine, calls, wall: str
) -> None:
    dear, free, unknown = Waiting("a/dear"), Waiting("a/free"), Waiting("a/unknown")
    further = {"free": NamedLlm(free, (0.0, 0.0)), "unknown": NamedLlm(unknown)}
    asking = with_llm(engine, dear, price=PRICE, together=0.0, cost=0.0, further=further)

    async def ask(name: str) -> bool:
        call = await calls(wall)
        change = NamespaceChange(settings={"llm_models": {"summarise": name}})
        await change_namespace(asking, call, change, call.namespace.version)
        return await a_summary(asking, await calls(wall)) is not None

    assert [await ask(name) for name in ("default", "free", "unknown")] == [False, True, False]
    assert (dear.asked, unknown.asked) == (0, 0)
    *_, last = await on_record(asking, await calls(wall))
    assert last.fault == "price_unknown"


async def test_what_a_process_that_died_had_set_aside_comes_back_with_its_lease(
    engine: Engine,
) -> None:
    over = timedelta(seconds=-1)
    async with engine.database.transaction() as connection:
        store = ServerBudgetStore(connection)
        day = await store.reserve(0.7, 1.0, timedelta(minutes=1))
        assert day is not None
        assert await store.reserve(0.7, 1.0, timedelta(minutes=1)) is None
        await connection.execute(text("DELETE FROM server_budget"))
        assert await store.reserve(0.7, 1.0, over) == day
        assert await store.reserve(0.7, 1.0, timedelta(minutes=1)) == day
        assert (await store.today()).cost_reserved == 0.7


async def test_without_a_limit_namespaces_share_no_row(engine: Engine, calls, wall: str) -> None:
    asking = with_llm(engine, Waiting(), price=PRICE)

    assert await a_summary(asking, await calls(wall)) is not None

    async with engine.database.transaction() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM server_budget")) == 0

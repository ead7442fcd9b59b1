"""The daily cost limit: what a call can cost at most is set aside, and what it cost is counted."""

import pytest

from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.ports import Prompt, Reply
from memory.llm.client import noting_stops
from memory.tenancy.entities import Call, NamespaceChange
from memory.tenancy.service import change_namespace
from tests.fixtures.engine import Caller
from tests.fixtures.llm_builders import a_summary, on_record, spent, with_llm

ANSWER = '{"situation": "a forecast of rain", "lesson": "look at more than one day"}'
PRICE = (1e-6, 4e-6)
"""Dollars for a token read, and for one written."""


class Counting:
    """Answers always, with the tokens that a provider would count."""

    def __init__(self, name: str = "someone/unheard-of", written: int = 100) -> None:
        self.name, self.written, self.asked = name, written, 0

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        self.asked += 1
        return Reply(ANSWER, 1_100, written=self.written)


async def limited(calls: Caller, engine: Engine, slug: str, dollars: float | None) -> Call:
    call = await calls(slug)
    change = NamespaceChange(settings={"llm_daily_cost": dollars})
    await change_namespace(engine, call, change, call.namespace.version)
    return await calls(slug)


async def test_calls_cost_what_their_tokens_cost_until_the_day_has_no_money_left(
    engine: Engine, calls: Caller, wall: str
) -> None:
    llm = Counting()
    asking = with_llm(engine, llm, price=PRICE)
    call = await limited(calls, asking, wall, 0.01)

    while await a_summary(asking, call) is not None:
        assert llm.asked < 10
    with noting_stops() as stops:
        assert await a_summary(asking, call) is None

    found = await spent(asking, call)
    each = 1_000 * PRICE[0] + 100 * PRICE[1]
    assert found.cost == pytest.approx(llm.asked * each)
    assert found.cost_limit == 0.01
    assert 0 < found.cost <= 0.01
    assert (found.cost_reserved, found.stopped, found.price_known) == (0.0, 2, True)
    [day] = found.days
    assert (day.tokens, day.cost, day.unpriced) == (1_100 * llm.asked, found.cost, 0)
    assert "of the daily cost limit of $0.0100" in stops[0].detail
    *_, last = await on_record(asking, call)
    assert (last.status, last.fault) == ("stopped", "budget_exhausted")


async def test_where_nobody_counts_what_was_written_all_tokens_are_the_dearer_kind(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking = with_llm(engine, Counting(written=0), price=PRICE, cost=1.0)

    assert await a_summary(asking, call := await calls(wall)) is not None

    assert (await spent(asking, call)).cost == pytest.approx(1_100 * PRICE[1])


async def test_a_model_without_a_price_is_not_asked_where_money_is_limited(
    engine: Engine, calls: Caller, wall: str
) -> None:
    llm = Counting()
    asking = with_llm(engine, llm)
    call = await calls(wall)
    assert await a_summary(asking, call) is not None
    limit = await limited(calls, asking, wall, 5.0)

    assert await a_summary(asking, limit) is None

    assert llm.asked == 1
    *_, stopped = await on_record(asking, limit)
    assert (stopped.status, stopped.fault) == ("stopped", "price_unknown")
    assert stopped.detail is not None
    assert "someone/unheard-of is not known" in stopped.detail
    found = await spent(asking, limit)
    assert (found.price_known, found.cost, found.days[0].unpriced) == (False, 0.0, 1_100)


async def test_a_namespace_may_spend_no_more_than_the_server_allows_each(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking = with_llm(engine, Counting(), cost=1.0, price=PRICE)

    for dollars, limit in ((1.5, 1.0), (-0.1, [0, 1_000_000]), (float("nan"), [0, 1_000_000])):
        with pytest.raises(Rejected) as refused:
            await limited(calls, asking, wall, dollars)
        assert (refused.value.field, refused.value.limit) == ("settings.llm_daily_cost", limit)
    assert (await spent(asking, await calls(wall))).cost_limit == 1.0
    assert (await spent(asking, await limited(calls, asking, wall, 0.5))).cost_limit == 0.5

"""The money that calls of the language model took, by day, role and model."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby

from memory.kernel.engine import Engine
from memory.llm.budget import budget_of
from memory.llm.cost_entities import Cost, CostLine, ModelCosts, TokenPrice, TokenUse
from memory.llm.prices import price_in_force, read_prices
from memory.llm.store import LlmCallStore
from memory.tenancy.entities import Act, Call

DAYS = 30
"""So many days are summed up, with the one that it is now."""


async def get_model_costs(engine: Engine, call: Call) -> ModelCosts:
    """Of the newest 30 days, for whoever may inspect."""
    call.key.require(Act.INSPECT)
    budget = await budget_of(engine, call)
    since = budget.day - timedelta(days=DAYS - 1)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = LlmCallStore(connection, call.namespace.id)
        used = await store.use_since(datetime.combine(since, time(), UTC))
    listed = await asyncio.to_thread(read_prices)
    given = {one.client.name: one.price for one in engine.llms.values()}
    asked = [one.model for one in budget.models if one.roles]
    known = {name: price_in_force(name, given.get(name)) for name in {one.model for one in used}}
    left = _cost_left(budget.left, [price_in_force(name, given[name]) for name in asked])
    return sum_up(used, PriceList(known, is_there=listed is not None), since, budget.day, left)


def _cost_left(tokens: int, prices: Sequence[TokenPrice | None]) -> Cost | None:
    """Of so many tokens by any of the models that are asked; None where a price is not known."""
    costs = [cost_of(tokens, one, None) for one in prices if one is not None]
    if not costs or len(costs) < len(prices):
        return None
    least, most = min(one.least for one in costs), max(one.most for one in costs)
    return Cost((least + most) / 2, least, most)


@dataclass(frozen=True, slots=True)
class PriceList:
    """What models cost, as the operator says or as listed; `is_there`: whether there is a list."""

    prices: Mapping[str, TokenPrice | None]
    is_there: bool = True


def sum_up(
    used: Sequence[TokenUse], listed: PriceList, since: date, today: date, left: Cost | None
) -> ModelCosts:
    """Days newest first, roles and models by their tokens."""
    prices = listed.prices
    days = sorted(used, key=lambda one: one.day, reverse=True)
    now = [one for one in used if one.day == today]
    return ModelCosts(
        since=since,
        days=[
            _line(day.isoformat(), list(some), prices)
            for day, some in groupby(days, lambda one: one.day)
        ],
        roles=_by_role(used, prices),
        roles_today=_by_role(now, prices),
        today=_line(today.isoformat(), now, prices),
        total=_line(since.isoformat(), used, prices),
        left=left,
        are_prices_known=listed.is_there,
    )


def _by_role(
    used: Sequence[TokenUse], prices: Mapping[str, TokenPrice | None]
) -> Sequence[CostLine]:
    def title(one: TokenUse) -> str:
        return f"{one.role}, {one.model}"

    lines = [
        _line(name, list(some), prices) for name, some in groupby(sorted(used, key=title), title)
    ]
    return sorted(lines, key=lambda one: -one.tokens)


def cost_of(tokens: int, price: TokenPrice, written_share: float | None) -> Cost:
    """Where nothing tells how tokens divide, `about` is half-way between the bounds."""
    share = 0.5 if written_share is None else written_share
    least, most = sorted((price.read, price.written))
    about = price.read + share * (price.written - price.read)
    return Cost(tokens * about, tokens * least, tokens * most)


def _line(
    title: str, used: Sequence[TokenUse], prices: Mapping[str, TokenPrice | None]
) -> CostLine:
    cost: Cost | None = None
    unpriced = 0
    for one in used:
        price = prices.get(one.model)
        if price is None:
            unpriced += one.tokens
            continue
        part = cost_of(one.tokens, price, one.written_share)
        cost = part if cost is None else cost + part
    return CostLine(
        title, sum(one.calls for one in used), sum(one.tokens for one in used), unpriced, cost
    )

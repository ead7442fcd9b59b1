"""The money that calls of the language model took, by day, role and model."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any

from memory.kernel.engine import Engine
from memory.llm.client import budget_of
from memory.llm.cost_entities import Cost, CostLine, ModelCosts, TokenPrice, TokenUse
from memory.llm.prices import price_in_force, price_of, read_prices
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
    given = engine.settings.llm.price
    price = None if budget.model is None else price_in_force(budget.model, given)
    left = None if price is None else cost_of(budget.left, price, None)
    return sum_up(used, listed, since, budget.day, left)


def sum_up(
    used: Sequence[TokenUse],
    listed: Mapping[str, Any] | None,
    since: date,
    today: date,
    left: Cost | None,
) -> ModelCosts:
    """Days newest first, roles and models by their tokens."""
    prices = {one.model: price_of(one.model, listed or {}) for one in used}

    def by_role(one: TokenUse) -> str:
        return f"{one.role}, {one.model}"

    days = sorted(used, key=lambda one: one.day, reverse=True)
    roles = [
        _line(title, list(some), prices)
        for title, some in groupby(sorted(used, key=by_role), by_role)
    ]
    return ModelCosts(
        since=since,
        days=[
            _line(day.isoformat(), list(some), prices)
            for day, some in groupby(days, lambda one: one.day)
        ],
        roles=sorted(roles, key=lambda one: -one.tokens),
        today=_line(today.isoformat(), [one for one in used if one.day == today], prices),
        total=_line(since.isoformat(), used, prices),
        left=left,
        are_prices_known=listed is not None,
    )


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
        price = prices[one.model]
        if price is None:
            unpriced += one.tokens
            continue
        part = cost_of(one.tokens, price, one.written_share)
        cost = part if cost is None else cost + part
    return CostLine(
        title, sum(one.calls for one in used), sum(one.tokens for one in used), unpriced, cost
    )

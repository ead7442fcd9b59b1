"""What a namespace may still ask of language models today, of which, and what each day took."""

import asyncio
from datetime import UTC, timedelta
from typing import get_args

from memory.kernel.engine import Engine
from memory.kernel.ports import RoleName
from memory.llm.cost_entities import ServerDay
from memory.llm.entities import ModelInUse, TokenBudget, UnknownModel
from memory.llm.models import name_for, pause_of
from memory.llm.prices import price_in_force, read_prices
from memory.llm.store import LlmCallStore, ServerBudgetStore
from memory.tenancy.entities import Act, Call, Role
from memory.tenancy.namespace_settings import NamespaceSettings

DAYS_SHOWN = 90


async def budget_of(engine: Engine, call: Call) -> TokenBudget:
    """The tokens and the money of the day that it is now."""
    call.key.require(Act.INSPECT)
    settings, limits = call.namespace.settings, engine.settings.llm
    day = call.now.astimezone(UTC).date()
    limit, together = settings.daily_tokens(limits.daily_tokens), limits.server_daily_cost
    async with engine.database.transaction(call.namespace.id) as connection:
        store = LlmCallStore(connection, call.namespace.id)
        spent, reserved, stopped = await store.used(day)
        cost, cost_reserved = await store.cost_of(day)
        days = await store.days_since(day - timedelta(days=DAYS_SHOWN - 1))
        server = ServerDay()
        if together is not None:
            server = await ServerBudgetStore(connection).today()
    await asyncio.to_thread(read_prices)
    models = models_in_use(engine, settings)
    own = next(iter(models), None)
    # What others spend is no business of a namespace.
    may_know = together is not None and call.key.role is Role.OPERATOR
    return TokenBudget(
        model=None if own is None else own.model,
        day=day,
        limit=limit,
        spent=spent,
        reserved=reserved,
        left=max(0, limit - spent - reserved),
        stopped=stopped,
        cost_limit=settings.daily_cost(limits.daily_cost),
        cost=cost,
        cost_reserved=cost_reserved,
        price_known=own is not None and own.price_known,
        days=tuple(days),
        models=models,
        unknown_models=unknown_models(engine, settings),
        server_cost_limit=together,
        server_cost=server.cost + server.cost_reserved if may_know else None,
        server_cost_reached=server.stopped > 0,
        pause=None if own is None else own.pause,
    )


def models_in_use(engine: Engine, settings: NamespaceSettings) -> tuple[ModelInUse, ...]:
    """All that the server has, with what each is asked for under these settings."""
    chosen = {role: name_for(engine, settings, role) for role in get_args(RoleName)}
    return tuple(
        ModelInUse(
            name=name,
            model=one.client.name,
            roles=tuple(role for role, of in chosen.items() if of == name),
            price_known=price_in_force(one.client.name, one.price) is not None,
            pause=pause_of(one.client),
        )
        for name, one in engine.llms.items()
    )


def unknown_models(engine: Engine, settings: NamespaceSettings) -> tuple[UnknownModel, ...]:
    """What the namespace has chosen and the server does not have."""
    return tuple(
        UnknownModel(role, name)
        for role, name in sorted(settings.llm_models.items())
        if name not in engine.llms
    )

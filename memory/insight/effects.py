"""What memory did, how far it is followed, and which ranker serves: read from the states."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from memory.belief.effect import Estimate, effect_of
from memory.belief.fold import Cell, Learned
from memory.belief.guard import feedback_dates, losses_of
from memory.belief.policy import policy_named
from memory.belief.rankers import RANKERS
from memory.belief.states import State
from memory.belief.store.states import StateStore
from memory.belief.strength import feedback_dates as strength_dates
from memory.belief.strength import initial_strength
from memory.insight.entities import ArmMean, EffectView, EstimateView, RankersView
from memory.insight.weights import present
from memory.kernel.engine import Engine
from memory.retrieval.ranking import CellStrength, ranker_shares, strength_in
from memory.tasks.entities import Agent
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call


async def effect(
    engine: Engine, call: Call, agent: str | None, category: str | None
) -> list[EffectView]:
    """What memory did per agent and category, and its strength there, by name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        actors = ActorStore(connection, call.namespace.id)
        agents = {one.id: one for one in await actors.every_agent()}
        names = await actors.names()
        states = await StateStore(connection, call.namespace.id).load_cells()
    days = defaultdict[Cell, list[State]](list)
    for key in sorted(states.effects):
        days[key[0], key[1]].append(states.effects[key])
    views = [
        _view(call, (agents[cell[0]], names[cell[1]]), (cell, days[cell]), states)
        for cell in {*days, *states.strengths}
        if agent in (None, agents[cell[0]].name) and category in (None, names[cell[1]])
    ]
    return sorted(views, key=lambda view: (view.agent, view.category))


async def rankers(engine: Engine, call: Call) -> list[RankersView]:
    """The guard's record of the namespace and of each category that has one, by name."""
    async with engine.database.transaction(call.namespace.id) as connection:
        names = await ActorStore(connection, call.namespace.id).names()
        states = await StateStore(connection, call.namespace.id).load_cells()
    known = sorted(states.records, key=lambda key: "" if key is None else names[key])
    return [_record(call, key, states.records, names) for key in known]


def _view(
    call: Call, named: tuple[Agent, str], seen: tuple[Cell, Sequence[State]], states: Learned
) -> EffectView:
    agent, category = named
    cell, days = seen
    found = effect_of(days)
    known = states.strengths.get(cell) or initial_strength()
    how = CellStrength()
    if policy_named(call.namespace.policy).guarded:
        how = strength_in(states, cell, present(call), own=agent.own_information)
    return EffectView(
        agent=agent.name,
        category=category,
        n=sum(mean.n for mean in found.arms.values()),
        arms={arm: ArmMean(mean.n, mean.mean or 0.0) for arm, mean in sorted(found.arms.items())},
        paired=_estimate(found.paired),
        randomised=_estimate(found.randomised),
        strength=how.value,
        suspended=how.suspended,
        feedback_dates=strength_dates(known),
    )


def _estimate(found: Estimate) -> EstimateView:
    return EstimateView(**{name: getattr(found, name) for name in EstimateView.__slots__})


def _record(
    call: Call,
    category: UUID | None,
    records: Mapping[UUID | None, State],
    names: Mapping[UUID, str],
) -> RankersView:
    record = records[category]
    shares = ranker_shares(records, category, present(call), signal=call.namespace.signal)
    return RankersView(
        category=None if category is None else names[category],
        feedback_dates=feedback_dates(record),
        probabilities=dict(shares),
        losses=losses_of(record, RANKERS),
    )

"""Weights, effects, history and the health of learning."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.belief.entities import WeightEvent
from memory.erasure import undo
from memory.erasure.entities import RollbackRecord, RollbackUndone
from memory.erasure.rollback import roll_back
from memory.insight import health, history, influence, worth
from memory.insight import service as insight
from memory.insight.entities import (
    BankDifference,
    Effect,
    LearningHealth,
    PastWeight,
    RankerRecord,
    Rollback,
    RollbackResult,
    Weight,
    WeightRow,
)
from memory.insight.influence_entities import KeyInfluence, MovedMemory
from memory.insight.what_if_entities import WhatIf, WhatIfResult
from memory.insight.worth_entities import WorthByWeight
from server.answers import PagesDep, all_of, answered
from server.dependencies import EngineDep, Inspects, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery, Rows
from server.schemas.insight import AgentOnly, DifferenceQuery, EffectQuery, MomentQuery, WeightQuery

weights_router = router_at(INSIDE, "weights")


@weights_router.get("/experiences/{memory_id}/weight", response_model=Weight)
async def get_weight(
    engine: EngineDep, call: Reads, memory_id: UUID, query: Annotated[AgentOnly, Query()]
) -> Response:
    """A memory's weight, for one agent or for none in particular."""
    return answered(await insight.get_weight(engine, call, memory_id, query.agent_name()))


@weights_router.get("/experiences/{memory_id}/weight/events", response_model=Listing[WeightEvent])
async def list_weight_events(
    engine: EngineDep,
    call: Reads,
    memory_id: UUID,
    pages: PagesDep,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """What moved a memory's weight."""
    events = await insight.list_weight_events(engine, call, memory_id, pages.page(query))
    return pages.page_of(WeightEvent, events)


@weights_router.get("/weights", response_model=Listing[WeightRow])
async def list_weights(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[WeightQuery, Query()]
) -> Response:
    """Memories by weight."""
    rows = await insight.list_weights(engine, call, query.to_order(), pages.page(query))
    return pages.page_of(WeightRow, rows)


@weights_router.get("/weights/worth", response_model=Rows[WorthByWeight])
async def list_worth_by_weight(engine: EngineDep, call: Reads) -> Response:
    """What serving memories added against what took their places, by class of weight."""
    return all_of(WorthByWeight, await worth.list_worth_by_weight(engine, call))


@weights_router.get("/influences", response_model=Rows[KeyInfluence])
async def list_influences(engine: EngineDep, call: Inspects) -> Response:
    """How far each key that reported moved memories of others."""
    return all_of(KeyInfluence, await influence.list_influences(engine, call))


@weights_router.get("/influences/{key_id}/memories", response_model=Rows[MovedMemory])
async def list_moved_memories(engine: EngineDep, call: Inspects, key_id: UUID) -> Response:
    """The memories of others that a key's party moved."""
    return all_of(MovedMemory, await influence.list_moved_memories(engine, call, key_id))


effect_router = router_at(INSIDE, "weights")


@effect_router.get("/effect", response_model=Rows[Effect])
async def get_effect(
    engine: EngineDep, call: Reads, query: Annotated[EffectQuery, Query()]
) -> Response:
    """What memory added, with intervals; how far it is followed; rewards by arm."""
    effects = await insight.list_effects(engine, call, query.agent_name(), query.category_name())
    return answered(Rows[Effect].model_construct(items=effects))


@effect_router.get("/rankers", response_model=Rows[RankerRecord])
async def get_rankers(engine: EngineDep, call: Reads) -> Response:
    """What each ranker has lost, and how far it is believed."""
    records = await insight.list_ranker_records(engine, call)
    return answered(Rows[RankerRecord].model_construct(items=records))


history_router = router_at(INSIDE, "history")


@history_router.get("/bank", response_model=Listing[PastWeight])
async def get_bank(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MomentQuery, Query()]
) -> Response:
    """Every memory's weight as of a moment."""
    rows = await history.list_past_weights(engine, call, query.to_moment(), pages.page(query))
    return pages.page_of(PastWeight, rows)


@history_router.get("/bank/difference", response_model=BankDifference)
async def get_difference(
    engine: EngineDep, call: Reads, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """What changed between two moments."""
    first, second = query.first_moment(), query.second_moment()
    return answered(await history.compare_moments(engine, call, first, second))


@history_router.post("/what-if", response_model=WhatIfResult)
async def what_if(engine: EngineDep, call: Reads, body: WhatIf) -> Response:
    """What the recorded outcomes would have made of the bank under another policy."""
    return answered(await history.what_if(engine, call, body))


@history_router.post("/rollbacks", response_model=RollbackResult)
async def rollback(engine: EngineDep, call: Manages, body: Rollback) -> Response:
    """Withdraw what an agent or a key reported, or preview the change."""
    return answered(await roll_back(engine, call, body))


@history_router.get("/rollbacks", response_model=Listing[RollbackRecord])
async def list_rollbacks(
    engine: EngineDep, call: Manages, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """Rollbacks on record, the newest first."""
    return pages.page_of(RollbackRecord, await undo.list_rollbacks(engine, call, pages.page(query)))


@history_router.post("/rollbacks/{rollback_id}/undo", response_model=RollbackUndone)
async def undo_rollback(engine: EngineDep, call: Manages, rollback_id: UUID) -> Response:
    """Give back what the newest rollback took; every weight is then as if it had never been."""
    return answered(await undo.undo_rollback(engine, call, rollback_id))


learning_health_router = router_at(f"{INSIDE}/learning-health", "learning health")


@learning_health_router.get("", response_model=LearningHealth)
async def get_learning_health(engine: EngineDep, call: Reads) -> Response:
    """The health of learning now."""
    return answered(await health.get_learning_health(engine, call))


@learning_health_router.get("/history", response_model=Listing[LearningHealth])
async def list_learning_health(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ListQuery, Query()]
) -> Response:
    """How it was: one sample a day, kept 400 days."""
    samples = await health.list_learning_health(engine, call, pages.page(query))
    return pages.page_of(LearningHealth, samples)

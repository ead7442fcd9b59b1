"""Effect: what memory did for each agent and category, and which ranker serves it."""

from typing import Annotated

from fastapi import Query, Response

from memory.insight import service as insight
from memory.insight.entities import Effect, RankerRecord
from server.answers import answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Rows
from server.schemas.learning import EffectQuery

router = router_at(INSIDE, "weights")


@router.get("/effect", response_model=Rows[Effect])
async def get_effect(
    engine: EngineDep, call: Reads, query: Annotated[EffectQuery, Query()]
) -> Response:
    """What memory added, with intervals; how far it is followed; rewards by arm."""
    effects = await insight.list_effects(engine, call, query.agent_name(), query.category_name())
    return answered(Rows[Effect].model_construct(items=effects))


@router.get("/rankers", response_model=Rows[RankerRecord])
async def get_rankers(engine: EngineDep, call: Reads) -> Response:
    """What each ranker has lost, and how far it is believed."""
    records = await insight.list_ranker_records(engine, call)
    return answered(Rows[RankerRecord].model_construct(items=records))

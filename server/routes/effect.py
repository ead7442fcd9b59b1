"""Effect: what memory did for each agent and category, and which ranker serves it."""

from typing import Annotated

from fastapi import Query, Response

from memory.insight import effects as flow
from server.answers import answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.learning import EffectOut, EffectQuery, EffectsOut, RankerListOut, RankersOut

router = router_at(INSIDE, "weights")


@router.get("/effect", response_model=EffectsOut)
async def get_effect(
    engine: EngineDep, call: Reads, query: Annotated[EffectQuery, Query()]
) -> Response:
    """What memory added, with intervals; how far it is followed; rewards by arm."""
    views = await flow.effect(engine, call, query.agent_name(), query.category_name())
    return answered(EffectsOut(items=[EffectOut.of(view) for view in views]))


@router.get("/rankers", response_model=RankerListOut)
async def get_rankers(engine: EngineDep, call: Reads) -> Response:
    """What each ranker has lost, and how far it is believed."""
    views = await flow.rankers(engine, call)
    return answered(RankerListOut(items=[RankersOut.of(view) for view in views]))

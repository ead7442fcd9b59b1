"""Effect: what memory did for each agent and category."""

from typing import Annotated

from fastapi import Query, Response

from memory.flows.weights import effect
from server.answers import answered
from server.dependencies import EngineDep, Reads
from server.routing import INSIDE, router_at
from server.schemas.learning import EffectOut, EffectQuery, EffectsOut

router = router_at(f"{INSIDE}/effect", "weights")


@router.get("", response_model=EffectsOut)
async def get_effect(
    engine: EngineDep, call: Reads, query: Annotated[EffectQuery, Query()]
) -> Response:
    """Counts and mean rewards by arm, and the paired difference."""
    views = await effect(engine, call, query.agent_name(), query.category_name())
    return answered(EffectsOut(items=[EffectOut.of(view) for view in views]))

"""The ledger read backwards: the bank at a moment, differences, what if, and undo."""

from typing import Annotated

from fastapi import Query, Response

from memory.erasure.rollback import roll_back
from memory.insight import history
from memory.insight.entities import (
    BankDifference,
    PastWeight,
    Rollback,
    RollbackResult,
    WhatIf,
    WhatIfResult,
)
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.history import DifferenceQuery, MomentQuery

router = router_at(INSIDE, "history")


@router.get("/bank", response_model=Listing[PastWeight])
async def get_bank(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MomentQuery, Query()]
) -> Response:
    """Every memory's weight as of a moment."""
    rows = await history.list_past_weights(engine, call, query.to_moment(), pages.page(query))
    return pages.page_of(PastWeight, rows)


@router.get("/bank/difference", response_model=BankDifference)
async def get_difference(
    engine: EngineDep, call: Reads, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """What changed between two moments."""
    first, second = query.first_moment(), query.second_moment()
    return answered(await history.compare_moments(engine, call, first, second))


@router.post("/what-if", response_model=WhatIfResult)
async def what_if(engine: EngineDep, call: Reads, body: WhatIf) -> Response:
    """What the recorded outcomes would have made of the bank under another policy."""
    return answered(await history.what_if(engine, call, body))


@router.post("/rollbacks", response_model=RollbackResult)
async def rollback(engine: EngineDep, call: Manages, body: Rollback) -> Response:
    """Take back what an agent or a key said, or look what that would change."""
    return answered(await roll_back(engine, call, body))

"""The ledger read backwards: the bank at a moment, differences, what if, and undo."""

from typing import Annotated

from fastapi import Query, Response

from memory.erasure.rollback import roll_back
from memory.insight import history as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.history import (
    ConjecturedOut,
    ConjectureIn,
    DifferenceOut,
    DifferenceQuery,
    MomentQuery,
    PastWeightOut,
    RollbackIn,
    RolledBackOut,
)

router = router_at(INSIDE, "history")


@router.get("/bank", response_model=Listing[PastWeightOut])
async def get_bank(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[MomentQuery, Query()]
) -> Response:
    """Every memory's weight as of a moment."""
    rows = await flow.bank_at(engine, call, query.to_moment(), pages.page(query))
    return pages.answered(rows, PastWeightOut.of)


@router.get("/bank/difference", response_model=DifferenceOut)
async def get_difference(
    engine: EngineDep, call: Reads, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """What changed between two moments."""
    return answered(DifferenceOut.of(await flow.difference(engine, call, query.to_moments())))


@router.post("/what-if", response_model=ConjecturedOut)
async def what_if(engine: EngineDep, call: Reads, body: ConjectureIn) -> Response:
    """What the recorded outcomes would have made of the bank under another policy."""
    return answered(ConjecturedOut.of(await flow.what_if(engine, call, body.to_conjecture())))


@router.post("/rollbacks", response_model=RolledBackOut)
async def rollback(engine: EngineDep, call: Manages, body: RollbackIn) -> Response:
    """Take back what an agent or a key said, or look what that would change."""
    return answered(RolledBackOut.of(await roll_back(engine, call, body.to_rollback())))

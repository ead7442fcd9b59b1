"""Outcomes: say how it went."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.kernel.errors import MemoryFault
from memory.outcomes import applying as learn
from memory.outcomes import service as feedback
from memory.outcomes.entities import Report, Reported
from server.answers import Batch, BatchDep, PagesDep, answered, made, only, rejoined
from server.dependencies import EngineDep, Reads, Reports, SharedDep
from server.errors import status_of
from server.metrics import Meters
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.outcomes import (
    AppliedOut,
    Nothing,
    OutcomeBatch,
    OutcomeIn,
    OutcomeItem,
    OutcomeOfRetrieval,
    OutcomeOut,
    OutcomeQuery,
    OutcomesTaken,
    OutcomeTaken,
)

router = router_at(INSIDE, "outcomes")
NOTHING = Nothing()


@router.post(
    "/retrievals/{retrieval_id}/outcome",
    status_code=202,
    response_model=OutcomeTaken,
    responses={200: {"model": OutcomeTaken}},
)
async def report_outcome(
    engine: EngineDep, call: Reports, shared: SharedDep, retrieval_id: UUID, body: OutcomeIn
) -> Response:
    """Say how the attempt went; 200 where the same report had come before."""
    reported = only(await feedback.report(engine, call, [(retrieval_id, body.to_report())]))
    _count(shared.meters, reported)
    return answered(OutcomeTaken.of(reported), _status(reported))


@router.post("/outcomes/batch", status_code=207, response_model=OutcomesTaken)
async def report_outcomes(
    engine: EngineDep, call: Reports, shared: SharedDep, batch: BatchDep, body: OutcomeBatch
) -> Response:
    """Say how many attempts went; each item has its own status."""
    reports = made(partial(_made, item) for item in body.items)
    good = [report for report in reports if not isinstance(report, MemoryFault)]
    results = rejoined(reports, await feedback.report(engine, call, good) if good else [])
    for result in results:
        if isinstance(result, Reported):
            _count(shared.meters, result)
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(OutcomesTaken(items=items), (item.status for item in items))


def _made(item: OutcomeOfRetrieval) -> tuple[UUID, Report]:
    return item.retrieval_id, item.to_report()


def _item(batch: Batch, index: int, result: Reported | MemoryFault) -> OutcomeItem:
    if isinstance(result, MemoryFault):
        return OutcomeItem(index=index, status=status_of(result), problem=batch.problem(result))
    return OutcomeItem(index=index, status=_status(result), outcome=OutcomeTaken.of(result))


def _status(reported: Reported) -> int:
    return 200 if reported.replayed else 202


def _count(meters: Meters, reported: Reported) -> None:
    if not reported.replayed:
        meters.outcomes.labels(reported.outcome.status).inc()


@router.post("/outcomes/apply", response_model=AppliedOut)
async def apply_outcomes(engine: EngineDep, call: Reports, body: Nothing = NOTHING) -> Response:  # noqa: ARG001 - refuses a body with anything in it
    """Apply the outcomes that wait, now instead of within a second."""
    return answered(AppliedOut.of(await learn.apply_now(engine, call)))


@router.get("/outcomes", response_model=Listing[OutcomeOut])
async def list_outcomes(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[OutcomeQuery, Query()]
) -> Response:
    """Outcomes, also those that were superseded or ignored."""
    listed = await feedback.list_outcomes(engine, call, query.to_filter(), pages.page(query))
    return pages.answered(listed, OutcomeOut.of)


@router.get("/outcomes/{outcome_id}", response_model=OutcomeOut)
async def get_outcome(engine: EngineDep, call: Reads, outcome_id: UUID) -> Response:
    """An outcome, and what became of it."""
    return answered(OutcomeOut.of(await feedback.get_outcome(engine, call, outcome_id)))

"""Outcomes: say how it went."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.kernel.errors import MemoryFault
from memory.outcomes import applying, by_key
from memory.outcomes import service as outcomes
from memory.outcomes.entities import (
    Applied,
    ApplyRequest,
    KeyedReport,
    ReceiptReport,
    Report,
    Reported,
)
from memory.receipts.entities import Outcome
from server.answers import Batch, BatchDep, PagesDep, answered, only, rejoined
from server.dependencies import EngineDep, Reads, Reports, SharedDep
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, Rows
from server.schemas.outcomes import (
    BatchedReport,
    OutcomeBound,
    OutcomeItem,
    OutcomeQuery,
    OutcomesTaken,
    OutcomeTaken,
    ReportBatch,
)

router = router_at(INSIDE, "outcomes")


@router.post(
    "/retrievals/{retrieval_id}/outcome",
    status_code=202,
    response_model=OutcomeTaken,
    responses={200: {"model": OutcomeTaken}},
)
async def report_outcome(
    engine: EngineDep, call: Reports, shared: SharedDep, retrieval_id: UUID, body: Report
) -> Response:
    """Say how the attempt went; 200 where the same report had come before."""
    reported = only(await outcomes.report(engine, call, [ReceiptReport(retrieval_id, body)]))
    shared.meters.count(reported)
    return answered(OutcomeTaken.of(reported), _status(reported))


@router.post("/outcomes/batch", status_code=207, response_model=OutcomesTaken)
async def report_outcomes(
    engine: EngineDep, call: Reports, shared: SharedDep, batch: BatchDep, body: ReportBatch
) -> Response:
    """Say how many attempts went; each item has its own status."""
    reports: list[BatchedReport | MemoryFault] = [*body.items]
    good = [
        ReceiptReport(one.retrieval_id, one) for one in reports if not isinstance(one, MemoryFault)
    ]
    results = rejoined(reports, await outcomes.report(engine, call, good) if good else [])
    for result in results:
        if isinstance(result, Reported):
            shared.meters.count(result)
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(OutcomesTaken(items=items), (item.status for item in items))


@router.post(
    "/outcomes",
    status_code=202,
    response_model=Rows[OutcomeBound],
    responses={200: {"model": Rows[OutcomeBound]}},
)
async def report_by_key(
    engine: EngineDep, call: Reports, shared: SharedDep, body: KeyedReport
) -> Response:
    """Say how the run of a task, by its key, or of a trace went: for whoever does not hold the
    receipt. Says to which receipts it was bound; 200 where all of them had the same report before.
    """
    outcomes = await by_key.report_by_key(engine, call, body)
    for one in outcomes:
        shared.meters.count(one.reported)
    status = max(_status(one.reported) for one in outcomes)
    return answered(
        Rows[OutcomeBound](items=[OutcomeBound.of_key(one) for one in outcomes]), status
    )


def _item(batch: Batch, index: int, result: Reported | MemoryFault) -> OutcomeItem:
    if isinstance(result, MemoryFault):
        return OutcomeItem(index=index, status=status_of(result), problem=batch.problem(result))
    return OutcomeItem(index=index, status=_status(result), outcome=OutcomeTaken.of(result))


def _status(reported: Reported) -> int:
    return 200 if reported.replayed else 202


@router.post("/outcomes/apply", response_model=Applied)
async def apply_outcomes(
    engine: EngineDep, call: Reports, body: ApplyRequest = applying.PENDING
) -> Response:
    """Apply the outcomes that wait, now instead of within a second."""
    return answered(await applying.apply_now(engine, call, body))


@router.get("/outcomes", response_model=Listing[Outcome])
async def list_outcomes(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[OutcomeQuery, Query()]
) -> Response:
    """Outcomes, also those that were superseded or ignored."""
    listed = await outcomes.list_outcomes(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Outcome, listed)


@router.get("/outcomes/{outcome_id}", response_model=Outcome)
async def get_outcome(engine: EngineDep, call: Reads, outcome_id: UUID) -> Response:
    """An outcome and its status."""
    return answered(await outcomes.get_outcome(engine, call, outcome_id))

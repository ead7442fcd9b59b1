"""Receipts and outcomes: what was served, as it was, and the outcomes reported since."""

from typing import cast, get_args
from uuid import UUID

from fastapi import Response

from memory.insight.receipt_details import get_receipt_details, list_receipt_summaries
from memory.insight.service import present
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Page
from memory.kernel.text import NAME, optional
from memory.outcomes.entities import ReceiptReport, Report, Reported
from memory.outcomes.service import list_outcomes, report
from memory.receipts.entities import (
    Arm,
    OutcomeFilter,
    OutcomeStatus,
    ReceiptFilter,
    RunResult,
    Verifier,
)
from memory.retrieval.explanation import WHY_CUT
from memory.retrieval.service import STATES
from memory.tasks.entities import CategoryName
from memory.tasks.service import list_agents, list_categories
from memory.tenancy.entities import Clock
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.moments import time_of
from server.dashboard.viewer import FormDep, PageViewer, Reads, Reports, done, page
from server.errors import status_of

CHOICES = Page(200)
VERIFIERS: tuple[Verifier, ...] = get_args(Verifier)

router = guarded_at("/dashboard/ns/{namespace}/receipts")


@router.get("")
async def show_receipts(viewer: Reads) -> Response:
    """Receipts by filter, newest first, each with the outcome in effect."""
    wanted = ReceiptFilter(
        state=_filter_by(viewer, "state") or "all",
        agent=_filter_by(viewer, "agent"),
        category=_filter_by(viewer, "category"),
        arm=_filter_by(viewer, "arm"),
        newest_first=True,
    )
    summaries = await list_receipt_summaries(viewer.engine, viewer.call, wanted, page_of(viewer))
    agents = await list_agents(viewer.engine, viewer.call, CHOICES)
    categories = await list_categories(viewer.engine, viewer.call, CHOICES)
    return page(
        viewer,
        "receipts.html",
        table=shown(viewer, summaries),
        wanted=wanted,
        present=present(viewer.call),
        agents=[agent.name for agent in agents.items],
        categories=[one.name for one in categories.items if one.parent is None],
        states=[state for state in STATES if state != "all"],
        arms=[arm.value for arm in Arm],
    )


@router.get("/outcomes")
async def show_outcomes(viewer: Reads) -> Response:
    """Every outcome reported, newest first, also those that move nothing."""
    state = _filter_by(viewer, "state")
    wanted = OutcomeFilter(state, newest_first=True)
    outcomes = await list_outcomes(viewer.engine, viewer.call, wanted, page_of(viewer))
    table = shown(viewer, outcomes)
    return page(viewer, "outcomes.html", table=table, state=state, states=list(OutcomeStatus))


@router.get("/{retrieval_id}")
async def show_receipt(viewer: Reads, retrieval_id: UUID) -> Response:
    """One turn of the loop, from task to outcome."""
    return await _show_turn(viewer, retrieval_id)


@router.post("/{retrieval_id}/outcome")
async def correct(viewer: Reports, retrieval_id: UUID, form: FormDep) -> Response:
    """A person's word on a run; where it corrects one, it stands in its place or is refused."""
    try:
        one = ReceiptReport(retrieval_id, _report(form))
        [answer] = await report(viewer.engine, viewer.call, [one])
    except MemoryFault as fault:
        return await _show_turn(viewer, retrieval_id, fault)
    if not isinstance(answer, Reported):
        return await _show_turn(viewer, retrieval_id, answer)
    outcome = answer.outcome
    why = "" if outcome.reason is None else f" ({outcome.reason.replace('_', ' ')})"
    path = f"/receipts/{retrieval_id}"
    return done(viewer, path, f"The outcome is stored: {outcome.status}{why}.")


async def _show_turn(
    viewer: PageViewer, retrieval_id: UUID, fault: MemoryFault | None = None
) -> Response:
    turn = await get_receipt_details(viewer.engine, viewer.call, retrieval_id)
    receipt = turn.receipt
    return page(
        viewer,
        "receipt.html",
        200 if fault is None else status_of(fault),
        turn=turn,
        receipt=receipt,
        cut={cut.memory_id: WHY_CUT[cut.reason] for cut in receipt.guideline.cut},
        category=_category(receipt.category_name),
        expired=receipt.expires_at <= present(viewer.call),
        replay=viewer.call.namespace.clock is Clock.REPLAY,
        verifiers=VERIFIERS,
        without=next((o.reward_without for o in turn.outcomes if o.id == turn.effective), None),
        fault=fault,
    )


def _category(name: CategoryName) -> str:
    return name.name if name.subcategory is None else f"{name.name} / {name.subcategory}"


def _filter_by(viewer: PageViewer, name: str) -> str | None:
    """A filter of the address, cleaned as what is stored was; None where it says nothing."""
    given = viewer.request.query_params.get(name, "").strip()
    return optional(given or None, name, NAME)


def _report(form: Form) -> Report:
    supersedes = form.given("supersedes")
    without = None if form.given("without") is None else _reward(form, "without")
    return Report(
        reward=_reward(form, "reward"),
        without=None if without is None else RunResult(reward=without),
        verifier=cast("Verifier", form.get("verifier")),
        evaluator=form.get("evaluator"),
        supersedes=None if supersedes is None else _outcome_id(supersedes),
        known_at=time_of(form, "known_at"),
    )


def _reward(form: Form, name: str) -> float:
    try:
        return float(form.get(name))
    except ValueError as fault:
        raise Rejected(f"{name} is a number from 0 to 1", field=name) from fault


def _outcome_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as fault:
        raise Rejected("that is no outcome's id", field="supersedes") from fault

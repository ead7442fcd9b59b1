"""Receipts and outcomes: what was served, as it was, and the outcomes reported since."""

from datetime import time, timedelta
from functools import partial
from typing import cast
from uuid import UUID

from fastapi import Response

from memory.insight.entities import ReceiptSummary
from memory.insight.receipt_details import (
    get_receipt_details,
    get_receipt_story,
    list_receipt_summaries,
)
from memory.insight.service import present
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page
from memory.kernel.text import KEY, NAME, optional, optional_exact
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ApplyRequest, ReceiptReport, Report, Reported
from memory.outcomes.service import list_outcomes, report
from memory.receipts.entities import Arm, OutcomeStatus, RunResult
from memory.receipts.list_entities import OutcomeFilter, ReceiptFilter
from memory.retrieval.explanation import WHY_CUT
from memory.retrieval.service import STATES
from memory.tasks.entities import CategoryName
from memory.tasks.service import list_agents, list_categories
from memory.tenancy.claims import Verifier
from memory.tenancy.entities import Clock
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.list_files import file_of, wants_file
from server.dashboard.lists import TIME, Heading, ListOrder, heading, order_in_time, page_of, shown
from server.dashboard.moments import time_in, time_of
from server.dashboard.receipt_trace import stages_of, steps_of
from server.dashboard.rendering import number
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, Reports, done, page
from server.errors import status_of

CHOICES = Page(200)

router = guarded_at("/dashboard/ns/{namespace}/receipts")


@router.get("")
async def show_receipts(viewer: Reads) -> Response:
    """Receipts by filter, each with the outcome in effect."""
    order = order_in_time(viewer)
    fault: MemoryFault | None = None
    summaries: Listed[ReceiptSummary] = Listed((), 0, None)
    try:
        wanted = _wanted(viewer, order)
        fetch = partial(list_receipt_summaries, viewer.engine, viewer.call, wanted)
        if wants_file(viewer):
            return await file_of(viewer, "receipts", fetch)
        summaries = await fetch(page_of(viewer))
    except MemoryFault as refused:
        fault = refused
    agents = await list_agents(viewer.engine, viewer.call, CHOICES)
    categories = await list_categories(viewer.engine, viewer.call, CHOICES)
    return page(
        viewer,
        "receipts.html",
        200 if fault is None else status_of(fault),
        fault=fault,
        table=shown(viewer, summaries, files=True),
        asked=viewer.request.query_params,
        known=in_time(viewer, order),
        present=present(viewer.call),
        agents=[agent.name for agent in agents.items],
        categories=[one.name for one in categories.items if one.parent is None],
        states=[state for state in STATES if state != "all"],
        arms=[arm.value for arm in Arm],
    )


@router.get("/outcomes")
async def show_outcomes(viewer: Reads) -> Response:
    """Every outcome reported, also those that move nothing."""
    order = order_in_time(viewer)
    state = _filter_by(viewer, "state")
    wanted = OutcomeFilter(state, newest_first=order.descending)
    fetch = partial(list_outcomes, viewer.engine, viewer.call, wanted)
    if wants_file(viewer):
        return await file_of(viewer, "outcomes", fetch)
    table = shown(viewer, await fetch(page_of(viewer)), files=True)
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


@router.post("/{retrieval_id}/retry")
async def retry(viewer: Manages, retrieval_id: UUID) -> Response:
    """Try all outcomes again that were set aside."""
    applied = await apply_now(viewer.engine, viewer.call, ApplyRequest(retry=True))
    told = f"Tried again: {number(applied.applied)} applied, {number(applied.set_aside)} set aside."
    return done(viewer, f"/receipts/{retrieval_id}", told)


async def _show_turn(
    viewer: PageViewer, retrieval_id: UUID, fault: MemoryFault | None = None
) -> Response:
    turn = await get_receipt_details(viewer.engine, viewer.call, retrieval_id)
    receipt = turn.receipt
    story = await get_receipt_story(viewer.engine, viewer.call, turn)
    return page(
        viewer,
        "receipt.html",
        200 if fault is None else status_of(fault),
        turn=turn,
        receipt=receipt,
        story=story,
        outcome=next((one for one in turn.outcomes if one.id == turn.effective), None),
        why_cut=WHY_CUT,
        category=_category(receipt.category_name),
        stages=stages_of(receipt.timings),
        steps=steps_of(turn, story),
        expired=receipt.expires_at <= present(viewer.call),
        replay=viewer.call.namespace.clock is Clock.REPLAY,
        verifiers=viewer.key.claims,
        without=next((o.reward_without for o in turn.outcomes if o.id == turn.effective), None),
        fault=fault,
    )


def in_time(viewer: PageViewer, order: ListOrder) -> Heading | None:
    """The title of the column `known at`: where callers set the clock, what was recorded later may
    have been known before, so it does not sort.
    """
    by_wall = viewer.call.namespace.clock is Clock.WALL
    return heading(viewer, order, TIME) if by_wall else None


def _category(name: CategoryName) -> str:
    return name.name if name.subcategory is None else f"{name.name} / {name.subcategory}"


def _wanted(viewer: PageViewer, order: ListOrder) -> ReceiptFilter:
    """What the address asks for; a day given as the last one is searched to its end."""
    given = viewer.request.query_params.get
    until = time_in(given("until", ""), "until")
    if until is not None and until.time() == time():
        until += timedelta(days=1)
    return ReceiptFilter(
        state=_filter_by(viewer, "state") or "all",
        agent=_filter_by(viewer, "agent"),
        category=_filter_by(viewer, "category"),
        arm=_filter_by(viewer, "arm"),
        task_key=_key_in(viewer, "task_key"),
        trace_id=_key_in(viewer, "trace_id"),
        newest_first=order.descending,
        words=_filter_by(viewer, "words"),
        since=time_in(given("since", ""), "since"),
        before=until,
        min_reward=_reward_in(given("min_reward", ""), "min_reward"),
        max_reward=_reward_in(given("max_reward", ""), "max_reward"),
    )


def _filter_by(viewer: PageViewer, name: str) -> str | None:
    """A filter of the address, cleaned as what is stored was; None where it says nothing."""
    given = viewer.request.query_params.get(name, "").strip()
    return optional(given or None, name, NAME)


def _key_in(viewer: PageViewer, name: str) -> str | None:
    """A caller's key of the address, without the white space that pasting brings: no key has it."""
    given = viewer.request.query_params.get(name, "").strip()
    return optional_exact(given or None, name, KEY)


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


def _reward_in(text: str, name: str) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as fault:
        raise Rejected(f"{name} is a number from 0 to 1", field=name) from fault


def _outcome_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as fault:
        raise Rejected("that is no outcome's id", field="supersedes") from fault

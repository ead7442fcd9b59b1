"""Playground: a task is tried, and every stage of its retrieval is shown; nothing is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fastapi import Response

from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Page
from memory.receipts.entities import Fate, Item, Purpose
from memory.receipts.guideline_entities import CutReason
from memory.retrieval.entities import (
    MAX_K,
    MAX_TOKENS,
    Advice,
    Considered,
    Explanation,
    RetrievalRequest,
    RoutedBy,
)
from memory.retrieval.explanation import WHY_CUT
from memory.retrieval.service import retrieve
from memory.retrieval.words import choose_rerank
from memory.tasks.entities import TaskDraft
from memory.tasks.service import list_agents, list_categories
from memory.tenancy.entities import Clock
from memory.tenancy.namespace_settings import Rerank
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.stored import is_plain
from server.dashboard.viewer import FormDep, PageViewer, Retrieves, page
from server.errors import status_of

NAMES = Page(50)
"""So many agents and categories the form suggests, where they can be shown as they are; any other
may be typed.
"""

EMPTY = ("task", "agent", "category", "as_of", "rerank")
DEFAULTS: Mapping[str, str] = {**dict.fromkeys(EMPTY, ""), "k": "3", "max_tokens": "1000"}
ROUTED_BY = {
    RoutedBy.TASK: "the task's own",
    RoutedBy.CALLER: "given",
    RoutedBy.NEAREST: "the nearest",
    RoutedBy.NONE_NEAR: "none is near",
}
STAGES = {
    "embed_ms": "embedding the task",
    "search_ms": "routing and exact search",
    "rank_ms": "ranking, selecting, compiling",
    "write_ms": "the language model's words",
}

router = guarded_at("/dashboard/ns/{namespace}/playground")


@dataclass(frozen=True, slots=True)
class RankerSelection:
    """What one ranker would serve, by the places that the table of candidates has."""

    ranker: str
    share: float
    chance: float
    served: Sequence[Considered]


@dataclass(frozen=True, slots=True)
class TriedTask:
    """A retrieval with its explanation, as the page shows them."""

    advice: Advice
    explanation: Explanation
    rankers: Sequence[RankerSelection]
    why_cut: Mapping[CutReason, str]
    timings: Sequence[tuple[str, float]]
    kept_out: Sequence[tuple[str, int]]
    items: Mapping[UUID, Item]


@router.get("")
async def show_playground(viewer: Retrieves) -> Response:
    """The form alone."""
    return await _show(viewer, DEFAULTS)


@router.post("")
async def try_task(viewer: Retrieves, form: FormDep) -> Response:
    """A preview: served as an agent would be, without a receipt."""
    typed = {name: form.get(name) for name in DEFAULTS}
    try:
        [answer] = await retrieve(viewer.engine, viewer.call, [_request(viewer, form)])
    except MemoryFault as fault:
        answer = fault
    if isinstance(answer, MemoryFault):
        return await _show(viewer, typed, fault=answer)
    return await _show(viewer, typed, tried=_try_of(answer))


async def _show(
    viewer: PageViewer,
    typed: Mapping[str, str],
    tried: TriedTask | None = None,
    fault: MemoryFault | None = None,
) -> Response:
    agents = await list_agents(viewer.engine, viewer.call, NAMES)
    categories = await list_categories(viewer.engine, viewer.call, NAMES)
    return page(
        viewer,
        "playground.html",
        200 if fault is None else status_of(fault),
        typed=typed,
        tried=tried,
        fault=fault,
        agents=[
            one
            for one in viewer.key.agents or [agent.name for agent in agents.items]
            if is_plain(one)
        ],
        categories=[
            one.name for one in categories.items if one.parent is None and is_plain(one.name)
        ],
        limits=(MAX_K, MAX_TOKENS),
        ROUTED_BY=ROUTED_BY,
        reranks=[one.value for one in Rerank],
        rerank=choose_rerank(viewer.call.namespace, None).value,
        replay=viewer.call.namespace.clock is Clock.REPLAY,
    )


def _try_of(advice: Advice) -> TriedTask:
    """The explanation, turned for the page."""
    assert advice.explanation is not None
    explanation, receipt = advice.explanation, advice.receipt
    fates = [one.fate for one in explanation.considered]
    return TriedTask(
        advice=advice,
        explanation=explanation,
        rankers=[
            RankerSelection(
                ranker=ranker,
                share=share,
                chance=receipt.rankers.get(ranker, 0.0),
                served=[o for o in explanation.considered if _serves(o, ranker)],
            )
            for ranker, share in explanation.shares.items()
        ],
        why_cut=WHY_CUT,
        timings=[(STAGES.get(name, name), ms) for name, ms in explanation.timings.items()],
        kept_out=[(fate.value, fates.count(fate)) for fate in Fate if fate in fates],
        items={item.memory_id: item for item in receipt.items},
    )


def _serves(one: Considered, ranker: str) -> bool:
    by = one.rankers.get(ranker)
    return by is not None and by.fate is Fate.SERVED


def _rerank(typed: str) -> Rerank | None:
    """None where it is left to the namespace."""
    try:
        return Rerank(typed) if typed else None
    except ValueError as fault:
        choices = list(Rerank)
        raise Rejected(
            f"rerank is {' or '.join(choices)}", field="rerank", limit=choices
        ) from fault


def _request(viewer: PageViewer, form: Form) -> RetrievalRequest:
    return RetrievalRequest(
        agent=form.get("agent"),
        task=_task(form),
        k=_whole(form, "k"),
        rerank=_rerank(form.get("rerank")),
        max_tokens=_whole(form, "max_tokens"),
        purpose=Purpose.PREVIEW,
        as_of=_as_of(viewer, form),
        explain=True,
    )


def _task(form: Form) -> TaskDraft:
    try:
        return TaskDraft(form.get("task"), category=form.given("category"))
    except Rejected as fault:
        raise fault.under("task") if fault.field == "text" else fault from None


def _whole(form: Form, name: str) -> int:
    digits = form.get(name).strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(MAX_TOKENS)):
        raise Rejected(f"{name} is a whole number", field=name)
    return int(digits)


def _as_of(viewer: PageViewer, form: Form) -> datetime | None:
    given = form.given("as_of")
    if given is None or viewer.call.namespace.clock is Clock.WALL:
        return None
    try:
        return datetime.fromisoformat(given if given.endswith("Z") else f"{given}+00:00")
    except ValueError as fault:
        raise Rejected("as_of is no time; write it as 2026-03-01T12:00", field="as_of") from fault

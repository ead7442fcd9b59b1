"""A memory: its text, how its weight came about, where it was served, and what may be done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fastapi import Response

from memory.belief.entities import WeightEvent
from memory.curation import service as curation
from memory.curation.apart import find_apart_trial, start_apart_trial, stop_apart_trial
from memory.curation.entities import MergeInto, StatusChange, TrustChange
from memory.curation.merging import IN_USE, merge_memory
from memory.curation.service import change_trust
from memory.erasure import service as erasure
from memory.erasure.entities import Erasure
from memory.insight.browse import list_neighbours, some_memories
from memory.insight.memory_details import (
    RelatedMemory,
    list_gains,
    list_relations,
    weight_band,
)
from memory.insight.service import (
    get_weight,
    list_agent_records,
    list_episodes,
    list_weight_events,
    present,
)
from memory.insight.worth import get_worth
from memory.insight.worth_wording import explain_belief
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Page
from memory.memories import service as bank
from memory.memories.browse_entities import Neighbour
from memory.memories.entities import Kind, Memory, MemoryEdit, Status, Trust
from memory.tenancy.entities import Clock
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import page_of, shown
from server.dashboard.moments import time_of
from server.dashboard.stored import editable
from server.dashboard.trajectory_plot import WeightNow, weight_plot
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, Remembers, done, page
from server.errors import status_of

EVENTS = 1_000
"""So many events are drawn; the ledger's own page has all of them."""

LISTED = 100
TITLE = 140
"""So long a lesson, on one line, is its page's title whole."""


AGEING = "decay"
EPISODES = 20
CHUNK = 200
SAID = {"suspend": "suspended", "retire": "retired", "restore": "restored"}
ACTIONS = {
    Status.ACTIVE: ("suspend", "retire"),
    Status.PROBATION: ("suspend", "retire"),
    Status.SUSPENDED: ("restore", "retire"),
    Status.RETIRED: ("restore",),
}

router = guarded_at("/dashboard/ns/{namespace}/memories/{memory_id}")


@dataclass(frozen=True, slots=True)
class Life:
    """The newest events of a memory, oldest first, and how many there are."""

    events: Sequence[WeightEvent]
    total: int

    @property
    def own(self) -> Sequence[WeightEvent]:
        """What moved its own weight, ageing apart."""
        return [one for one in self.events if one.subject == "memory" and one.reason != AGEING]

    @property
    def ageing(self) -> Sequence[WeightEvent]:
        """Where its age was written down."""
        return [one for one in self.events if one.subject == "memory" and one.reason == AGEING]

    @property
    def others(self) -> Sequence[WeightEvent]:
        """What moved agents' deviations from it, and parties' influence on it."""
        return [one for one in self.events if one.subject != "memory"]


@router.get("")
async def show_memory(viewer: Reads, memory_id: UUID) -> Response:
    """Everything known of one memory."""
    return await _shown(viewer, memory_id)


@router.get("/events")
async def show_events(viewer: Reads, memory_id: UUID) -> Response:
    """Its part of the ledger, page by page."""
    memory = await bank.get_memory(viewer.engine, viewer.call, memory_id)
    events = await list_weight_events(viewer.engine, viewer.call, memory_id, page_of(viewer))
    return page(viewer, "memory_events.html", memory=memory, table=shown(viewer, events))


@router.get("/episodes")
async def show_episodes(viewer: Reads, memory_id: UUID) -> Response:
    """Where it was served, page by page."""
    memory = await bank.get_memory(viewer.engine, viewer.call, memory_id)
    episodes = await list_episodes(viewer.engine, viewer.call, memory_id, page_of(viewer))
    return page(viewer, "memory_episodes.html", memory=memory, table=shown(viewer, episodes))


@router.post("/edit")
async def edit(viewer: Remembers, memory_id: UUID, form: FormDep) -> Response:
    """Say it in other words, over the version that was seen."""
    try:
        current = await bank.get_memory(viewer.engine, viewer.call, memory_id)
        change = _read_edit(form, current)
        await curation.edit_memory(viewer.engine, viewer.call, memory_id, change, _version(form))
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    return done(viewer, f"/memories/{memory_id}", "The memory was edited.")


@router.post("/pin")
async def pin(viewer: Remembers, memory_id: UUID, form: FormDep) -> Response:
    """Pin it, so that nothing retires it by itself, or let go of it."""
    pinned = form.get("pinned") == "yes"
    change = MemoryEdit(pinned=pinned, known_at=time_of(form, "known_at"))
    version = _version(form)
    try:
        await curation.edit_memory(viewer.engine, viewer.call, memory_id, change, version)
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    said = "The memory is pinned." if pinned else "The memory is no longer pinned."
    return done(viewer, f"/memories/{memory_id}", said)


@router.post("/status/{action}")
async def change_status(viewer: Remembers, memory_id: UUID, action: str, form: FormDep) -> Response:
    """Suspend, retire or restore it."""
    try:
        change = StatusChange(action, form.given("reason"))
        await curation.change_status(viewer.engine, viewer.call, memory_id, change)
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    return done(viewer, f"/memories/{memory_id}", f"The memory was {SAID[action]}.")


@router.post("/merge")
async def merge(viewer: Remembers, memory_id: UUID, form: FormDep) -> Response:
    """Retire it into another that says the same."""
    try:
        into = _read_id(form, "into")
        change = MergeInto(into, form.given("reason"))
        await merge_memory(viewer.engine, viewer.call, memory_id, change)
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    return done(viewer, f"/memories/{into}", "The other memory was merged into this one.")


@router.post("/apart/{action}")
async def try_apart(viewer: Manages, memory_id: UUID, action: str) -> Response:
    """Ask that it is tried apart from its companions, or stop that."""
    try:
        if action == "start":
            await start_apart_trial(viewer.engine, viewer.call, memory_id)
            said = "The memory is tried apart from now on."
        elif action == "stop":
            await stop_apart_trial(viewer.engine, viewer.call, memory_id)
            said = "The memory is no longer tried apart."
        else:
            raise Rejected("a trial is started or stopped", field="action")
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    return done(viewer, f"/memories/{memory_id}", said)


@router.post("/trust")
async def trust(viewer: Manages, memory_id: UUID, form: FormDep) -> Response:
    """Believe its source, or not, or keep it from all retrievals."""
    try:
        change = TrustChange(_trust(form), form.given("reason"))
        await change_trust(viewer.engine, viewer.call, memory_id, change)
    except MemoryFault as fault:
        return await _shown(viewer, memory_id, fault)
    return done(viewer, f"/memories/{memory_id}", f"The memory is {change.trust} now.")


@router.post("/erasure/preview")
async def preview_erasure(viewer: Manages, memory_id: UUID) -> Response:
    """What erasing it would take; nothing is erased."""
    memory = await bank.get_memory(viewer.engine, viewer.call, memory_id)
    wanted = Erasure(memory_id=memory_id, dry_run=True)
    preview = await erasure.preview_erasure(viewer.engine, viewer.call, wanted)
    ids = [one.memory_id for one in preview.reach.derived] if preview.reach else []
    derived = {m.id: m for m in await some_memories(viewer.engine, viewer.call, ids)}
    return page(viewer, "memory_erasure.html", memory=memory, preview=preview, texts=derived)


@router.post("/erasure")
async def erase(viewer: Manages, memory_id: UUID) -> Response:
    """Its texts go for good; ids and numbers stay."""
    answer = await erasure.erase(viewer.engine, viewer.call, Erasure(memory_id=memory_id))
    erased = answer.erased
    said = f"Erased: {erased.versions} texts and {erased.lines} guidelines that quoted them."
    return done(viewer, "/memories", said)


async def _shown(viewer: PageViewer, memory_id: UUID, fault: MemoryFault | None = None) -> Response:
    engine, call = viewer.engine, viewer.call
    memory = await bank.get_memory(engine, call, memory_id)
    weight = await get_weight(engine, call, memory_id, None)
    life = await _life(viewer, memory_id)
    near, unknown = await _near(viewer, memory_id)
    worth = await get_worth(engine, call, memory_id)
    own = life.own[-LISTED:]
    related = await list_relations(engine, call, memory_id)
    band = weight_band(call.namespace.policy, weight.state.values())
    current = WeightNow(present(call), weight.effective_weight, band)
    return page(
        viewer,
        "one_memory.html",
        200 if fault is None else status_of(fault),
        memory=memory,
        weight=weight,
        worth=worth,
        apart=await find_apart_trial(engine, call, memory_id),
        apart_offered=viewer.may("manage") and memory.kind is Kind.EXPERIENCE,
        belief=explain_belief(worth.place, worth.believed),
        life=life,
        titled=len(memory.lesson) <= TITLE and "\n" not in memory.lesson,
        own=own,
        ageing=life.ageing,
        others=life.others[-LISTED:],
        gains=await list_gains(engine, call, own),
        related=related,
        plot=weight_plot(life.events, current, _mergers(related)),
        versions=await bank.list_versions(engine, call, memory_id),
        episodes=await list_episodes(engine, call, memory_id, Page(EPISODES)),
        records=await list_agent_records(engine, call, memory_id),
        near=near,
        unknown=unknown,
        actions=ACTIONS.get(memory.status, ()) if changes(viewer, memory) else (),
        editable=changes(viewer, memory),
        mergeable=[one.memory_id for one in near if _may_be_one(memory, one)],
        replay=call.namespace.clock is Clock.REPLAY,
        trusts=[one.value for one in Trust if one is not memory.trust],
        fault=fault,
    )


def changes(viewer: PageViewer, memory: Memory) -> bool:
    """Whether this key may change it: an agent's key its agents' memories, managers all."""
    if memory.kind is Kind.META_GUIDELINE:
        return viewer.may("manage")
    return viewer.may("remember") and viewer.key.speaks_for(memory.agent)


def _mergers(related: Sequence[RelatedMemory]) -> Sequence[datetime]:
    """When others were merged into it, or it into another."""
    merged = [one.relation for one in related if one.relation.kind.startswith("merged")]
    return [one.at for one in merged if one.at is not None]


async def _life(viewer: PageViewer, memory_id: UUID) -> Life:
    """Its newest events: the ledger lists the oldest first, so pages are walked."""
    found: list[WeightEvent] = []
    part = Page(CHUNK)
    while True:
        events = await list_weight_events(viewer.engine, viewer.call, memory_id, part)
        found = [*found, *events.items][-EVENTS:]
        if events.next is None:
            return Life(found, events.total)
        part = Page(CHUNK, events.next)


async def _near(viewer: PageViewer, memory_id: UUID) -> tuple[Sequence[Neighbour], str | None]:
    """Its neighbours, or why they cannot be found now."""
    try:
        return await list_neighbours(viewer.engine, viewer.call, memory_id), None
    except MemoryFault as fault:
        return (), fault.detail


def _may_be_one(memory: Memory, near: Neighbour) -> bool:
    """Whether a neighbour is offered to merge it into; the server decides when it is asked."""
    alike = memory.kind is near.kind and memory.kind is not Kind.CONSTRAINT
    return alike and memory.status in IN_USE and near.status in IN_USE and not memory.pinned


def _read_id(form: Form, name: str) -> UUID:
    try:
        return UUID(form.get(name))
    except ValueError as fault:
        raise Rejected("the form does not name a memory", field=name) from fault


def _read_edit(form: Form, current: Memory) -> MemoryEdit:
    """What differs from the words as they are: an edit that changes nothing is refused."""
    # A form sends line ends as CR LF, whatever the text has.
    situation, lesson = (form.get(n).replace("\r\n", "\n").strip() for n in ("situation", "lesson"))
    return MemoryEdit(
        situation=situation if situation not in ("", editable(current.situation)) else None,
        lesson=lesson if lesson not in ("", editable(current.lesson)) else None,
        known_at=time_of(form, "known_at"),
    )


def _version(form: Form) -> int:
    digits = form.get("version")
    if not (digits.isascii() and digits.isdigit()):
        raise Rejected("the form does not say which version it is for", field="version")
    return int(digits)


def _trust(form: Form) -> Trust:
    try:
        return Trust(form.get("trust"))
    except ValueError as fault:
        raise Rejected("choose a trust", field="trust") from fault

"""Time travel: the bank as of a moment, the difference of two, and a source withdrawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from fastapi import Response

from memory.erasure.entities import RollbackRecord
from memory.erasure.rollback import roll_back
from memory.erasure.undo import list_rollbacks, undo_rollback
from memory.insight.browse import browse_memories, some_memories
from memory.insight.entities import BankDifference, Rollback, RollbackResult
from memory.insight.history import compare_moments
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page
from memory.kernel.text import counted
from memory.memories.browse_entities import BankMoment, Browse, ListedMemory, MemoryCriteria, Sort
from memory.memories.entities import Memory
from memory.tenancy.entities import Act
from server.dashboard.forms import Form
from server.dashboard.guarding import guarded_at
from server.dashboard.lists import Shown, page_of, shown
from server.dashboard.moments import moment_in, time_of
from server.dashboard.viewer import FormDep, Manages, PageViewer, Reads, done, page
from server.errors import status_of

CHANGES = 100
"""So many of each kind of change are listed; how many there are is always said."""

ROLLBACKS = Page(10)
"""So many rollbacks are listed, the newest."""

router = guarded_at("/dashboard/ns/{namespace}/time-travel")


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A difference with the memories it is about, by id."""

    difference: BankDifference
    texts: Mapping[UUID, Memory]


@router.get("")
async def show_moment(viewer: Reads) -> Response:
    """The bank as of the moment in the address, strongest first; without one, the forms alone."""
    fault: MemoryFault | None = None
    table: Shown[ListedMemory] | None = None
    try:
        moment = moment_in(_query(viewer))
        if not moment.is_now:
            table = shown(viewer, await _bank(viewer, moment))
    except MemoryFault as refused:
        fault = refused
    return page(
        viewer,
        "time_travel.html",
        200 if fault is None else status_of(fault),
        table=table,
        rollbacks=await _load_rollbacks(viewer),
        asked=viewer.request.query_params,
        fault=fault,
    )


@router.get("/difference")
async def show_difference(viewer: Reads) -> Response:
    """What changed from one moment to another; a moment that is left out is now."""
    fault: MemoryFault | None = None
    view: DifferenceView | None = None
    try:
        first, second = moment_in(_query(viewer), "from_"), moment_in(_query(viewer), "to_")
        if first.is_now:
            raise Rejected("say from which moment", field="from_as_of")
        difference = await compare_moments(viewer.engine, viewer.call, first, second)
        view = await load_view(viewer, difference)
    except MemoryFault as refused:
        fault = refused
    return page(
        viewer,
        "time_difference.html",
        200 if fault is None else status_of(fault),
        view=view,
        asked=viewer.request.query_params,
        limit=CHANGES,
        fault=fault,
    )


@router.post("/rollback/preview")
async def preview_rollback(viewer: Manages, form: FormDep) -> Response:
    """What withdrawing a source would change; nothing is."""
    try:
        preview = await roll_back(viewer.engine, viewer.call, _rollback(form))
    except MemoryFault as fault:
        return page(
            viewer,
            "time_travel.html",
            status_of(fault),
            table=None,
            rollbacks=await _load_rollbacks(viewer),
            asked={name: form.get(name) for name in form.fields},
            fault=fault,
        )
    return await _preview_page(viewer, form, preview)


@router.post("/rollback")
async def withdraw(viewer: Manages, form: FormDep) -> Response:
    """Withdraw it: its outcomes leave the ledger, its memories retire."""
    wanted = replace(_rollback(form), dry_run=False)
    taken = await roll_back(viewer.engine, viewer.call, wanted)
    message = (
        f"Withdrawn: {counted(len(taken.outcomes), 'outcome')}; "
        f"{counted(len(taken.retired), 'memory', 'memories')} retired, "
        f"{counted(taken.difference.total, 'weight')} changed; the bank is at version "
        f"{taken.bank_version}."
    )
    return done(viewer, "/time-travel", message)


@router.post("/rollbacks/{rollback_id}/undo")
async def undo(viewer: Manages, rollback_id: UUID) -> Response:
    """Undo the newest rollback."""
    undone = await undo_rollback(viewer.engine, viewer.call, rollback_id)
    left = f", {len(undone.left)} left as {'it is' if len(undone.left) == 1 else 'they are'}"
    message = (
        f"Undone: {counted(len(undone.outcomes), 'outcome')} back in effect, "
        f"{counted(len(undone.restored), 'memory', 'memories')} restored"
        f"{left if undone.left else ''}, {counted(undone.difference.total, 'weight')} changed; "
        f"the bank is at version {undone.bank_version}."
    )
    return done(viewer, "/time-travel", message)


async def _load_rollbacks(viewer: PageViewer) -> Listed[RollbackRecord] | None:
    """The newest rollbacks; None for who may undo none."""
    if not viewer.may(Act.MANAGE):
        return None
    return await list_rollbacks(viewer.engine, viewer.call, ROLLBACKS)


async def _bank(viewer: PageViewer, moment: BankMoment) -> Listed[ListedMemory]:
    browse = Browse(MemoryCriteria(), Sort.WEIGHT, descending=True, moment=moment)
    return await browse_memories(viewer.engine, viewer.call, browse, page_of(viewer))


async def load_view(viewer: PageViewer, found: BankDifference) -> DifferenceView:
    """The first changes, with their texts."""
    weights, memories = found.weights[:CHANGES], found.memories[:CHANGES]
    ids = {change.memory_id: None for change in (*weights, *memories)}
    texts = await some_memories(viewer.engine, viewer.call, list(ids))
    few = replace(found, weights=weights, memories=memories)
    return DifferenceView(few, {memory.id: memory for memory in texts})


async def _preview_page(viewer: PageViewer, form: Form, preview: RollbackResult) -> Response:
    view = await load_view(viewer, preview.difference)
    ids = list(preview.retired[:CHANGES])
    retired = await some_memories(viewer.engine, viewer.call, ids)
    fields = {name: form.get(name) for name in ("agent", "key_id", "since", "until")}
    return page(
        viewer,
        "time_rollback.html",
        preview=preview,
        view=view,
        retired=retired,
        fields=fields,
        limit=CHANGES,
    )


def _query(viewer: PageViewer) -> Callable[[str], str]:
    return lambda name: viewer.request.query_params.get(name, "")


def _rollback(form: Form) -> Rollback:
    """Raises Rejected where no source is named."""
    key_id = form.given("key_id")
    try:
        known = None if key_id is None else UUID(key_id)
    except ValueError as fault:
        raise Rejected("a key is named by its id", field="key_id") from fault
    since, until = time_of(form, "since"), time_of(form, "until")
    return Rollback(form.given("agent"), known, since, until)

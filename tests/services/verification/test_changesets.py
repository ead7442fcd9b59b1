"""Failures that are alike become one changeset: tried, applied whole or not at all, withdrawn."""

import json
from uuid import UUID

import pytest

from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.erasure.entities import Erasure
from memory.erasure.service import erase, preview_erasure
from memory.inference.stand_ins import ScriptedLlm
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, Unavailable
from memory.kernel.postgres.leadership import JobRun
from memory.llm.replies import Malformed
from memory.memories.entities import MemoryEdit, Status
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.tasks.run_entities import RunTrace, Step
from memory.tenancy.entities import Key, Role
from memory.verification.changeset_applying import undo
from memory.verification.changeset_entities import Changeset
from memory.verification.changesets import (
    get_changeset,
    list_changesets,
    read_changes,
    retry_changeset,
)
from memory.verification.entities import Ticket
from memory.verification.refining import refine
from memory.verification.service import cancel
from memory.verification.store.changesets import ServedNote
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller
from tests.fixtures.llm_builders import on_record, with_llm
from tests.fixtures.verification_steps import PAGE, a_run, claimed, job, tickets, tried
from tests.storage.steps import a_call, live_and_rebuilt, remembered

KNOWN = "what everyone knows"
BETTER = "look at the wind before the clouds"
NEW = "say which gauge was read"
TOOL = RunTrace(
    steps=(
        Step(role="assistant", tool="gauge", arguments={"password": "hunter2secret9"}),
        Step(role="tool", tool="gauge", error="Error: no such place as pier"),
    )
)
EDIT = {"change": "edit", "note": "m1", "situation": "a forecast of rain", "lesson": BETTER}
CREATE = {"change": "create", "note": "", "situation": "a gauge is read", "lesson": NEW}
RETIRE = {"change": "retire", "note": "m1", "situation": "", "lesson": ""}


def model(*changes: dict[str, str]) -> ScriptedLlm:
    return ScriptedLlm([json.dumps({"changes": changes})])


async def failures(engine: Engine, key: Key, slug: str, n: int = 3) -> UUID:
    """Runs of which so many fail alike, as the job has found out; the memory that they had."""
    call = await a_call(engine, key, slug)
    [known] = await remembered(engine, call, a_draft(lesson=KNOWN))
    for number in range(10, 18):
        await a_run(engine, call, number, reward=0.9)
    for number in range(n):
        await a_run(engine, call, number, reward=0.1, run=TOOL)
    await apply_now(engine, call)
    await job(engine, key, slug, "acquire", NOON)
    return known.id


async def revised(engine: Engine, key: Key, slug: str, llm: object) -> JobRun:
    return await job(with_llm(engine, llm), key, slug, "revise", NOON)  # pyright: ignore[reportArgumentType] - a stand-in


async def the_changeset(engine: Engine, key: Key, slug: str) -> Changeset:
    call = await a_call(engine, key, slug)
    [found] = (await list_changesets(engine, call, None, PAGE)).items
    return await get_changeset(engine, call, found.id)


async def the_ticket(engine: Engine, key: Key, slug: str) -> Ticket:
    """Leased, after the others."""
    call = await a_call(engine, key, slug)
    [wanted] = [one for one in await tickets(engine, call) if one.rule == "wins"]
    while True:
        ticket = await claimed(engine, await a_call(engine, key, slug))
        if ticket.id == wanted.id:
            return ticket


async def test_failures_alike_become_one_changeset_that_can_be_read_before_it_is_tried(
    engine: Engine, operator: Key, wall: str
) -> None:
    known = await failures(engine, operator, wall)
    llm = model(EDIT, CREATE)

    run = await revised(engine, operator, wall, llm)

    assert run.result is not None
    assert len(run.result["changes"]) == 1
    one = await the_changeset(engine, operator, wall)
    assert (one.state, one.category, one.family) == ("proposed", "weather", "agent solver")
    assert len(one.outcome_ids) == 3
    assert one.similarity > 0.5
    edit, create = one.changes
    assert (edit.change, edit.replaces, edit.lesson) == ("edit", known, BETTER)
    assert edit.old_lesson == KNOWN
    assert (create.change, create.replaces, create.lesson) == ("create", None, NEW)
    [ticket] = [
        one
        for one in await tickets(engine, await a_call(engine, operator, wall))
        if one.rule == "wins"
    ]
    assert ticket.id == one.ticket_id
    purposes = [slot.purpose for slot in ticket.trials]
    assert purposes == ["source"] * 3 + ["anchor"] * 2
    assert BETTER in ticket.guideline
    assert NEW in ticket.guideline
    # Until then nothing is changed, and what the model saw had no secret.
    call = await a_call(engine, operator, wall)
    assert (await get_memory(engine, call, known)).status is Status.ACTIVE
    [asked] = llm.asked
    assert asked.material.count("no such place as pier") == 3
    assert KNOWN in asked.material
    assert "hunter2secret9" not in asked.material
    [kept] = await on_record(engine, call, role="revise")
    assert kept.ticket_id == ticket.id


async def test_more_wins_than_losses_apply_it_whole_and_an_undo_takes_it_back(
    engine: Engine, operator: Key, wall: str
) -> None:
    known = await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(EDIT, CREATE))
    ticket = await the_ticket(engine, operator, wall)

    done = await tried(engine, await a_call(engine, operator, wall), ticket, 0.8)

    assert (done.ticket.decision, done.ticket.reason) == ("admitted", "3_wins_0_losses")
    one = await the_changeset(engine, operator, wall)
    assert one.state == "applied"
    call = await a_call(engine, operator, wall)
    old = await get_memory(engine, call, known)
    assert (old.status, old.status_reason) == (Status.RETIRED, f"changeset {one.id}")
    new = [await get_memory(engine, call, change.memory_id or known) for change in one.changes]
    assert [memory.status for memory in new] == [Status.ACTIVE, Status.ACTIVE]

    back = await undo(engine, call, one.id)

    assert back.state == "undone"
    call = await a_call(engine, operator, wall)
    assert (await get_memory(engine, call, known)).status is Status.ACTIVE
    again = [await get_memory(engine, call, memory.id) for memory in new]
    assert [memory.status for memory in again] == [Status.RETIRED, Status.RETIRED]
    with pytest.raises(Conflict):
        await undo(engine, call, one.id)
    live, rebuilt = await live_and_rebuilt(engine, call)
    assert live == rebuilt


async def test_no_more_wins_than_losses_change_nothing(
    engine: Engine, operator: Key, wall: str
) -> None:
    known = await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(RETIRE, CREATE))
    ticket = await the_ticket(engine, operator, wall)

    done = await tried(engine, await a_call(engine, operator, wall), ticket, 0.1)

    assert (done.ticket.decision, done.ticket.reason) == ("rejected", "0_wins_0_losses")
    one = await the_changeset(engine, operator, wall)
    assert one.state == "rejected"
    call = await a_call(engine, operator, wall)
    assert (await get_memory(engine, call, known)).status is Status.ACTIVE
    created = [change.memory_id for change in one.changes if change.memory_id is not None]
    assert [(await get_memory(engine, call, new)).status for new in created] == ["rejected"]


async def test_what_was_changed_since_is_not_overwritten(
    engine: Engine, operator: Key, wall: str
) -> None:
    known = await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(EDIT))
    ticket = await the_ticket(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    await change_status(engine, call, known, StatusChange("suspend"))

    done = await tried(engine, await a_call(engine, operator, wall), ticket, 0.9)

    assert (done.ticket.decision, done.ticket.reason) == ("rejected", "changed_since")
    assert (await the_changeset(engine, operator, wall)).state == "rejected"
    call = await a_call(engine, operator, wall)
    assert (await get_memory(engine, call, known)).status is Status.SUSPENDED


async def test_what_nobody_tries_in_time_and_what_a_manager_cancels_is_rejected(
    engine: Engine, operator: Key, wall: str
) -> None:
    await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(CREATE))
    before = await the_changeset(engine, operator, wall)
    assert before.ticket_id is not None
    new = before.changes[0].memory_id
    assert new is not None
    with pytest.raises(Conflict):
        await refine(
            engine, await a_call(engine, operator, wall), new, MemoryEdit(lesson="other words"), 1
        )

    await job(engine, operator, wall, "tickets", NOON + 8 * DAY)

    assert (await the_changeset(engine, operator, wall)).state == "rejected"
    call = await a_call(engine, operator, wall)
    assert (await get_memory(engine, call, new)).status is Status.REJECTED
    with pytest.raises(Conflict):
        await cancel(engine, call, before.ticket_id)


@pytest.mark.parametrize("n", [2, 3])
async def test_without_a_model_or_with_two_failures_there_is_none(
    engine: Engine, operator: Key, wall: str, n: int
) -> None:
    await failures(engine, operator, wall, n)
    llm = model(CREATE) if n == 2 else None

    await revised(engine, operator, wall, llm)

    call = await a_call(engine, operator, wall)
    assert (await list_changesets(engine, call, None, PAGE)).total == 0


async def test_each_failure_is_in_one_changeset(engine: Engine, operator: Key, wall: str) -> None:
    await failures(engine, operator, wall)
    llm = model(CREATE)
    await revised(engine, operator, wall, llm)

    await revised(engine, operator, wall, llm)

    assert len(llm.asked) == 1
    assert (await the_changeset(engine, operator, wall)).claims == 1


async def test_a_model_that_proposes_nothing_usable_ends_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    await failures(engine, operator, wall)

    await revised(engine, operator, wall, model(RETIRE))

    one = await the_changeset(engine, operator, wall)
    assert (one.state, one.reason, one.changes) == ("nothing", "no_proposal", ())
    with pytest.raises(Conflict):
        await retry_changeset(engine, await a_call(engine, operator, wall), one.id)


@pytest.mark.parametrize("whose", ["task", "agent", "memory"])
async def test_an_erasure_of_one_of_its_failures_takes_its_words_and_ends_it(
    engine: Engine, operator: Key, wall: str, whose: str
) -> None:
    await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(CREATE, EDIT))
    one = await the_changeset(engine, operator, wall)
    ids = [change.memory_id for change in one.changes if change.memory_id is not None]
    [ticket] = [
        t for t in await tickets(engine, await a_call(engine, operator, wall)) if t.rule == "wins"
    ]
    # A task that the memories do not name themselves.
    what = {
        "task": Erasure(task_id=ticket.trials[2].task_id),
        "agent": Erasure(agent="solver"),
        "memory": Erasure(memory_id=ids[0]),
    }
    foreseen = await preview_erasure(engine, await a_call(engine, operator, wall), what[whose])

    done = await erase(engine, await a_call(engine, operator, wall), what[whose])

    assert foreseen.erased == done.erased
    after = await the_changeset(engine, operator, wall)
    assert (after.state, after.reason) == ("rejected", "erased")
    words = {change.lesson for change in after.changes}
    assert NEW not in words
    assert (BETTER in words) == (whose == "memory")


async def test_who_does_not_manage_undoes_nothing(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    await failures(engine, operator, wall)
    await revised(engine, operator, wall, model(CREATE))
    one = await the_changeset(engine, operator, wall)

    with pytest.raises(Forbidden):
        await undo(engine, await calls(wall, role=Role.AGENT), one.id)


def test_changes_are_read_with_the_notes_that_they_name() -> None:
    note = ServedNote(UUID(int=1), 1, "rain", KNOWN)

    def read(*changes: dict[str, str]) -> list[str]:
        return [one.change for one in read_changes(json.dumps({"changes": changes}), {"m1": note})]

    assert read(EDIT, CREATE) == ["edit", "create"]
    for wrong in (
        [RETIRE],
        [EDIT, RETIRE],
        [EDIT | {"note": "m2"}],
        [CREATE | {"note": "m1"}],
        [CREATE | {"change": "rewrite"}],
        [EDIT | {"situation": "rain", "lesson": KNOWN}],
        [CREATE | {"lesson": ""}],
        [CREATE] * 5,
    ):
        with pytest.raises(Malformed):
            read(*wrong)


async def test_a_model_that_is_away_is_waited_for(engine: Engine, operator: Key, wall: str) -> None:
    await failures(engine, operator, wall)
    away = ScriptedLlm([Unavailable("no connection", code="llm_denied")])

    await revised(engine, operator, wall, away)

    one = await the_changeset(engine, operator, wall)
    assert (one.state, one.reason, one.claims) == ("waiting", "model_away", 0)
    later = with_llm(engine, model(CREATE))
    await job(later, operator, wall, "revise", NOON + DAY)
    assert (await the_changeset(engine, operator, wall)).state == "proposed"


async def test_one_that_rests_is_worked_on_at_once_where_a_person_frees_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    await failures(engine, operator, wall)
    away = ScriptedLlm([Unavailable("no connection", code="llm_denied")])
    await revised(engine, operator, wall, away)
    call = await a_call(engine, operator, wall)
    one = await the_changeset(engine, operator, wall)

    freed = await retry_changeset(engine, call, one.id)
    await revised(engine, operator, wall, model(CREATE))

    assert (freed.state, freed.claims) == ("waiting", 0)
    assert (await the_changeset(engine, operator, wall)).state == "proposed"
    with pytest.raises(Conflict):
        await retry_changeset(engine, call, one.id)

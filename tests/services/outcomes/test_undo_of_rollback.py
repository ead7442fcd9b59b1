"""A rollback is undone, bit for bit, whatever came between; or refused in words."""

from datetime import timedelta
from uuid import uuid4

import pytest

from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.erasure.entities import Erasure, RollbackUndone
from memory.erasure.rollback import roll_back
from memory.erasure.service import erase
from memory.erasure.undo import list_rollbacks, undo_rollback
from memory.insight.entities import Rollback, RollbackResult
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, NotFound
from memory.kernel.paging import Page
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import get_outcome, report
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Role
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import DAY, NOON, Caller
from tests.services.outcomes.test_undo import exact
from tests.storage.steps import remembered, reported, served

PAGE = Page(50)


async def taught(engine: Engine, calls: Caller, slug: str, agent: str, *rewards: float) -> None:
    """One outcome a day of this agent, applied at once."""
    for day, reward in enumerate(rewards):
        at = NOON + day * DAY + timedelta(minutes=len(agent))
        run = await served(engine, await calls(slug), as_of=at, agent=agent)
        await reported(engine, await calls(slug), run, reward=reward, known_at=at)
        await apply_now(engine, await calls(slug))


async def rolled_back(engine: Engine, calls: Caller, slug: str, agent: str) -> RollbackResult:
    return await roll_back(engine, await calls(slug), Rollback(agent=agent, dry_run=False))


async def undone(
    engine: Engine, calls: Caller, slug: str, result: RollbackResult
) -> RollbackUndone:
    assert result.rollback_id is not None
    return await undo_rollback(engine, await calls(slug), result.rollback_id)


async def test_an_undone_rollback_leaves_every_state_as_if_it_had_never_been(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    [loud] = await remembered(
        engine, await calls(past), a_draft(lesson="trust me", agent="loud", learned_at=NOON)
    )
    await taught(engine, calls, past, "solver", 0.9, 0.2)
    await taught(engine, calls, past, "loud", 1.0, 0.0, 1.0)
    before = await exact(engine, await calls(past))

    result = await rolled_back(engine, calls, past, "loud")
    without = await exact(engine, await calls(past))
    done = await undone(engine, calls, past, result)
    after = await exact(engine, await calls(past))

    assert without != before
    assert after == before
    assert done.outcomes == result.outcomes
    assert (done.restored, done.left) == ((loud.id,), ())
    assert done.difference.total == result.difference.total
    memory = await get_memory(engine, await calls(past), loud.id)
    assert (memory.status, memory.status_reason) == ("active", None)
    for outcome_id in done.outcomes:
        outcome = await get_outcome(engine, await calls(past), outcome_id)
        assert (outcome.status, outcome.withdrawn_version) == ("applied", None)
    run = await run_job(engine, await calls(past), "rebuild", JobRequest(now=NOON + 9 * DAY))
    assert run.result is not None
    assert run.result["exact"] is True


async def test_what_came_between_stays_and_later_corrections_are_still_exact(
    engine: Engine, calls: Caller, past: str
):
    """The bank is at another version in each stretch; a correction begins in each of them."""
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await taught(engine, calls, past, "solver", 0.9)
    await taught(engine, calls, past, "loud", 1.0, 0.0)
    result = await rolled_back(engine, calls, past, "loud")
    at = NOON + 4 * DAY
    run = await served(engine, await calls(past), as_of=at)
    between = await reported(engine, await calls(past), run, reward=0.3, known_at=at)
    await apply_now(engine, await calls(past))
    await undone(engine, calls, past, result)
    await exact(engine, await calls(past))
    late = await served(engine, await calls(past), as_of=at + DAY)
    after = await reported(engine, await calls(past), late, reward=0.6, known_at=at + DAY)
    await apply_now(engine, await calls(past))
    await exact(engine, await calls(past))

    for wrong in (after, between):
        better = a_report(reward=0.5, verifier="human", known_at=at + 2 * DAY)
        [told] = await report(
            engine, await calls(past), [ReceiptReport(wrong.outcome.retrieval_id, better)]
        )
        assert isinstance(told, Reported)
        await apply_now(engine, await calls(past))
        await exact(engine, await calls(past))

    again = await rolled_back(engine, calls, past, "loud")
    await exact(engine, await calls(past))
    assert again.outcomes == result.outcomes
    await undone(engine, calls, past, again)
    await exact(engine, await calls(past))


async def test_only_the_newest_that_stands_is_undone_and_only_once(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await taught(engine, calls, past, "solver", 0.9)
    await taught(engine, calls, past, "loud", 1.0)
    before = await exact(engine, await calls(past))
    first = await rolled_back(engine, calls, past, "loud")
    second = await rolled_back(engine, calls, past, "solver")

    with pytest.raises(Conflict, match=str(second.rollback_id)) as refused:
        await undone(engine, calls, past, first)
    assert refused.value.kind == "rollback_not_newest"
    listed = (await list_rollbacks(engine, await calls(past), PAGE)).items
    assert [(one.id, one.can_undo) for one in listed] == [
        (second.rollback_id, True),
        (first.rollback_id, False),
    ]
    await undone(engine, calls, past, second)
    with pytest.raises(Conflict) as twice:
        await undone(engine, calls, past, second)
    assert twice.value.kind == "rollback_undone"
    await undone(engine, calls, past, first)

    assert await exact(engine, await calls(past)) == before
    with pytest.raises(NotFound):
        await undo_rollback(engine, await calls(past), uuid4())
    with pytest.raises(Forbidden):
        await undo_rollback(engine, await calls(past, role=Role.AGENT), uuid4())


async def test_what_was_reported_anew_is_not_overwritten(engine: Engine, calls: Caller, past: str):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    run = await served(engine, await calls(past), as_of=NOON)
    told = await reported(engine, await calls(past), run, reward=0.9, known_at=NOON)
    await apply_now(engine, await calls(past))
    result = await rolled_back(engine, calls, past, "solver")
    await reported(engine, await calls(past), run, reward=0.1, known_at=NOON)
    await apply_now(engine, await calls(past))
    state = await exact(engine, await calls(past))

    with pytest.raises(Conflict, match=str(told.outcome.id)) as refused:
        await undone(engine, calls, past, result)

    assert refused.value.kind == "rollback_overtaken"
    assert await exact(engine, await calls(past)) == state


async def test_outcomes_that_waited_wait_again_and_pairs_come_back_whole(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    run = await served(engine, await calls(past), as_of=NOON, purpose="paired")
    paired = {"reward": 0.9, "without": {"reward": 0.2}, "known_at": NOON}
    told = await reported(engine, await calls(past), run, **paired)

    result = await rolled_back(engine, calls, past, "solver")
    await undone(engine, calls, past, result)
    waits = await get_outcome(engine, await calls(past), told.outcome.id)
    await apply_now(engine, await calls(past))

    assert (waits.status, waits.applied_at) == ("accepted", None)
    counted = await get_outcome(engine, await calls(past), told.outcome.id)
    assert (counted.status, counted.evidence) == ("applied", "paired")
    await exact(engine, await calls(past))


async def test_memories_changed_since_are_left_as_they_are(
    engine: Engine, calls: Caller, past: str
):
    lessons = ("one", "two", "three")
    drafts = [a_draft(lesson=lesson, learned_at=NOON) for lesson in lessons]
    one, two, three = [
        (await remembered(engine, await calls(past), draft))[0].id for draft in drafts
    ]
    result = await rolled_back(engine, calls, past, "solver")
    assert set(result.retired) == {one, two, three}
    await change_status(engine, await calls(past), one, StatusChange("restore"))
    await erase(engine, await calls(past), Erasure(memory_id=two))

    done = await undone(engine, calls, past, result)

    assert (done.restored, set(done.left)) == ((three,), {one, two})
    statuses = [(await get_memory(engine, await calls(past), i)).status for i in (one, three)]
    assert statuses == ["active", "active"]


async def test_a_category_is_measured_again_as_what_came_back(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await taught(engine, calls, past, "solver", 0.9)
    result = await rolled_back(engine, calls, past, "solver")

    async def metrics() -> set[str | None]:
        call = await calls(past)
        async with engine.database.transaction(call.namespace.id) as connection:
            found = await ActorStore(connection, call.namespace.id).list_categories(PAGE)
        return {one.metric for one in found.items}

    assert await metrics() == {None}
    await undone(engine, calls, past, result)
    assert await metrics() == {"reward"}

"""Jobs run once a period, under one leader, and change no ranking by when they run."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.service import edit_memory
from memory.insight.service import list_weight_events
from memory.jobs.leader import run_leader
from memory.jobs.service import JOBS, JobRequest, list_runs, run_due, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Rejected
from memory.kernel.paging import Page
from memory.kernel.postgres.leadership import JobRun
from memory.memories.entities import MemoryEdit, Status
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now, apply_pending
from memory.outcomes.service import list_outcomes
from memory.receipts.list_entities import OutcomeFilter
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.fixtures.replicas import a_term
from tests.fixtures.verification_steps import job
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
LATER = NOON + 40 * DAY


async def a_taught_bank(engine: Engine, key: Key) -> tuple[str, list[UUID]]:
    """Four lessons, two of which have been credited, in a replay namespace."""
    slug = await a_namespace(engine, key, clock=Clock.REPLAY)
    call = await a_call(engine, key, slug)
    drafts = [a_draft(lesson=f"rain lesson {i}", learned_at=NOON) for i in range(4)]
    lessons = await remembered(engine, call, *drafts)
    answer = await served(engine, call, as_of=NOON, k=2, purpose="paired")
    await reported(engine, call, answer, reward=0.95, without={"reward": 0.1}, known_at=NOON + DAY)
    await apply_now(engine, call)
    return slug, [lesson.id for lesson in lessons]


async def decay(engine: Engine, key: Key, slug: str, now: datetime, *, dry: bool = False) -> JobRun:
    call = await a_call(engine, key, slug)
    return await run_job(engine, call, "decay", JobRequest(now, dry_run=dry))


async def version(engine: Engine, key: Key, slug: str) -> int:
    return (await a_call(engine, key, slug)).namespace.bank_version


async def test_a_dry_run_says_what_a_run_then_does_and_writes_nothing(
    engine: Engine, operator: Key
) -> None:
    slug, lessons = await a_taught_bank(engine, operator)
    call = await a_call(engine, operator, slug)
    before = await live_and_rebuilt(engine, call)

    dry = await decay(engine, operator, slug, LATER, dry=True)

    assert await live_and_rebuilt(engine, call) == before
    assert (await list_runs(engine, call, PAGE)).total == 0
    assert await version(engine, operator, slug) == call.namespace.bank_version
    run = await decay(engine, operator, slug, LATER)
    assert run.result == dry.result
    assert run.result is not None
    changes = run.result["changes"]
    assert isinstance(changes, list)
    assert {change["memory_id"] for change in changes} <= {str(lesson) for lesson in lessons}
    for change in changes:
        events = await list_weight_events(engine, call, UUID(change["memory_id"]), PAGE)
        last = [e for e in events.items if e.subject == "memory"][-1]
        assert (last.kind, last.reason) == ("set", "decay")
        assert last.weight_before == change["weight_before"]
        assert last.weight_after == change["weight_after"]
    assert len(changes) == 2


async def test_five_callers_at_once_run_one_after_the_other(engine: Engine, operator: Key) -> None:
    slug, _ = await a_taught_bank(engine, operator)

    runs = await asyncio.gather(*(decay(engine, operator, slug, LATER) for _ in range(5)))

    call = await a_call(engine, operator, slug)
    assert (await list_runs(engine, call, PAGE)).total == len({run.id for run in runs}) == 5
    changes = [run.result["changes"] for run in runs if run.result is not None]
    assert sorted(len(list(found)) for found in changes) == [0, 0, 0, 0, 2]
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_a_run_by_hand_runs_whatever_ran_before(engine: Engine, operator: Key) -> None:
    slug, [lesson, *_] = await a_taught_bank(engine, operator)
    first = await job(engine, operator, slug, "rebuild", LATER)
    call = await a_call(engine, operator, slug)
    async with engine.database.transaction(call.namespace.id) as connection:
        changed = "UPDATE memory_weight SET state[1] = state[1] + 0.01 WHERE memory_id = :id"
        await connection.execute(text(changed), {"id": lesson})

    second = await job(engine, operator, slug, "rebuild", LATER)

    assert first.result is not None
    assert second.result is not None
    assert (first.result["exact"], second.result["exact"]) == (True, False)
    assert first.id != second.id
    assert first.period == second.period


async def test_when_age_was_written_down_changes_no_weight_and_no_ranking(
    engine: Engine, operator: Key
) -> None:
    banks = [await a_taught_bank(engine, operator) for _ in range(2)]
    aged, plain = banks
    for days in (10, 25, 60):
        await decay(engine, operator, aged[0], NOON + days * DAY)

    async def seen(slug: str, lessons: list[UUID]) -> list[tuple[int, float, float]]:
        call = await a_call(engine, operator, slug)
        answer = await served(engine, call, as_of=NOON + 100 * DAY, k=4)
        return [
            (lessons.index(item.memory_id), item.effective_weight, item.ranking_weight)
            for item in answer.receipt.items
        ]

    left, right = await seen(*aged), await seen(*plain)
    assert [item[0] for item in left] == [item[0] for item in right]
    for one, other in zip(left, right, strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=1e-9)
    assert len(left) == 4


async def test_a_retrieval_before_the_run_reads_beliefs_of_its_own_time(
    engine: Engine, operator: Key
) -> None:
    banks = [await a_taught_bank(engine, operator) for _ in range(2)]
    await decay(engine, operator, banks[0][0], LATER)

    weights = []
    for slug, _ in banks:
        call = await a_call(engine, operator, slug)
        answer = await served(engine, call, as_of=NOON + 5 * DAY, k=4)
        weights.append([item.effective_weight for item in answer.receipt.items])

    assert weights[0] == pytest.approx(weights[1], abs=1e-9)


async def test_a_retrieval_before_an_edit_reads_the_text_of_its_own_time(
    engine: Engine, operator: Key
) -> None:
    slug, lessons = await a_taught_bank(engine, operator)
    call = await a_call(engine, operator, slug)
    edit = MemoryEdit(lesson="from the future", known_at=LATER)
    await edit_memory(engine, call, lessons[0], edit, 1)

    call = await a_call(engine, operator, slug)
    answer = await served(engine, call, as_of=NOON + 5 * DAY, k=4)

    assert lessons[0] in [item.memory_id for item in answer.receipt.items]
    assert "future" not in (answer.receipt.guideline.text or "")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a memory stands before decay runs."""

    weight: float = 1.0
    credits: int = 0
    pinned: bool = False


@pytest.mark.parametrize(
    ("standing", "days", "reason"),
    [
        (Standing(weight=0.1, credits=5), 1, "low_weight"),
        (Standing(weight=0.1, credits=4), 1, None),
        (Standing(weight=0.3, credits=5), 1, None),
        (Standing(weight=0.1, credits=5, pinned=True), 1, None),
        (Standing(), 180, "disuse"),
        (Standing(), 179, None),
        (Standing(credits=1), 400, None),
        (Standing(pinned=True), 400, None),
    ],
)
async def test_low_weight_and_long_disuse_retire_unless_pinned(
    engine: Engine, operator: Key, standing: Standing, days: int, reason: str | None
) -> None:
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    draft = a_draft(learned_at=NOON, weight=standing.weight, pinned=standing.pinned)
    [lesson] = await remembered(engine, call, draft)
    await credit(engine, call, standing.credits)

    run = await decay(engine, operator, slug, NOON + days * DAY)

    kept = await get_memory(engine, await a_call(engine, operator, slug), lesson.id)
    assert kept.status == (Status.ACTIVE if reason is None else Status.RETIRED)
    assert kept.status_reason == reason
    assert run.result is not None
    assert run.result["examined"] == 1
    retired = [str(c).count("retired") for c in [run.result["changes"]]]
    assert retired == [0 if reason is None else 1]
    assert (await a_call(engine, operator, slug)).namespace.n_memories == (reason is None)


async def credit(engine: Engine, call: Call, times: int) -> None:
    """As if so many outcomes had counted the memory."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE memory_weight SET n_credited = :n"), {"n": times})


async def test_caches_hear_of_every_memory_that_a_run_retires(
    engine: Engine, operator: Key
) -> None:
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    low = await remembered(engine, call, a_draft(learned_at=NOON, weight=0.1))
    await credit(engine, call, 5)
    unused = await remembered(engine, call, a_draft(lesson="another", learned_at=NOON))

    await decay(engine, operator, slug, NOON + 200 * DAY)

    async with engine.database.transaction(call.namespace.id) as connection:
        last = "SELECT kind, subjects FROM change ORDER BY bank_version DESC LIMIT 1"
        kind, subjects = (await connection.execute(text(last))).one()
    assert kind == "retired"
    assert set(subjects) == {str(low[0].id), str(unused[0].id)}


async def test_a_wall_namespace_sets_the_time_of_a_run_itself(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)

    with pytest.raises(Rejected, match="now"):
        await run_job(engine, call, "decay", JobRequest(NOON))
    run = await run_job(engine, call, "decay", JobRequest())
    assert run.now == NOON


async def test_a_leader_whose_term_is_over_leaves_no_trace(
    replicas: tuple[Engine, Engine], chief: Key
) -> None:
    engine = replicas[0]
    slug = await a_namespace(engine, chief)
    call = await a_call(engine, chief, slug)
    await remembered(engine, call, a_draft())
    answer = await served(engine, call)
    await reported(engine, call, answer)
    old = await a_term(engine)
    new = await a_term(engine)
    call = await a_call(engine, chief, slug)

    with pytest.raises(Conflict) as refused:
        await run_due(engine, call.namespace, NOON + 200 * DAY, old)
    with pytest.raises(Conflict):
        await apply_pending(engine, call.namespace.id, NOON, old)

    assert refused.value.kind == "not_leader"
    assert new.epoch == old.epoch + 1
    assert (await list_runs(engine, call, PAGE)).total == 0
    assert (await a_call(engine, chief, slug)).namespace == call.namespace
    assert (await list_outcomes(engine, call, OutcomeFilter("accepted"), PAGE)).total == 1
    assert await apply_pending(engine, call.namespace.id, NOON, new) == 1
    first = await run_due(engine, call.namespace, NOON + 200 * DAY, new)
    again = await run_due(engine, call.namespace, NOON + 200 * DAY, new)
    assert first.keys() == again.keys() == {job.name for job in JOBS}
    assert None not in first.values()
    assert set(again.values()) == {None}


async def term(engine: Engine) -> tuple[int, str] | None:
    async with engine.database.transaction() as connection:
        row = (await connection.execute(text("SELECT epoch, holder FROM lease"))).first()
    return None if row is None else (row[0], row[1])


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Waits, within reason, until the condition holds."""
    for _ in range(400):
        if await true():
            return
        await asyncio.sleep(0.025)
    pytest.fail("it never came to that")


async def test_one_of_two_leads_and_the_other_takes_over_when_it_dies(
    replicas: tuple[Engine, Engine], chief: Key
) -> None:
    slug = await a_namespace(replicas[0], chief)
    before = await term(replicas[0])
    leading = asyncio.create_task(run_leader(replicas[0]))
    await until(lambda: moved(replicas[0], before))
    first = await term(replicas[0])
    waiting = asyncio.create_task(run_leader(replicas[1]))
    try:
        await taught(replicas[1], chief, slug)
        assert await term(replicas[0]) == first
        await ended(leading)
        await until(lambda: moved(replicas[0], first))
        await taught(replicas[0], chief, slug)
        second = await term(replicas[0])
    finally:
        await ended(leading)
        await ended(waiting)
    assert first is not None
    assert second is not None
    assert second[0] == first[0] + 1


async def moved(engine: Engine, before: tuple[int, str] | None) -> bool:
    return await term(engine) != before


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def taught(engine: Engine, key: Key, slug: str) -> None:
    """An outcome that nobody applies by hand is applied, once."""
    now = datetime.now(UTC)
    call = await a_call(engine, key, slug, now)
    await remembered(engine, call, a_draft(lesson=f"said at {now}"))
    answer = await served(engine, call)
    outcome = (await reported(engine, call, answer)).outcome

    async def applied() -> bool:
        done = await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)
        return outcome.id in [o.id for o in done.items]

    await until(applied)
    lesson = answer.receipt.items[0].memory_id
    events = (await list_weight_events(engine, call, lesson, PAGE)).items
    assert len([e for e in events if e.outcome_id == outcome.id and e.subject == "memory"]) == 1
    live, again = await live_and_rebuilt(engine, await a_call(engine, key, slug))
    assert live == again

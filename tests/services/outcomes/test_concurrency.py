"""Many at once, over two engines: nothing is lost, nothing happens twice, nothing appears late."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from memory.belief.effect import effect_of
from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound, Overloaded, Rejected
from memory.kernel.paging import Page
from memory.memories.entities import MemoryFilter, Remembered, Status
from memory.memories.service import get_memory, list_memories
from memory.outcomes.applying import apply_pending
from memory.outcomes.entities import ReceiptReport, Report, Reported
from memory.outcomes.service import list_outcomes, report
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.retrieval.service import retrieve
from memory.tenancy.entities import Attempt, Call, Clock, Key, Recorded
from memory.tenancy.service import abandon, begin, finish
from tests.fixtures.builders import a_draft, a_report, an_ask
from tests.fixtures.engine import DAY, NOON, a_namespace, an_engine
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)


@pytest.fixture
async def other(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    """A second process, as far as the database can tell."""
    opened = an_engine(database_url)
    opened.registered = engine.registered
    yield opened
    await opened.close()


async def retrievals(engine: Engine, call: Call, many: int, **ask: object) -> list[Advice]:
    answers = await retrieve(engine, call, [an_ask(**ask)] * many)
    return [answer for answer in answers if isinstance(answer, Advice)]


async def drained(engine: Engine, namespace_id: UUID, until: asyncio.Event) -> None:
    """As a leader does: applies, over and over, and comes back where another was faster."""
    last = False
    while not last:
        last = until.is_set()
        try:
            await apply_pending(engine, namespace_id, NOON, None)
        except Overloaded:
            last = False
        await asyncio.sleep(0.005)


async def test_two_hundred_reports_over_two_engines_are_each_applied_once(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft())
    answers = await retrievals(engine, call, 200)
    engines = (engine, other)
    queue = asyncio.Semaphore(12)

    async def told(i: int) -> None:
        async with queue:
            reward = 1.0 if i % 2 else 0.0
            await reported(engines[i // 2 % 2], call, answers[i], reward=reward)

    async with appliers(call, *engines):
        await asyncio.gather(*(told(i) for i in range(200)))

    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert await credited(engine, call, lesson.id) == 200
    assert (await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)).total == 200


async def credited(engine: Engine, call: Call, memory_id: UUID) -> int:
    asked = text("SELECT n_credited FROM memory_weight WHERE memory_id = :id")
    async with engine.database.transaction(call.namespace.id) as connection:
        return await connection.scalar(asked, {"id": memory_id}) or 0


async def test_a_better_verified_outcome_and_the_applier_agree_on_who_was_first(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft())
    answers = await retrievals(engine, call, 60)
    for answer in answers:
        await reported(engine, call, answer, verifier="self", reward=0.2)
    taken, refused = 0, 0

    async with appliers(call, other):
        for answer in reversed(answers):
            better = a_report(verifier="human", reward=0.9)
            [reply] = await report(
                engine, call, [ReceiptReport(answer.receipt.retrieval_id, better)]
            )
            taken += isinstance(reply, Reported)
            refused += isinstance(reply, Conflict) and reply.kind == "outcome_applied"

    assert taken + refused == 60
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert (await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)).total == 60


async def test_an_outcome_superseded_while_it_is_applied_is_taken_back(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    """The applier has read the outcome and not yet committed when the better one comes."""
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft())
    answer = await served(engine, call)
    await reported(engine, call, answer, verifier="self")
    better = ReceiptReport(answer.receipt.retrieval_id, a_report(verifier="human", reward=0.1))

    async with other.database.transaction(call.namespace.id) as connection:
        # Holds the applier at its last step: it has learned, and waits to take the version.
        await connection.execute(
            text("SELECT 1 FROM namespace WHERE id = :id FOR UPDATE"), {"id": call.namespace.id}
        )
        applying = asyncio.create_task(apply_pending(engine, call.namespace.id, NOON, None))
        await waiting(other, 1)
        reporting = asyncio.create_task(report(engine, call, [better]))
        await waiting(other, 2)
    [reply] = await reporting
    await applying

    assert isinstance(reply, Reported)
    await apply_pending(engine, call.namespace.id, NOON, None)
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    first, second = (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).items
    assert (first.status, second.status) == ("superseded", "applied")
    assert first.bank_version is not None
    assert first.withdrawn_version is not None
    assert first.bank_version < first.withdrawn_version
    assert sum(effect_of([day]).arms["on"].n for day in live.effects.values()) == 1


async def waiting(engine: Engine, many: int) -> None:
    """Until so many sessions of this database wait for a row."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock'"
    )
    for _ in range(400):
        async with engine.database.login() as connection:
            if (await connection.scalar(text(asked)) or 0) >= many:
                return
        await asyncio.sleep(0.01)
    pytest.fail("nobody waited")


@dataclass(frozen=True, slots=True)
class Storm:
    """Twenty clients, a keeper and wardens at work in one namespace, over two engines."""

    engines: tuple[Engine, Engine]
    call: Call
    batches: Sequence[Sequence[Advice]]
    lessons: Sequence[UUID]
    accepted: list[UUID] = field(default_factory=list[UUID])

    async def client(self, seed: int) -> None:
        """Reports on what it was served, in an order of its own."""
        order = list(self.batches[seed])
        Random(seed).shuffle(order)
        for answer in order:
            cited = [item.memory_id for item in answer.receipt.items if item.cited]
            one = a_report(known_at=NOON + seed * DAY, helpful=tuple(cited[:1]))
            reply = await insisted(self.engines[seed % 2], self.call, answer, one)
            assert isinstance(reply, Reported), reply
            self.accepted.append(reply.outcome.id)

    async def keeper(self) -> None:
        for day in range(1, 12):
            request = JobRequest(NOON + day * DAY)
            await quietly(run_job(self.engines[1], self.call, "decay", request))

    async def warden(self, action: str) -> None:
        for lesson in [*self.lessons] * 2:
            change = StatusChange(action)
            await quietly(change_status(self.engines[0], self.call, lesson, change))


async def test_clients_decay_and_changes_of_status_lose_no_outcome(
    engine: Engine, other: Engine, operator: Key
) -> None:
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    drafts = [a_draft(lesson=f"rain lesson {i}", learned_at=NOON) for i in range(10)]
    lessons = [lesson.id for lesson in await remembered(engine, call, *drafts)]
    batches = [await retrievals(engine, call, 4, as_of=NOON, k=10) for _ in range(20)]
    storm = Storm((engine, other), call, batches, lessons)
    wardens = [storm.warden(a) for a in ("suspend", "retire", "retire", "restore")]

    async with appliers(call, engine, other):
        clients = [storm.client(seed) for seed in range(20)]
        await asyncio.gather(*clients, storm.keeper(), *wardens)

    call = await a_call(engine, operator, slug)
    done = await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)
    assert {o.id for o in done.items} == set(storm.accepted)
    assert len(storm.accepted) == 80
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert call.namespace.n_memories == await living(engine, call)


async def insisted(
    engine: Engine, call: Call, answer: Advice, one: Report
) -> Reported | MemoryFault:
    """Reports until the server is not too busy to take it."""
    while True:
        with suppress(Overloaded):
            [reply] = await report(engine, call, [ReceiptReport(answer.receipt.retrieval_id, one)])
            return reply


@asynccontextmanager
async def appliers(call: Call, *engines: Engine) -> AsyncGenerator[None]:
    """Each engine applies what is pending, over and over; all of it by the end."""
    over = asyncio.Event()
    tasks = [asyncio.create_task(drained(e, call.namespace.id, over)) for e in engines]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*tasks)


async def quietly(work: Awaitable[object]) -> None:
    """What the bank does not admit just now is refused in words; anything else is a fault."""
    try:
        await work
    except (Conflict, NotFound, Overloaded):
        return


async def living(engine: Engine, call: Call) -> int:
    listed = await list_memories(engine, call, MemoryFilter(), PAGE)
    return sum(memory.status is not Status.RETIRED for memory in listed.items)


async def test_two_retirements_at_once_count_once(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson, _] = await remembered(engine, call, a_draft(), a_draft(lesson="stays"))

    await asyncio.gather(
        *(
            quietly(change_status(e, call, lesson.id, StatusChange("retire")))
            for e in (engine, other) * 4
        )
    )

    call = await a_call(engine, operator, wall)
    assert call.namespace.n_memories == await living(engine, call) == 1


async def test_what_is_erased_in_the_middle_stays_erased(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft())
    answers = await retrievals(engine, call, 20)
    late = StatusChange("suspend")

    async with appliers(call, other):
        replies, *_ = await asyncio.gather(
            asyncio.gather(*(insisted(other, call, answer, a_report()) for answer in answers)),
            erase(engine, call, Erasure(memory_id=lesson.id)),
            quietly(change_status(other, call, lesson.id, late)),
        )

    assert all(isinstance(reply, Reported) for reply in replies)
    with pytest.raises(NotFound):
        await get_memory(engine, call, lesson.id)
    assert (await served(engine, call)).receipt.items == ()
    assert (await a_call(engine, operator, wall)).namespace.n_memories == 0
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


SEEN = """
    SELECT n.bank_version, m.id, m.bank_version AS stamp
    FROM namespace n LEFT JOIN memory m ON m.namespace_id = n.id WHERE n.id = :id
"""


async def test_nothing_appears_behind_a_version_that_was_seen(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    over = asyncio.Event()

    async def writer(where: Engine, name: str) -> None:
        for i in range(12):
            await remembered(where, call, a_draft(lesson=f"{name} {i}", agent=f"agent {name}"))

    async def reader() -> int:
        seen: set[UUID] = set()
        newest, looks = -1, 0
        while not over.is_set():
            async with engine.database.transaction(call.namespace.id) as connection:
                rows = (await connection.execute(text(SEEN), {"id": call.namespace.id})).all()
            fresh = [row for row in rows if row.id is not None and row.id not in seen]
            assert all(newest < row.stamp <= row.bank_version for row in fresh)
            newest, looks = rows[0].bank_version, looks + bool(fresh)
            seen |= {row.id for row in fresh}
            await asyncio.sleep(0)
        return looks

    reading = asyncio.create_task(reader())
    try:
        writers = [writer(e, f"{i}") for i, e in enumerate((engine, other) * 2)]
        await asyncio.gather(*writers)
    finally:
        over.set()
    assert await reading > 1
    assert (await a_call(engine, operator, wall)).namespace.bank_version == 48


async def test_the_same_lesson_over_two_engines_is_one_memory(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)

    answers = await asyncio.gather(
        *(remember(e, call, [a_draft()]) for e in (engine, other) for _ in range(8))
    )

    kept = [answer for [answer] in answers if isinstance(answer, Remembered)]
    assert len(kept) == 16
    assert len({one.id for one in kept}) == 1
    assert (await a_call(engine, operator, wall)).namespace.n_memories == 1


def an_attempt(key: Key, name: str, body: bytes = b"one") -> Attempt:
    return Attempt(key.id, "POST", "/v1/things", name, body, None, NOON)


async def begun(engine: Engine, attempt: Attempt, now: datetime) -> Recorded | None:
    return await begin(engine, replace(attempt, begun_at=now))


ANSWER = Recorded(201, b'{"id": 1}')
SECOND = timedelta(seconds=1)


async def test_a_finished_call_is_answered_as_before_for_a_day(
    engine: Engine, operator: Key
) -> None:
    attempt = an_attempt(operator, uuid4().hex)
    assert await begun(engine, attempt, NOON) is None
    await finish(engine, attempt, ANSWER)

    assert await begun(engine, attempt, NOON + timedelta(hours=24)) == ANSWER
    assert await begun(engine, attempt, NOON + timedelta(hours=24) + SECOND) is None


async def test_another_body_under_the_key_is_refused_running_or_done(
    engine: Engine, operator: Key
) -> None:
    name = uuid4().hex
    attempt, foreign = (an_attempt(operator, name, body) for body in (b"one", b"two"))
    assert await begun(engine, attempt, NOON) is None

    for _ in ("running", "done"):
        with pytest.raises(Rejected) as refused:
            await begun(engine, foreign, NOON)
        assert refused.value.kind == "idempotency_mismatch"
        await finish(engine, attempt, ANSWER)


async def test_a_running_call_holds_its_key_for_a_minute(engine: Engine, operator: Key) -> None:
    attempt = an_attempt(operator, uuid4().hex)
    assert await begun(engine, attempt, NOON) is None

    with pytest.raises(Conflict) as refused:
        await begun(engine, attempt, NOON + 60 * SECOND)

    assert refused.value.kind == "idempotency_running"
    assert refused.value.retry_after == 1
    assert await begun(engine, attempt, NOON + 61 * SECOND) is None


async def test_an_abandoned_call_frees_its_key_and_a_finished_one_does_not(
    engine: Engine, operator: Key
) -> None:
    attempt = an_attempt(operator, uuid4().hex)
    assert await begun(engine, attempt, NOON) is None
    await abandon(engine, attempt)
    assert await begun(engine, attempt, NOON) is None
    await finish(engine, attempt, ANSWER)

    await abandon(engine, attempt)

    assert await begun(engine, attempt, NOON) == ANSWER


async def test_a_call_that_outlived_its_lease_answers_for_no_other(
    engine: Engine, operator: Key
) -> None:
    name = uuid4().hex
    slow, next_one = (an_attempt(operator, name, body) for body in (b"one", b"two"))
    later = NOON + 61 * SECOND
    assert await begun(engine, slow, NOON) is None
    assert await begun(engine, next_one, later) is None

    await finish(engine, slow, ANSWER)
    await abandon(engine, slow)

    with pytest.raises(Conflict):
        await begun(engine, next_one, later)


async def test_of_ten_equal_calls_at_once_one_does_the_work(
    engine: Engine, other: Engine, operator: Key
) -> None:
    attempt = an_attempt(operator, uuid4().hex)

    answers = await asyncio.gather(
        *(begun(e, attempt, NOON) for e in (engine, other) * 5), return_exceptions=True
    )

    assert answers.count(None) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 9

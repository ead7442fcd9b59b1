"""Clients, decay, merges and erasures at once, over two engines: no deadlock, nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

import pytest

from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault
from memory.kernel.paging import Page
from memory.memories.entities import MemoryFilter, Status
from memory.memories.service import get_memory, list_memories
from memory.outcomes.applying import apply_pending
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import list_outcomes, report
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.retrieval.service import retrieve
from memory.tenancy.entities import Call, Clock, Key
from tests.fixtures.builders import a_draft, a_report, an_ask
from tests.fixtures.engine import DAY, NOON, a_namespace, an_engine
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported

PAGE = Page(200)
CLIENTS, RECEIPTS, DAYS = 20, 4, 8
LONG = "start from the base rate of the month and move little unless the pressure falls {}"


@pytest.fixture
async def other(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    """A second process, as far as the database can tell."""
    opened = an_engine(database_url)
    opened.registered = engine.registered
    yield opened
    await opened.close()


@asynccontextmanager
async def appliers(call: Call, *engines: Engine) -> AsyncGenerator[None]:
    """Each engine applies what is pending, over and over; all of it by the end."""
    over = asyncio.Event()

    async def apply(engine: Engine) -> None:
        last = False
        while not last:
            last = over.is_set()
            await apply_pending(engine, call.namespace.id, NOON, None)
            await asyncio.sleep(0.005)

    tasks = [asyncio.create_task(apply(engine)) for engine in engines]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*tasks)


@dataclass(frozen=True, slots=True)
class Storm:
    """What is at work in one namespace. Nothing is tried twice: contention would be a fault."""

    engines: tuple[Engine, Engine]
    call: Call
    batches: Sequence[Sequence[Advice]]
    lessons: Sequence[UUID]
    accepted: list[UUID] = field(default_factory=list[UUID])

    async def client(self, seed: int) -> None:
        """Reports on all it was served in one batch, in an order of its own."""
        order = list(self.batches[seed])
        Random(seed).shuffle(order)
        reports: list[ReceiptReport] = [
            ReceiptReport(
                answer.receipt.retrieval_id,
                a_report(reward=seed / CLIENTS, known_at=NOON + seed * DAY),
            )
            for answer in order
        ]
        for reply in await report(self.engines[seed % 2], self.call, reports):
            assert isinstance(reply, Reported), reply
            self.accepted.append(reply.outcome.id)

    async def keeper(self, job: str, engine: Engine) -> None:
        for day in range(1, DAYS):
            await run_job(engine, self.call, job, JobRequest(NOON + day * DAY))

    async def repeater(self, engine: Engine) -> None:
        """Brings texts that are there, several at a time, and in another order each time."""
        drafts = [a_draft(lesson=LONG.format(i), learned_at=NOON + 40 * DAY) for i in range(10)]
        for seed in range(6):
            Random(seed).shuffle(drafts)
            answers = await remember(engine, self.call, drafts)
            assert not [one for one in answers if isinstance(one, MemoryFault)]

    async def eraser(self) -> None:
        """Some by themselves, the rest of the author's at once."""
        for lesson in self.lessons[:3]:
            await erase(self.engines[1], self.call, Erasure(memory_id=lesson))
        await erase(self.engines[0], self.call, Erasure(agent="solver"))


async def test_reports_decay_merges_and_erasures_at_once_end_in_what_the_ledger_says(
    engine: Engine, other: Engine, operator: Key
) -> None:
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    drafts = [a_draft(lesson=LONG.format(i), learned_at=NOON, pinned=i > 7) for i in range(10)]
    lessons = [lesson.id for lesson in await remembered(engine, call, *drafts)]
    batches = [await served_often(engine, call) for _ in range(CLIENTS)]
    storm = Storm((engine, other), call, batches, lessons)

    async with appliers(call, engine, other):
        await asyncio.gather(
            *(storm.client(seed) for seed in range(CLIENTS)),
            storm.keeper("decay", engine),
            storm.keeper("merge", other),
            storm.repeater(other),
            storm.eraser(),
        )

    call = await a_call(engine, operator, slug)
    applied = await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)
    ignored = await list_outcomes(engine, call, OutcomeFilter("ignored"), PAGE)
    assert {o.id for o in (*applied.items, *ignored.items)} == set(storm.accepted)
    assert len(storm.accepted) == CLIENTS * RECEIPTS
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert call.namespace.n_memories == await living(engine, call)


async def served_often(engine: Engine, call: Call) -> list[Advice]:
    answers = await retrieve(engine, call, [an_ask(as_of=NOON, k=10)] * RECEIPTS)
    return [answer for answer in answers if isinstance(answer, Advice)]


async def living(engine: Engine, call: Call) -> int:
    listed = await list_memories(engine, call, MemoryFilter(), PAGE)
    return sum(memory.status is not Status.RETIRED for memory in listed.items)


async def test_a_hundred_praises_and_a_hundred_blames_come_to_what_the_ledger_says(
    engine: Engine, other: Engine, operator: Key, wall: str
) -> None:
    """The memory is retired half-way: it stays retired, and every outcome is answered."""
    call = await a_call(engine, operator, wall)
    [lesson] = await remembered(engine, call, a_draft())
    answers = [a for _ in range(50) for a in await four(engine, call)]
    queue, told = asyncio.Semaphore(12), asyncio.Event()
    done = 0

    async def tell(i: int) -> None:
        nonlocal done
        async with queue:
            await reported((engine, other)[i // 2 % 2], call, answers[i], reward=float(i % 2))
        done += 1
        if done == len(answers) // 2:
            told.set()

    async def retire() -> None:
        await told.wait()
        await change_status(other, call, lesson.id, StatusChange("retire"))
        with suppress(Conflict):
            await change_status(engine, call, lesson.id, StatusChange("retire"))

    async with appliers(call, engine, other):
        await asyncio.gather(*(tell(i) for i in range(len(answers))), retire())

    kept = await get_memory(engine, call, lesson.id)
    assert kept.status is Status.RETIRED
    applied = await list_outcomes(engine, call, OutcomeFilter("applied"), PAGE)
    assert applied.total == len(answers) == 200
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert (await a_call(engine, operator, wall)).namespace.n_memories == 0


async def four(engine: Engine, call: Call) -> list[Advice]:
    answers = await retrieve(engine, call, [an_ask()] * 4)
    return [answer for answer in answers if isinstance(answer, Advice)]

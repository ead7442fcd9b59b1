"""The timetable under a clock that is not ours: one run a job and period, whoever leads."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.domain.access import Key
from memory.domain.learning import JobRun, WeightEvent
from memory.domain.task import Page
from memory.engine import Engine
from memory.flows.jobs import JOBS, list_runs
from memory.flows.learn import apply_now
from memory.flows.weights import weight_events
from memory.jobs.leader import _keep_timetable
from memory.learning.belief import HALF_LIFE
from memory.storage.work import Leadership
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.fixtures.replicas import a_term
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
MIDNIGHT = NOON + timedelta(hours=12)
QUARTER = timedelta(hours=6)

Replicas = tuple[Engine, Engine]


@dataclass(slots=True)
class FakeClock:
    """A clock that stands where it was put."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True, slots=True)
class Bank:
    """A wall namespace with one lesson that was credited at noon, and its belief then."""

    slug: str
    lesson: UUID
    mean: float


async def a_bank(engine: Engine, key: Key) -> Bank:
    slug = await a_namespace(engine, key)
    call = await a_call(engine, key, slug)
    [lesson] = await remembered(engine, call, a_draft())
    answer = await served(engine, call, purpose="paired")
    await reported(engine, call, answer, reward=0.95, without={"reward": 0.1})
    await apply_now(engine, call)
    live, _ = await live_and_rebuilt(engine, call)
    return Bank(slug, lesson.id, live.memories[lesson.id].values[0])


async def tick(engine: Engine, leadership: Leadership, moment: datetime) -> None:
    await _keep_timetable(engine, leadership, FakeClock(moment))


async def runs(engine: Engine, key: Key, bank: Bank) -> list[JobRun]:
    call = await a_call(engine, key, bank.slug)
    found = await list_runs(engine, call, PAGE)
    assert found.total == len(found.items)
    return list(found.items)


async def decays(engine: Engine, key: Key, bank: Bank) -> list[WeightEvent]:
    """What runs of `decay` wrote down of the lesson."""
    call = await a_call(engine, key, bank.slug)
    events = (await weight_events(engine, call, bank.lesson, PAGE)).items
    return [one for one in events if (one.subject, one.reason) == ("memory", "decay")]


async def assert_faded(engine: Engine, key: Key, bank: Bank, elapsed: timedelta) -> None:
    """The belief is what one formula makes of the whole time, and what the ledger folds to."""
    live, again = await live_and_rebuilt(engine, await a_call(engine, key, bank.slug))
    assert live == again
    expected = bank.mean * 0.5 ** (elapsed / HALF_LIFE)
    assert live.memories[bank.lesson].values[0] == pytest.approx(expected, rel=1e-9)


def quarters(days: int) -> Iterator[datetime]:
    """Four looks at the clock a day, the first at midnight."""
    return (MIDNIGHT + n * QUARTER for n in range(4 * days))


@pytest.fixture(autouse=True)
async def alone(replicas: Replicas) -> None:
    """No namespace of another test is kept up here."""
    async with replicas[0].database.login() as connection:
        await connection.execute(text("TRUNCATE namespace, job_run CASCADE"))


async def test_two_leaders_over_six_days_make_one_run_of_each_job_and_day(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    terms = [await a_term(replicas[0])]
    for moment in quarters(days=6):
        if moment.hour == 12:
            terms.append(await a_term(replicas[len(terms) % 2]))
        believers = list(zip(replicas, (terms * 2)[-2:], strict=True))
        await asyncio.gather(*(tick(engine, term, moment) for engine, term in believers))

    found = await runs(replicas[1], chief, bank)

    days = {(MIDNIGHT + n * DAY).date().isoformat() for n in range(6)}
    assert Counter((run.job, run.period) for run in found) == Counter(
        (job.name, day) for job in JOBS for day in days
    )
    assert {run.state for run in found} == {"done"}
    assert len(await decays(replicas[0], chief, bank)) == 6
    last = max(run.now for run in found if run.job == "decay")
    await assert_faded(replicas[0], chief, bank, last - NOON)


async def test_a_leader_that_slept_over_its_term_writes_nothing_when_it_wakes(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    asleep = await a_term(replicas[0])
    await tick(replicas[0], asleep, MIDNIGHT)
    awake = await a_term(replicas[1])
    before = await runs(replicas[1], chief, bank)

    await tick(replicas[0], asleep, MIDNIGHT + DAY)
    slept = await runs(replicas[1], chief, bank)
    await tick(replicas[1], awake, MIDNIGHT + DAY)

    assert slept == before
    assert len(before) == len(JOBS)
    assert len(await runs(replicas[1], chief, bank)) == 2 * len(JOBS)
    assert len(await decays(replicas[0], chief, bank)) == 2


async def test_a_clock_that_jumps_two_days_makes_one_run_of_each_job_and_no_burst(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    term = await a_term(replicas[0])
    await tick(replicas[0], term, MIDNIGHT)

    jumped = MIDNIGHT + 2 * DAY
    for minutes in range(3):
        await tick(replicas[0], term, jumped + timedelta(minutes=minutes))

    found = await runs(replicas[0], chief, bank)
    assert Counter(run.period for run in found) == {
        MIDNIGHT.date().isoformat(): len(JOBS),
        jumped.date().isoformat(): len(JOBS),
    }
    assert [event.known_at for event in await decays(replicas[0], chief, bank)] == [
        MIDNIGHT,
        jumped,
    ]
    await assert_faded(replicas[0], chief, bank, jumped - NOON)


async def test_a_clock_that_goes_back_makes_no_belief_younger(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    term = await a_term(replicas[0])
    await tick(replicas[0], term, MIDNIGHT + 3 * DAY)

    await tick(replicas[0], term, MIDNIGHT)

    await assert_faded(replicas[0], chief, bank, MIDNIGHT + 3 * DAY - NOON)

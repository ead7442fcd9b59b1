"""The timetable under a clock that is not ours: one run a job and period, whoever leads."""

import asyncio
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from apscheduler.job import Job as Entry
from sqlalchemy import text

from memory.belief.belief import HALF_LIFE
from memory.belief.entities import WeightEvent
from memory.insight.service import list_weight_events
from memory.jobs.leader import wall
from memory.jobs.service import JOBS, Job, WorkResult, job_named, list_runs
from memory.jobs.timetable import CATCH_UP, LEARN, SPREAD, Timetable
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.paging import Page
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import JobRun, Leadership
from memory.outcomes.applying import apply_now
from memory.tenancy.entities import Key, Namespace
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
    await Timetable(engine, leadership, FakeClock(moment)).catch_up()


async def runs(engine: Engine, key: Key, bank: Bank) -> list[JobRun]:
    call = await a_call(engine, key, bank.slug)
    found = await list_runs(engine, call, PAGE)
    assert found.total == len(found.items)
    return list(found.items)


async def decays(engine: Engine, key: Key, bank: Bank) -> list[WeightEvent]:
    """What runs of `decay` wrote down of the lesson."""
    call = await a_call(engine, key, bank.slug)
    events = (await list_weight_events(engine, call, bank.lesson, PAGE)).items
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


@contextmanager
def entries(timetable: Timetable) -> Generator[dict[str, Entry]]:
    """What the scheduler would do, by name; it does nothing yet."""
    scheduler = timetable.scheduler()
    scheduler.start(paused=True)
    try:
        yield {entry.id: entry for entry in scheduler.get_jobs()}
    finally:
        scheduler.shutdown(wait=False)


def every(length: timedelta, name: str = "decay") -> Job:
    return replace(job_named(name), every=length)


async def test_each_job_has_an_entry_that_fires_soon_after_its_periods_begin(
    replicas: Replicas,
) -> None:
    hourly, weekly = every(timedelta(hours=1)), every(7 * DAY, "rebuild")
    jobs = (*(job for job in JOBS if job.name not in ("decay", "rebuild")), hourly, weekly)
    timetable = Timetable(replicas[0], await a_term(replicas[0]), FakeClock(NOON), jobs=jobs)

    with entries(timetable) as found:
        for job in jobs:
            entry = found[job.name]
            first = entry.trigger.get_next_fire_time(None, NOON + timedelta(minutes=7))
            second = entry.trigger.get_next_fire_time(first, first)
            assert second - first == job.every
            late = min(SPREAD, job.every / 20)
            assert job.period(first - late) != job.period(first)
            assert job.period(second - late) == job.period(first)
            # A slot that was missed has one run, however late and however many there were.
            assert (entry.coalesce, entry.misfire_grace_time, entry.max_instances) == (
                True,
                None,
                1,
            )
            assert entry.next_run_time > datetime.now(UTC)

    names = {entry.id for entry in found.values() if entry.id in {job.name for job in jobs}}
    assert names == {job.name for job in JOBS}
    others = [entry for entry in found.values() if entry.id not in names]
    assert {entry.trigger.interval for entry in others} == {CATCH_UP, LEARN}
    [look] = [entry for entry in others if entry.trigger.interval == CATCH_UP]
    assert look.next_run_time == NOON


@pytest.mark.parametrize(
    ("length", "period"),
    [
        (DAY, "2026-03-01"),
        (7 * DAY, "2026-02-23"),
        (timedelta(hours=6), "2026-03-01T12:00:00+00:00"),
        (timedelta(minutes=5), "2026-03-01T12:05:00+00:00"),
    ],
)
def test_a_period_is_as_long_as_the_job_says(length: timedelta, period: str) -> None:
    job, moment = every(length), NOON + timedelta(minutes=7)

    assert job.period(moment) == period
    assert job.period(moment + length) != period


async def test_a_job_runs_once_in_each_of_its_own_periods(replicas: Replicas, chief: Key) -> None:
    bank = await a_bank(replicas[0], chief)
    clock = FakeClock(MIDNIGHT)
    jobs = (every(QUARTER), every(DAY, "health"))
    timetable = Timetable(replicas[0], await a_term(replicas[0]), clock, jobs=jobs)

    for hour in range(48):
        clock.now = MIDNIGHT + timedelta(hours=hour)
        await timetable.fire("decay")
        await timetable.fire("health")
        await timetable.catch_up()

    found = await runs(replicas[0], chief, bank)
    assert Counter(run.job for run in found) == {"decay": 8, "health": 2}
    assert [run.now for run in found if run.job == "decay"] == list(quarters(days=2))
    assert len(await decays(replicas[0], chief, bank)) == 8


async def test_what_is_due_at_once_runs_in_the_order_of_the_timetable(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    timetable = Timetable(replicas[0], await a_term(replicas[0]), FakeClock(MIDNIGHT))

    await asyncio.gather(*(timetable.fire(job.name) for job in reversed(JOBS)))

    found = await runs(replicas[0], chief, bank)
    assert [run.job for run in sorted(found, key=lambda run: run.id)] == [job.name for job in JOBS]


async def test_entries_fire_by_themselves_at_the_jobs_interval(
    replicas: Replicas, chief: Key
) -> None:
    bank = await a_bank(replicas[0], chief)
    often = every(timedelta(milliseconds=50), "health")
    timetable = Timetable(replicas[0], await a_term(replicas[0]), wall, jobs=(often,))
    scheduler = timetable.scheduler()
    scheduler.start()
    try:
        for _ in range(400):
            # While runs are written, a page and its total are of two moments.
            call = await a_call(replicas[0], chief, bank.slug)
            if len((await list_runs(replicas[0], call, PAGE)).items) >= 4:
                break
            await asyncio.sleep(0.025)
    finally:
        scheduler.shutdown(wait=False)
    await asyncio.sleep(0.2)
    found = await runs(replicas[0], chief, bank)
    # The looks alone would have come to one run a minute.
    assert len(found) >= 4
    assert len({run.period for run in found}) == len(found)


async def test_a_namespace_that_is_new_or_whose_job_failed_is_caught_up_with(
    replicas: Replicas, chief: Key
) -> None:
    failing = await a_bank(replicas[0], chief)
    other = await a_bank(replicas[0], chief)
    decay, tries = job_named("decay"), Counter[str]()

    async def flaky(
        connection: Connection,
        namespace: Namespace,
        times: tuple[datetime, datetime],
        *,
        dry: bool,
    ) -> WorkResult:
        tries[namespace.slug] += 1
        if (namespace.slug, tries[namespace.slug]) == (failing.slug, 1):
            raise Unavailable("not now")
        return await decay.work(connection, namespace, times, dry=dry)

    jobs = (replace(decay, work=flaky), job_named("health"))
    timetable = Timetable(replicas[0], await a_term(replicas[0]), FakeClock(MIDNIGHT), jobs=jobs)

    await timetable.fire("decay")
    then = [len(await runs(replicas[0], chief, bank)) for bank in (failing, other)]
    new = await a_bank(replicas[0], chief)
    for _ in range(2):
        await timetable.catch_up()

    assert then == [0, 1]
    for bank in (failing, other, new):
        found = await runs(replicas[0], chief, bank)
        assert sorted(run.job for run in found) == ["decay", "health"]
    assert [tries[bank.slug] for bank in (failing, other, new)] == [2, 1, 1]

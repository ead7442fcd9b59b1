"""What goes wrong in one job of one namespace stops no other: it is on record with its reason,
tried again after growing pauses, and after five failures left alone until it is run by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from memory.jobs.attempts import QUARANTINED, Attempts, list_failing
from memory.jobs.checks import readiness
from memory.jobs.service import Job, JobRequest, job_named, list_runs, run_job
from memory.jobs.timetable import Timetable
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.paging import Page
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import FIRST_PAUSE, JobRun, RunDraft
from memory.outcomes.applying import apply_pending
from memory.tenancy.entities import Key, Namespace
from memory.tenancy.store.namespaces import NamespaceStore
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.fixtures.replicas import a_term
from tests.storage.steps import a_call

PAGE = Page(200)
SECRET = "what somebody wrote"
Replicas = tuple[Engine, Engine]


@dataclass(slots=True)
class Result:
    def result(self) -> Mapping[str, object]:
        return {}


@dataclass(slots=True)
class Faulty:
    """A job that fails in the namespaces that are named, and counts its tries by namespace."""

    fails_in: set[str]
    fault: Exception = field(default_factory=lambda: ValueError(SECRET))
    tries: list[str] = field(default_factory=list)

    async def __call__(
        self,
        connection: Connection,
        namespace: Namespace,
        times: tuple[datetime, datetime],
        *,
        dry: bool,
    ) -> Result:
        assert not dry
        self.tries.append(namespace.slug)
        if namespace.slug in self.fails_in:
            written = "UPDATE namespace SET n_memories = 99 WHERE id = :id"
            await connection.execute(text(written), {"id": namespace.id})
            raise self.fault
        return Result()


@dataclass(slots=True)
class Clockwork:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(slots=True)
class Scene:
    """Two namespaces, a timetable of two jobs of which the first is faulty, and its clock."""

    engine: Engine
    key: Key
    slugs: list[str]
    faulty: Faulty
    clock: Clockwork
    timetable: Timetable

    async def look(self, later: timedelta) -> None:
        self.clock.now += later
        await self.timetable.catch_up()

    async def runs(self, slug: str) -> list[JobRun]:
        call = await a_call(self.engine, self.key, slug)
        return list((await list_runs(self.engine, call, PAGE)).items)


@pytest.fixture(autouse=True)
async def alone(replicas: Replicas) -> None:
    """No namespace of another test is kept up here."""
    async with replicas[0].database.login() as connection:
        await connection.execute(text("TRUNCATE namespace, job_run CASCADE"))


async def a_scene(replicas: Replicas, chief: Key, fault: Exception | None = None) -> Scene:
    engine = replicas[0]
    engine.jobs.runs.clear()
    slugs = [await a_namespace(engine, chief) for _ in range(2)]
    faulty = Faulty({slugs[0]}) if fault is None else Faulty({slugs[0]}, fault)
    jobs = (faulty_job(faulty), job_named("health"))
    clock = Clockwork(NOON)
    timetable = Timetable(engine, await a_term(engine), clock, jobs=jobs)
    return Scene(engine, chief, slugs, faulty, clock, timetable)


def faulty_job(faulty: Faulty) -> Job:
    return replace(job_named("decay"), work=faulty)


async def test_a_fault_in_one_namespace_stops_neither_its_other_jobs_nor_other_namespaces(
    replicas: Replicas, chief: Key
) -> None:
    scene = await a_scene(replicas, chief)

    await scene.look(timedelta(0))

    failed, healthy = [await scene.runs(slug) for slug in scene.slugs]
    assert [(run.job, run.state) for run in failed] == [("decay", "failed"), ("health", "done")]
    assert [(run.job, run.state) for run in healthy] == [("decay", "done"), ("health", "done")]
    assert str(failed[0].reason).startswith("an unexpected ValueError in memory/jobs/service.py, ")
    assert SECRET not in str(failed)
    call = await a_call(scene.engine, chief, scene.slugs[0])
    assert call.namespace.n_memories == 0
    jobs = scene.engine.jobs
    assert jobs.runs["decay", "failed"] == 1
    assert jobs.runs["decay", "done"] == len(scene.faulty.tries) - 1 >= 1
    assert (jobs.failing, jobs.quarantined) == ({"decay": 1}, {})
    assert jobs.last_good.keys() >= {"decay", "health"}
    check = (await readiness(scene.engine))["jobs"]
    assert (check.ok, check.detail) == (False, "decay (namespaces: 1)")


async def test_pauses_grow_until_nobody_tries_any_more(replicas: Replicas, chief: Key) -> None:
    scene = await a_scene(replicas, chief)
    await scene.look(timedelta(0))

    tries: list[int] = []
    for pause in (1, 2, 4, 8):
        await scene.look(FIRST_PAUSE * pause - timedelta(seconds=1))
        tries.append(scene.faulty.tries.count(scene.slugs[0]))
        await scene.look(timedelta(seconds=1))
    await scene.look(30 * DAY)

    assert tries == [1, 2, 3, 4]
    assert scene.faulty.tries.count(scene.slugs[0]) == 5
    failed = [run for run in await scene.runs(scene.slugs[0]) if run.job == "decay"]
    assert [run.state for run in failed] == ["failed"] * 5
    assert [QUARANTINED in str(run.reason) for run in failed] == [False] * 4 + [True]
    assert scene.engine.jobs.quarantined == {"decay": 1}
    # What the fault is not about goes on.
    assert scene.faulty.tries.count(scene.slugs[1]) == 2


async def test_a_run_by_hand_releases_a_job_that_nobody_tries_any_more(
    replicas: Replicas, chief: Key
) -> None:
    scene = await a_scene(replicas, chief)
    for pause in (0, 1, 2, 4, 8):
        await scene.look(FIRST_PAUSE * pause)
    call = await a_call(scene.engine, chief, scene.slugs[0])
    [failing] = await list_failing(scene.engine, call)
    assert failing.is_quarantined

    run = await run_job(scene.engine, call, "decay", JobRequest())
    scene.faulty.fails_in.clear()
    await scene.look(DAY)

    assert run.state == "done"
    assert await list_failing(scene.engine, call) == []
    assert scene.faulty.tries.count(scene.slugs[0]) == 6


async def test_what_passes_by_itself_pauses_a_job_and_is_no_failure(
    replicas: Replicas, chief: Key
) -> None:
    scene = await a_scene(replicas, chief, Unavailable("the language model is away"))

    for _ in range(7):
        await scene.look(timedelta(minutes=1))

    assert scene.faulty.tries.count(scene.slugs[0]) == 7
    assert scene.engine.jobs.runs["decay", "paused"] == 7
    assert [run.job for run in await scene.runs(scene.slugs[0])] == ["health"]


@pytest.mark.parametrize(
    ("code", "levels"),
    [
        ("embedder_not_ready", ["INFO", "INFO"]),
        ("model_mismatch", ["WARNING", "DEBUG"]),
        ("llm_failed", ["WARNING", "WARNING"]),
    ],
)
async def test_a_warning_is_for_what_somebody_can_mend_and_advice_is_given_once(
    replicas: Replicas,
    chief: Key,
    caplog: pytest.LogCaptureFixture,
    code: str,
    levels: list[str],
) -> None:
    caplog.set_level("DEBUG", "memory.jobs.attempts")
    scene = await a_scene(replicas, chief, Unavailable("the model is away", code=code))

    for _ in levels:
        await scene.look(timedelta(minutes=1))

    said = [one.levelname for one in caplog.records if "paused" in one.message]
    assert said == levels


async def test_a_job_of_a_namespace_that_is_gone_has_not_failed(
    replicas: Replicas, chief: Key, caplog: pytest.LogCaptureFixture
) -> None:
    engine = replicas[0]
    call = await a_call(engine, chief, await a_namespace(engine, chief))
    gone = call.namespace
    async with engine.database.transaction() as connection:
        await NamespaceStore(connection).delete(gone.id)
    engine.jobs.runs.clear()

    async with Attempts(engine, gone, None).of(
        RunDraft("apply", gone.id, NOON.isoformat(), NOON, None, None)
    ):
        await apply_pending(engine, gone.id, NOON, None)

    assert [one for one in caplog.records if one.levelname != "INFO"] == []
    assert engine.jobs.runs == {}


async def test_what_a_run_leaves_to_be_done_and_cannot_be_is_a_failure_too(
    replicas: Replicas, chief: Key
) -> None:
    engine = replicas[0]
    slug = await a_namespace(engine, chief)

    async def broken(*_: object) -> None:
        raise KeyError(SECRET)

    job = replace(faulty_job(Faulty(set())), follow_up=broken)
    clock = Clockwork(NOON)
    timetable = Timetable(engine, await a_term(engine), clock, jobs=(job, job_named("health")))
    for _ in range(3):
        await timetable.catch_up()
        clock.now += timedelta(minutes=1)

    call = await a_call(engine, chief, slug)
    runs = (await list_runs(engine, call, PAGE)).items
    assert [(run.job, run.state) for run in runs] == [
        ("decay", "done"),
        ("decay", "failed"),
        ("health", "done"),
        ("decay", "failed"),
    ]

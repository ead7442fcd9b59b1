"""A leader killed in the middle of a run leaves no trace of it; the survivor runs it whole."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from memlift_client import MemLift
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Database
from memory.receipts.rebuild import rebuilt
from memory.tenancy.store.namespaces import NamespaceStore
from tests.acceptance.servers import Home, Server

Begin = Callable[..., Server]
NAMESPACE = "killed"


@pytest.fixture(scope="module")
def url(migrated_database: Callable[[], str]) -> str:
    """A database that no serving process owns, so that any of them can be killed."""
    return migrated_database()


@pytest.fixture(scope="module")
def superuser(url: str, superuser_url: str) -> str:
    """The same database, past roles and rows."""
    name = str(conninfo_to_dict(url)["dbname"])
    return make_conninfo(superuser_url, dbname=name)


def taught(memory: MemLift) -> UUID:
    """A lesson with credit; its belief fades from now on."""
    lesson = memory.remember(
        agent="solver",
        situation="a forecast of rain",
        lesson="begin with the base rate",
        category="weather",
    )
    task = {"text": "a forecast of rain", "category": "weather"}
    asked = memory.retrieve(agent="solver", task=task, purpose="paired")
    memory.report(asked.receipt, reward=0.9, without={"reward": 0.2}, verifier="test")
    memory.apply_outcomes()
    assert memory.get_weight(lesson.id).credited == 1
    return UUID(lesson.id)


@contextmanager
def held(superuser: str, lesson: UUID) -> Generator[None]:
    """While this lasts nobody can write the weight of the lesson: a run that does so hangs there,
    half done.
    """
    with psycopg.connect(superuser) as connection:
        connection.execute("SELECT 1 FROM memory_weight WHERE memory_id = %s FOR UPDATE", (lesson,))
        yield


def one(superuser: str, question: str, *given: object) -> int:
    with psycopg.connect(superuser) as connection:
        row = connection.execute(question.encode(), given or None).fetchone()
    assert row is not None
    return int(row[0])


HANGING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%memory_weight%'
"""
RUNS = """
    SELECT count(*) FROM job_run r JOIN namespace n ON n.id = r.namespace_id
    WHERE r.job = 'decay' AND n.slug = 'killed' AND r.state = 'done'
"""
FADED = """
    SELECT count(*) FROM weight_event
    WHERE reason = 'decay' AND subject = 'memory' AND memory_id = %s
"""
# As at the beginning of a day on which the job has not run.
NEW_DAY = "DELETE FROM job_run WHERE job = 'decay'"


def test_decay_killed_in_mid_run_is_repeated_whole_by_the_survivor(
    above: object, home: Home, begin: Begin, url: str, superuser: str
) -> None:
    first = begin(home, MEMLIFT_DATABASE_URL=url).await_ready()
    first.client().create_namespace(NAMESPACE, settings={"raw_gate": 0.0, "score_floor": 0.0})
    lesson = taught(first.client(NAMESPACE))
    second = begin(Home(home.data.with_name("second")), MEMLIFT_DATABASE_URL=url).await_ready()
    assert first.leads()

    with held(superuser, lesson):
        with psycopg.connect(superuser) as connection:
            connection.execute(NEW_DAY)
        before = (one(superuser, RUNS), one(superuser, FADED, lesson))
        first.kill()
        second.until(lambda: one(superuser, HANGING) == 1)
        third = begin(Home(home.data.with_name("third")), MEMLIFT_DATABASE_URL=url)
        second.kill()
        assert (one(superuser, RUNS), one(superuser, FADED, lesson)) == before
    third.await_ready().until(lambda: one(superuser, RUNS) == 1)

    assert third.leads()
    assert one(superuser, FADED, lesson) == before[1] + 1
    live, folded = asyncio.run(states(url))
    assert live == folded


async def states(url: str) -> tuple[Learned, Learned]:
    """As stored, and as the ledger gives them."""
    database = Database(url)
    try:
        async with database.transaction() as connection:
            namespace = await NamespaceStore(connection).by_slug(NAMESPACE)
        async with database.transaction(namespace.id) as connection:
            live = await StateStore(connection, namespace.id).load_all()
            return live, await rebuilt(connection, namespace)
    finally:
        await database.close()

"""A bank on a database of its own, and a lock that makes whoever writes to it hang half done."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from uuid import UUID

import psycopg
from memlift_client import MemLift

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Database
from memory.receipts.rebuild import rebuilt
from memory.tenancy.store.namespaces import NamespaceStore

TASK = {"text": "a forecast of rain", "category": "weather"}
SETTINGS = {"raw_gate": 0.0, "score_floor": 0.0, "control_rate": 0.0, "coins": False}


def taught(memory: MemLift) -> UUID:
    """A lesson with credit; its belief fades from now on."""
    lesson = memory.remember(
        agent="solver",
        situation="a forecast of rain",
        lesson="begin with the base rate",
        category="weather",
    )
    asked = memory.retrieve(agent="solver", task=TASK, purpose="paired")
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


def states(url: str, slug: str) -> tuple[Learned, Learned]:
    """As stored, and as the ledger gives them."""
    return asyncio.run(_states(url, slug))


async def _states(url: str, slug: str) -> tuple[Learned, Learned]:
    database = Database(url)
    try:
        async with database.transaction() as connection:
            namespace = await NamespaceStore(connection).by_slug(slug)
        async with database.transaction(namespace.id) as connection:
            live = await StateStore(connection, namespace.id).load_all()
            return live, await rebuilt(connection, namespace)
    finally:
        await database.close()

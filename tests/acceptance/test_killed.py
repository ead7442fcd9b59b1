"""What was acknowledged is kept, whatever is killed, and an outcome is applied exactly once."""

import asyncio
import itertools
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from memlift_client import MemLift, MemLiftError

from memory.belief.fold import Learned
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.postgres.database import Database
from memory.receipts.rebuild import rebuilt
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore
from tests.acceptance.servers import Home, Server

ENOUGH = 8
AGENT = "writer"
TOPICS = ("a harvest", "a regatta", "a night train", "an election", "a strike")

Begin = Callable[..., Server]


@dataclass
class Acknowledged:
    """Ids the server has answered with: these it must never lose."""

    memories: list[str] = field(default_factory=list)
    retrievals: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)


class Writer(threading.Thread):
    """Goes round the loop until the server is gone for good, and notes what is acknowledged."""

    def __init__(self, memory: MemLift) -> None:
        super().__init__(name="writer", daemon=True)
        self.known = Acknowledged()
        self._memory = memory
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            for turn in itertools.count():
                if self._ended.is_set():
                    return
                self._round(turn)
        except MemLiftError:
            return

    def _round(self, turn: int) -> None:
        topic = TOPICS[turn % len(TOPICS)]
        text = f"forecasting the result of {topic}"
        remembered = self._memory.remember(
            agent=AGENT, situation=text, lesson=f"count the cases, {turn}", category="writing"
        )
        self.known.memories.append(remembered.id)
        served = self._memory.retrieve(
            agent=AGENT, task={"text": text, "category": "writing"}, purpose="paired"
        )
        self.known.retrievals.append(served.receipt)
        reported = self._memory.report(
            served.receipt,
            reward=0.5 + 0.04 * (turn % 10),
            without={"reward": 0.05 * (turn % 7)},
            verifier="test",
        )
        self.known.outcomes.append(reported.outcome_id)

    def end(self) -> None:
        self._ended.set()
        self.join(timeout=60)


@pytest.fixture(scope="module")
def first(used_home: Home, begin: Begin) -> Server:
    return begin(used_home).await_ready()


@pytest.fixture(scope="module")
def again(home: Home, begin: Begin, first: Server) -> tuple[Server, Server]:
    """The server that starts where the first was killed, and one that joins it."""
    if first.process.poll() is None:
        first.kill()
    home.address.unlink(missing_ok=True)
    owner = begin(home)
    owner.until(home.address.exists)
    other = begin(Home(home.data.with_name("other")), MEMLIFT_DATABASE_URL=home.url())
    return owner.await_ready(), other.await_ready()


def until_written(server: Server, writer: Writer) -> None:
    """Until the writer has been round the loop some more."""
    goal = len(writer.known.outcomes) + ENOUGH
    server.until(lambda: len(writer.known.outcomes) >= goal or not writer.is_alive())
    assert writer.is_alive(), server.log.read_text()


def test_a_killed_postmaster_costs_a_patient_client_nothing(first: Server, home: Home) -> None:
    writer = Writer(first.client(attempts=20))
    writer.start()
    until_written(first, writer)

    home.postmaster().kill()

    until_written(first, writer)
    writer.end()
    assert_all_kept(first.client(), writer.known)


def test_server_and_postmaster_killed_in_mid_replay_lose_nothing_acknowledged(
    first: Server, home: Home, request: pytest.FixtureRequest
) -> None:
    writer = Writer(first.client(attempts=1))
    writer.start()
    until_written(first, writer)
    postmaster = home.postmaster()

    os.killpg(first.process.pid, signal.SIGKILL)
    postmaster.kill()
    first.process.wait()
    writer.end()

    owner, _ = request.getfixturevalue("again")
    assert_all_kept(owner.client(), writer.known)


def test_after_a_crash_every_outcome_is_applied_once_and_every_state_is_the_ledgers_fold(
    again: tuple[Server, Server], home: Home
) -> None:
    memory = again[0].client()
    again[0].until(lambda: not memory.list_outcomes(state="accepted").items)

    ledger = asyncio.run(told_by_the_ledger(home.url(), "default"))

    outcomes = {row.id for row in memory.each_outcome() if row.status == "applied"}
    assert len(outcomes) >= 2 * ENOUGH
    assert {str(outcome) for outcome, _ in ledger.events} == outcomes
    assert set(ledger.events.values()) == {1}
    assert len(ledger.live.memories) >= 2 * ENOUGH
    assert ledger.folded == ledger.live


def test_when_the_leader_is_killed_the_other_process_takes_over_and_applies(
    again: tuple[Server, Server], home: Home
) -> None:
    key = home.operator_key.read_text().strip()
    leader, other = again[0].with_leader(again[1])
    assert not other.leads()

    leader.kill()

    other.until(other.leads)
    memory = other.client(key=key)
    writer = Writer(memory)
    writer.start()
    until_written(other, writer)
    writer.end()
    other.until(lambda: not memory.list_outcomes(state="accepted").items)
    assert_all_kept(memory, writer.known)


def assert_all_kept(memory: MemLift, known: Acknowledged) -> None:
    assert len(known.memories) >= ENOUGH
    assert [memory.get_experience(one).id for one in known.memories] == known.memories
    assert [memory.get_retrieval(one).retrieval_id for one in known.retrievals] == known.retrievals
    assert [memory.get_outcome(one).id for one in known.outcomes] == known.outcomes


@dataclass(frozen=True)
class Told:
    """How often each outcome moved each state, and the states: as stored and as refolded."""

    events: Counter[tuple[UUID, tuple[object, ...]]]
    live: Learned
    folded: Learned


async def told_by_the_ledger(url: str, slug: str) -> Told:
    database = Database(url)
    try:
        async with database.transaction() as connection:
            namespace = await NamespaceStore(connection).by_slug(slug)
        return await _told(database, namespace)
    finally:
        await database.close()


async def _told(database: Database, namespace: Namespace) -> Told:
    async with database.transaction(namespace.id) as connection:
        rows = await LedgerStore(connection, namespace.id).everything()
        store = StateStore(connection, namespace.id)
        live = await store.load_all()
        folded = await rebuilt(connection, namespace)
    return Told(Counter(_moves(rows)), live, folded)


def _moves(rows: Sequence[object]) -> list[tuple[UUID, tuple[object, ...]]]:
    names = ("subject", "memory_id", "agent_id", "category_id", "reward_kind")
    return [
        (row["outcome_id"], tuple(row[name] for name in names))
        for row in rows
        if row["kind"] == "learn"
    ]

"""A copy of a namespace answers as the database does, whoever writes beside it."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event, text

from memory.constraints.bank import add_constraint
from memory.constraints.entities import ConstraintDraft
from memory.constraints.store import near
from memory.curation.entities import StatusChange, TrustChange
from memory.curation.service import change_status, change_trust, edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.inference.service import register_model
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.tables import metadata
from memory.memories.entities import Kind, MemoryEdit, Trust, Visibility
from memory.memories.filter_entities import RetrievalFilter
from memory.outcomes.applying import apply_now
from memory.receipts.search_entities import Query, Target
from memory.retrieval.entities import Advice
from memory.retrieval.resident.namespaces import GAP, ResidentNamespaces
from memory.retrieval.service import retrieve
from memory.retrieval.store import search
from memory.tasks.entities import AgentChange, CategoryName, TaskDraft
from memory.tasks.service import add_category, change_agent, get_agent
from memory.tenancy.entities import Call, Key, KeyDraft, NamespaceDraft, Role
from memory.tenancy.namespace_settings import Rerank
from memory.tenancy.service import (
    create_key,
    create_namespace,
    delete_namespace,
    request_deletion,
)
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.cards import a_card
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace, an_engine
from tests.storage.steps import a_call, remembered, reported, served

TAGGED: tuple[dict[str, object], ...] = (
    {},
    {"tags": ["urgent"]},
    {"tags": ["rare", "urgent", 3, "rare"]},
    {"tags": "urgent"},
    {"tags": {"n": "urgent"}},
    {"tags": None},
)
WORDS = ("rain", "snow", "wind", "sun", "fog", "hail", "ice", "storm", "cloud", "heat")
CODES = ("E4012", "memory/head.py", "fooBar", "X-7", "HTTP")
AGENTS = ("solver", "helper", "other")
BYTES = 64 * 1024**2
OWN = {"retrieval_id", "task_id", "timings", "recorded_at"}
# Read by a retrieval and not followed: what it says of a namespace and of keys is read at each
# call; the others decide only where the database is asked each time.
UNFOLLOWED = {
    "namespace": "read with the key of each call",
    "api_key": "the party of a key never changes",
    "ticket": "asked where something is held back",
    "trial": "asked where something is held back",
    "contrast": "asked where something is held back",
    "competence": "asked where something is held back",
    "trajectory": "asked where something is held back",
    "row_change": "what is followed",
}


PROCESSOR, CARD = "processor", "card"
ON_BOTH = pytest.mark.parametrize("pair", [PROCESSOR, CARD], indirect=True)


@pytest.fixture
async def pair(
    request: pytest.FixtureRequest, database_url: str, engine: Engine
) -> AsyncGenerator[tuple[Engine, Engine]]:
    """One process that serves from copies, searched by the processor or on a card, and one that
    has none.
    """
    assert engine.registered is not None
    copied, plain = an_engine(database_url), an_engine(database_url, resident=None)
    with a_card() as card:
        found = card if getattr(request, "param", PROCESSOR) == CARD else None
        copied.resident = ResidentNamespaces(copied.database, BYTES, lambda: found)
        for one in (copied, plain):
            await register_model(one, NOON)
        yield copied, plain
        for one in (copied, plain):
            await one.close()


def phrase(chance: Random, n: int = 5) -> str:
    """Now and then with an identifier; the first ones are rare."""
    said = [chance.choice(WORDS) for _ in range(n)]
    if chance.random() < 0.4:
        said.append(chance.choice(chance.choice((CODES, CODES[-1:]))))
    return " ".join(said)


class World:
    """A namespace, and chance that writes into it through either process."""

    def __init__(self, engines: tuple[Engine, Engine], key: Key, slug: str, seed: int) -> None:
        self.engines, self.key, self.slug = engines, key, slug
        self.chance = Random(seed)
        self.now = NOON
        self.answers: list[Advice] = []

    async def call(self, engine: Engine) -> Call:
        return await a_call(engine, self.key, self.slug, self.now)

    async def ids(self) -> list[UUID]:
        call = await self.call(self.engines[1])
        async with self.engines[1].database.transaction(call.namespace.id) as connection:
            rows = await connection.execute(text("SELECT id FROM memory ORDER BY id"))
            return list(rows.scalars())

    async def write(self) -> str:
        """One step of any flow, by either process; what does not fit is refused and counts too."""
        flow = self.chance.choice(FLOWS)
        engine = self.chance.choice(self.engines)
        try:
            await flow(self, engine)
        except MemoryFault as fault:
            return f"{flow.__name__}: {fault.detail}"
        return flow.__name__

    async def create(self, engine: Engine) -> None:
        drafts = [
            a_draft(
                agent=self.chance.choice(AGENTS),
                situation=phrase(self.chance),
                lesson=phrase(self.chance, 8),
                category=CategoryName(
                    self.chance.choice(("weather", "roads")), self.chance.choice((None, "late"))
                ),
                metadata=self.chance.choice(TAGGED),
            )
            for _ in range(self.chance.randint(1, 4))
        ]
        await remember(engine, await self.call(engine), drafts)

    async def one_of(self) -> UUID:
        ids = await self.ids()
        return self.chance.choice(ids)

    async def edit(self, engine: Engine) -> None:
        memory_id = await self.one_of()
        edit = self.chance.choice(
            (
                MemoryEdit(lesson=phrase(self.chance, 8)),
                MemoryEdit(situation=phrase(self.chance)),
                MemoryEdit(pinned=self.chance.random() < 0.5),
                MemoryEdit(metadata={"n": self.chance.randint(1, 9)}),
                MemoryEdit(metadata=self.chance.choice(TAGGED)),
            )
        )
        call = await self.call(engine)
        async with engine.database.transaction(call.namespace.id) as connection:
            query = text("SELECT version FROM memory WHERE id = :id")
            version = await connection.scalar(query, {"id": memory_id})
        assert version is not None
        await edit_memory(engine, call, memory_id, edit, version)

    async def status(self, engine: Engine) -> None:
        change = StatusChange(self.chance.choice(("suspend", "retire", "restore", "restore")))
        await change_status(engine, await self.call(engine), await self.one_of(), change)

    async def trust(self, engine: Engine) -> None:
        change = TrustChange(self.chance.choice(tuple(Trust)))
        await change_trust(engine, await self.call(engine), await self.one_of(), change)

    async def erase(self, engine: Engine) -> None:
        await erase(engine, await self.call(engine), Erasure(memory_id=await self.one_of()))

    async def outcome(self, engine: Engine) -> None:
        call = await self.call(engine)
        answer = await served(engine, call, task=TaskDraft(phrase(self.chance, 3)))
        reward = self.chance.random()
        await reported(engine, call, answer, reward=reward)
        await apply_now(engine, await self.call(engine))

    async def constrain(self, engine: Engine) -> None:
        """Tasks of few words are alike, or the same."""
        draft = ConstraintDraft(
            agent=self.chance.choice(AGENTS),
            trigger=f"a report of {phrase(self.chance, 2)} comes in",
            enforce=f"writing down {phrase(self.chance, 2)} before the next step",
            task=TaskDraft(
                phrase(self.chance, self.chance.randint(1, 3)),
                category=self.chance.choice(("weather", "roads")),
                subcategory=self.chance.choice((None, "late")),
            ),
        )
        await add_constraint(engine, await self.call(engine), draft)

    async def task(self, engine: Engine) -> None:
        """One that a constraint came of loses its words."""
        call = await self.call(engine)
        async with engine.database.transaction(call.namespace.id) as connection:
            query = text("SELECT task_id FROM constraint_support ORDER BY task_id")
            tasks = list((await connection.execute(query)).scalars())
        if tasks:
            await erase(engine, call, Erasure(task_id=self.chance.choice(tasks)))

    async def later(self, engine: Engine) -> None:
        self.now += DAY * self.chance.random()

    async def job(self, engine: Engine) -> None:
        name = self.chance.choice(("decay", "merge", "health"))
        await run_job(engine, await self.call(engine), name, JobRequest())

    async def category(self, engine: Engine) -> None:
        await add_category(engine, await self.call(engine), CategoryName(phrase(self.chance, 1)))

    async def agent(self, engine: Engine) -> None:
        call = await self.call(engine)
        known = await get_agent(engine, call, "solver")
        change = AgentChange(own_information=self.chance.random() < 0.5)
        await change_agent(engine, call, "solver", change, known.version)

    async def agree(self) -> None:
        """Both processes give the same advice about the same requests."""
        asks = [self.ask() for _ in range(3)]
        seed = self.chance.random()
        found = [await self.asked(engine, asks, seed) for engine in self.engines]
        assert found[0] == found[1]

    def ask(self) -> Any:
        queries = ()
        if self.chance.random() < 0.3:
            queries = (Query(phrase(self.chance), Target.LESSON), Query(phrase(self.chance)))
        return an_ask(
            agent=self.chance.choice(AGENTS),
            task=TaskDraft(
                phrase(self.chance, 4), category=self.chance.choice((None, "weather", "roads"))
            ),
            k=self.chance.randint(1, 5),
            queries=queries,
            gates=self.chance.choice(("on", "off")),
            explain=self.chance.random() < 0.3,
            filter=self.filter() if self.chance.random() < 0.5 else None,
            rerank=self.chance.choice((None, *Rerank)),
        )

    def filter(self) -> RetrievalFilter:
        category, subcategory = self.chance.choice(
            ((None, None), (None, None), ("weather", None), ("roads", "late"), ("nowhere", None))
        )
        return RetrievalFilter(
            category=category,
            subcategory=subcategory,
            tags=self.chance.choice((None, None, ("urgent",), ("urgent", "rare"), ("n",))),
            authors=self.chance.choice((None, None, ("solver",), ("helper", "stranger"))),
            kinds=self.chance.choice((None, None, (Kind.EXPERIENCE,), (Kind.CONSTRAINT,))),
        )

    async def asked(self, engine: Engine, asks: list[Any], seed: float) -> list[object]:
        engine.chance = Random(seed)
        return [plainly(one) for one in await retrieve(engine, await self.call(engine), asks)]


FLOWS: tuple[Callable[[World, Engine], Awaitable[None]], ...] = (
    World.create,
    World.create,
    World.edit,
    World.status,
    World.trust,
    World.erase,
    World.outcome,
    World.outcome,
    World.constrain,
    World.constrain,
    World.task,
    World.later,
    World.job,
    World.category,
    World.agent,
)


def plainly(answer: Advice | MemoryFault) -> object:
    """All of an answer that two retrievals can share; numbers to the last bit."""
    if isinstance(answer, MemoryFault):
        return repr(answer)
    whole = asdict(answer)
    receipt = {name: part for name, part in whole["receipt"].items() if name not in OWN}
    explanation = whole["explanation"]
    if explanation is not None:
        explanation = {name: part for name, part in explanation.items() if name != "timings"}
    return whole | {"receipt": receipt, "explanation": explanation}


def count_constraints(answers: list[Any]) -> int:
    """That were served; a request that is refused is answered with its fault."""
    return sum(len(one["constraints"]) for one in answers if isinstance(one, dict))


def copies_of(engine: Engine) -> ResidentNamespaces:
    assert isinstance(engine.resident, ResidentNamespaces)
    return engine.resident


@ON_BOTH
@pytest.mark.parametrize("seed", range(3))
async def test_both_paths_agree_after_every_flow(pair, operator: Key, seed: int):
    world = World(pair, operator, await a_namespace(pair[0], operator), seed)
    await world.create(pair[0])
    await world.agree()
    done = []
    for _ in range(40):
        done.append(await world.write())
        await world.agree()

    counts, on_card = copies_of(pair[0]).counts, copies_of(pair[0]).on_card
    assert on_card.failures == 0
    assert counts.follows > len(done)
    assert counts.by_sql == 0
    # Most steps went through: what is refused changes nothing.
    assert sum(":" not in step for step in done) > len(done) / 2


@ON_BOTH
async def test_both_paths_agree_while_others_write(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 11)
    await world.create(pair[0])
    for _ in range(6):
        writers = [world.write() for _ in range(4)]
        asking = [world.asked(pair[0], [world.ask()], 1.0) for _ in range(4)]
        await asyncio.gather(*writers, *asking)
        await world.agree()


@pytest.mark.parametrize("pair", [CARD], indirect=True)
async def test_a_card_is_asked_and_what_lies_there_is_said(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 23)
    await world.create(pair[0])
    for _ in range(3):
        await world.agree()

    gauges = copies_of(pair[0]).gauges()
    assert gauges["resident_card_searches"] >= 3
    assert gauges["resident_card_failures"] == 0
    assert gauges["resident_card_rows"] == gauges["resident_memories"] > 0
    # Blocks of both fields, in single precision.
    assert gauges["resident_card_bytes"] >= 2 * 4 * 384 * gauges["resident_card_rows"]


@ON_BOTH
async def test_private_memories_and_what_a_party_feels_agree(pair, operator: Key):
    slug = await a_namespace(pair[0], operator)
    bound = KeyDraft(role=Role.AGENT, name="bound", namespace=slug, agents=("solver",))
    key, _ = await create_key(pair[0], operator, bound, NOON)
    call = Call(key, (await a_call(pair[0], operator, slug)).namespace, NOON)
    await remembered(
        pair[1],
        call,
        a_draft(lesson="what only the solver is told of rain", visibility=Visibility.AGENT),
        a_draft(lesson="what everybody is told of rain"),
    )
    answers: list[list[object]] = []
    for reader in (key, operator):
        world = World(pair, reader, slug, 5)
        asks = [an_ask(agent="solver", gates="off")]
        answers += [await world.asked(engine, asks, 1.0) for engine in pair]
        answer = await served(pair[1], await world.call(pair[1]), task=TaskDraft("rain"))
        report = {"reward": 0.1, "verifier": "self" if reader is key else "test"}
        await reported(pair[1], await world.call(pair[1]), answer, **report)
        await apply_now(pair[1], await a_call(pair[1], operator, slug))
        await world.agree()

    assert answers[0] == answers[1]
    assert answers[2] == answers[3]
    # The operator is not the agent.
    assert answers[0] != answers[2]


async def test_all_that_a_retrieval_reads_is_followed(pair, operator: Key, database_url: str):
    """Whatever table a statement of a retrieval names has a trigger, or is named above with why."""
    slug = await a_namespace(pair[1], operator)
    await remembered(pair[1], await a_call(pair[1], operator, slug), a_draft())
    said: list[str] = []

    def note(*parts: object) -> None:
        said.append(str(parts[2]))

    driver = pair[1].database._engine.sync_engine
    event.listen(driver, "before_cursor_execute", note)
    await served(pair[1], await a_call(pair[1], operator, slug), explain=True)
    event.remove(driver, "before_cursor_execute", note)
    words = search._near(1, past=False, reserved=False, named=True, worded=True)
    statements = (*search._NEAR.values(), words, search._CONTENT)
    said += [statement.decode() for statement in statements]
    asked = (near._LINKS, near._VECTORS, near._CONTENT)
    said += [prepared.of().text.decode() for prepared in asked]
    read = [one for one in said if not re.match(r"\s*(INSERT|UPDATE)", one)]
    named = {
        table
        for table in metadata.tables
        if any(re.search(rf"(FROM|JOIN)\s+{table}\b", one) for one in read)
    }
    assert {"memory", "strength", "cell", "centroid", "taxonomy"} <= named
    assert named - UNFOLLOWED.keys() <= await followed(pair[1])


async def followed(engine: Engine) -> set[str]:
    """Tables of which inserts, updates and deletions are written down."""
    query = """SELECT c.relname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE t.tgname LIKE 'row_change_%' AND t.tgenabled = 'O'
        GROUP BY c.relname HAVING count(*) = 3"""
    async with engine.database.login() as connection:
        return {row.name for row in await connection.execute(text(query))}


def test_a_key_never_changes_its_party_and_names_stay():
    """What the copy takes from rows that it does not follow, or only by their id, is never
    updated.
    """
    source = "\n".join(file.read_text() for file in Path("memory").rglob("*.py"))
    assert not re.search(r"update\(api_key\)[^)]*\)\s*\.values\([^)]*party_id", source)
    assert not re.search(r"UPDATE (agent|category) [^;\"]*SET name", source)


async def test_over_the_bound_the_database_is_asked(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 3)
    await world.create(pair[0])
    pair[0].resident = ResidentNamespaces(pair[0].database, 1)
    await world.agree()
    assert copies_of(pair[0]).counts.by_sql == 1

    pair[0].resident = ResidentNamespaces(pair[0].database, 0)
    await world.agree()
    assert copies_of(pair[0]).gauges()["resident_namespaces"] == 0


async def test_words_that_do_not_fit_are_asked_of_the_database(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 4)
    await world.create(pair[0])
    await world.asked(pair[0], [an_ask(rerank=Rerank.NONE)], 1.0)
    plain = int(copies_of(pair[0]).gauges()["resident_bytes"])
    pair[0].resident = ResidentNamespaces(pair[0].database, plain + 1_000)
    for rerank in (*Rerank, *Rerank, *Rerank):
        asks = [replace(world.ask(), rerank=rerank)]
        found = [await world.asked(engine, asks, 1.0) for engine in pair]
        assert found[0] == found[1]

    counts = copies_of(pair[0]).counts
    # Once without words, and once more after it was seen that they do not fit.
    assert counts.fills == 2
    assert copies_of(pair[0]).gauges()["resident_namespaces"] == 1


async def test_the_namespace_not_asked_for_the_longest_goes_first(pair, operator: Key):
    worlds = [World(pair, operator, await a_namespace(pair[0], operator), n) for n in range(3)]
    for world in worlds:
        await world.create(pair[0])
    for world in worlds:
        await world.agree()
    whole = int(copies_of(pair[0]).gauges()["resident_bytes"])
    pair[0].resident = ResidentNamespaces(pair[0].database, whole * 5 // 6)
    for world in (*worlds, *worlds):
        await world.agree()

    gauges = copies_of(pair[0]).gauges()
    assert gauges["resident_namespaces"] == 2
    assert gauges["resident_evictions"] >= 1
    assert gauges["resident_bytes"] <= gauges["resident_limit_bytes"]


async def test_what_is_too_large_is_not_filled_again_and_again(pair, operator: Key, monkeypatch):
    """It looks as if it would fit until its vectors are there."""
    world = World(pair, operator, await a_namespace(pair[0], operator), 5)
    for _ in range(3):
        await world.create(pair[0])
    memories = (await world.call(pair[0])).namespace.n_memories
    pair[0].resident = copies = ResidentNamespaces(pair[0].database, 4_000 * memories)
    fills, fill = [], copies._fill

    async def counted(*parts: object, **named: object) -> None:
        fills.append(parts)
        await fill(*parts, **named)

    monkeypatch.setattr(copies, "_fill", counted)
    for _ in range(6):
        await world.agree()

    assert 1 <= len(fills) <= 2  # with words, and without
    assert copies.counts.fills == 0


async def test_after_a_gap_the_copy_is_filled_anew(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 3)
    await world.create(pair[0])
    await world.agree()
    copies = copies_of(pair[0])
    [copy] = copies._copies.values()
    copy.snapshot = replace(copy.snapshot, at=copy.snapshot.at - GAP - DAY)
    await world.create(pair[1])
    call = await world.call(pair[1])
    async with pair[1].database.transaction(call.namespace.id) as connection:
        await connection.execute(text("DELETE FROM row_change"))
    await world.agree()
    await world.agree()

    assert copies.counts.rebuilds == 1
    assert copies.counts.fills == 2


async def test_many_constraints_of_tasks_that_are_alike_agree(pair, operator: Key):
    """Whose they are, where they apply, and which of equal tasks are the nearest."""
    slug = await a_namespace(pair[0], operator)
    bound = KeyDraft(role=Role.AGENT, name="bound", namespace=slug, agents=("solver",))
    key, _ = await create_key(pair[0], operator, bound, NOON)
    worlds = [World(pair, reader, slug, 17) for reader in (operator, key)]
    for _ in range(24):
        await worlds[0].create(pair[0])
    for number in range(14):
        writer = worlds[number % 5 == 0]
        draft = ConstraintDraft(
            agent="solver",
            trigger=f"a report of {WORDS[number % 10]} number {number} comes in",
            enforce=f"asking who wrote {WORDS[number % 7]} down before it is read",
            task=TaskDraft(WORDS[number % 3], category=("weather", "roads")[number % 2]),
        )
        await add_constraint(pair[number % 2], await writer.call(pair[number % 2]), draft)
    asks = [
        an_ask(agent=agent, task=TaskDraft(said, category=category), gates="off")
        for agent in ("solver", "helper")  # The bound key is refused as the second.
        for said in (*WORDS[:3], "rain and snow")
        for category in (None, "weather", "roads")
    ]
    served_at_all = 0
    for world in worlds:
        found = [await world.asked(engine, asks, 1.0) for engine in pair]
        assert found[0] == found[1]
        served_at_all += count_constraints(found[0])
    assert served_at_all > len(asks)

    gauges = copies_of(pair[0]).gauges()
    assert gauges["resident_constraints"] == 14
    [copy] = copies_of(pair[0])._copies.values()
    assert gauges["resident_bytes"] > copy.rows.bytes

    # Where they have no room, the database is asked for them, and the copy stays.
    pair[0].resident = ResidentNamespaces(pair[0].database, copy.rows.bytes + 1_000)
    for _ in range(2):
        found = [await worlds[0].asked(engine, asks, 1.0) for engine in pair]
        assert found[0] == found[1]
    assert copies_of(pair[0]).counts.fills == 1
    assert copies_of(pair[0]).gauges()["resident_constraints"] == 0
    pair[0].resident = ResidentNamespaces(pair[0].database, BYTES)

    found = [await worlds[0].asked(engine, asks, 1.0) for engine in pair]
    assert copies_of(pair[0]).gauges()["resident_constraints"] == 14
    # Nothing but the vector of a task goes.
    call = await worlds[0].call(pair[1])
    async with pair[1].database.transaction(call.namespace.id) as connection:
        await connection.execute(text("DELETE FROM task_embedding"))
    found = [await worlds[0].asked(engine, asks, 1.0) for engine in pair]
    assert found[0] == found[1]
    assert count_constraints(found[0]) == 0
    assert copies_of(pair[0]).gauges()["resident_constraints"] == 0


async def test_what_is_not_committed_is_not_remembered(pair, operator: Key):
    """A request that is refused withdraws the agent that it made; nobody is served as that one."""
    slug = await a_namespace(pair[0], operator)
    call = await a_call(pair[0], operator, slug)
    await remembered(pair[0], call, a_draft())
    await served(pair[0], call, agent="fresh", purpose="preview")
    async with pair[0].database.transaction(call.namespace.id) as connection:
        found = await connection.scalar(text("SELECT count(*) FROM agent WHERE name = 'fresh'"))
    assert found == 0
    assert (await served(pair[0], call, agent="fresh")).receipt.agent == "fresh"


async def test_a_namespace_is_deleted_with_its_changes(pair, operator: Key):
    world = World(pair, operator, await a_namespace(pair[0], operator), 3)
    await world.create(pair[0])
    await world.agree()
    call = await world.call(pair[0])
    await delete_namespace(pair[0], call, (await request_deletion(pair[0], call)).confirmation)
    async with pair[0].database.login() as connection:
        query = text("SELECT count(*) FROM row_change WHERE namespace_id = :ns")
        assert not await connection.scalar(query, {"ns": call.namespace.id})
    draft = NamespaceDraft(slug=world.slug, settings=OPEN)
    await create_namespace(pair[0], operator, draft, NOON)
    await world.create(pair[1])
    await world.agree()

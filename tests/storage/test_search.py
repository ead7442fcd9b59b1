"""The exact head and what becomes of it, against plain arithmetic in double precision."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.kernel.engine import Engine
from memory.memories.entities import MemoryEdit
from memory.receipts.entities import Item, Receipt
from memory.receipts.search_entities import Query, Target
from memory.retrieval.entities import Advice
from memory.retrieval.service import retrieve
from memory.retrieval.store.search import Probe, Scope, SearchStore
from memory.tasks.entities import TaskDraft
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Clock, Key, KeyDraft, NamespaceSettings, Role
from memory.tenancy.service import create_key
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.fixtures.profiles import examples
from tests.storage.bank_builders import (
    Dictated,
    Laid,
    Numbers,
    Probes,
    embedding,
    lay,
    nearest,
    weights,
)
from tests.storage.steps import a_call, remembered, served

BARE = NamespaceSettings(
    raw_gate=0.0,
    score_floor=0.0,
    control_rate=0.0,
    slot_rate=0.0,
    coins=False,
    meta_guidelines=False,
)
AT = NOON + 30 * DAY
ASKED = "what is asked"
STRAIGHT: Numbers = (1.0, 0.0, 0.0, 0.0)
EAST: Numbers = (0.0, 1.0, 0.0, 0.0)


async def a_bank(engine: Engine, key: Key, *rows: Laid, policy: str = "belief") -> Call:
    slug = await a_namespace(engine, key, settings=BARE, clock=Clock.REPLAY, policy=policy)
    call = await a_call(engine, key, slug)
    if rows:
        await lay(engine, call, rows)
    return await a_call(engine, key, slug)


async def found(engine: Engine, call: Call, probes: Probes, **changes: object) -> list[Item]:
    """What a retrieval serves whose queries have these vectors."""
    return list((await receipt_for(engine, call, probes, **changes)).items)


async def receipt_for(engine: Engine, call: Call, probes: Probes, **changes: object) -> Receipt:
    dictated = engine.embedder
    assert isinstance(dictated, Dictated)
    dictated.vectors[ASKED] = probes[0][1]
    asked = {"as_of": AT, "task": TaskDraft(ASKED), "queries": dictate(dictated, probes)} | changes
    return (await served(engine, call, **asked)).receipt


def dictate(dictated: Dictated, probes: Probes) -> tuple[Query, ...]:
    """Queries whose words have these vectors."""
    dictated.vectors |= {f"query {vector}": vector for _, vector in probes}
    return tuple(Query(f"query {vector}", Target(where)) for where, vector in probes)


async def ids(engine: Engine, call: Call, asked: Numbers = STRAIGHT, **more: object) -> list[UUID]:
    return [i.memory_id for i in await found(engine, call, [("situation", asked)], **more)]


def random_vector(chance: Random, width: int) -> Numbers:
    return tuple(chance.gauss(0, 1) for _ in range(width))


@pytest.mark.parametrize("seed", [1, 2])
async def test_the_head_is_that_of_double_precision(
    dictating: Engine, operator: Key, seed: int
) -> None:
    chance = Random(seed)
    rows = [Laid(random_vector(chance, 16), random_vector(chance, 16)) for _ in range(200)]
    call = await a_bank(dictating, operator, *rows)

    for k in (1, 7, 64):
        probes = [("situation", random_vector(chance, 16))]
        items = await found(dictating, call, probes, k=k)
        assert [(i.memory_id, i.similarity) for i in items] == nearest(rows, probes, k)


async def test_several_queries_count_by_the_best_of_them(dictating: Engine, operator: Key) -> None:
    chance = Random(5)
    rows = [Laid(random_vector(chance, 8), random_vector(chance, 8)) for _ in range(60)]
    call = await a_bank(dictating, operator, *rows)
    targets = ("situation", "lesson", "situation")
    probes = [(target, random_vector(chance, 8)) for target in targets]

    items = await found(dictating, call, probes, k=20)

    assert [(i.memory_id, i.similarity) for i in items] == nearest(rows, probes, 20)


async def test_equal_memories_come_in_the_order_of_their_ids(
    dictating: Engine, operator: Key
) -> None:
    drawn = sorted(uuid4() for _ in range(12))
    rows = [Laid(STRAIGHT, id=id_) for id_ in reversed(drawn)]
    call = await a_bank(dictating, operator, *rows)

    # The head ends inside the tie: two places of k make a head of eight among twelve equals.
    assert await ids(dictating, call, k=2) == drawn[:2]
    assert await ids(dictating, call, k=12) == drawn


async def test_what_points_away_counts_as_not_similar(dictating: Engine, operator: Key) -> None:
    rows = [Laid((-1.0, x, 0.0, 0.0)) for x in (0.0, 0.5, 1.0)]
    call = await a_bank(dictating, operator, *rows)

    items = await found(dictating, call, [("situation", STRAIGHT)])

    assert [i.similarity for i in items] == [0.0] * 3
    assert [i.memory_id for i in items] == [row.id for row in rows]


async def test_a_weight_lifts_nothing_into_the_head(dictating: Engine, operator: Key) -> None:
    near = [Laid((1.0, x / 100, 0.0, 0.0)) for x in range(4)]
    strong = Laid((1.0, 0.2, 0.0, 0.0), state=(0.1, 0.0), touched=AT)
    call = await a_bank(dictating, operator, *near, strong)

    assert await ids(dictating, call, k=1) == [near[0].id]
    assert (await ids(dictating, call, k=2))[0] == strong.id


@pytest.mark.parametrize("status", ["active", "probation"])
async def test_what_is_in_use_is_found(dictating: Engine, operator: Key, status: str) -> None:
    row = Laid(STRAIGHT, status=status)

    assert await ids(dictating, await a_bank(dictating, operator, row)) == [row.id]


@pytest.mark.parametrize("status", ["proposed", "verifying", "rejected", "suspended", "retired"])
async def test_what_is_out_of_use_is_not_found(
    dictating: Engine, operator: Key, status: str
) -> None:
    call = await a_bank(dictating, operator, Laid(STRAIGHT, status=status), Laid(EAST))

    assert len(await ids(dictating, call)) == 1


async def test_what_is_not_trusted_is_not_found(dictating: Engine, operator: Key) -> None:
    call = await a_bank(dictating, operator, Laid(STRAIGHT, trust="quarantined"))

    assert await ids(dictating, call) == []


async def test_what_was_learned_later_is_not_found(dictating: Engine, operator: Key) -> None:
    call = await a_bank(dictating, operator, Laid(STRAIGHT, learned_at=AT))

    assert len(await ids(dictating, call)) == 1
    assert await ids(dictating, call, as_of=AT - timedelta(microseconds=1)) == []


async def test_a_private_memory_is_found_by_its_agents_key_alone(
    dictating: Engine, operator: Key
) -> None:
    row = Laid(STRAIGHT, private=True)
    call = await a_bank(dictating, operator, row)
    slug = call.namespace.slug

    async def sees(agents: tuple[str, ...] | None, agent: str) -> bool:
        draft = KeyDraft(Role.AGENT, "test", slug, agents)
        key, _ = await create_key(dictating, operator, draft, NOON)
        return bool(await ids(dictating, await a_call(dictating, key, slug), agent=agent))

    # While the agent has no key of its own, an unbound one may ask in its name.
    assert not await sees(None, "solver")
    assert await sees(("solver",), "solver")
    assert not await sees(("rival", "solver"), "rival")
    with pytest.raises(AssertionError, match="agent solver has, or had, a key of its own"):
        await sees(None, "solver")


@pytest.mark.parametrize("policy", ["belief", "paper"])
async def test_an_edit_is_found_by_its_words_and_its_past_by_the_old_ones(
    dictating: Engine, operator: Key, policy: str
) -> None:
    dictated = dictating.embedder
    assert isinstance(dictated, Dictated)
    dictated.vectors |= {"the old place": STRAIGHT, "the new place": EAST}
    dictated.vectors["a lesson about rain"] = STRAIGHT
    call = await a_bank(dictating, operator, policy=policy)
    draft = a_draft(situation="the old place", lesson="a lesson about rain", learned_at=NOON)
    [kept] = await remembered(dictating, call, draft)
    edit = MemoryEdit(situation="the new place", known_at=NOON + 10 * DAY)
    await edit_memory(dictating, call, kept.id, edit, 1)
    now = await a_call(dictating, operator, call.namespace.slug)

    async def seen(asked: Numbers, days: int) -> list[tuple[int, float]]:
        at = NOON + days * DAY
        items = await found(dictating, now, [("situation", asked)], as_of=at)
        return [(item.version, item.similarity) for item in items]

    assert await seen(EAST, 11) == [(2, 1.0)]
    assert await seen(STRAIGHT, 11) == [(2, 0.0)]
    assert await seen(STRAIGHT, 9) == [(1, 1.0)]


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("weak", [False, True])
async def test_of_strangers_what_is_proven_alone_is_in_the_head(
    dictating: Engine, operator: Key, *, past: bool, weak: bool
) -> None:
    """And of those who are weaker in the category not even that."""
    chance = Random(17)
    own = [Laid(random_vector(chance, 16)) for _ in range(40)]
    foreign = [
        Laid(random_vector(chance, 16), trust=chance.choice(["trusted", "unverified"]))
        for _ in range(80)
    ]
    call = await a_bank(dictating, operator, *own)
    await lay(dictating, call, foreign, author="stranger")
    seen = own if weak else [*own, *(row for row in foreign if row.trust == "trusted")]
    probes = [("situation", random_vector(chance, 16))]

    async with dictating.database.transaction(call.namespace.id) as connection:
        actors = ActorStore(connection, call.namespace.id)
        reader, stranger = [(await actors.get_agent(n)).id for n in ("solver", "stranger")]
        weather = await actors.find_category("weather")
        scope = Scope(
            reader,
            private=False,
            as_of=AT,
            model_id=dictating.model.id,
            past=past,
            strangers=(stranger,),
            weaker=((stranger, weather),) if weak and weather else (),
        )
        store = SearchStore(connection, call.namespace.id)
        probe = Probe(embedding(probes[0][1]).vector.astype("float16"), "situation")
        head = await store.head([probe], scope, 9, 0.0)
        bank = await store.bank(["situation"], scope)

    assert {row.id for row in head.rows} == {id_ for id_, _ in nearest(seen, probes, 9)}
    assert head.matching == len(seen)
    assert {row.id for row in bank.rows} == {row.id for row in seen}


class Interrupted(SearchStore):
    """A search under which a memory is erased, after it was found and before it is read."""

    engine: Engine
    call: Call
    victims: list[UUID]

    async def _rows(self, statement, values):
        rows = await super()._rows(statement, values)
        if self.victims and "ids" in rows[0]:
            await erase(self.engine, self.call, Erasure(memory_id=self.victims.pop()))
        return rows


async def test_a_memory_erased_under_a_search_leaves_its_place_to_the_next(
    dictating: Engine, operator: Key
) -> None:
    rows = [Laid((1.0, float(n), 0.0, 0.0)) for n in range(6)]
    call = await a_bank(dictating, operator, *rows)
    probe = Probe(embedding(STRAIGHT).vector.astype("float16"), "situation")
    async with dictating.database.transaction(call.namespace.id) as connection:
        agent = await ActorStore(connection, call.namespace.id).get_agent("solver")
        scope = Scope(agent.id, private=False, as_of=AT, model_id=dictating.model.id)
        store = Interrupted(connection, call.namespace.id)
        store.engine, store.call, store.victims = dictating, call, [rows[1].id, rows[0].id]
        head = await store.head([probe], scope, 3, 0.0)

    assert {row.id for row in head.rows} == {row.id for row in rows[2:5]}
    assert head.matching == 4
    assert store.victims == []


async def test_an_erased_memory_leaves_its_neighbours_whole(
    dictating: Engine, operator: Key
) -> None:
    rows = [Laid(STRAIGHT) for _ in range(5)]
    call = await a_bank(dictating, operator, *rows)

    await erase(dictating, call, Erasure(memory_id=rows[0].id))

    assert await ids(dictating, call, k=5) == [row.id for row in rows[1:]]


components = st.tuples(*[st.integers(-3, 3)] * 4).filter(any).map(lambda v: tuple(map(float, v)))
moments = st.none() | st.integers(0, 400).map(lambda days: AT - days * DAY)


def laid_rows(policy: str) -> st.SearchStrategy[list[Laid]]:
    state = st.tuples(st.floats(-0.3, 0.3), st.floats(0.0001, 0.01))
    if policy == "paper":
        state = st.tuples(st.floats(0.1, 2.0))
    one = st.builds(
        Laid,
        situation=components,
        lesson=components,
        state=state,
        touched=moments,
        deviation=st.none() | st.tuples(st.floats(-0.1, 0.1), st.floats(0.0001, 0.0025)),
        learned_at=st.integers(0, 60).map(lambda days: NOON + days * DAY),
        status=st.sampled_from(["active", "active", "probation", "suspended"]),
        private=st.booleans(),
    )
    return st.lists(one, min_size=1, max_size=14)


@pytest.mark.parametrize("policy", ["belief", "paper"])
@settings(examples(12), phases=[Phase.generate])
@given(data=st.data())
async def test_states_ages_and_ties_rank_as_plain_arithmetic_does(
    dictating: Engine, operator: Key, policy: str, data: st.DataObject
) -> None:
    rows = data.draw(laid_rows(policy))
    targets = st.sampled_from(["situation", "lesson"])
    probes = data.draw(st.lists(st.tuples(targets, components), min_size=1, max_size=3))
    k = data.draw(st.integers(1, 3))
    call = await a_bank(dictating, operator, *rows, policy=policy)

    receipt = await receipt_for(dictating, call, probes, k=k)

    due = ranked(rows, probes, k, (policy, receipt.ranker))
    assert [item.memory_id for item in receipt.items] == [line[0] for line in due]
    for item, (_, *numbers) in zip(receipt.items, due, strict=True):
        told = [item.similarity, item.effective_weight, item.ranking_weight]
        assert told == pytest.approx(numbers, rel=1e-12)


Line = tuple[UUID, float, float, float]


def ranked(
    rows: Sequence[Laid], probes: Probes, k: int, rule: tuple[str, str], as_of: datetime = AT
) -> list[Line]:
    """What the operator's key gets by this ranker: it sees no private memory, one of a group, and
    one on probation at most.
    """
    policy, ranker = rule
    mode, half_life = ("flat", "none") if ranker == "plain" else ranker.split("/")
    seen = {
        row.id: row
        for row in rows
        if row.status != "suspended" and not row.private and row.learned_at <= as_of
    }
    size = len(seen) if policy == "paper" else 4 * k
    head = [
        (id_, near, *weights(seen[id_], as_of, policy))
        for id_, near in nearest(list(seen.values()), probes, size)
    ]

    def order(line: Line) -> tuple[float, UUID]:
        days = (as_of - seen[line[0]].learned_at) / DAY
        age = 1.0 if half_life == "none" else 0.5 ** (days / int(half_life[:-1]))
        return (-(line[3] if mode == "weighted" else 1.0) * line[1] * age, line[0])

    taken: dict[object, Line] = {}
    for line in sorted(head, key=order):
        row = seen[line[0]]
        on_probation = [i for i, *_ in taken.values() if seen[i].status == "probation"]
        if not (row.status == "probation" and on_probation):
            taken.setdefault(row.group or row.id, line)
    return list(taken.values())[:k]


def a_large_bank(chance: Random, size: int) -> list[Laid]:
    """Few directions, weights and groups, so that many are equal."""
    return [
        Laid(
            (1.0, *(float(chance.randrange(4)) for _ in range(3))),
            lesson=(float(chance.randrange(4)), 1.0, 0.0, 0.0),
            state=(chance.choice([0.1, 0.7, 1.0, 2.0]),),
            learned_at=NOON + chance.randrange(20) * DAY,
            status=chance.choice(["active", "active", "active", "probation", "suspended"]),
            private=chance.random() < 0.1,
            group=f"group {chance.randrange(size // 2)}",
        )
        for _ in range(size)
    ]


async def test_each_ask_of_a_batch_is_served_from_the_whole_bank_as_plain_arithmetic_does(
    dictating: Engine, operator: Key
) -> None:
    """Asks of one time share what was read of the bank; times and targets keep them apart."""
    dictated = dictating.embedder
    assert isinstance(dictated, Dictated)
    chance = Random(3)
    rows = a_large_bank(chance, 300)
    call = await a_bank(dictating, operator, *rows, policy="paper")
    targets = (["situation"], ["lesson"], ["situation", "lesson"])
    wanted = [
        ([(target, random_vector(chance, 4)) for target in targets[i % 3]], 1 + 9 * i, as_of)
        for i, as_of in enumerate([AT, AT, AT, NOON + 5 * DAY, AT, NOON + 5 * DAY, AT])
    ]
    asks = [
        an_ask(task=TaskDraft(ASKED), queries=dictate(dictated, probes), k=k, as_of=as_of)
        for probes, k, as_of in wanted
    ]

    answers = await retrieve(dictating, call, asks)

    for (probes, k, as_of), answer in zip(wanted, answers, strict=True):
        assert isinstance(answer, Advice)
        due = ranked(rows, probes, k, ("paper", "weighted/none"), as_of)
        told = [
            (i.memory_id, i.similarity, i.effective_weight, i.ranking_weight)
            for i in answer.receipt.items
        ]
        assert due
        assert told == due


async def test_a_whole_bank_without_memories_serves_none(dictating: Engine, operator: Key) -> None:
    call = await a_bank(dictating, operator, policy="paper")

    receipt = await receipt_for(dictating, call, [("situation", STRAIGHT)])

    assert (receipt.items, receipt.bank_version) == ((), call.namespace.bank_version)


async def test_a_small_bank_beside_a_large_one_is_searched_whole(
    dictating: Engine, operator: Key
) -> None:
    """Vectors of the large one are wider: a distance taken to any of them would be refused."""
    chance = Random(11)
    large = await a_bank(dictating, operator, Laid(random_vector(chance, 32)))
    await multiply(dictating, large, 5_000)
    rows = [Laid(random_vector(chance, 8)) for _ in range(40)]
    small = await a_bank(dictating, operator, *rows)
    probes = [("situation", random_vector(chance, 8))]

    items = await found(dictating, small, probes, k=20)

    assert [(i.memory_id, i.similarity) for i in items] == nearest(rows, probes, 20)
    wide = [("situation", random_vector(chance, 32))]
    assert len(await found(dictating, large, wide, k=20)) == 20


async def multiply(engine: Engine, call: Call, times: int) -> None:
    """Copy the one memory of the bank, with equal vectors and texts of their own."""
    async with engine.database.transaction(call.namespace.id) as connection:
        for statement in COPIES:
            await connection.execute(text(statement), {"times": times, "salt": str(uuid4())})


COPIES = (
    """
    INSERT INTO memory (id, namespace_id, kind, status, trust, visibility, owner, agent_id,
        category_id, source_group, version, sha256, start_weight, learned_at, recorded_at,
        bank_version)
    SELECT md5(:salt || i)::uuid, namespace_id, kind, status, trust, visibility, owner, agent_id,
        category_id, source_group || i, version, md5(:salt || i)::bytea, start_weight,
        learned_at, recorded_at, bank_version
    FROM memory, generate_series(1, CAST(:times AS int)) AS i
    """,
    """
    INSERT INTO memory_version (memory_id, version, namespace_id, situation, lesson, known_at,
        recorded_at, bank_version)
    SELECT m.id, 1, v.namespace_id, v.situation, v.lesson || ' ' || m.id, v.known_at,
        v.recorded_at, 1
    FROM memory m, memory_version v WHERE m.id <> v.memory_id
    """,
    """
    INSERT INTO embedding (memory_id, version, field, model_id, namespace_id, vector, token_ids)
    SELECT m.id, 1, e.field, e.model_id, e.namespace_id, e.vector, e.token_ids
    FROM memory m, embedding e WHERE m.id <> e.memory_id
    """,
    """
    INSERT INTO memory_weight (memory_id, namespace_id, state)
    SELECT m.id, w.namespace_id, w.state FROM memory m, memory_weight w WHERE m.id <> w.memory_id
    """,
)


@pytest.mark.parametrize("past", [False, True])
async def test_the_plan_decides_who_is_seen_before_any_distance_is_taken(
    dictating: Engine, operator: Key, *, past: bool
) -> None:
    call = await a_bank(dictating, operator, Laid(STRAIGHT))

    nodes = await planned(dictating, call, past=past)

    measuring = [node for node in nodes if "<=>" in str({**node, "Plans": None})]
    assert measuring
    assert all(node["Node Type"] not in READING for node in measuring)
    reading = [node for node in nodes if node.get("Relation Name") in ("memory", "embedding")]
    # Of tables over partitions none is read for a namespace that is no namespace, as it is here.
    assert reading or any(node.get("Subplans Removed") for node in nodes)
    assert all("namespace_id" in conditions(node) for node in reading)
    # Taken inside a materialised step and in no order: what an approximate index needs is absent.
    steps = [node for node in nodes if str(node.get("Subplan Name", "")).startswith("CTE")]
    assert any("<=>" in str(step) for step in steps)
    assert all("Order By" not in node for node in nodes)
    assert any(node["Node Type"] == "CTE Scan" for node in nodes)


async def test_no_index_on_vectors_invites_an_approximate_search(dictating: Engine) -> None:
    async with dictating.database.transaction() as connection:
        methods = await connection.scalars(text(METHODS))
        assert set(methods) == {"btree"}


READING = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan")
METHODS = """
    SELECT DISTINCT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
    WHERE c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace
"""
PREPARED = """
    SELECT name, cardinality(parameter_types) FROM pg_prepared_statements
    WHERE statement LIKE '%<=>%' AND statement NOT LIKE '%UNION ALL%'
      AND (statement LIKE '%memory_version%') = :past
"""
Node = dict[str, object]


def conditions(node: Node) -> str:
    return "".join(str(node.get(part, "")) for part in ("Filter", "Index Cond", "Recheck Cond"))


async def planned(engine: Engine, call: Call, *, past: bool) -> list[Node]:
    """The plan of the search that the store really sends, whatever its parameters are."""
    async with engine.database.transaction(call.namespace.id) as connection:
        agent = await ActorStore(connection, call.namespace.id).get_agent("solver")
        probe = Probe(embedding(STRAIGHT).vector.astype("float16"), "situation")
        scope = Scope(agent.id, private=False, as_of=AT, model_id=engine.model.id, past=past)
        await SearchStore(connection, call.namespace.id).head([probe], scope, 4, 0.0)
        shape = {"past": past}
        name, width = (await connection.execute(text(PREPARED), shape)).first() or ("", 0)
        await connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        blanks = ", ".join(["NULL"] * width)
        explain = f'EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE "{name}"({blanks})'
        [plan] = await connection.scalar(text(explain))
    return list(walked(plan["Plan"]))


def walked(node: Node) -> Iterator[Node]:
    yield node
    children = node.get("Plans", [])
    assert isinstance(children, list)
    for child in children:
        yield from walked(child)

"""A filter is exact: whatever it matches is a candidate, and nothing else is."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.memories.entities import Kind
from memory.memories.filter_entities import MAX_NAMES, RetrievalFilter
from memory.receipts.entities import Arm
from memory.retrieval.entities import Advice
from memory.retrieval.resident.namespaces import ResidentNamespaces
from memory.retrieval.service import get_receipt
from memory.tasks.entities import DISTILLER, TaskDraft
from memory.tenancy.entities import Call, Clock, Key, NamespaceSettings
from tests.fixtures.builders import a_draft
from tests.fixtures.constraint_builders import TRIGGER, proven
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace, an_engine
from tests.storage.bank_builders import Dictated, Laid, lay
from tests.storage.steps import a_call, remembered, served

ASKED = "what is asked"
STRAIGHT = (1.0, 0.0, 0.0, 0.0)
MANY = 10_000
COPIED = (
    ("memory", "id"),
    ("memory_version", "memory_id"),
    ("memory_weight", "memory_id"),
    ("embedding", "memory_id"),
)


@pytest.fixture
async def pair(database_url: str, engine: Engine) -> AsyncGenerator[tuple[Engine, Engine]]:
    """One process that serves from copies, and one that has none."""
    assert engine.registered is not None
    copied, plain = an_engine(database_url), an_engine(database_url, resident=None)
    copied.resident = ResidentNamespaces(copied.database, 256 * 1024**2)
    for one in (copied, plain):
        await register_model(one, NOON)
    yield copied, plain
    for one in (copied, plain):
        await one.close()


@pytest.fixture
async def call(engine: Engine, operator: Key) -> Call:
    return await a_call(engine, operator, await a_namespace(engine, operator))


async def found(engine: Engine, call: Call, wanted: RetrievalFilter, **changes: object) -> Advice:
    return await served(engine, call, filter=wanted, **changes)


def ids(advice: Advice) -> list[UUID]:
    return [item.memory_id for item in advice.receipt.items]


async def copied_a_hundredfold(engine: Engine, call: Call) -> None:
    """Each memory of the bank ninety-nine times more, under ids and texts of their own."""
    key = "CAST(md5(CAST({} AS text) || n) AS uuid)"
    async with engine.database.transaction(call.namespace.id) as connection:
        for table, column in COPIED:
            fresh = key.format(f"t.{column}")
            digest = f", 'sha256', '\\x' || md5(CAST({fresh} AS text))" * (table == "memory")
            await connection.execute(
                text(f"""INSERT INTO {table} SELECT c.* FROM {table} t, generate_series(1, 99) AS n,
                    LATERAL jsonb_populate_record(
                        t, jsonb_build_object('{column}', {fresh}{digest})) AS c
                    WHERE t.namespace_id = :ns"""),
                {"ns": call.namespace.id},
            )


async def test_few_of_ten_thousand_are_all_candidates(pair, operator: Key):
    """They are the farthest of all, so that no head of the whole bank holds one."""
    chance = Random(7)
    bare = NamespaceSettings(control_rate=0.0, slot_rate=0.0, coins=False, meta_guidelines=False)
    slug = await a_namespace(pair[1], operator, settings=bare)
    vectors = Dictated({ASKED: STRAIGHT})
    near = [Laid((1.0, chance.random() / 10, 0.0, 0.0)) for _ in range(MANY // 100)]
    far = [Laid((1.0, 0.5 + chance.random(), 0.0, 0.0)) for _ in range(5)]
    await lay(pair[1], await a_call(pair[1], operator, slug), near)
    await copied_a_hundredfold(pair[1], await a_call(pair[1], operator, slug))
    await lay(pair[1], await a_call(pair[1], operator, slug), far, author="helper")

    answers: list[Advice] = []
    for one in pair:
        one.embedder = vectors
        call = await a_call(one, operator, slug)
        await served(one, call, task=TaskDraft(ASKED))
        if isinstance(one.resident, ResidentNamespaces):
            await one.resident.settled()
        wanted = RetrievalFilter(authors=("helper",))
        answers.append(
            await found(
                *(one, call, wanted),
                task=TaskDraft(ASKED),
                k=4,
                explain=True,
                purpose="preview",
            )
        )

    for answer in answers:
        assert answer.explanation is not None
        assert answer.explanation.matching == answer.explanation.head == 5
        assert len(answer.receipt.items) == 4
        assert set(ids(answer)) <= {row.id for row in far}
    assert answers[0].receipt.items == answers[1].receipt.items
    assert isinstance(pair[0].resident, ResidentNamespaces)
    assert pair[0].resident.counts.fills == 1


async def test_each_part_narrows_and_all_together_do(engine: Engine, call: Call):
    tagged = {"tags": ["billing", "eu"]}
    one, two, three, four = (
        kept.id
        for kept in await remembered(
            engine,
            call,
            a_draft(lesson="one", metadata=tagged),
            a_draft(lesson="two", metadata={"tags": "eu"}, agent="helper"),
            a_draft(lesson="three", category="roads", subcategory="late", agent="helper"),
            a_draft(lesson="four", category="roads", metadata={"tags": {"eu": "billing"}}),
        )
    )
    for wanted, expected in (
        (RetrievalFilter(category="weather"), {one, two}),
        (RetrievalFilter(category="roads"), {three, four}),
        (RetrievalFilter(category="roads", subcategory="late"), {three}),
        (RetrievalFilter(tags=("eu",)), {one, two}),
        (RetrievalFilter(tags=("billing", "us")), {one}),
        (RetrievalFilter(tags=("us",)), set()),
        (RetrievalFilter(authors=("helper", "nobody")), {two, three}),
        (RetrievalFilter(authors=("helper",), tags=("eu",)), {two}),
        (RetrievalFilter(kinds=(Kind.EXPERIENCE,)), {one, two, three, four}),
        (RetrievalFilter(kinds=(Kind.CONSTRAINT,)), set()),
        (RetrievalFilter(category="nowhere"), set()),
        (RetrievalFilter(), {one, two, three, four}),
    ):
        answer = await found(engine, call, wanted, k=10, gates="off")
        assert set(ids(answer)) == expected, wanted


async def test_the_receipt_keeps_what_was_asked_for(engine: Engine, call: Call):
    await remembered(engine, call, a_draft(metadata={"tags": ["eu"]}))
    wanted = RetrievalFilter(
        category=" weather ", tags=("eu", "us", "eu"), authors=("solver",), kinds=(Kind.EXPERIENCE,)
    )
    answer = await found(engine, call, wanted)
    stored = await get_receipt(engine, call, answer.receipt.retrieval_id)
    assert stored.search is not None
    assert stored.search.filter == wanted
    assert (wanted.category, wanted.tags) == ("weather", ("eu", "us"))

    open_ = await found(engine, call, RetrievalFilter())
    stored = await get_receipt(engine, call, open_.receipt.retrieval_id)
    assert stored.search is not None
    assert stored.search.filter is None


async def test_what_is_filtered_out_is_no_contender_and_was_not_absent(
    engine: Engine, operator: Key
):
    settings = replace(OPEN, coins=True)
    call = await a_call(engine, operator, await a_namespace(engine, operator, settings=settings))
    drafts = [a_draft(lesson=f"lesson {n}", agent=("solver", "helper")[n % 2]) for n in range(6)]
    kept = await remembered(engine, call, *drafts)
    answer = await found(engine, call, RetrievalFilter(authors=("helper",)), k=2)
    others = {one.id for one in kept[::2]}
    assert not others & {*ids(answer)}
    assert answer.receipt.passed_over is not None
    assert not others & {*answer.receipt.passed_over}

    nothing = await found(engine, call, RetrievalFilter(tags=("none",)))
    assert (nothing.receipt.arm, nothing.receipt.items) == (Arm.EMPTY, ())


async def test_the_past_is_filtered_too(engine: Engine, operator: Key):
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY)
    call = await a_call(engine, operator, slug)
    kept = await remembered(
        engine,
        call,
        a_draft(lesson="one", learned_at=NOON),
        a_draft(lesson="two", learned_at=NOON, agent="helper"),
    )
    for as_of in (NOON + DAY, NOON + 2 * DAY):
        wanted = RetrievalFilter(authors=("helper",))
        answer = await found(engine, call, wanted, as_of=as_of, gates="off")
        assert ids(answer) == [kept[1].id]


@pytest.mark.usefixtures("proof_alone")
async def test_constraints_obey_a_filter(engine: Engine, call: Call):
    constraint = await proven(engine, call)
    await remembered(engine, call, a_draft(situation=TRIGGER, lesson="an experience"))
    asked = {"task": TaskDraft(TRIGGER), "gates": "off"}
    every = await served(engine, call, **asked)
    [bound] = every.constraints
    assert bound.memory_id == constraint.memory_id
    for wanted, binds in (
        (RetrievalFilter(kinds=(Kind.CONSTRAINT,)), True),
        (RetrievalFilter(category=bound.category.name), True),
        (RetrievalFilter(authors=(DISTILLER,)), True),
        (RetrievalFilter(kinds=(Kind.EXPERIENCE,)), False),
        (RetrievalFilter(category="elsewhere"), False),
        (RetrievalFilter(authors=("solver",)), False),
        (RetrievalFilter(tags=("eu",)), False),
    ):
        answer = await found(engine, call, wanted, **asked)
        assert bool(answer.constraints) is binds, wanted
    only = await found(engine, call, RetrievalFilter(kinds=(Kind.CONSTRAINT,)), **asked)
    assert ids(only) == [constraint.memory_id]


@pytest.mark.parametrize(
    ("parts", "field", "limit"),
    [
        ({"tags": ("x",) * (MAX_NAMES + 1)}, "tags", MAX_NAMES),
        ({"authors": (" ",)}, "authors.0", None),
        ({"kinds": ("dream",)}, "kinds", [kind.value for kind in Kind]),
        ({"subcategory": "late"}, "category", None),
    ],
)
def test_a_filter_that_cannot_be_is_refused_by_field(parts, field: str, limit: object):
    with pytest.raises(Rejected) as refused:
        RetrievalFilter(**parts)
    assert (refused.value.field, refused.value.limit) == (field, limit)


def test_a_part_that_is_null_is_not_given_and_an_empty_one_is_refused():
    assert not RetrievalFilter(category=None, tags=None, authors=None, kinds=None).narrows
    for part in ("tags", "authors", "kinds"):
        with pytest.raises(Rejected, match=f"{part} is empty") as refused:
            RetrievalFilter(**{part: ()})
        assert refused.value.field == part
    with pytest.raises(Rejected, match="category is blank"):
        RetrievalFilter(category=" ")


def test_a_filter_is_read_as_it_was_stored():
    for wanted in (
        RetrievalFilter(),
        RetrievalFilter(tags=("eu",)),
        RetrievalFilter(category="roads", authors=("helper",), kinds=(Kind.EXPERIENCE,)),
    ):
        assert RetrievalFilter.read(wanted.stored()) == wanted

"""A namespace moves to another embedding model while it is served, and back."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import text

from memory.constraints.taxonomy import replace_taxonomy
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft
from memory.curation.service import edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.inference.service import register_model
from memory.inference.stand_ins import HashEmbedder
from memory.jobs.checks import readiness
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected, Unavailable
from memory.kernel.ports import Embedding, ModelIdentity, tell_apart
from memory.memories.entities import MemoryEdit
from memory.memories.store.centroids import CentroidStore
from memory.reembedding.entities import (
    VECTOR_COLUMNS,
    MoveProgress,
    MoveState,
    NamespaceMove,
    ReembedRequest,
)
from memory.reembedding.service import AT_ONCE, drop_vectors, list_vectors, re_embed
from memory.retrieval.resident.namespaces import ResidentNamespaces
from memory.tasks.entities import TaskDraft
from memory.tasks.service import add_task
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Key
from memory.tenancy.service import authenticate, ensure_operator_key
from memory.tenancy.store.moves import MoveStore
from memory.tenancy.tables import namespace
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, Caller, a_namespace, an_engine
from tests.services.constraints.test_relabelling import given_a_vector
from tests.services.constraints.test_taxonomy import an_ask_of
from tests.storage.steps import a_call, remembered, served

SUBJECTS = ("rain", "shares", "a queue", "the index", "a lock", "fog", "the vote", "a parser")
BRANCHES = (Branch("weather", "rain sun fog"), Branch("markets", "price of shares"))
# What a column of this type holds is a vector, whoever wrote it.
TYPES = ("vector", "halfvec", "sparsevec")
POINTS = {
    "namespace": "says which model it is searched by",
    "retrieval": "says which model it was searched by",
}


def silent(_: MoveProgress) -> None:
    """Nobody looks."""


def noon() -> datetime:
    return NOON


@dataclass(slots=True)
class ChangingEmbedder:
    """Does something of another's between the look at the texts and their vectors, once."""

    act: Callable[[], object]
    inner: HashEmbedder = field(default_factory=lambda: HashEmbedder(96, "changing"))

    @property
    def identity(self) -> ModelIdentity:
        return self.inner.identity

    async def embed(self, texts: list[str]) -> list[Embedding]:
        act, self.act = self.act, lambda: None
        done = act()
        if asyncio.iscoroutine(done):
            await done
        return await self.inner.embed(texts)


@dataclass(slots=True)
class BlurredEmbedder:
    """All texts look nearly the same to it."""

    identity: ModelIdentity = field(default=ModelIdentity("blurred", "", "b" * 64, 32))

    async def embed(self, texts: list[str]) -> list[Embedding]:
        return [self._embedding(one) for one in texts]

    def _embedding(self, words: str) -> Embedding:
        chance = np.random.default_rng(sum(words.encode()))
        vector = np.ones(32) + chance.normal(0, 0.01, 32)
        return Embedding((vector / np.linalg.norm(vector)).astype(np.float32), (1, 2))


@pytest.fixture
async def another(database_url: str, engine: Engine) -> AsyncGenerator[Callable[..., object]]:
    """Engines of other models over the same database, in which none of their namespaces is left."""
    opened: list[Engine] = []

    async def make(embedder: object, **parts: object) -> Engine:
        made = an_engine(database_url, embedder=embedder, **parts)
        opened.append(made)
        await register_model(made, NOON)
        return made

    yield make
    for one in opened:
        await one.close()
    async with engine.database.transaction() as connection:
        await connection.execute(namespace.update().values(model_id=engine.model.id))


@pytest.fixture
async def beside(engine: Engine, operator: Key) -> Call:
    """A namespace that is not moved."""
    call = await a_call(engine, operator, await a_namespace(engine, operator))
    await remembered(engine, call, a_draft())
    return call


@pytest.fixture
async def written(engine: Engine, calls: Caller, wall: str, beside: Call) -> Call:
    """A namespace with experiences, a text edited, a taxonomy and a task with a vector."""
    call = await calls(wall)
    await replace_taxonomy(engine, call, TaxonomyDraft(BRANCHES, allow_new=True), None)
    drafts = [
        a_draft(
            situation=f"a question about {one} and {other}",
            lesson=f"look at {one} before {other}",
            category="weather" if number % 2 else "markets",
        )
        for number, one in enumerate(SUBJECTS)
        for other in SUBJECTS[:5]
        if one != other
    ]
    [first, *_] = await remembered(engine, call, *drafts)
    edit = MemoryEdit(situation="a question about rain in the mountains")
    await edit_memory(engine, call, first.id, edit, 1)
    added, _ = await add_task(engine, call, TaskDraft("tell whether it rains"), None)
    await given_a_vector(engine, call, added)
    return call


async def moved(engine: Engine, call: Call, **changes: object) -> NamespaceMove:
    request = ReembedRequest((call.namespace.slug,), **changes)  # pyright: ignore[reportArgumentType] - by name
    [move] = await re_embed(engine, request, noon, silent)
    return move


async def ids_of(engine: Engine, call: Call, words: str) -> list[UUID]:
    fresh = await a_call(engine, call.key, call.namespace.slug)
    answer = await served(engine, fresh, **an_ask_of(words))
    return sorted(item.memory_id for item in answer.receipt.items)


async def counts(engine: Engine, call: Call) -> dict[str, int]:
    """Vectors by the state of their model."""
    [found] = await list_vectors(engine.database, [call.namespace.slug])
    return {one.state: one.vectors for one in found.models}


async def centroids(engine: Engine, call: Call, model_id: UUID) -> dict[str, np.ndarray]:
    async with engine.database.transaction(call.namespace.id) as connection:
        tops = await CentroidStore(connection, call.namespace.id).tops(model_id)
        store = ActorStore(connection, call.namespace.id)
        names = [branch.name for branch in BRANCHES]
        ids = {await store.find_category(name): name for name in names}
    return {ids[one]: vector for one, vector in tops.items() if one in ids}


async def test_a_namespace_moves_to_a_model_of_another_width(engine, another, written):
    before = await ids_of(engine, written, "a question about shares and rain")
    held = await counts(engine, written)
    other = await another(HashEmbedder(96, "other"))

    move = await moved(other, written)

    assert (move.state, move.embedded) == (MoveState.SWITCHED, held["current"])
    assert move.fit is not None
    assert move.fit.agreement is not None
    assert move.fit.agreement > 0.5
    assert move.bank_version is not None
    now = await a_call(other, written.key, written.namespace.slug)
    assert now.namespace.bank_version == move.bank_version > written.namespace.bank_version
    assert await counts(engine, written) == {"current": held["current"], "former": held["current"]}
    assert await ids_of(other, written, "a question about shares and rain") == before != []
    assert set(await centroids(other, written, other.model.id)) == {"weather", "markets"}


async def test_a_process_of_the_former_model_refuses_that_namespace_alone(
    engine, another, written, beside
):
    other = await another(HashEmbedder(96, "other"))
    await moved(other, written)

    with pytest.raises(Unavailable) as asked:
        await ids_of(engine, written, "a question about rain")
    # Whoever read the namespace before the switch, and writes after it.
    with pytest.raises(Unavailable) as wrote:
        await remembered(engine, written, a_draft(situation="written too late"))

    assert {asked.value.kind, wrote.value.kind} == {"model_mismatch"}
    assert asked.value.detail == (
        f"namespace {written.namespace.slug} holds vectors of another embedding model than that "
        "of this server, hash (float32); ask a server that has its model, which "
        "`memlift re-embed --status` names, start this one with it (MEMLIFT_EMBEDDING_MODEL, "
        "MEMLIFT_EMBEDDING_DTYPE), or move the namespace with `memlift re-embed`"
    )
    assert "was just moved to another embedding model" in wrote.value.detail
    assert asked.value.retry_after == 30
    assert await ids_of(engine, beside, "a forecast of rain in a dry month") != []


async def test_what_a_run_that_died_has_embedded_is_not_embedded_again(engine, another, written):
    held = (await counts(engine, written))["current"]
    assert held > AT_ONCE
    dying = await another(HashEmbedder(96, "dying"))
    dying.embedder.fails_on = [dying.embedder.embedded + AT_ONCE + 1]

    with pytest.raises(Unavailable):
        await moved(dying, written)
    after = await counts(engine, written)
    move = await moved(dying, written)

    assert after == {"current": held, "prepared": AT_ONCE}
    assert (move.state, move.embedded) == (MoveState.SWITCHED, held - AT_ONCE)


async def test_what_is_written_meanwhile_has_its_vectors_before_the_switch(
    engine, another, written
):
    async def write() -> None:
        await remembered(engine, written, a_draft(situation="a question about hail and ice"))
        longer = (*BRANCHES, Branch("ice", "hail and ice"))
        await replace_taxonomy(engine, written, TaxonomyDraft(longer, allow_new=True), None)

    other = await another(HashEmbedder(96, "changing"))
    other.embedder = ChangingEmbedder(write)

    move = await moved(other, written)

    assert move.state is MoveState.SWITCHED
    found = await counts(engine, written)
    assert found["current"] == found["former"]
    assert await ids_of(other, written, "a question about hail and ice") != []
    async with engine.database.transaction(written.namespace.id) as connection:
        tops = await CentroidStore(connection, written.namespace.id).tops(other.model.id)
    assert len(tops) == 3


async def test_words_that_are_erased_meanwhile_get_no_vector(engine, another, written):
    [gone] = await remembered(engine, written, a_draft(situation="a question of ada's own"))

    async def forget() -> None:
        await erase(engine, written, Erasure(memory_id=gone.id))

    other = await another(HashEmbedder(96, "changing"))
    other.embedder = ChangingEmbedder(forget)

    await moved(other, written)

    async with engine.database.transaction(written.namespace.id) as connection:
        query = text("SELECT count(*) FROM embedding WHERE memory_id = :id")
        assert await connection.scalar(query, {"id": gone.id}) == 0


async def test_a_model_that_tells_nothing_apart_is_refused_with_figures(engine, another, written):
    before = await ids_of(engine, written, "a question about rain and shares")
    blurred = await another(BlurredEmbedder())

    refused = await moved(blurred, written)
    still = await ids_of(engine, written, "a question about rain and shares")
    accepted = await moved(blurred, written, accept_misfit=True)

    assert (refused.state, still) == (MoveState.MISFIT, before)
    assert refused.fit is not None
    assert refused.fit.q99 > 0.99
    assert refused.fit.agreement is not None
    assert refused.fit.agreement < 0.2
    assert refused.fit.misfits[0].startswith("unrelated sentences have a cosine of up to 1.000")
    assert "and at least 20% is asked for" in refused.fit.misfits[1]
    assert (accepted.state, accepted.embedded) == (MoveState.SWITCHED, 0)


async def test_a_move_may_be_prepared_and_taken_back_before_it_is_made(engine, another, written):
    held = (await counts(engine, written))["current"]
    other = await another(HashEmbedder(96, "other"))

    prepared = await moved(other, written, switch=False)
    kept = await drop_vectors(engine.database, "former", [written.namespace.slug], NOON)
    [dropped] = await drop_vectors(engine.database, "prepared", [written.namespace.slug], NOON)

    assert (prepared.state, prepared.embedded) == (MoveState.PREPARED, held)
    assert [one.vectors for one in kept] == [0]
    assert (dropped.vectors, dropped.models) == (held, ("other (float32)",))
    assert await counts(engine, written) == {"current": held}
    assert await ids_of(engine, written, "a question about rain and shares") != []


async def test_the_way_back_embeds_only_what_came_since_until_the_former_vectors_are_dropped(
    engine, another, written
):
    before = await centroids(engine, written, engine.model.id)
    ids = await ids_of(engine, written, "a question about rain and shares")
    other = await another(HashEmbedder(96, "other"))
    await moved(other, written)
    late = await a_call(other, written.key, written.namespace.slug)
    await remembered(other, late, a_draft(situation="a question about hail and ice"))

    back = await moved(engine, written)

    assert (back.state, back.embedded) == (MoveState.SWITCHED, 2)
    assert set(ids) <= set(await ids_of(engine, written, "a question about rain and shares"))
    after = await centroids(engine, written, engine.model.id)
    assert np.allclose(before["markets"], after["markets"], atol=1e-3)
    [dropped] = await drop_vectors(engine.database, "former", [written.namespace.slug], NOON)
    assert dropped.models == ("other (float32)",)
    assert list(await counts(engine, written)) == ["current"]
    assert await centroids(engine, written, other.model.id) == {}
    again = await moved(engine, written)
    assert (again.state, again.embedded) == (MoveState.CURRENT, 0)


async def test_copies_of_a_namespace_that_was_moved_are_let_go(
    engine, another, database_url, written
):
    copied = await another(HashEmbedder())
    copied.resident = ResidentNamespaces(copied.database, 64 * 1024**2)
    await ids_of(copied, written, "a question about rain and shares")
    other = await another(HashEmbedder(96, "other"))
    other.resident = ResidentNamespaces(other.database, 64 * 1024**2)
    plain = await another(HashEmbedder(96, "other"), resident=None)
    held = copied.resident.gauges()["resident_namespaces"]

    await moved(other, written)
    await copied.resident.renew()

    assert (held, copied.resident.gauges()["resident_namespaces"]) == (1, 0)
    asked = "a question about rain and shares"
    assert await ids_of(other, written, asked) == await ids_of(plain, written, asked) != []
    assert other.resident.gauges()["resident_namespaces"] == 1


async def test_models_that_differ_in_dtype_or_weights_alone_are_told_apart(
    engine, another, written
):
    for weights in "ab":
        twin = BlurredEmbedder(ModelIdentity("hash", "bfloat16", weights * 64, 32))
        await moved(await another(twin), written, accept_misfit=True)

    [found] = await list_vectors(engine.database, [written.namespace.slug])
    checks = await readiness(engine)

    assert tell_apart([one.model for one in found.models]) == [
        "hash (bfloat16, weights bbbbbbbb)",
        "hash (float32)",
        "hash (bfloat16, weights aaaaaaaa)",
    ]
    assert "another model than hash (float32) in: " in checks["other_models"].detail
    assert f"{written.namespace.slug}, of hash (bfloat16)" in checks["other_models"].detail


async def test_what_cannot_go_is_named_before_the_first_switch(
    engine, operator, another, written, beside
):
    other = await another(HashEmbedder(96, "other"))
    gone, going = beside.namespace, await a_namespace(engine, operator)
    ids = [gone.id, (await a_call(engine, operator, going)).namespace.id]
    async with engine.database.transaction() as connection:
        for one in ids:
            await MoveStore(connection).pause(one, "https://there.example", timedelta(hours=1))
        assert await MoveStore(connection).leave(gone.id)

    names = (written.namespace.slug, gone.slug, "nobody", going)
    with pytest.raises(Rejected) as refused:
        await re_embed(other, ReembedRequest(names), noon, silent)

    assert refused.value.detail == (
        f"{gone.slug}: the namespace has moved: it is served at https://there.example; "
        "no such namespace: nobody; "
        f"{going}: the namespace is being moved from one deployment to another: ask again; "
        "nothing was done with the others"
    )
    assert set(await counts(engine, written)) == {"current"}
    async with engine.database.transaction() as connection:
        for one in ids:
            await MoveStore(connection).open(one)


async def test_what_stops_on_the_way_says_which_were_switched(
    engine, operator, another, written, beside
):
    other = await another(HashEmbedder(96, "other"))
    slugs = (written.namespace.slug, beside.namespace.slug, await a_namespace(engine, operator))

    def report(progress: MoveProgress) -> None:
        if progress.namespace == beside.namespace.slug:
            raise Unavailable("the model is away")

    with pytest.raises(Unavailable) as stopped:
        await re_embed(other, ReembedRequest(slugs), noon, report)

    assert stopped.value.detail == (
        f"{slugs[1]}: the model is away\n"
        f"switched to the model: {slugs[0]}\n"
        f"not switched: {slugs[1]}, {slugs[2]}; called again, it goes on from there"
    )
    assert set(await counts(engine, written)) == {"current", "former"}


async def test_no_more_texts_a_second_than_asked_for(engine, another, written):
    steps: list[int] = []
    other = await another(HashEmbedder(96, "paced"))
    request = ReembedRequest((written.namespace.slug,), rate=200.0)
    began = asyncio.get_running_loop().time()

    def look(progress: MoveProgress) -> None:
        steps.append(progress.done)

    [move] = await re_embed(other, request, noon, look)

    # A lower bound holds on the slowest machine.
    taken = asyncio.get_running_loop().time() - began
    assert taken >= (move.embedded - AT_ONCE) / 200.0
    assert steps == sorted(steps)
    assert steps[-1] == move.embedded


async def test_a_model_wider_than_a_column_holds_is_refused(another, written):
    wide = await another(HashEmbedder(16_001, "wide"))

    with pytest.raises(Rejected) as caught:
        await moved(wide, written)

    assert (caught.value.field, caught.value.limit) == ("model", 16_000)


async def test_a_new_namespace_is_not_begun_with_a_model_that_no_namespace_is_of(
    migrated_database: Callable[[], str],
):
    url = migrated_database()
    right, wrong = an_engine(url), an_engine(url, embedder=HashEmbedder(96, "other"))
    for one in (right, wrong):
        await register_model(one, NOON)
    token = await ensure_operator_key(right, None, NOON)
    assert token is not None
    key = await authenticate(right, str(token), NOON)
    first, second = [await a_call(right, key, await a_namespace(right, key)) for _ in range(2)]

    await remembered(right, first, a_draft())
    [refused] = await remember_or_fault(wrong, second)
    move = await moved(wrong, second)
    taken = await remember_or_fault(wrong, await a_call(wrong, key, second.namespace.slug))

    assert isinstance(refused, MemoryFault)
    assert refused.kind == "model_mismatch"
    assert (
        "is new, and no namespace of this database has the model of this server, other (float32)"
        in refused.detail
    )
    assert (move.state, move.embedded) == (MoveState.SWITCHED, 0)
    assert not isinstance(taken[0], MemoryFault)
    for one in (right, wrong):
        await one.close()


async def remember_or_fault(engine: Engine, call: Call) -> list[object]:
    try:
        return list(await remember(engine, call, [a_draft()]))
    except MemoryFault as fault:
        return [fault]


async def test_every_column_of_vectors_is_known_to_the_move(engine):
    known = {(one.table, one.column) for one in VECTOR_COLUMNS}
    typed = """
        SELECT c.relname AS name, a.attname AS col FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
        JOIN pg_type t ON t.oid = a.atttypid
        WHERE t.typname = ANY(:types) AND NOT a.attisdropped AND NOT c.relispartition
    """
    pointing = """
        SELECT DISTINCT c.relname AS name FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid
        WHERE k.contype = 'f' AND k.confrelid = 'embedding_model'::regclass
          AND NOT c.relispartition
    """
    async with engine.database.transaction() as connection:
        found = await connection.execute(text(typed), {"types": list(TYPES)})
        columns = {(row.name, row.col) for row in found}
        tables = {row.name for row in await connection.execute(text(pointing))}

    assert columns
    assert columns <= known
    assert tables == {table for table, _ in known} | POINTS.keys()

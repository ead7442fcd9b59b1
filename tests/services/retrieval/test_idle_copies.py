"""A copy that nobody asks is followed all the same: erased words leave it."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Unavailable
from memory.retrieval.resident import namespaces
from memory.retrieval.resident.namespaces import ResidentNamespaces
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Key
from memory.tenancy.service import delete_namespace, request_deletion
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, a_namespace, an_engine
from tests.storage.steps import a_call, remembered, served

SECRET = "the vault opens with the name of the dog"


@dataclass
class Pair:
    """A process that holds a copy, and one that writes; a namespace with two memories."""

    holder: Engine
    writer: Engine
    operator: Key
    slug: str

    @property
    def copies(self) -> ResidentNamespaces:
        assert isinstance(self.holder.resident, ResidentNamespaces)
        return self.holder.resident

    def held(self) -> str:
        """All words of all copies."""
        rows = [row for copy in self.copies._copies.values() for row in copy.rows._rows]
        return " ".join(one.lesson for one in rows if one is not None)


@pytest.fixture
async def pair(database_url: str, operator: Key) -> AsyncGenerator[Pair]:
    holder, writer = an_engine(database_url), an_engine(database_url, resident=None)
    holder.resident = ResidentNamespaces(holder.database, 64 * 1024**2)
    for one in (holder, writer):
        await register_model(one, NOON)
    slug = await a_namespace(writer, operator)
    drafts = (a_draft(lesson=SECRET), a_draft(lesson="close the window when it rains"))
    await remembered(writer, await a_call(writer, operator, slug), *drafts)
    await served(holder, await a_call(holder, operator, slug), task=TaskDraft("rain"))
    yield Pair(holder, writer, operator, slug)
    for one in (holder, writer):
        await one.close()


async def the_secret(pair: Pair) -> Erasure:
    call = await a_call(pair.writer, pair.operator, pair.slug)
    async with pair.writer.database.transaction(call.namespace.id) as connection:
        query = text("SELECT memory_id FROM memory_version WHERE lesson = :lesson")
        found = await connection.scalar(query, {"lesson": SECRET})
    assert found is not None
    return Erasure(memory_id=found)


async def test_words_that_another_process_erased_leave_an_idle_copy(pair: Pair):
    assert SECRET in pair.held()
    call = await a_call(pair.writer, pair.operator, pair.slug)
    await erase(pair.writer, call, await the_secret(pair))

    await pair.copies.renew()

    assert "window" in pair.held()
    assert SECRET not in pair.held()


async def test_a_copy_whose_bank_has_no_new_version_is_not_read_again(pair: Pair):
    before = pair.copies.counts.follows

    await pair.copies.renew()

    assert pair.copies.counts.follows == before


async def test_the_copy_of_a_deleted_namespace_goes(pair: Pair):
    call = await a_call(pair.writer, pair.operator, pair.slug)
    confirmation = (await request_deletion(pair.writer, call)).confirmation
    await delete_namespace(pair.writer, call, confirmation)

    await pair.copies.renew()

    assert pair.copies.gauges()["resident_namespaces"] == 0


async def test_following_idle_copies_does_not_keep_them_from_eviction(pair: Pair):
    other = await a_namespace(pair.writer, pair.operator)
    await remembered(
        pair.writer, await a_call(pair.writer, pair.operator, other), a_draft(lesson="sweep")
    )
    await served(pair.holder, await a_call(pair.holder, pair.operator, other))
    call = await a_call(pair.writer, pair.operator, pair.slug)
    await erase(pair.writer, call, await the_secret(pair))
    await pair.copies.renew()

    assert next(iter(pair.copies._copies)) == call.namespace.id


async def test_copies_of_a_database_out_of_reach_are_thrown_away_in_the_end(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    async def unreachable(*_: object) -> object:
        raise Unavailable("the database cannot be reached", code="database", retry_after=1)

    monkeypatch.setattr(pair.holder.database, "exchange", unreachable)
    with pytest.raises(MemoryFault):
        await pair.copies.renew()
    assert SECRET in pair.held()

    monkeypatch.setattr(namespaces, "UNSEEN", -1.0)
    with pytest.raises(MemoryFault):
        await pair.copies.renew()
    assert pair.held() == ""

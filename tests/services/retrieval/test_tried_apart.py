"""A memory that an admin asks to be tried apart is left out more often, as its receipts say."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from memory.belief.inclusion import APART, toss
from memory.curation.apart import (
    ABSENCES,
    find_apart_trial,
    start_apart_trial,
    stop_apart_trial,
)
from memory.curation.service import edit_memory
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden
from memory.kernel.paging import Page
from memory.memories.entities import MemoryEdit
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import AuditFilter
from memory.tenancy.service import audit_trail
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import Caller
from tests.services.retrieval.test_coins_in_retrievals import P, asked, coined
from tests.storage.steps import remembered

__all__ = ["coined"]


async def two(engine: Engine, call):
    lessons = ("start from the base rate of the month", "look out of the window first")
    return await remembered(engine, call, *(a_draft(lesson=one) for one in lessons))


async def inclusions(engine: Engine, call, key: str = "rain"):
    task = TaskDraft("a forecast of rain", key=key, category="weather")
    answer = await asked(engine, call, task=task)
    return {item.memory_id: item for item in answer.receipt.items}


async def test_its_receipts_have_the_probability_by_which_its_coin_fell(
    engine: Engine, calls: Caller, coined: str
):
    first, second = await two(engine, await calls(coined))
    before = await inclusions(engine, await calls(coined))
    trial = await start_apart_trial(engine, await calls(coined), first.id)
    assert trial.absences == ABSENCES

    fell: list[bool] = []
    for number in range(12):
        call = await calls(coined)
        items = await inclusions(engine, call, f"rain {number}")
        tried = items[first.id]
        assert tried.inclusion == APART
        assert items[second.id].inclusion == before[second.id].inclusion == pytest.approx(P)
        u = toss(call.namespace.secret, f"task rain {number}", first.id)
        assert tried.left_out == (u >= APART)
        assert tried.contender
        fell.append(tried.left_out)
    assert set(fell) == {True, False}


async def test_it_ends_with_enough_outcomes_without_it_or_in_time_or_when_it_is_stopped(
    engine: Engine, calls: Caller, coined: str
):
    first, other = await two(engine, await calls(coined))
    trial = await start_apart_trial(engine, await calls(coined), first.id)
    await start_apart_trial(engine, await calls(coined), other.id)
    found = await find_apart_trial(engine, await calls(coined), first.id)
    assert found is not None
    assert (found.until, found.outcomes_left) == (trial.until, ABSENCES)

    await stop_apart_trial(engine, await calls(coined), other.id)
    items = await inclusions(engine, await calls(coined))
    assert (items[first.id].inclusion, items[other.id].inclusion) == (APART, pytest.approx(P))

    late = replace(await calls(coined), now=trial.until)
    assert await find_apart_trial(engine, late, first.id) is None

    call = await calls(coined)
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("UPDATE memory_weight SET n_absent = :n WHERE memory_id = :id"),
            {"n": ABSENCES, "id": first.id},
        )
    assert await find_apart_trial(engine, await calls(coined), first.id) is None
    with pytest.raises(Conflict, match="not being tried apart"):
        await stop_apart_trial(engine, await calls(coined), first.id)


async def test_who_asks_is_in_the_audit_and_what_cannot_be_tried_is_refused(
    engine: Engine, calls: Caller, coined: str
):
    first, second = await two(engine, await calls(coined))
    with pytest.raises(Forbidden):
        await start_apart_trial(engine, await calls(coined, agents=("solver",)), first.id)
    await start_apart_trial(engine, await calls(coined), first.id)
    with pytest.raises(Conflict, match="already"):
        await start_apart_trial(engine, await calls(coined), first.id)
    call = await calls(coined)
    settings = replace(call.namespace.settings, coins=False)
    plain = replace(call, namespace=replace(call.namespace, settings=settings))
    with pytest.raises(Conflict, match="no coins"):
        await start_apart_trial(engine, plain, second.id)
    await edit_memory(engine, call, second.id, MemoryEdit(pinned=True), 1)
    with pytest.raises(Conflict, match="unpin it first"):
        await start_apart_trial(engine, await calls(coined), second.id)

    trail = await audit_trail(engine, await calls(coined), AuditFilter(), Page(10))
    [asked_for] = [one for one in trail.items if one.action == "memory.try_apart"]
    assert asked_for.subject == str(first.id)
    assert asked_for.detail["outcomes_without_it"] == ABSENCES

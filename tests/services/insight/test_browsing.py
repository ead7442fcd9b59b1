"""The bank is looked through: every match exactly once, by its own numbers, now and as it was."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.insight.browse import browse_memories, list_neighbours
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Listed, Page
from memory.memories.browse_entities import BankMoment, Browse, ListedMemory, MemoryCriteria, Sort
from memory.memories.entities import ExperienceDraft, Kind, MemoryEdit, Status, Trust, Visibility
from memory.memories.service import get_memory
from memory.meta_guidelines.entities import MetaGuidelineDraft
from memory.meta_guidelines.service import add
from memory.outcomes.applying import apply_now
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call, Role
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import remembered, reported, served

ALL = Page(200)


def drafts(n: int, **changes: object) -> list[ExperienceDraft]:
    return [a_draft(lesson=f"rain lesson {i}", learned_at=NOON, **changes) for i in range(n)]


async def found(
    engine: Engine, call: Call, page: Page = ALL, **asked: object
) -> list[ListedMemory]:
    return list((await listed(engine, call, page, **asked)).items)


async def listed(
    engine: Engine, call: Call, page: Page = ALL, **asked: object
) -> Listed[ListedMemory]:
    around = {name: asked.pop(name) for name in ("sort", "descending", "moment") if name in asked}
    browse = Browse(MemoryCriteria(**asked), **around)  # pyright: ignore[reportArgumentType] - by name
    return await browse_memories(engine, call, browse, page)


async def paged(
    engine: Engine, call: Call, size: int, **asked: object
) -> tuple[list[UUID], list[int]]:
    """Ids of all pages in order, and the total that each page told."""
    ids: list[UUID] = []
    totals: list[int] = []
    after: tuple[object, ...] | None = None
    while True:
        part = await listed(engine, call, Page(size, after), **asked)
        ids += [row.id for row in part.items]
        totals.append(part.total)
        if part.next is None:
            return ids, totals
        after = part.next


async def laid(engine: Engine, call: Call, n: int) -> list[UUID]:
    return [made.id for made in await remembered(engine, call, *drafts(n))]


async def weigh(engine: Engine, call: Call, weights: Sequence[float], ids: Sequence[UUID]) -> None:
    """Write beliefs straight into the rows: mean = (weight - 1) / 10."""
    async with engine.database.transaction(call.namespace.id) as connection:
        for memory_id, weight in zip(ids, weights, strict=False):
            await connection.execute(
                text("UPDATE memory_weight SET state = :s, touched_at = :t WHERE memory_id = :id"),
                {"s": [(weight - 1) * 0.1, 0.01], "t": NOON, "id": memory_id},
            )


ORDERS = [{"sort": sort, "descending": down} for sort in Sort for down in (False, True)]


@pytest.mark.parametrize("order", ORDERS)
async def test_a_status_that_begins_after_row_100_is_found_whole_in_any_order(
    engine: Engine, calls: Caller, past: str, order: Mapping[str, object]
):
    ids = await laid(engine, await calls(past), 137)
    call = await calls(past)
    await weigh(engine, call, [0.2 + (i * 37 % 137) / 100 for i in range(137)], ids)
    late = ids[101:137:3]
    for memory_id in late:
        await change_status(engine, call, memory_id, StatusChange("suspend"))

    paused, totals = await paged(engine, call, 5, status=Status.SUSPENDED, **order)
    every, whole = await paged(engine, call, 50, **order)

    assert sorted(paused) == sorted(late)
    assert len(set(paused)) == len(paused)
    assert set(totals) == {len(late)}
    assert sorted(every) == sorted(ids)
    assert set(whole) == {137}


@pytest.mark.parametrize("order", ORDERS)
async def test_what_is_erased_between_pages_costs_no_other_memory_its_place(
    engine: Engine, calls: Caller, past: str, order: Mapping[str, object]
):
    ids = await laid(engine, await calls(past), 30)
    call = await calls(past)
    await weigh(engine, call, [0.5 + (i * 7 % 30) / 30 for i in range(30)], ids)
    first = await listed(engine, call, Page(10), **order)
    seen = [row.id for row in first.items]
    unseen = next(memory_id for memory_id in ids if memory_id not in seen)
    for gone in (seen[-1], unseen):  # the row that the cursor names, and one that would come
        await erase(engine, call, Erasure(memory_id=gone))

    rest = await listed(engine, call, Page(200, first.next), **order)

    after = [row.id for row in rest.items]
    assert sorted(seen + after) == sorted(set(ids) - {unseen})
    assert (first.total, rest.total) == (30, 28)


async def test_weights_are_those_that_the_memory_itself_tells_and_they_order_the_list(
    engine: Engine, calls: Caller, past: str
):
    ids = await laid(engine, await calls(past), 12)
    call = await calls(past)
    await weigh(engine, call, [1.9, 0.1, 1.3, 0.7], ids)

    rows = await found(engine, call, sort=Sort.WEIGHT, descending=True)

    told = [(await get_memory(engine, call, row.id)).effective_weight for row in rows]
    assert [row.effective_weight for row in rows] == told == sorted(told, reverse=True)
    assert [row.id for row in rows[:2]] == [ids[0], ids[2]]


async def test_a_range_of_weights_holds_its_bounds_and_nothing_beyond(
    engine: Engine, calls: Caller, past: str
):
    ids = await laid(engine, await calls(past), 6)
    call = await calls(past)
    await weigh(engine, call, [0.1, 0.5, 0.75, 1.25, 1.5, 2.0], ids)

    rows = await listed(engine, call, min_weight=0.5, max_weight=1.25)
    low = await found(engine, call, max_weight=0.2)

    assert [row.id for row in rows.items] == ids[1:4]
    assert rows.total == 3
    assert [row.id for row in low] == ids[:1]


async def test_pages_by_weight_do_not_move_while_weights_age(
    engine: Engine, calls: Caller, wall: str
):
    made = await remembered(
        engine, await calls(wall), *[replace(d, learned_at=None) for d in drafts(9)]
    )
    ids = [one.id for one in made]
    call = await calls(wall)
    await weigh(engine, call, [0.5 + i / 10 for i in range(9)], ids)
    first = await listed(engine, call, Page(4), sort=Sort.WEIGHT)
    later = replace(call, now=NOON + 90 * DAY)  # half of every weight has gone by then

    rest = await listed(engine, later, Page(9, first.next), sort=Sort.WEIGHT)

    assert [row.id for row in [*first.items, *rest.items]] == ids


async def test_a_text_is_found_in_any_case_and_its_signs_are_no_pattern(
    engine: Engine, calls: Caller, past: str
):
    await remembered(
        engine,
        await calls(past),
        a_draft(lesson="Never above 100% of the Base Rate", learned_at=NOON),
        a_draft(lesson="never above 1000 of it", learned_at=NOON),
        a_draft(situation="snake_case names", lesson="look twice", learned_at=NOON),
        a_draft(situation="snakeXcase names", lesson="look once", learned_at=NOON),
    )
    call = await calls(past)

    base = await found(engine, call, text="bAsE rAtE")
    percent = await found(engine, call, text="100%")
    underscore = await found(engine, call, text="snake_case")

    assert [len(rows) for rows in (base, percent, underscore)] == [1, 1, 1]
    assert underscore[0].lesson == "look twice"


async def test_kind_trust_category_and_agent_narrow_the_list_together(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(
        engine,
        call,
        a_draft(learned_at=NOON),
        a_draft(learned_at=NOON, agent="other", category=CategoryName("sport")),
    )
    place = {"category": "sport", "learned_at": NOON}
    await add(engine, call, MetaGuidelineDraft("other", "it failed", "check", **place))  # pyright: ignore[reportArgumentType] - fields by name
    call = await calls(past)

    sport = await found(engine, call, category="sport", agent="other")
    metas = await found(engine, call, category="sport", kind=Kind.META_GUIDELINE)
    nobody = await listed(engine, call, category="sport", agent="solver")
    trusted = await found(engine, call, trust=Trust.TRUSTED)

    assert {row.kind for row in sport} == {Kind.EXPERIENCE, Kind.META_GUIDELINE}
    assert [row.kind for row in metas] == [Kind.META_GUIDELINE]
    assert (nobody.items, nobody.total, nobody.next) == ([], 0, None)
    assert {row.trust for row in trusted} <= {Trust.TRUSTED}


async def test_one_agents_private_memories_are_not_in_anothers_list(
    engine: Engine, calls: Caller, past: str
):
    own = await calls(past, agents=("solver",))
    await remembered(engine, own, a_draft(learned_at=NOON, visibility=Visibility.AGENT))
    reader = await calls(past, role=Role.READER)

    seen = await listed(engine, await calls(past, agents=("solver",)))
    unseen = await listed(engine, reader)
    weighed = await listed(engine, reader, sort=Sort.WEIGHT)

    assert (seen.total, unseen.total, weighed.total) == (1, 0, 0)


async def test_served_and_credited_are_counted_and_order_the_list(
    engine: Engine, calls: Caller, past: str
):
    await remembered(
        engine,
        await calls(past),
        a_draft(situation="nothing alike", learned_at=NOON, lesson="other"),
        a_draft(learned_at=NOON),
    )
    call = await calls(past)
    answer = await served(engine, call, as_of=NOON, purpose="paired", k=1)
    await reported(engine, call, answer, without={"reward": 0.1}, known_at=NOON + DAY)
    await apply_now(engine, await calls(past))

    rows = await found(engine, await calls(past), sort=Sort.CREDITED, descending=True)
    again = await found(engine, await calls(past), sort=Sort.SERVED, descending=True)

    assert [(row.served, row.credited) for row in rows] == [(1, 1), (0, 0)]
    assert [row.id for row in again] == [row.id for row in rows]


async def test_the_bank_of_a_moment_has_the_texts_weights_and_statuses_of_then(
    engine: Engine, calls: Caller, past: str
):
    [early] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    call = await calls(past)
    answer = await served(engine, call, as_of=NOON, purpose="paired")
    await reported(engine, call, answer, without={"reward": 0.1}, known_at=NOON + DAY)
    await apply_now(engine, await calls(past))
    await remembered(engine, await calls(past), a_draft(lesson="later", learned_at=NOON + 2 * DAY))
    edit = MemoryEdit(lesson="said better", known_at=NOON + 3 * DAY)
    await edit_memory(engine, await calls(past), early.id, edit, 1)
    await change_status(engine, await calls(past), early.id, StatusChange("suspend"))
    call = await calls(past)

    [then] = await found(engine, call, moment=BankMoment(as_of=NOON + DAY / 2))
    now = {row.id: row for row in await found(engine, call)}
    gone = await listed(
        engine, call, status=Status.SUSPENDED, moment=BankMoment(as_of=NOON + DAY / 2)
    )

    assert (then.lesson, then.version) == ("start from the base rate of the month", 1)
    assert (then.effective_weight, then.status) == (1.0, Status.ACTIVE)
    assert (now[early.id].lesson, now[early.id].status) == ("said better", Status.SUSPENDED)
    assert now[early.id].effective_weight > 1.0
    assert len(now) == 2
    assert gone.total == 0


async def test_a_memory_that_was_merged_since_was_living_before(
    engine: Engine, calls: Caller, past: str
):
    lesson = (
        "start from the base rate of the month and move only a little unless the pressure has "
        "fallen for some days and the wind has turned to the west in the meantime"
    )
    drafts = (
        a_draft(lesson=lesson, learned_at=NOON),
        a_draft(lesson=lesson.upper(), learned_at=NOON + DAY),
    )
    await remembered(engine, await calls(past), *drafts)
    call = await calls(past)
    await run_job(engine, call, "merge", JobRequest(NOON + 40 * DAY))
    call = await calls(past)

    then = await found(
        engine, call, moment=BankMoment(bank_version=call.namespace.bank_version - 1)
    )
    now = await found(engine, call, moment=BankMoment(bank_version=call.namespace.bank_version))

    assert [row.status for row in then] == [Status.ACTIVE, Status.ACTIVE]
    assert {row.status for row in now} == {Status.ACTIVE, Status.RETIRED}


async def test_a_past_bank_is_not_sorted_by_counts_of_now():
    with pytest.raises(Rejected):
        Browse(sort=Sort.SERVED, moment=BankMoment(bank_version=1))


async def test_a_range_that_holds_nothing_is_refused():
    with pytest.raises(Rejected):
        MemoryCriteria(min_weight=1.5, max_weight=0.5)


async def test_neighbours_are_every_other_memory_the_nearest_first(
    engine: Engine, calls: Caller, past: str
):
    made = await remembered(
        engine,
        await calls(past),
        a_draft(situation="a forecast of rain in a dry month", lesson="one", learned_at=NOON),
        a_draft(situation="a forecast of rain in a wet month", lesson="two", learned_at=NOON),
        a_draft(situation="who wins the cup", lesson="three", learned_at=NOON),
    )

    near = await list_neighbours(engine, await calls(past), made[0].id)

    assert [one.memory_id for one in near] == [made[1].id, made[2].id]
    assert 1.0 > near[0].cosine > near[1].cosine

"""A category is renamed: what is learned in it stays, and whatever says its name follows."""

from uuid import UUID

import pytest

from memory.constraints import taxonomy
from memory.constraints.renaming import CategoryRename, rename_category
from memory.constraints.taxonomy_entities import Branch, Subcategory, TaxonomyDraft
from memory.kernel.errors import Conflict, Forbidden, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Page
from memory.memories.filter_entities import RetrievalFilter
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tasks.service import list_categories
from memory.tenancy.entities import AuditFilter
from memory.tenancy.service import audit_trail
from tests.fixtures.builders import a_draft
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

WEATHER = Branch(
    "weather",
    "rain sun clouds",
    related=("markets",),
    subcategories=(Subcategory("storms", "thunder lightning"),),
)
MARKETS = Branch("markets", "price of shares and bonds", related=("weather",))


async def brought(engine, call, *branches):
    draft = TaxonomyDraft(branches or (WEATHER, MARKETS), allow_new=True)
    return await taxonomy.replace_taxonomy(engine, call, draft, None)


async def id_of(engine, call, name, parent=None) -> UUID:
    listed = await list_categories(engine, call, Page(200))
    return next(one.id for one in listed.items if (one.name, one.parent) == (name, parent))


async def renamed(engine, call, name, new, parent=None):
    category_id = await id_of(engine, call, name, parent)
    return await rename_category(engine, call, category_id, CategoryRename(new))


async def test_what_was_learned_stays_and_is_served_under_the_new_name(engine, calls, wall):
    call = await calls(wall)
    [lesson] = await remembered(engine, call, a_draft(category=CategoryName("weather")))
    task = TaskDraft("will it rain?", category="weather")
    receipt = await served(engine, call, task=task, purpose="paired")
    await reported(engine, call, receipt, reward=0.9, without={"reward": 0.2})
    await apply_now(engine, await calls(wall))
    before, _ = await live_and_rebuilt(engine, await calls(wall))

    changed = await renamed(engine, await calls(wall), "weather", "climate")

    call = await calls(wall)
    assert (changed.name, changed.parent) == ("climate", None)
    assert await live_and_rebuilt(engine, call) == (before, before)
    assert (await get_memory(engine, call, lesson.id)).category == "climate"
    # The copy that this process holds of the bank finds it by the new name and not by the old.
    asked = TaskDraft("will it rain again?", category="climate")
    again = await served(
        engine, call, task=asked, purpose="paired", filter=RetrievalFilter(category="climate")
    )
    assert [item.memory_id for item in again.receipt.items] == [lesson.id]
    [event] = (await audit_trail(engine, call, AuditFilter("category.rename"), Page(5))).items
    assert (event.detail["from"], event.detail["to"]) == ("weather", "climate")


async def test_the_taxonomy_follows_in_a_version_of_its_own(engine, calls, wall):
    call = await calls(wall)
    await brought(engine, call)

    await renamed(engine, await calls(wall), "weather", "climate")
    await renamed(engine, await calls(wall), "storms", "gales", "climate")

    found = await taxonomy.get_taxonomy(engine, await calls(wall))
    assert found.version == 3
    assert [(one, below) for one, below, _ in found.names()] == [
        ("climate", None),
        ("climate", "gales"),
        ("markets", None),
    ]
    assert found.categories[1].related == ("climate",)
    # None of these is a category that a taxonomy gave up: nothing is to be moved.
    versions = await taxonomy.list_taxonomies(engine, await calls(wall))
    listed = await list_categories(engine, await calls(wall), Page(200))
    tops = {one.name for one in listed.items if one.parent is None}
    assert taxonomy.displaced(tops, versions) == set()
    routed = await served(
        engine, await calls(wall), task=TaskDraft("thunder and lightning in the clouds")
    )
    assert routed.receipt.category_name == CategoryName("climate", "gales")


async def test_a_name_that_is_taken_given_up_or_general_is_refused(engine, calls, wall):
    call = await calls(wall)
    await brought(engine, call)
    await renamed(engine, await calls(wall), "weather", "climate")
    await remembered(engine, call, a_draft(category=CategoryName("books")))
    await remembered(engine, call, a_draft(category=CategoryName("general")))

    with pytest.raises(Conflict) as taken:
        await renamed(engine, await calls(wall), "books", "markets")
    with pytest.raises(Rejected, match="called books already"):
        await renamed(engine, await calls(wall), "books", "books")
    with pytest.raises(Rejected, match="does not name weather"):
        await renamed(engine, await calls(wall), "books", "weather")
    for names in (("general", "other"), ("books", "general"), ("books", "General")):
        with pytest.raises(Rejected, match="`general` collects what fits no category"):
            await renamed(engine, await calls(wall), *names)

    assert taken.value.kind == "category_exists"
    assert (await taxonomy.get_taxonomy(engine, await calls(wall))).version == 2


async def test_only_managers_rename_and_only_what_is_there(engine, calls, wall):
    call = await calls(wall)
    await remembered(engine, call, a_draft(category=CategoryName("books")))
    category_id = await id_of(engine, call, "books")

    agent = await calls(wall, agents=("solver",))
    with pytest.raises(Forbidden):
        await rename_category(engine, agent, category_id, CategoryRename("novels"))
    with pytest.raises(NotFound):
        await rename_category(engine, call, new_id(), CategoryRename("novels"))
    assert await id_of(engine, call, "books") == category_id

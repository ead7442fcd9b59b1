"""A taxonomy is versioned data that tasks are routed by, on two levels."""

from dataclasses import replace

import numpy as np
import pytest

from memory.constraints import taxonomy
from memory.constraints.taxonomy import shipped
from memory.constraints.taxonomy_entities import Branch, Subcategory, TaxonomyDraft
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.kernel.errors import Forbidden, Rejected, StaleEdit
from memory.kernel.paging import Page
from memory.memories.service import get_memory
from memory.memories.store.centroids import CentroidStore
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tasks.service import add_task, list_categories
from memory.tasks.store.actors import ActorStore
from memory.tenancy.namespace_settings import Taxonomy
from memory.tenancy.service import open_namespace
from tests.fixtures.builders import a_draft
from tests.storage.steps import remembered, served

WEATHER = Branch(
    "weather",
    "rain sun clouds",
    related=("markets",),
    subcategories=(Subcategory("storms", "thunder lightning"), Subcategory("heat", "hot summer")),
)
MARKETS = Branch("markets", "price of shares and bonds")


def a_taxonomy(*branches: Branch, allow_new: bool = True) -> TaxonomyDraft:
    return TaxonomyDraft(branches or (WEATHER, MARKETS), allow_new)


async def brought(engine, call, *branches, **changes):
    return await taxonomy.replace_taxonomy(engine, call, a_taxonomy(*branches, **changes), None)


def an_ask_of(text: str) -> dict[str, object]:
    return {"task": TaskDraft(text)}


async def test_until_one_is_brought_the_shipped_one_is_shown(engine, calls, wall):
    call = await calls(wall)

    shown = await taxonomy.get_taxonomy(engine, call)

    assert (shown.version, shown.recorded_at) == (0, None)
    assert {"algebra", "debugging", "elections", "web tasks"} <= {
        name for first, second, _ in shown.names() for name in (first, second)
    }
    assert await taxonomy.list_taxonomies(engine, call) == []
    assert (await list_categories(engine, call, Page(200))).total == 0


async def test_what_is_brought_makes_its_categories_and_the_next_version(engine, calls, wall):
    call = await calls(wall)

    first = await brought(engine, call)
    second = await brought(engine, call, WEATHER, replace(MARKETS, description="shares"))

    assert (first.version, second.version) == (1, 2)
    made = await list_categories(engine, call, Page(200))
    assert sorted((one.parent or "", one.name) for one in made.items) == [
        ("", "markets"),
        ("", "weather"),
        ("weather", "heat"),
        ("weather", "storms"),
    ]
    assert await taxonomy.list_taxonomies(engine, call) == [first, second]
    assert await taxonomy.get_taxonomy(engine, call) == second


async def test_the_same_again_makes_no_version(engine, calls, wall):
    call = await calls(wall)

    first = await brought(engine, call)

    assert await brought(engine, await calls(wall)) == first
    assert len(await taxonomy.list_taxonomies(engine, call)) == 1


async def test_who_saw_an_older_version_is_told(engine, calls, wall):
    call = await calls(wall)
    draft = a_taxonomy(MARKETS)

    await taxonomy.replace_taxonomy(engine, call, a_taxonomy(), 0)
    with pytest.raises(StaleEdit):
        await taxonomy.replace_taxonomy(engine, call, draft, 0)

    assert (await taxonomy.replace_taxonomy(engine, call, draft, 1)).version == 2


async def test_only_managers_bring_a_taxonomy(engine, calls, wall):
    with pytest.raises(Forbidden):
        await brought(engine, await calls(wall, agents=("solver",)))


async def test_without_new_ones_an_unknown_category_is_refused(engine, calls, wall):
    await brought(engine, await calls(wall), allow_new=False)
    call = await calls(wall)
    assert call.namespace.settings.categories is Taxonomy.CLOSED

    for name, below in (("cooking", None), ("weather", "snow")):
        draft = TaskDraft("how?", category=name, subcategory=below)
        with pytest.raises(Rejected) as refused:
            await add_task(engine, call, draft, None)
        assert refused.value.kind == "category_unknown"
    known = TaskDraft("how?", category="weather", subcategory="heat")
    assert (await add_task(engine, call, known, None))[1]

    await brought(engine, call, allow_new=True)
    reopened = await open_namespace(engine, call.key, wall)
    assert reopened.settings.categories is Taxonomy.OPEN


async def test_a_task_is_routed_to_what_describes_it_on_both_levels(engine, calls, wall):
    await brought(engine, await calls(wall))
    call = await calls(wall)

    storm = await served(engine, call, **an_ask_of("thunder and lightning in the clouds"))
    share = await served(engine, call, **an_ask_of("what price will the shares have"))

    assert storm.receipt.category_name == CategoryName("weather", "storms")
    assert share.receipt.category_name == CategoryName("markets")
    assert storm.receipt.confidence > 0


async def test_an_experience_without_a_category_is_routed_on_both_levels(engine, calls, wall):
    await brought(engine, await calls(wall))
    call = await calls(wall)

    [made] = await remembered(
        engine, call, a_draft(category=None, situation="a hot day in summer with sun")
    )

    stored = await get_memory(engine, call, made.id)
    assert (stored.category, stored.subcategory) == ("weather", "heat")


async def centres(engine, call):
    async with engine.database.transaction(call.namespace.id) as connection:
        actors = ActorStore(connection, call.namespace.id)
        store = CentroidStore(connection, call.namespace.id)
        names = await actors.names()
        tops = await store.tops(engine.model.id)
        found = dict(tops)
        for one in tops:
            found |= await store.below(one, engine.model.id)
    return {names[one]: centre for one, centre in found.items()}


async def test_a_description_counts_as_one_example_beside_the_experiences(engine, calls, wall):
    call = await calls(wall)
    await brought(engine, call)
    described = await centres(engine, call)
    [vector] = await engine.embedder.embed(["a hot day"])

    heat = CategoryName("weather", "heat")
    await remembered(engine, call, a_draft(category=heat, situation="a hot day"))
    moved = await centres(engine, call)
    await brought(engine, await calls(wall))
    again = await centres(engine, call)

    for name in ("weather", "heat"):
        assert moved[name] == pytest.approx((described[name] + vector.vector) / 2)
        assert again[name] == pytest.approx(moved[name])
    assert moved["storms"] == pytest.approx(described["storms"])


async def test_erasure_counts_centroids_anew_and_leaves_descriptions(engine, calls, wall):
    call = await calls(wall)
    await brought(engine, call)
    described = await centres(engine, call)
    heat = CategoryName("weather", "heat")
    drafts = [a_draft(category=heat, situation=text, lesson=text) for text in ("a b c", "hot d")]
    kept, gone = await remembered(engine, call, *drafts)

    await erase(engine, call, Erasure(memory_id=gone.id))
    left = await centres(engine, call)
    await erase(engine, call, Erasure(memory_id=kept.id))
    alone = await centres(engine, call)

    [vector] = await engine.embedder.embed(["a b c"])
    assert left["heat"] == pytest.approx((described["heat"] + vector.vector) / 2, abs=1e-3)
    assert alone.keys() == described.keys()
    assert np.stack([alone[name] for name in sorted(alone)]) == pytest.approx(
        np.stack([described[name] for name in sorted(described)])
    )


async def test_what_is_described_no_more_has_only_its_experiences(engine, calls, wall):
    call = await calls(wall)
    await brought(engine, call)

    await brought(engine, call, Branch("weather", "rain sun clouds"))

    assert set(await centres(engine, call)) == {"weather"}


async def test_the_shipped_taxonomy_is_brought_like_any_other(engine, calls, wall):
    call = await calls(wall)

    made = await taxonomy.replace_taxonomy(
        engine, call, taxonomy.shipped_draft(allow_new=True), None
    )

    assert made.version == 1
    assert made.categories == shipped().categories
    assert (await list_categories(engine, call, Page(200))).total == len(list(made.names()))

"""What lies in no category of the taxonomy is routed anew by a job, where that is clear."""

from sqlalchemy import text

from memory.constraints import taxonomy
from memory.constraints.competence import list_competences
from memory.constraints.service import add_trajectories
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft
from memory.constraints.trajectory_entities import TrajectoryDraft
from memory.kernel.paging import Page
from memory.memories.service import get_memory
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tasks.service import add_task, get_task
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON
from tests.fixtures.verification_steps import job
from tests.storage.steps import remembered

WEATHER = Branch("weather", "rain sun clouds thunder")
MARKETS = Branch("markets", "price of shares and bonds")
GENERAL = CategoryName("general")
TOMORROW = NOON + DAY


async def brought(engine, call, *branches, allow_new=True):
    return await taxonomy.replace_taxonomy(engine, call, TaxonomyDraft(branches, allow_new), None)


async def a_lesson(engine, call, category, **changes):
    situation = "rain and thunder"
    draft = a_draft(situation=situation, category=CategoryName(category), **changes)
    [made] = await remembered(engine, call, draft)
    return made.id


async def category_of(engine, call, memory_id):
    return (await get_memory(engine, call, memory_id)).category


async def given_a_vector(engine, call, task):
    """As admission writes it."""
    [vector] = await engine.embedder.embed([task.text])
    values = {"task": task.id, "ns": call.namespace.id, "model": engine.model.id}
    statement = text("INSERT INTO task_embedding VALUES (:task, :model, :ns, :vector)")
    async with engine.database.transaction(call.namespace.id) as connection:
        words = {"vector": str(vector.vector.tolist())}
        await connection.execute(statement, values | words)


async def test_what_lies_in_general_is_moved_and_told(engine, operator, calls, wall):
    call = await calls(wall)
    await brought(engine, call, WEATHER, MARKETS)
    clear = await a_lesson(engine, call, "general", lesson="take an umbrella")
    [far] = await remembered(
        engine, call, a_draft(situation="quartz", category=GENERAL, lesson="plugh")
    )
    before = (await calls(wall)).namespace.bank_version

    dry = await job(engine, operator, wall, "relabel", TOMORROW, dry=True)
    assert await category_of(engine, call, clear) == "general"
    done = await job(engine, operator, wall, "relabel", TOMORROW)

    assert dry.result == done.result
    [change] = done.result["changes"]
    assert (change["memory_id"], change["change"]) == (str(clear), "moved")
    assert (change["from"], change["into"]) == ("general", ["weather"])
    assert done.result["unclear"] == 1
    assert await category_of(engine, call, clear) == "weather"
    assert await category_of(engine, call, far.id) == "general"
    assert (await calls(wall)).namespace.bank_version == before + 1
    async with engine.database.transaction(call.namespace.id) as connection:
        fed = text("SELECT subjects FROM change WHERE kind = 'relabelled'")
        assert list(await connection.scalars(fed)) == [[str(clear)]]


async def test_a_category_that_its_caller_named_stands_in_an_open_taxonomy(
    engine, operator, calls, wall
):
    call = await calls(wall)
    await brought(engine, call, WEATHER, MARKETS)
    own = await a_lesson(engine, call, "umbrellas")

    done = await job(engine, operator, wall, "relabel", TOMORROW)

    assert (done.result["examined"], done.result["changes"]) == (0, [])
    assert await category_of(engine, call, own) == "umbrellas"


async def test_what_a_closed_taxonomy_does_not_name_is_moved(engine, operator, calls, wall):
    call = await calls(wall)
    own = await a_lesson(engine, call, "umbrellas")
    await brought(engine, call, WEATHER, MARKETS, allow_new=False)

    await job(engine, operator, wall, "relabel", TOMORROW)

    assert await category_of(engine, call, own) == "weather"


async def test_what_an_earlier_version_named_is_moved(engine, operator, calls, wall):
    call = await calls(wall)
    await brought(engine, call, Branch("sky", "rain sun clouds thunder"), MARKETS)
    old = await a_lesson(engine, call, "sky")
    await brought(engine, await calls(wall), WEATHER, MARKETS)

    await job(engine, operator, wall, "relabel", TOMORROW)

    assert await category_of(engine, call, old) == "weather"


async def test_where_another_memory_says_the_same_nothing_is_moved(engine, operator, calls, wall):
    call = await calls(wall)
    await brought(engine, call, WEATHER, MARKETS)
    await a_lesson(engine, call, "weather")
    twin = await a_lesson(engine, call, "general")

    dry = await job(engine, operator, wall, "relabel", TOMORROW, dry=True)
    done = await job(engine, operator, wall, "relabel", TOMORROW)

    [change] = done.result["changes"]
    assert change["change"] == "kept: another memory there says the same"
    assert dry.result == done.result
    assert await category_of(engine, call, twin) == "general"


async def test_a_task_takes_the_competence_of_its_runs_with_it(engine, operator, calls, wall):
    call = await calls(wall)
    await brought(engine, call, WEATHER, MARKETS)
    task, _ = await add_task(engine, call, TaskDraft("will there be rain and thunder"), None)
    await add_task(engine, call, TaskDraft("without a vector"), None)
    await given_a_vector(engine, call, task)
    run = TrajectoryDraft("solver", reward=1.0, verifier="test", task_id=task.id)
    await add_trajectories(engine, call, [run])

    done = await job(engine, operator, wall, "relabel", TOMORROW)

    [change] = done.result["changes"]
    assert (change["task_id"], change["into"]) == (str(task.id), ["weather"])
    assert done.result["without_vector"] == 1
    assert (await get_task(engine, call, task.id)).category == "weather"
    [counted] = (await list_competences(engine, call, None, Page(9))).items
    assert (counted.category, counted.n) == ("weather", 1)


async def test_in_an_empty_namespace_there_is_nothing_to_do(engine, operator, wall):
    done = await job(engine, operator, wall, "relabel", TOMORROW)

    assert (done.result["examined"], done.result["changes"]) == (0, [])

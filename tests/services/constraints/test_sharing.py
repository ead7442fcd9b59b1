"""Between declared families experience travels once it is proven, and from strong to weak only."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.constraints.contrast_entities import PairClass
from memory.constraints.service import add_trajectories
from memory.constraints.trajectory_entities import Step, TrajectoryDraft
from memory.kernel.engine import Engine
from memory.memories.entities import ExperienceDraft
from memory.outcomes.applying import apply_now
from memory.tasks.entities import AgentDraft, CategoryName, TaskDraft
from memory.tasks.service import add_agent, add_task
from memory.tenancy.entities import Call, Key, Role
from tests.fixtures.builders import a_draft
from tests.fixtures.constraint_builders import Pair, a_task, contrasted
from tests.fixtures.engine import DAY, NOON, Caller, a_namespace
from tests.fixtures.verification_steps import a_candidate, claimed, memory_of, tried
from tests.storage.steps import a_call, remembered, reported, served

WEATHER = CategoryName("weather")
FAMILIES = (("north", "northern"), ("cousin", "northern"), ("south", "southern"), ("new", None))
READERS = [name for name, _ in FAMILIES]


@pytest.fixture(params=["belief", "paper"])
async def shared(engine: Engine, operator: Key, request: pytest.FixtureRequest) -> str:
    """A namespace with agents of two families and one that declares none."""
    slug = await a_namespace(engine, operator, policy=request.param)
    await declare(engine, await a_call(engine, operator, slug))
    return slug


async def declare(engine: Engine, call: Call) -> None:
    for name, family in FAMILIES:
        await add_agent(engine, call, AgentDraft(name, family=family))


async def an_experience(engine: Engine, calls: Caller, slug: str, **changes: object) -> UUID:
    """What `north` reports of itself."""
    mine = await calls(slug, role=Role.AGENT, agents=("north",), verifies="test")
    [kept] = await remembered(engine, mine, a_draft(agent="north", **changes))
    return kept.id


async def a_vouched_one(engine: Engine, calls: Caller, slug: str, **changes: object) -> UUID:
    """What `north` learned, by the word of who manages the bank."""
    draft = a_draft(agent="north", verification="test", **changes)
    [kept] = await remembered(engine, await calls(slug), draft)
    return kept.id


async def sees(
    engine: Engine, call: Call, memory_id: UUID, readers: Sequence[str] = READERS, **how: object
) -> list[str]:
    """Which of the agents are served it."""
    found: list[str] = []
    for reader in readers:
        answer = await served(engine, call, agent=reader, **how)
        if memory_id in {item.memory_id for item in answer.receipt.items}:
            found.append(reader)
    return found


async def test_what_one_agent_reports_stays_in_its_family_and_with_who_declares_none(
    engine: Engine, calls: Caller, shared: str
):
    memory_id = await an_experience(engine, calls, shared)

    assert await sees(engine, await calls(shared), memory_id) == ["north", "cousin", "new"]


async def test_of_an_agent_without_a_family_nothing_is_held_back(
    engine: Engine, calls: Caller, shared: str
):
    [kept] = await remembered(engine, await calls(shared), a_draft(agent="new"))

    assert await sees(engine, await calls(shared), kept.id) == READERS


async def test_where_no_two_families_are_declared_nothing_is_held_back(
    engine: Engine, calls: Caller, wall: str
):
    for name in ("north", "south"):
        await add_agent(engine, await calls(wall), AgentDraft(name, family="northern"))
    memory_id = await an_experience(engine, calls, wall)

    assert await sees(engine, await calls(wall), memory_id) == READERS


@pytest.mark.parametrize(
    "changes",
    [{"pinned": True}, *({"verification": source} for source in ("test", "judge"))],
    ids=str,
)
async def test_what_its_writer_says_of_it_proves_nothing(
    engine: Engine, calls: Caller, shared: str, changes: dict[str, object]
):
    memory_id = await an_experience(engine, calls, shared, **changes)

    assert "south" not in await sees(engine, await calls(shared), memory_id)


async def test_what_a_manager_vouches_for_reaches_the_other_family(
    engine: Engine, calls: Caller, shared: str
):
    memory_id = await a_vouched_one(engine, calls, shared)

    assert await sees(engine, await calls(shared), memory_id) == READERS


@pytest.mark.parametrize(("tester", "reaches"), [("cousin", True), ("north", False)])
async def test_trials_prove_it_unless_its_author_ran_them(
    engine: Engine, operator: Key, calls: Caller, wall: str, tester: str, *, reaches: bool
):
    await declare(engine, await calls(wall))
    ticket = await a_candidate(engine, operator, wall, agent="north")
    mine = await calls(wall, role=Role.AGENT, agents=(tester,))
    held = await claimed(engine, mine, tester)
    await tried(engine, mine, held, 0.9, agent=tester)
    memory = await memory_of(engine, await calls(wall), ticket)

    assert memory.status == "active"
    assert ("south" in await sees(engine, await calls(wall), memory.id)) is reaches


@pytest.mark.parametrize(
    ("pair", "reaches"),
    [(PairClass.DISCORDANT, True), (PairClass.BOTH_RIGHT, False), (PairClass.UNKNOWN, False)],
)
async def test_what_agents_parted_on_reaches_the_other_family(
    engine: Engine, calls: Caller, shared: str, pair: PairClass, *, reaches: bool
):
    call = await calls(shared)
    task = await a_task(
        engine, call, "a forecast of rain in June", category="weather", subcategory=None
    )
    memory_id = await an_experience(engine, calls, shared, task_id=task.id)
    await contrasted(engine, call, task, Pair(("north", "south"), pair_class=pair))

    assert ("south" in await sees(engine, await calls(shared), memory_id)) is reaches


async def test_a_contrast_that_supports_nothing_proves_nothing(
    engine: Engine, calls: Caller, shared: str
):
    call = await calls(shared)
    task = await a_task(
        engine, call, "a forecast of rain in June", category="weather", subcategory=None
    )
    memory_id = await an_experience(engine, calls, shared, task_id=task.id)
    await contrasted(engine, call, task, Pair(("north", "south")))
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE contrast SET supports = false"))

    assert "south" not in await sees(engine, await calls(shared), memory_id)


def ran(agent: str, *rewards: float, **changes: object) -> list[TrajectoryDraft]:
    """Verified runs of an agent, one a reward."""
    return [
        TrajectoryDraft(
            agent=agent,
            task=TaskDraft(f"a forecast {n}", key=f"forecast {n}", category=WEATHER.name),
            steps=(Step("looked at the sky"),),
            reward=reward,
            verifier="test",
            **changes,  # pyright: ignore[reportArgumentType] - fields by name
        )
        for n, reward in enumerate(rewards)
    ]


@pytest.mark.parametrize(
    ("runs", "reaches"),
    [
        ({"north": (1, 1, 1), "south": (1, 0, 0)}, True),
        ({"north": (1, 0, 0), "south": (1, 1, 1)}, False),
        ({"north": (1, 0), "south": (0, 1)}, True),
        # Who never ran stands at the mean of the category.
        ({"south": (1, 1)}, True),
        ({"south": (1, 1), "cousin": (0, 0)}, False),
        ({"south": (0, 0), "cousin": (1, 1)}, True),
        ({}, True),
    ],
    ids=str,
)
async def test_it_travels_from_the_stronger_to_the_weaker_alone(
    engine: Engine,
    calls: Caller,
    shared: str,
    runs: dict[str, tuple[float, ...]],
    *,
    reaches: bool,
):
    memory_id = await a_vouched_one(engine, calls, shared)
    for agent, rewards in runs.items():
        await add_trajectories(engine, await calls(shared), ran(agent, *rewards))

    found = await sees(engine, await calls(shared), memory_id)

    assert ("south" in found) is reaches
    assert {"north", "cousin", "new"} <= set(found)


async def test_strength_in_another_category_bars_nothing(
    engine: Engine, calls: Caller, shared: str
):
    memory_id = await a_vouched_one(engine, calls, shared, category=CategoryName("gardening"))
    await add_trajectories(engine, await calls(shared), ran("south", 1, 1) + ran("north", 0, 0))

    assert "south" in await sees(engine, await calls(shared), memory_id)


async def test_in_the_past_it_was_proven_when_that_was_known(
    engine: Engine, operator: Key, calls: Caller, past: str
):
    call = await calls(past)
    await declare(engine, call)
    task = await a_task_known(engine, call)
    draft: ExperienceDraft = a_draft(agent="north", task_id=task, learned_at=NOON)
    mine = await calls(past, role=Role.AGENT, agents=("north",))
    [kept] = await remembered(engine, mine, draft)
    async with engine.database.transaction(call.namespace.id) as connection:
        for statement in PARTED:
            values = {"ns": call.namespace.id, "task": task, "at": NOON + 5 * DAY}
            await connection.execute(text(statement), values)
    better = ran("south", 1, 1, known_at=NOON + 8 * DAY)
    worse = ran("cousin", 0, 0, known_at=NOON + 8 * DAY)
    await add_trajectories(engine, await calls(past), better + worse)
    answer = await served(engine, await calls(past), as_of=NOON, purpose="paired")
    halves = {"without": {"reward": 0.1}, "known_at": NOON + 9 * DAY}
    await reported(engine, await calls(past), answer, **halves)
    await apply_now(engine, await calls(past))

    async def seen(days: int) -> bool:
        at = {"as_of": NOON + days * DAY, "readers": ["south"]}
        return await sees(engine, await calls(past), kept.id, **at) == ["south"]  # pyright: ignore[reportArgumentType] - by name

    assert [await seen(days) for days in (1, 6, 8, 10)] == [False, True, False, False]


async def a_task_known(engine: Engine, call: Call) -> UUID:
    draft = TaskDraft("a forecast of rain in June", category=WEATHER.name)
    task, _ = await add_task(engine, call, draft, NOON)
    return task.id


PARTED = (
    """
    INSERT INTO trajectory (id, namespace_id, task_id, agent_id, steps, verifier, known_at,
        recorded_at)
    SELECT gen_random_uuid(), :ns, :task, id, '[]', 'none', :at, :at FROM agent
    WHERE namespace_id = :ns AND name IN ('north', 'south')
    """,
    """
    INSERT INTO contrast (id, namespace_id, task_id, preferred_id, unpreferred_id, pair_class,
        self_contrast, supports, state, known_at, recorded_at)
    SELECT gen_random_uuid(), :ns, :task, min(id::text)::uuid, max(id::text)::uuid, 'discordant',
        false, true, 'distilled', :at, :at FROM trajectory WHERE task_id = :task
    """,
)

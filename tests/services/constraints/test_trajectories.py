"""Runs are kept with their verdicts, and what they say of their agents is counted."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from memory.constraints.competence import list_competences
from memory.constraints.service import add_trajectories, get_trajectory, list_trajectories
from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.trajectories import TrajectoryStore
from memory.constraints.trajectory_entities import Step, TrajectoryDraft, TrajectoryFilter
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.kernel.errors import Conflict, NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Page
from memory.tasks.entities import TaskDraft
from memory.tasks.service import add_task, list_tasks
from tests.fixtures.engine import DAY, NOON
from tests.storage.neighbours import fill
from tests.storage.steps import a_call

PAGE = Page(200)


def a_run(**changes: object) -> TrajectoryDraft:
    fields: dict[str, object] = {
        "agent": "solver",
        "steps": (Step("count the fence posts", "thought"), Step("there are 5")),
        "result": "5",
        "reward": 1.0,
        "verifier": "test",
    }
    if not {"task", "task_id"} & changes.keys():
        fields["task"] = TaskDraft("how many posts?", key="posts", category="maths")
    return TrajectoryDraft(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name


async def kept(engine, call, *drafts: TrajectoryDraft) -> list[UUID]:
    return [answer.id for answer in await add_trajectories(engine, call, list(drafts))]


async def test_a_run_is_read_back_as_it_came(engine, calls, wall):
    call = await calls(wall)
    [run_id] = await kept(engine, call, a_run(cost=2.5))

    run = await get_trajectory(engine, call, run_id)

    assert [(step.text, step.kind) for step in run.steps] == [
        ("count the fence posts", "thought"),
        ("there are 5", None),
    ]
    assert (run.result, run.reward, run.verifier, run.cost) == ("5", 1.0, "test", 2.5)
    assert (run.agent, run.task_key, run.category) == ("solver", "posts", "maths")
    assert (run.right, run.key_id) == (True, call.key.id)


async def test_runs_of_one_task_are_grouped_and_told_once_for_pairing(engine, calls, wall):
    call = await calls(wall)
    drafts = [a_run(agent=name) for name in ("a", "b")]
    ids = await kept(engine, call, *drafts, a_run(task=TaskDraft("another")))

    async with engine.database.transaction(call.namespace.id) as connection:
        store = TrajectoryStore(connection, call.namespace.id)
        first = await store.get(ids[0])
        group = await store.of_task(first.task_id)
        fresh = await store.unpaired(2)
        await store.mark_paired(ids[:2], NOON)
        left = await store.unpaired(9)

    assert [run.id for run in group] == ids[:2]
    assert [run.id for run in fresh] == ids[:2]
    assert [run.id for run in left] == ids[2:]


async def test_a_list_leaves_the_words_out_and_says_how_many_steps(engine, calls, wall):
    call = await calls(wall)
    ids = await kept(engine, call, a_run(), a_run(agent="other", verifier="none", reward=None))

    listed = await list_trajectories(engine, call, TrajectoryFilter(agent="solver"), PAGE)
    unverified = TrajectoryFilter(verifier="none", category="maths")
    other = await list_trajectories(engine, call, unverified, PAGE)

    [brief] = listed.items
    assert (listed.total, brief.id, brief.n_steps) == (1, ids[0], 2)
    assert not hasattr(brief, "steps")
    assert not hasattr(brief, "result")
    assert [(brief.id, brief.right) for brief in other.items] == [(ids[1], None)]


async def test_a_bad_run_does_not_lose_the_others(engine, calls, wall):
    call = await calls(wall, agents=("solver",), verifies="test")

    answers = await add_trajectories(
        engine,
        call,
        [a_run(), a_run(agent="another"), a_run(task_id=uuid4()), a_run(known_at=NOON)],
    )

    kinds = [getattr(answer, "kind", None) for answer in answers]
    assert kinds == [None, "forbidden", "task_not_found", "rejected"]
    assert (await list_trajectories(engine, call, TrajectoryFilter(), PAGE)).total == 1


async def test_one_key_is_one_task_however_its_runs_come(engine, calls, wall):
    call = await calls(wall)
    first, second = await add_trajectories(engine, call, [a_run(), a_run(agent="b")])
    other = TaskDraft("another question", key="posts", category="maths")
    third, fourth = await add_trajectories(engine, call, [a_run(agent="c"), a_run(task=other)])

    assert isinstance(fourth, Conflict)
    assert {one.task_id for one in (first, second, third)} == {first.task_id}
    [task] = (await list_tasks(engine, call, None, PAGE)).items
    assert (task.key, task.text) == ("posts", "how many posts?")


async def test_a_task_of_another_namespace_is_not_found(engine, calls, wall, past):
    task, _ = await add_task(engine, await calls(past), TaskDraft("secret"), NOON)

    [answer] = await add_trajectories(engine, await calls(wall), [a_run(task_id=task.id)])

    assert isinstance(answer, NotFound)


async def test_only_verified_runs_count_for_competence(engine, calls, wall):
    call = await calls(wall)
    verdicts = [(1.0, "test"), (0.0, "human"), (0.5, "judge"), (1.0, "self"), (None, "none")]
    await kept(engine, call, *[a_run(reward=reward, verifier=who) for reward, who in verdicts])

    [found] = (await list_competences(engine, call, None, PAGE)).items

    assert (found.agent, found.category, found.n, found.mean) == ("solver", "maths", 3, 0.5)
    assert found.competence == pytest.approx(0.5)


async def test_competence_is_drawn_to_the_mean_of_the_category(engine, calls, wall):
    call = await calls(wall)
    await kept(engine, call, *[a_run(agent="strong")] * 3, a_run(agent="weak", reward=0.0))

    found = (await list_competences(engine, call, None, PAGE)).items

    strong, weak = (3 + 5 * 0.75) / 8, (0 + 5 * 0.75) / 6
    assert [(row.agent, row.competence) for row in found] == [
        ("strong", pytest.approx(strong)),
        ("weak", pytest.approx(weak)),
    ]


async def test_competence_of_an_earlier_time_knows_only_what_was_known(engine, calls, past):
    call = await calls(past)
    await kept(engine, call, a_run(known_at=NOON), a_run(known_at=NOON + 2 * DAY, reward=0.0))

    async def n_and_mean(as_of):
        found = (await list_competences(engine, call, as_of, PAGE)).items
        return [(row.n, row.mean) for row in found]

    assert await n_and_mean(NOON - timedelta(microseconds=1)) == []
    assert await n_and_mean(NOON) == [(1, 1.0)]
    assert await n_and_mean(NOON + 2 * DAY) == await n_and_mean(None) == [(2, 0.5)]


async def test_counting_anew_gives_what_was_counted_on_the_way(engine, calls, wall):
    call = await calls(wall)
    for agent, reward in (("a", 0.25), ("b", 1.0), ("a", 0.5)):
        await kept(engine, call, a_run(agent=agent, reward=reward))

    async with engine.database.transaction(call.namespace.id) as connection:
        store = CompetenceStore(connection, call.namespace.id)
        before = await store.all()
        await store.recount()
        assert sorted(before.values()) == [(1, 1.0), (2, 0.75)]
        assert await store.all() == before


async def test_no_run_is_lost_or_counted_twice_while_others_count_anew(engine, calls, wall):
    call = await calls(wall)

    async def count_anew() -> None:
        async with engine.database.transaction(call.namespace.id) as connection:
            store = CompetenceStore(connection, call.namespace.id)
            await store.hold(alone=True)
            await store.recount()

    runs = [kept(engine, call, a_run(agent=f"agent {n % 3}")) for n in range(12)]
    await asyncio.gather(*runs, *[count_anew() for _ in range(6)])

    found = (await list_competences(engine, call, None, PAGE)).items
    assert [(row.agent, row.n, row.mean) for row in found] == [
        (f"agent {n}", 4, 1.0) for n in range(3)
    ]


@pytest.mark.parametrize("by", ["agent", "key", "task"])
async def test_erased_runs_lose_their_words_and_keep_their_numbers(engine, calls, wall, by):
    manager = await calls(wall)
    agents = await calls(wall, agents=("solver",), verifies="test")
    task, _ = await add_task(engine, manager, TaskDraft("how many posts?"), None)
    [mine] = await kept(engine, agents, a_run(task_id=task.id))
    [other] = await kept(engine, manager, a_run(agent="other", task=TaskDraft("else")))
    erasures = {
        "agent": Erasure(agent="solver"),
        "key": Erasure(key_id=agents.key.id),
        "task": Erasure(task_id=task.id),
    }

    counted = await erase(engine, manager, erasures[by])

    assert counted.erased.trajectories == 1
    erased = await get_trajectory(engine, manager, mine)
    assert (erased.steps, erased.result, erased.erased_at) == ((), None, NOON)
    assert (erased.reward, erased.right) == (1.0, True)
    assert (await get_trajectory(engine, manager, other)).text.startswith("count")
    assert len((await list_competences(engine, manager, None, PAGE)).items) == 2


@pytest.mark.parametrize("by", ["agent", "key", "task"])
async def test_what_came_of_erased_runs_loses_their_support(engine, operator, past, by):
    await fill(engine, operator, past)
    call = await a_call(engine, operator, past)
    [brief] = (await list_trajectories(engine, call, TrajectoryFilter(), PAGE)).items
    mark = "UPDATE trajectory SET key_id = :key"
    support = """
        INSERT INTO constraint_support (id, namespace_id, memory_id, contrast_id, task_id, verifier,
            counts, known_at, recorded_at)
        SELECT :key, c.namespace_id, m.id, c.id, c.task_id, 'test', true, c.known_at, c.recorded_at
        FROM contrast c, (SELECT id FROM memory WHERE kind = 'experience' LIMIT 1) m
    """
    vectors = text("SELECT count(*) FROM task_embedding")
    said = """UPDATE contrast SET rejected = '[{"text": "the posts", "reason": "literal"}]'"""
    async with engine.database.transaction(call.namespace.id) as connection:
        key = new_id()
        await connection.execute(text(mark), {"key": key})
        await connection.execute(text(said))
        await connection.execute(text(support), {"key": key})
        known = await connection.scalar(vectors)
    erasures = {
        "agent": Erasure(agent=brief.agent),
        "key": Erasure(key_id=key),
        "task": Erasure(task_id=brief.task_id),
    }

    await erase(engine, call, erasures[by])

    async with engine.database.transaction(call.namespace.id) as connection:
        mine = text("SELECT counts FROM constraint_support WHERE id = :key")
        [counts] = await connection.scalars(mine, {"key": key})
        [rejected] = await connection.scalars(text("SELECT rejected FROM contrast"))
        left = await connection.scalar(vectors)
    assert (counts, rejected) == (False, [])
    assert (known, left) == (1, 0 if by == "task" else 1)


async def test_a_run_of_an_erased_task_is_refused(engine, calls, wall):
    call = await calls(wall)
    [run_id] = await kept(engine, call, a_run())
    task_id = (await get_trajectory(engine, call, run_id)).task_id
    await erase(engine, call, Erasure(task_id=task_id))

    [answer] = await add_trajectories(engine, call, [a_run(task_id=task_id)])

    assert getattr(answer, "kind", None) == "task_not_found"

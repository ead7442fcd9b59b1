"""Runs and taxonomies by the Python client, against the server itself."""

from datetime import UTC, datetime

import httpx
import pytest
from memlift_client import AsyncMemLift, MemLiftProblem

from tests.fixtures.http import BASE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BRANCHES = [
    {
        "name": "weather",
        "description": "rain and sun",
        "subcategories": [{"name": "storms", "description": "thunder"}],
    }
]


@pytest.fixture
async def memory(app, operator_token, replay):
    transport = httpx.ASGITransport(app)
    async with AsyncMemLift(BASE, operator_token, replay, transport=transport) as opened:
        yield opened


def a_run(**changes: object) -> dict[str, object]:
    return {
        "agent": "solver",
        "task": {"text": "Will it rain?", "key": "rain", "category": "weather"},
        "steps": [{"text": "look up", "kind": "action"}],
        "reward": 1.0,
        "verifier": "human",
        "known_at": NOON,
    } | changes


async def test_runs_are_kept_one_by_one_and_together_and_read_back(memory):
    kept = await memory.add_trajectory(**a_run())
    good, bad = await memory.add_all_trajectories([a_run(agent="other"), a_run(reward=2.0)])

    whole = await memory.get_trajectory(kept.id)
    listed = await memory.list_trajectories(agent="other")

    assert (kept.right, good.value.task_id) == (True, kept.task_id)
    assert (bad.status, bad.problem.field) == (422, "reward")
    assert [(step.text, step.kind) for step in whole.steps] == [("look up", "action")]
    assert [(one.id, one.n_steps) for one in listed.items] == [(good.value.id, 1)]
    assert not any(hasattr(one, "steps") for one in listed.items)
    assert {one.id async for one in memory.each_trajectory(limit=1)} == {kept.id, good.value.id}
    fares = [one async for one in memory.each_competence(limit=1)]
    assert [(one.agent, one.n, one.competence) for one in fares] == [
        ("other", 1, 1.0),
        ("solver", 1, 1.0),
    ]


async def test_a_taxonomy_is_brought_over_the_version_that_was_seen(memory):
    shown = await memory.taxonomy()
    brought = await memory.bring_taxonomy(shown.version, categories=BRANCHES, allow_new=True)

    with pytest.raises(MemLiftProblem) as stale:
        await memory.bring_taxonomy(shown.version, default=True)

    assert stale.value.problem.code == "stale_edit"
    assert brought.categories[0].subcategories[0].name == "storms"
    assert await memory.taxonomy() == brought
    assert (await memory.list_taxonomies()).items == (brought,)

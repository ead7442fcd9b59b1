"""Bodies of runs that differ in one step, and requests that must succeed."""

from typing import Any

import httpx
from api_builders import inside

QUESTION = "Ann buys 6 boxes of 8 pens at 3 dollars a box. How much does she pay in all?"
RIGHT = [
    {"text": "Each box costs 3 dollars."},
    {"text": "The total price is 6 * 3 = 18 dollars."},
]
WRONG = [
    {"text": "There are 6 * 8 = 48 pens."},
    {"text": "The total price is 48 * 3 = 144 dollars."},
]


def a_run(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "agent": "alpha",
        "task": {"text": QUESTION, "key": "pens", "category": "mathematics"},
        "steps": RIGHT,
        "reward": 1.0,
        "verifier": "test",
    }
    given = body | changes
    # A task of the caller's has its key; the question stays, for the steps are about it.
    if isinstance(task := changes.get("task"), dict):
        given["task"] = task | {"text": QUESTION, "category": "mathematics"}
    return {name: value for name, value in given.items() if value is not None}


async def kept(client: httpx.AsyncClient, slug: str, **changes: object) -> str:
    """The id of a run that was just brought."""
    answer = await client.post(inside(slug, "/trajectories"), json=a_run(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def two_runs(client: httpx.AsyncClient, slug: str, **changes: object) -> list[str]:
    """A right run of one agent and a wrong one of another."""
    return [
        await kept(client, slug, **changes),
        await kept(client, slug, **{"agent": "beta", "steps": WRONG, "reward": 0.0} | changes),
    ]


async def contrasted(client: httpx.AsyncClient, slug: str, ids: list[str]) -> list[dict[str, Any]]:
    """The contrasts of these runs, new or not."""
    answer = await client.post(inside(slug, "/contrasts"), json={"trajectory_ids": ids})
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["contrasts"]

"""The preset `paper-strict` against the formulas of Live-Evo, over HTTP, bit for bit.

`paper_vectors.json` holds a played sequence: for each task the rewards of both runs, what was
served, and every weight after it. It is written by the plain code below (arXiv 2602.02369: score
w · sim, threshold tau = .3, w + r_on - r_off within [.1, 2], everything starts at 1), and read by
nothing else.
"""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from api_builders import an_ask, inside, problem, remembered, retrieved

VECTORS = Path(__file__).with_name("paper_vectors.json")
TAU, K, FLOOR, CEILING, START = 0.3, 5, 0.1, 2.0, 1.0
LESSONS = {
    "month": "will it rain in june in the north",
    "radar": "will it rain in june tomorrow",
    "wind": "will it rain in the wind",
    "copy": "will it rain in the wind ?",
    "snow": "will it snow in june",
    "sea": "will the sea rise in june in the north",
    "hail": "hail in june in the north",
    "zebra": "how many stripes a zebra has",
}
TASKS = (
    "will it rain in june in the north",
    "will it rain in the wind in june",
    "will it snow in june in the north",
)


def a_sequence() -> list[dict[str, object]]:
    """Pairs with rewards of three digits, ties, pairs of 0 and 1, and runs without an off-run."""
    chance = random.Random(69)  # both bounds are reached
    steps: list[dict[str, object]] = []
    for number in range(20):
        on, off = (round(chance.random(), 3) for _ in range(2))
        if number % 7 == 3:
            off = on
        if number % 7 == 5:
            on, off = float(chance.random() < 0.5), float(chance.random() < 0.5)
        task = TASKS[number % len(TASKS)]
        steps.append({"task": task, "on": on, "off": None if number % 6 == 4 else off})
    return steps


def plainly(similarity: Mapping[str, Mapping[str, float]]) -> list[dict[str, object]]:
    """The sequence by the paper's formulas and nothing else; of equal scores the older first."""
    weights = dict.fromkeys(LESSONS, START)
    played: list[dict[str, object]] = []
    for step in a_sequence():
        near = similarity[str(step["task"])]
        scores = {name: weights[name] * near[name] for name in LESSONS}
        order = sorted(LESSONS, key=lambda name: -scores[name])
        served = [name for name in order if scores[name] >= TAU][:K]
        if step["off"] is not None:
            for name in served:
                moved = weights[name] + (step["on"] - step["off"])  # pyright: ignore[reportOperatorIssue] - numbers
                weights[name] = min(CEILING, max(FLOOR, moved))
        scored = {name: scores[name] for name in served}
        played.append(step | {"served": served, "scores": scored, "weights": dict(weights)})
    return played


@pytest.fixture
async def strict(client: httpx.AsyncClient) -> str:
    """A fresh namespace with the preset, and nothing else said."""
    slug = f"n{uuid4().hex[:12]}"
    made = await client.post("/v1/namespaces", json={"slug": slug, "policy": "paper-strict"})
    assert made.status_code == 201, made.text
    return slug


async def the_bank(client: httpx.AsyncClient, slug: str) -> dict[str, str]:
    """The lessons by name: of one task all, by one author, two of them look-alikes."""
    task = await client.post(inside(slug, "/tasks"), json={"text": "a week of weather"})
    assert task.status_code == 201, task.text
    about = {"task_id": task.json()["id"]}
    return {
        name: await remembered(client, slug, situation=text, lesson=f"look at {text}", **about)
        for name, text in LESSONS.items()
    }


async def similarities(
    client: httpx.AsyncClient, slug: str, ids: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Of each task to each lesson: cosines are the embedder's, and no part of the rule."""
    names = {memory_id: name for name, memory_id in ids.items()}
    found: dict[str, dict[str, float]] = {}
    for text in TASKS:
        more = {"purpose": "preview", "gates": "off", "k": 64}
        body = an_ask(task={"text": text, "category": "weather"}, **more)
        answer = await client.post(inside(slug, "/retrievals"), json=body)
        assert answer.status_code == 200, answer.text
        memories = answer.json()["memories"]
        near = {names[one["memory_id"]]: one["similarity"] for one in memories}
        found[text] = {name: near[name] for name in LESSONS}
    return found


async def test_the_service_plays_the_vectors_bit_for_bit(client, strict):
    ids = await the_bank(client, strict)
    near = await similarities(client, strict, ids)
    expected = plainly(near)
    names = {memory_id: name for name, memory_id in ids.items()}
    vectors = json.loads(VECTORS.read_text())
    assert vectors == expected

    for step in vectors:
        task = {"text": step["task"], "category": "weather"}
        paired = "act" if step["off"] is None else "paired"
        answer = await retrieved(client, strict, task=task, purpose=paired, arm="auto")
        scored = {names[one["memory_id"]]: one["score"] for one in answer["memories"]}
        assert list(scored) == step["served"]
        assert scored == step["scores"]
        body = {"reward": step["on"]}
        body |= {} if step["off"] is None else {"without": {"reward": step["off"]}}
        path = inside(strict, f"/retrievals/{answer['retrieval_id']}/outcome")
        assert (await client.post(path, json=body)).status_code == 202
        await client.post(inside(strict, "/outcomes/apply"), json={})
        listed = await client.get(inside(strict, "/weights"), params={"limit": 100})
        weights = {one["memory_id"]: one["effective_weight"] for one in listed.json()["items"]}
        assert {names[one]: weight for one, weight in weights.items()} == step["weights"]

    assert any(w == CEILING for step in vectors for w in step["weights"].values())
    assert any(w == FLOOR for step in vectors for w in step["weights"].values())
    rebuilt = await client.post(inside(strict, "/jobs/rebuild/runs"), json={})
    assert rebuilt.json()["result"]["exact"] is True


async def test_it_reflects_on_each_pair_that_gained_nothing_and_weighs_no_meta_guideline(
    client, strict
):
    ids = await the_bank(client, strict)
    rewards = [(0.5, 0.5), (0.4, 0.9), (0.9, 0.4), (0.3, 0.31)]
    for on, off in rewards:
        task = {"text": TASKS[0], "category": "weather"}
        answer = await retrieved(client, strict, task=task, purpose="paired", arm="auto")
        path = inside(strict, f"/retrievals/{answer['retrieval_id']}/outcome")
        await client.post(path, json={"reward": on, "without": {"reward": off}})
    await client.post(inside(strict, "/outcomes/apply"), json={})

    run = await client.post(inside(strict, "/jobs/reflect/runs"), json={})

    changes = run.json()["result"]["changes"]
    assert [one["change"] for one in changes] == ["created"] * 3
    answer = await retrieved(client, strict, task={"text": TASKS[0], "category": "weather"})
    guide = answer["meta_guideline"]
    assert guide is not None
    path = inside(strict, f"/retrievals/{answer['retrieval_id']}/outcome")
    await client.post(path, json={"reward": 0.1, "without": {"reward": 0.9}})
    await client.post(inside(strict, "/outcomes/apply"), json={})
    events = await client.get(inside(strict, f"/experiences/{guide['memory_id']}/weight"))
    assert (events.json()["credited"], events.json()["effective_weight"]) == (0, 0.8)
    assert len(ids) == len(LESSONS)


async def test_its_settings_are_the_papers_and_no_others_are_taken(client, strict):
    made = await client.get(f"/v1/namespaces/{strict}")
    settings = made.json()["settings"]
    changed = await client.patch(
        f"/v1/namespaces/{strict}",
        json={"settings": {"control_rate": 0.1}},
        headers={"If-Match": made.headers["etag"]},
    )
    other = await client.post(
        "/v1/namespaces",
        json={"slug": f"{strict}-b", "policy": "paper-strict", "settings": {"score_floor": 0.2}},
    )
    heavy = await client.post(
        inside(strict, "/experiences"),
        json={"agent": "a", "situation": "rain", "lesson": "look at the month", "weight": 0.8},
    )

    assert (settings["raw_gate"], settings["score_floor"]) == (0.0, TAU)
    assert (settings["control_rate"], settings["slot_rate"], settings["coins"]) == (0.0, 0.0, False)
    assert problem(changed) == (422, "rejected", "settings.control_rate")
    assert problem(other) == (422, "rejected", "settings.score_floor")
    assert other.json()["limit"] == [TAU]
    assert problem(heavy) == (422, "rejected", "weight")


async def test_what_if_asks_the_preset_too(client, namespace):
    found = await client.post(inside(namespace, "/what-if"), json={"policy": "paper-strict"})

    assert found.status_code == 200, found.text
    assert found.json()["policy"] == "paper-strict"

"""The taxonomy over HTTP: bring it, read it, and what it does to labels."""

import pytest
from api_builders import a_task, an_ask, an_experience, inside, problem, retrieved

WEATHER = {
    "name": "weather",
    "description": "rain sun clouds",
    "related": ["markets"],
    "subcategories": [{"name": "storms", "description": "thunder lightning"}],
}
MARKETS = {"name": "markets", "description": "price of shares and bonds"}


def a_taxonomy(**changes: object) -> dict[str, object]:
    return {"categories": [WEATHER, MARKETS], "allow_new": True} | changes


async def brought(client, slug, **changes):
    answer = await client.put(inside(slug, "/taxonomy"), json=a_taxonomy(**changes))
    assert answer.status_code == 200, answer.text
    return answer


async def test_a_taxonomy_is_brought_read_and_kept_in_versions(client, namespace):
    path = inside(namespace, "/taxonomy")
    shipped = await client.get(path)

    first = await brought(client, namespace)
    second = await brought(client, namespace, allow_new=False)

    assert (shipped.json()["version"], shipped.headers["etag"]) == (0, '"0"')
    assert shipped.json()["recorded_at"] is None
    assert (first.json()["version"], second.headers["etag"]) == (1, '"2"')
    assert first.json()["categories"][0] == WEATHER
    assert first.json()["categories"][1] == MARKETS | {"related": [], "subcategories": []}
    versions = (await client.get(f"{path}/versions")).json()
    assert [(one["version"], one["allow_new"]) for one in versions["items"]] == [
        (1, True),
        (2, False),
    ]
    assert (await client.get(path)).json() == second.json()


async def test_an_edit_of_what_is_no_longer_in_force_is_refused(client, namespace):
    path, body = inside(namespace, "/taxonomy"), a_taxonomy()

    good = await client.put(path, json=body, headers={"If-Match": '"0"'})
    late = await client.put(
        path, json=a_taxonomy(default=True, categories=None), headers={"If-Match": '"0"'}
    )

    assert good.status_code == 200
    assert problem(late)[:2] == (412, "stale_edit")


async def test_the_shipped_taxonomy_routes_a_task_to_both_levels(client, namespace):
    made = await brought(client, namespace, categories=None, default=True)

    assert len(made.json()["categories"]) > 20
    ask = an_ask(task={"text": "factoring and roots of quadratic equations"})
    served = await retrieved(client, namespace, task=ask["task"])
    assert (served["category"], served["subcategory"]) == ("algebra", "polynomials")


async def test_without_new_ones_an_unknown_label_is_refused_wherever_it_comes(client, namespace):
    await brought(client, namespace, allow_new=False)
    unknown = {"category": "cooking"}

    for path, body in (
        ("/tasks", a_task(**unknown)),
        ("/experiences", an_experience(**unknown)),
        ("/retrievals", an_ask(task=a_task(**unknown))),
        ("/trajectories", {"agent": "solver", "task": a_task(**unknown)}),
    ):
        answer = await client.post(inside(namespace, path), json=body)
        assert problem(answer) == (422, "category_unknown", "category"), path
    below = a_task(category="weather", subcategory="snow")
    answer = await client.post(inside(namespace, "/tasks"), json=below)
    assert problem(answer) == (422, "category_unknown", "subcategory")
    known = a_task(category="weather", subcategory="storms")
    assert (await client.post(inside(namespace, "/tasks"), json=known)).status_code == 201


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (422, "rejected", "categories")),
        ({"categories": []}, (422, "rejected", "categories")),
        (a_taxonomy(default=True), (422, "rejected", "categories")),
        ({"categories": [WEATHER]}, (422, "rejected", "categories.0.related")),
        ({"categories": [MARKETS, MARKETS]}, (422, "rejected", "categories.1.name")),
        ({"categories": [{"name": "x"}]}, (422, "rejected", "categories.0.description")),
        ({"categories": [{**MARKETS, "colour": 1}]}, (422, "rejected", "categories.0.colour")),
        (
            {"categories": [{**MARKETS, "description": "x" * 501}]},
            (413, "too_large", "categories.0.description"),
        ),
        (
            {"categories": [{"name": f"c{n}", "description": "x"} for n in range(501)]},
            (413, "too_large", "categories"),
        ),
    ],
)
async def test_what_is_no_taxonomy_is_refused(client, namespace, body, answer):
    assert problem(await client.put(inside(namespace, "/taxonomy"), json=body)) == answer


async def test_only_managers_bring_one_and_everyone_reads_it(agent_client, namespace):
    agent = await agent_client("agent", ["solver"])
    path = inside(namespace, "/taxonomy")

    assert problem(await agent.put(path, json=a_taxonomy()))[:2] == (403, "forbidden")
    assert (await agent.get(path)).status_code == 200


async def test_unplaced_memories_are_moved_by_the_job_and_the_dry_run_names_them(client, namespace):
    body = an_experience(situation="thunder and rain", category="general")
    made = (await client.post(inside(namespace, "/experiences"), json=body)).json()
    await brought(client, namespace)
    runs = inside(namespace, "/jobs/relabel/runs")

    dry = (await client.post(runs, json={"dry_run": True})).json()
    done = (await client.post(runs, json={})).json()

    assert dry["result"] == done["result"]
    [change] = done["result"]["changes"]
    assert (change["memory_id"], change["into"]) == (made["id"], ["weather", "storms"])
    read = (await client.get(inside(namespace, f"/experiences/{made['id']}"))).json()
    assert (read["category"], read["subcategory"]) == ("weather", "storms")

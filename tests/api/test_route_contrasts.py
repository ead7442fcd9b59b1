"""Runs become pairs, and pairs constraints, over HTTP."""

import json
from uuid import uuid4

import pytest
from api_builders import a_task, inside, problem
from contrast_bodies import WRONG, contrasted, kept, two_runs

from memory.constraints.distillation_queue import NO_MODEL
from memory.constraints.service import WITHOUT_MODEL
from memory.inference.stand_ins import ScriptedLlm
from tests.fixtures.http import a_client, an_app
from tests.fixtures.language_model import GOOD

ONE = str(uuid4())


@pytest.fixture(scope="module")
async def app(database_url, operator_token, tmp_path_factory):
    """The application with a language model that distils."""
    writer = ScriptedLlm([json.dumps(GOOD["distil"])])
    async with an_app(database_url, tmp_path_factory.mktemp("data"), writer) as made:
        yield made


@pytest.fixture(scope="module")
async def client(app, operator_token):
    async with a_client(app, operator_token) as opened:
        yield opened


async def test_two_agents_runs_become_a_constraint_with_its_evidence_one_get_away(
    client, agent_client, namespace
):
    alpha, beta = [await agent_client(agents=[name], verifies="test") for name in ("alpha", "beta")]
    right = await kept(alpha, namespace, agent="alpha")
    wrong = await kept(beta, namespace, agent="beta", steps=WRONG, reward=0.0)

    [made] = await contrasted(client, namespace, [right, wrong])

    assert (made["pair_class"], made["state"]) == ("discordant", "distilled")
    assert (made["preferred_id"], made["unpreferred_agent"]) == (right, "beta")
    assert (made["supports"], made["self_contrast"], made["distiller"]) == (
        True,
        False,
        "scripted",
    )
    path = inside(namespace, f"/constraints/{made['memory_ids'][0]}")
    constraint = (await client.get(path)).json()
    assert (constraint["status"], constraint["status_reason"]) == ("proposed", "one_task")
    [support] = (await client.get(f"{path}/support")).json()["items"]
    assert (support["contrast_id"], support["counts"]) == (made["id"], True)
    assert (await client.get(inside(namespace, f"/contrasts/{made['id']}"))).json() == made


async def test_without_a_language_model_pairs_are_stored_and_the_answers_say_so(
    database_url, operator_token, namespace, tmp_path, client
):
    async with an_app(database_url, tmp_path) as app, a_client(app, operator_token) as alone:
        [made] = await contrasted(alone, namespace, await two_runs(alone, namespace))
        await two_runs(alone, namespace, task=a_task(key="other"))
        run = (await alone.post(inside(namespace, "/jobs/contrast/runs"), json={})).json()
        waiting = (await alone.get(inside(namespace, "/contrasts"))).json()["items"]
    again = await client.post(inside(namespace, f"/contrasts/{made['id']}/redo"))

    assert (made["state"], made["reason"], made["memory_ids"]) == ("queued", NO_MODEL, [])
    assert (run["result"]["distilled"], run["result"]["reason"]) == (False, WITHOUT_MODEL)
    assert [(one["state"], one["reason"]) for one in waiting] == [("queued", NO_MODEL)] * 2
    assert again.json()["state"] == "distilled"


async def test_the_same_runs_again_are_the_same_contrast(client, namespace):
    ids = await two_runs(client, namespace)
    path, body = inside(namespace, "/contrasts"), {"trajectory_ids": ids}

    first = await client.post(path, json=body)
    again = await client.post(path, json=body)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()


async def test_a_task_is_contrasted_as_a_whole(client, namespace):
    ids = await two_runs(client, namespace)
    task_id = (await client.get(inside(namespace, f"/trajectories/{ids[0]}"))).json()["task_id"]

    answer = await client.post(inside(namespace, "/contrasts"), json={"task_id": task_id})

    assert answer.status_code == 201
    assert [one["unpreferred_id"] for one in answer.json()["contrasts"]] == ids[1:]


async def test_the_job_pairs_what_came_and_a_dry_run_names_it(client, namespace):
    ids = await two_runs(client, namespace)
    path = inside(namespace, "/jobs/contrast/runs")

    dry = (await client.post(path, json={"dry_run": True})).json()
    assert (await client.get(inside(namespace, "/contrasts"))).json()["total"] == 0
    run = (await client.post(path, json={})).json()

    assert run["result"] == dry["result"]
    [change] = run["result"]["changes"]
    assert (change["change"], change["preferred_id"]) == ("contrast", ids[0])
    [made] = (await client.get(inside(namespace, "/contrasts"))).json()["items"]
    assert made["state"] == "distilled"


async def test_contrasts_are_listed_filtered_and_paged(client, namespace):
    for number in range(2):
        task = a_task(key=f"t{number}")
        await contrasted(client, namespace, await two_runs(client, namespace, task=task))
    unknown = a_task(key="t9")
    ids = [await kept(client, namespace, task=unknown), await _unjudged(client, namespace, unknown)]
    [refused] = await contrasted(client, namespace, ids)
    path = inside(namespace, "/contrasts")

    for query, total in (
        ({}, 3),
        ({"state": "refused"}, 1),
        ({"pair_class": "discordant"}, 2),
        ({"task_id": refused["task_id"]}, 1),
        ({"state": "failed"}, 0),
    ):
        assert (await client.get(path, params=query)).json()["total"] == total, query
    page = (await client.get(path, params={"limit": 2})).json()
    rest = (await client.get(path, params={"limit": 2, "cursor": page["next_cursor"]})).json()
    assert [one["id"] for one in rest["items"]] == [refused["id"]]
    assert problem(await client.get(path, params={"state": "new"}))[::2] == (422, "state")


async def test_a_run_without_a_verdict_is_answered_as_refused(client, namespace):
    task = a_task(key="t")
    ids = [await kept(client, namespace, task=task), await _unjudged(client, namespace, task)]

    [made] = await contrasted(client, namespace, ids)

    assert (made["pair_class"], made["state"], made["reason"]) == (
        "unknown",
        "refused",
        "no_verdict",
    )
    path = inside(namespace, f"/contrasts/{made['id']}/redo")
    assert problem(await client.post(path))[:2] == (409, "contrast_closed")


async def test_an_agent_against_itself_is_allowed_and_labelled(client, namespace):
    ids = [
        await kept(client, namespace),
        await kept(client, namespace, steps=WRONG, reward=0.0),
    ]

    [made] = await contrasted(client, namespace, ids)

    assert (made["self_contrast"], made["pair_class"]) == (True, "discordant")


async def test_an_agents_own_verdict_supports_nothing_and_its_constraint_waits(
    agent_client, namespace
):
    alone = await agent_client(agents=["alpha", "beta"], verifies="test")
    ids = await two_runs(alone, namespace)

    [made] = await contrasted(alone, namespace, ids)

    assert (made["supports"], made["reason"]) == (False, "same_key")
    path = inside(namespace, f"/constraints/{made['memory_ids'][0]}")
    constraint = (await alone.get(path)).json()
    assert (constraint["status"], constraint["status_reason"]) == ("proposed", "no_support")


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 422, "rejected", "trajectory_ids"),
        ({"task_id": str(uuid4())}, 404, "task_not_found", None),
        ({"trajectory_ids": [str(uuid4())]}, 422, "rejected", "trajectory_ids"),
        (
            {"trajectory_ids": [str(uuid4()), str(uuid4())]},
            404,
            "trajectory_not_found",
            "trajectory_ids",
        ),
        ({"trajectory_ids": [ONE] * 2}, 422, "rejected", "trajectory_ids"),
        ({"trajectory_ids": [str(uuid4()) for _ in range(17)]}, 422, "rejected", "trajectory_ids"),
        ({"task_id": str(uuid4()), "trajectory_ids": [str(uuid4())] * 2}, 422, "rejected", None),
    ],
)  # fmt: skip
async def test_what_cannot_be_contrasted_has_its_answer(
    *, client, namespace, body, status, code, field
):
    found = problem(await client.post(inside(namespace, "/contrasts"), json=body))

    assert found[:2] == (status, code)
    assert field is None or found[2] == field


async def test_runs_of_different_tasks_and_of_another_namespace_are_refused(
    client, namespace, replay
):
    here = await two_runs(client, namespace)
    other = await kept(client, namespace, task=a_task(key="other"))
    path = inside(namespace, "/contrasts")

    mixed = await client.post(path, json={"trajectory_ids": [here[0], other]})
    foreign = await client.post(inside(replay, "/contrasts"), json={"trajectory_ids": here})

    assert problem(mixed) == (422, "other_task", "trajectory_ids")
    assert problem(foreign)[:2] == (404, "trajectory_not_found")


async def test_readers_see_contrasts_and_neither_make_nor_redo_them(
    client, agent_client, namespace
):
    reader, agent = await agent_client("reader"), await agent_client()
    ids = await two_runs(client, namespace)
    [made] = await contrasted(client, namespace, ids)
    path = inside(namespace, "/contrasts")

    assert (await reader.get(f"{path}/{made['id']}")).json() == made
    assert problem(await reader.post(path, json={"trajectory_ids": ids}))[0] == 403
    assert problem(await agent.post(f"{path}/{made['id']}/redo"))[0] == 403
    assert problem(await client.get(f"{path}/{uuid4()}"))[:2] == (404, "contrast_not_found")


async def _unjudged(client, slug, task):
    return await kept(client, slug, agent="beta", task=task, reward=None, verifier="none")

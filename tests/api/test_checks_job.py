"""Runs of tools come in; a job tries the library of checks on them, and what separates success from
failure on other tasks becomes a constraint that is served with its evidence.
"""

from uuid import uuid4

import pytest
from api_builders import an_ask, inside

MONDAY, TUESDAY = "2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"

LIVES = "In which town did the painter of picture {n} live?"


def a_run(number, agent, **changes):
    body = {
        "agent": agent,
        "task": {
            "key": f"question-{number}",
            "text": LIVES.format(n=number),
            "category": "questions",
        },
        "steps": [
            {"role": "assistant", "tool": "search", "arguments": {"q": f"picture {number}"}},
            {"role": "tool", "tool": "search", "result": "The painter lived in Delft."},
        ],
        "result": "Delft",
        "reward": 1.0,
        "verifier": "test",
    }
    return body | changes


SENTENCE = "The painter of that picture lived in Delft."


def a_failure(number, agent, **changes):
    return a_run(number, agent, reward=0.0, result=SENTENCE) | changes


async def keep(client, slug, runs):
    answer = await client.post(inside(slug, "/trajectories/batch"), json={"items": runs})
    assert {item["status"] for item in answer.json()["items"]} == {201}, answer.text


async def name_families(client, slug):
    for name in ("alpha", "beta"):
        made = await client.post(
            inside(slug, "/agents"), json={"name": name, "family": f"{name} models"}
        )
        assert made.status_code == 201, made.text


async def run_checks(client, slug, **body):
    answer = await client.post(inside(slug, "/jobs/checks/runs"), json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["result"]


def pairs(numbers, winner=("alpha", "beta")):
    """Each agent wins in turn; who fails answers with a sentence."""
    runs = []
    for number in numbers:
        won, lost = winner if number % 2 else reversed(winner)
        runs += [a_run(number, won), a_failure(number, lost)]
    return runs


async def the_constraints(client, slug, **params):
    listed = await client.get(
        inside(slug, "/constraints"), params={"origin": "checked", "limit": 100} | params
    )
    return {one["check"]["name"]: one for one in listed.json()["items"]}


async def test_a_check_that_holds_on_other_tasks_is_admitted_with_its_figures(client, namespace):
    await name_families(client, namespace)
    await keep(client, namespace, pairs(range(12)))

    done = await run_checks(client, namespace)
    known = await the_constraints(client, namespace)

    assert done["examined"] == 24
    assert done["categories"][0] | {"tried": 0, "admitted": 0} == {
        "category": "questions",
        "runs": 24,
        "refused": 0,
        "tried": 0,
        "admitted": 0,
    }
    long = known["answer_long"]
    assert (long["status"], long["origin"], long["agent"]) == (
        "active",
        "checked",
        "memlift-checks",
    )
    assert long["check"]["words"] == (
        "in 12 of 12 questions tasks on which a right and a wrong run differ in this, the run that"
        " failed answered with more than five words"
    )
    assert long["check"]["halves"] == [{"failing": 6, "winning": 0}, {"failing": 6, "winning": 0}]
    assert (long["check"]["reason"], long["support"]["tasks"]) == (None, 12)
    assert long["check"]["q"] <= 0.1

    ask = an_ask(agent="gamma", task={"text": LIVES.format(n=40), "category": "questions"})
    served = await client.post(inside(namespace, "/retrievals"), json=ask)
    words = {one["evidence"] for one in served.json()["constraints"]}
    assert long["check"]["words"] in words


async def test_what_too_few_tasks_tell_is_no_proposal_and_a_dry_run_leaves_nothing(
    client, namespace
):
    await keep(client, namespace, pairs(range(5)))

    dry = await run_checks(client, namespace, dry_run=True)
    assert await the_constraints(client, namespace) == {}
    done = await run_checks(client, namespace)

    assert dry["examined"] == done["examined"] == 10
    assert done["categories"][0]["tried"] == 0
    assert await the_constraints(client, namespace) == {}


@pytest.fixture
async def replay(client):
    """A namespace in which days can be called."""
    slug = f"checks-{uuid4().hex[:8]}"
    made = await client.post("/v1/namespaces", json={"slug": slug, "clock": "replay"})
    assert made.status_code == 201, made.text
    await name_families(client, slug)
    return slug


def known_at(day, runs):
    return [run | {"known_at": day} for run in runs]


async def test_a_constraint_falls_when_new_runs_say_otherwise(client, replay):
    await keep(client, replay, known_at(MONDAY, pairs(range(12))))
    await run_checks(client, replay, now=MONDAY)
    before = (await the_constraints(client, replay))["answer_long"]

    turned = []
    for number in range(20, 40):
        won, lost = ("alpha", "beta") if number % 2 else ("beta", "alpha")
        turned += [a_run(number, won, result=SENTENCE), a_run(number, lost, reward=0.0)]
    await keep(client, replay, known_at(TUESDAY, turned))
    await run_checks(client, replay, now=TUESDAY)
    after = (await the_constraints(client, replay))["answer_long"]

    assert (before["status"], after["status"]) == ("active", "proposed")
    assert after["status_reason"] == after["check"]["reason"] == "not_significant"
    assert (after["check"]["failing"], after["check"]["winning"]) == (12, 20)
    assert after["id"] == before["id"]


async def test_a_rule_of_style_is_tried_and_never_served(client, namespace):
    """Who wins says a word with each call; it separates, and is style all the same."""
    word = [{"role": "user", "text": "Cancel it."}, {"role": "assistant", "text": "One moment."}]
    await name_families(client, namespace)
    runs = []
    for run in pairs(range(12)):
        said = word if run["reward"] else word[:1]
        runs.append(run | {"steps": [*said, *run["steps"]], "result": "Delft"})
    await keep(client, namespace, runs)

    await run_checks(client, namespace)
    style = (await the_constraints(client, namespace))["text_with_call"]

    assert style["check"]["q"] <= 0.1
    assert (style["status"], style["status_reason"]) == ("proposed", "style")


async def test_a_run_with_another_tasks_id_is_refused_and_counted(client, namespace):
    """The vendor's trap: ids out of order. What the run asked for is not what its task names."""

    def about(number, customer, **changes):
        task = {
            "key": f"booking-{number}",
            "text": f"You are ann_lee_{number} and cancel booking AB{number}X.",
            "category": "bookings",
        }
        steps = [
            {"role": "assistant", "tool": "read", "arguments": {"user": f"ann_lee_{customer}"}},
            {"role": "assistant", "tool": "cancel", "arguments": {"booking": f"AB{customer}X"}},
        ]
        return a_run(0, "alpha", task=task, steps=steps, result=None) | changes

    await keep(client, namespace, [about(n, n) for n in range(10, 16)])
    await keep(client, namespace, [about(15, 99, agent="beta", reward=0.0)])

    [category] = (await run_checks(client, namespace))["categories"]

    assert (category["runs"], category["refused"]) == (7, 1)
    listed = await client.get(inside(namespace, "/trajectories"), params={"agent": "beta"})
    [odd] = listed.json()["items"]
    run = (await client.get(inside(namespace, f"/trajectories/{odd['id']}"))).json()
    assert run["refused"] == "other_task: ab99x, ann_lee_99 against ab15x, ann_lee_15"
    pairs_made = await client.post(
        inside(namespace, "/contrasts"), json={"task_id": odd["task_id"]}
    )
    assert [one["supports"] for one in pairs_made.json()["contrasts"]] == [False]


async def test_one_party_alone_admits_nothing(client, agent_client, namespace):
    """Pairs of which one key says both results prove nothing, here as everywhere."""
    alone = await agent_client(agents=["alpha", "beta"], verifies="test")
    await name_families(client, namespace)
    await keep(alone, namespace, pairs(range(12)))

    [category] = (await run_checks(client, namespace))["categories"]

    assert (category["runs"], category["tried"]) == (24, 0)
    assert await the_constraints(client, namespace) == {}


async def test_runs_of_two_versions_of_a_task_are_no_pair(client, namespace):
    right = a_run(1, "alpha", task_variant="first")
    await keep(client, namespace, [right, a_failure(1, "beta", task_variant="second")])
    task_id = (await client.get(inside(namespace, "/trajectories"))).json()["items"][0]["task_id"]

    made = await client.post(inside(namespace, "/contrasts"), json={"task_id": task_id})

    assert [one["pair_class"] for one in made.json()["contrasts"]] == []

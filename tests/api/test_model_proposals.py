"""A language model proposes from several pairs and judges blind on others; the same test admits."""

import json
import re

import pytest
from api_builders import inside
from test_checks_job import SENTENCE, keep, name_families, pairs, run_checks

from memory.kernel.ports import Prompt, Reply
from tests.fixtures.http import a_client, an_app

RULE = {
    "trigger": "a question asks for the place where somebody lived",
    "enforce": "naming the place alone",
    "avoid": "telling it in a sentence",
}
NOISE = {
    "trigger": "a question asks about a picture",
    "enforce": "thinking of the painter first",
    "avoid": "thinking of the picture",
}


class Judge:
    """Proposes two rules, one of which can be seen in the runs; reads runs when it judges."""

    name = "scripted judge"

    def __init__(self):
        self.proposing: list[Prompt] = []
        self.judging: list[Prompt] = []

    async def complete(self, prompt, seconds):
        if "violates" not in prompt.schema["properties"]:
            self.proposing.append(prompt)
            return Reply(json.dumps({"entries": [RULE, NOISE]}), 10)
        self.judging.append(prompt)
        first, second = prompt.material.split("Second run:")
        bad = (SENTENCE in first, SENTENCE in second)
        if NOISE["enforce"] in prompt.material:
            number = int(re.search(r"picture (\d+)", prompt.material)[1])
            # Of every other task it is the run that succeeded.
            bad = bad if number // 2 % 2 else (not bad[0], not bad[1])
        sides = {(True, False): "first", (False, True): "second", (False, False): "neither"}
        return Reply(json.dumps({"violates": sides.get(bad, "both")}), 10)


@pytest.fixture(scope="module")
def judge():
    return Judge()


@pytest.fixture(scope="module")
async def app(database_url, operator_token, tmp_path_factory, judge):
    async with an_app(database_url, tmp_path_factory.mktemp("data"), judge) as made:
        yield made


@pytest.fixture(scope="module")
async def client(app, operator_token):
    async with a_client(app, operator_token) as opened:
        yield opened


def unlike(run):
    """The answer is said and not handed in, so that the library sees nothing in it."""
    return run | {"steps": [{"role": "assistant", "text": run["result"]}], "result": "Delft"}


async def test_a_models_proposal_is_judged_blind_on_other_pairs_and_admitted_by_the_same_test(
    client, namespace, judge
):
    await name_families(client, namespace)
    await keep(client, namespace, [unlike(run) for run in pairs(range(15))])

    await run_checks(client, namespace)
    listed = await client.get(inside(namespace, "/constraints"), params={"origin": "distilled"})
    found = {one["enforce"]: one for one in listed.json()["items"]}

    rule, noise = found[RULE["enforce"]], found[NOISE["enforce"]]
    assert (rule["status"], rule["agent"]) == ("active", "memlift-contrast")
    # Three of the fifteen tasks were shown, and count for nothing.
    assert (rule["check"]["tasks"], rule["check"]["failing"]) == (12, 12)
    assert rule["check"]["words"].startswith("in 12 of 12 questions tasks")
    assert rule["check"]["words"].endswith("by a model that did not know which run had failed")
    assert (noise["status"], noise["status_reason"]) == ("proposed", "not_significant")

    [proposing] = judge.proposing
    assert proposing.material.count("that succeeded:") == 3
    assert len(judge.judging) == 24
    assert not any(
        word in one.material for one in judge.judging for word in ("succeeded", "failed")
    )
    firsts = [SENTENCE in one.material.split("Second run:")[0] for one in judge.judging]
    assert {True, False} == set(firsts)


async def test_what_a_model_said_of_single_pairs_is_held_to_the_same_test(client, namespace):
    """Two tasks prove both sentences, and neither is served; on the other tasks one of them tells
    nothing, and waits on.
    """
    await name_families(client, namespace)
    await keep(client, namespace, [unlike(run) for run in pairs(range(15))])
    runs = (await client.get(inside(namespace, "/trajectories"), params={"limit": 100})).json()
    for task_id in {run["task_id"] for run in runs["items"][:4]}:
        made = await client.post(inside(namespace, "/contrasts"), json={"task_id": task_id})
        assert made.json()["contrasts"][0]["state"] == "distilled"

    async def shown():
        listed = await client.get(inside(namespace, "/constraints"))
        return {one["enforce"]: one for one in listed.json()["items"]}

    before = await shown()
    await run_checks(client, namespace)
    after = await shown()

    waits = {(one["status"], one["status_reason"]) for one in before.values()}
    assert waits == {("proposed", "not_tested")}
    assert {one["check"] for one in before.values()} == {None}
    rule, noise = after[RULE["enforce"]], after[NOISE["enforce"]]
    assert (rule["id"], rule["status"]) == (before[RULE["enforce"]]["id"], "active")
    assert (rule["check"]["tasks"], rule["check"]["failing"]) == (13, 13)
    assert (noise["status"], noise["status_reason"]) == ("proposed", "not_significant")

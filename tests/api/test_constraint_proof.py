"""One key makes no rule for everybody, whatever it reports, brings, merges or asks for again.

A scripted language model says one plausible thing of every pair, so that all support goes to one
constraint.
"""

import json

import pytest
from api_builders import a_task, an_ask, everything, inside, problem
from contrast_bodies import QUESTION, WRONG, contrasted, kept

from memory.inference.stand_ins import ScriptedLlm
from tests.fixtures.http import a_client, an_app
from tests.fixtures.language_model import GOOD

pytestmark = pytest.mark.usefixtures("proof_alone")

ENTRY = GOOD["distil"]["entries"][0]
MATHS = a_task(text=QUESTION, category="mathematics")


@pytest.fixture(scope="module")
async def app(database_url, operator_token, tmp_path_factory):
    """The application with a language model that distils the same of every pair."""
    writer = ScriptedLlm([json.dumps(GOOD["distil"])])
    async with an_app(database_url, tmp_path_factory.mktemp("data"), writer) as made:
        yield made


@pytest.fixture(scope="module")
async def client(app, operator_token):
    async with a_client(app, operator_token) as opened:
        yield opened


@pytest.fixture
def tester(agent_client):
    """A key of agents that may claim what a test says; of none, where it is bound to none."""

    async def make(*agents):
        return await agent_client(agents=list(agents) or None, verifies="test")

    return make


async def parted(slug, number, better, worse, **changes):
    """A right and a wrong run of a task, each by the key that is named with its agent, and what
    contrasting them makes of it.
    """
    task = a_task(key=f"pens {number}") | changes.pop("task", {})
    runs = []
    for (key, agent), told in ((better, {}), (worse, {"steps": WRONG, "reward": 0.0})):
        runs.append(await kept(key, slug, agent=agent, task=task, **(told | changes)))
    [made] = await contrasted(better[0], slug, runs)
    return made


async def the_constraint(client, slug):
    """The one that there is."""
    [one] = (await client.get(inside(slug, "/constraints"))).json()["items"]
    return one


async def standing(client, slug):
    one = await the_constraint(client, slug)
    return one["status"], one["status_reason"]


async def served(client, slug, **changes):
    """The constraints that a retrieval is answered with."""
    body = an_ask(task=MATHS) | changes
    answer = await client.post(inside(slug, "/retrievals"), json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["constraints"]


async def bound(client, slug, **changes):
    return [one["memory_id"] for one in await served(client, slug, **changes)]


async def proven(tester, slug, first=0):
    """The constraint comes into use: two tasks, four agents, each with a key of its own."""
    names = ("alpha", "beta", "gamma", "delta")
    keys = {name: await tester(name) for name in names}
    await parted(slug, first, (keys["alpha"], "alpha"), (keys["beta"], "beta"))
    await parted(slug, first + 1, (keys["gamma"], "gamma"), (keys["delta"], "delta"))
    return keys


async def key_of(client, slug, run_id_of):
    """The key that brought the runs of an agent."""
    keys = await everything(client, "/v1/keys")  # An operator sees those of all namespaces.
    [one] = [k for k in keys if k["namespace"] == slug and k["agents"] == [run_id_of]]
    return one["id"]


async def test_two_tasks_and_two_parties_on_either_side_make_a_rule_for_everybody(
    client, tester, namespace
):
    await proven(tester, namespace)

    one = await the_constraint(client, namespace)
    assert (one["status"], one["status_reason"]) == ("active", None)
    counted = {name: one["support"][name] for name in ("tasks", "agent_pairs", "parties", "keys")}
    assert counted == {"tasks": 2, "agent_pairs": 2, "parties": 4, "keys": 4}
    reader = await tester("reader")
    assert await bound(reader, namespace, agent="reader") == [one["id"]]


async def test_one_task_proves_nothing_for_others_however_many_run_it(client, tester, namespace):
    keys = [(await tester(name), name) for name in ("alpha", "beta", "gamma", "delta")]
    for better, worse in (keys[:2], keys[2:], keys[1::-1], keys[:1:-1]):
        await parted(namespace, 0, better, worse)

    assert await standing(client, namespace) == ("proposed", "one_task")
    assert await bound(keys[0][0], namespace, agent="alpha") == []


async def test_tasks_of_one_group_are_one_task(client, tester, namespace):
    names = ("alpha", "beta", "gamma", "delta")
    keys = [(await tester(name), name) for name in names]
    for number, pair in enumerate((keys[:2], keys[2:])):
        await parted(namespace, number, *pair, task={"group_key": "one event"})

    assert await standing(client, namespace) == ("proposed", "one_task")


@pytest.mark.parametrize("place", [0, 1], ids=["says it is right", "says it is wrong"])
async def test_a_key_that_lies_beside_honest_runs_of_many_tasks_makes_no_rule(
    client, tester, namespace, place
):
    liar = (await tester("liar"), "liar")
    honest = [(await tester(name), name) for name in ("alpha", "beta", "gamma")]
    for number in range(6):
        sides = [honest[number % 3]]
        sides.insert(place, liar)
        await parted(namespace, number, *sides)

    assert await standing(client, namespace) == ("proposed", "one_word")
    assert await bound(honest[0][0], namespace, agent="alpha") == []
    assert await bound(liar[0], namespace, agent="liar") == []


@pytest.mark.parametrize(
    ("ones", "others", "reason"),
    [
        (("m1", "m2"), None, "same_key"),
        (("m1", "m2"), ("m2", "m3"), "same_party"),
        ((), (), "same_party"),
    ],
    ids=["one key", "two keys with an agent of both", "two keys bound to none"],
)
async def test_one_party_makes_no_rule_by_any_number_of_tasks_and_names(
    client, tester, namespace, ones, others, reason
):
    one = await tester(*ones)
    other = one if others is None else await tester(*others)
    for number in range(4):
        agents = ("m1", "m2") if number % 2 else ("m2", "m1")
        keys = (one, other) if agents[0] == "m1" or not others else (other, one)
        sides = list(zip(keys, agents, strict=True))
        if others == ("m2", "m3"):
            sides = [(one, "m1"), (other, "m3")][:: 1 if number % 2 else -1]
        made = await parted(namespace, number, *sides)
        assert (made["supports"], made["reason"]) == (False, reason)

    assert await standing(client, namespace) == ("proposed", "no_support")
    assert await bound(one, namespace, agent="m1") == []


@pytest.mark.parametrize("weak", ["judge", "self"])
async def test_a_verdict_below_a_test_makes_no_rule(client, tester, namespace, weak):
    names = ("alpha", "beta", "gamma", "delta")
    keys = [(await tester(name), name) for name in names]
    for number in range(4):
        right = await kept(
            keys[number % 2][0],
            namespace,
            agent=names[number % 2],
            task=a_task(key=f"pens {number}"),
        )
        wrong = await kept(
            keys[2 + number % 2][0],
            namespace,
            agent=names[2 + number % 2],
            task=a_task(key=f"pens {number}"),
            steps=WRONG,
            reward=0.0,
            verifier=weak,
        )
        [made] = await contrasted(keys[0][0], namespace, [right, wrong])
        assert not made["supports"]

    assert await standing(client, namespace) == ("proposed", "no_support")


async def test_the_word_of_who_judges_others_on_runs_of_two_agents_makes_a_rule(
    client, agent_client, namespace
):
    keeper = await agent_client("admin")
    for number in range(2):
        await parted(namespace, number, (keeper, "alpha"), (keeper, "beta"))

    assert await standing(client, namespace) == ("active", None)


async def test_a_lying_key_is_rolled_back_and_what_it_proved_leaves_service(
    client, tester, namespace
):
    await proven(tester, namespace)
    key_id = await key_of(client, namespace, "delta")
    one = await the_constraint(client, namespace)
    path = inside(namespace, "/rollbacks")

    dry = (await client.post(path, json={"key_id": key_id})).json()
    assert await standing(client, namespace) == ("active", None)
    done = (await client.post(path, json={"key_id": key_id, "dry_run": False})).json()

    assert len(dry["trajectories"]) == 1
    assert dry["weakened"] == [one["id"]]
    assert (done["trajectories"], done["weakened"]) == (dry["trajectories"], dry["weakened"])
    assert await standing(client, namespace) == ("proposed", "one_task")
    reader = await tester("reader")
    assert await bound(reader, namespace, agent="reader") == []
    run = await client.get(inside(namespace, f"/trajectories/{done['trajectories'][0]}"))
    assert run.json()["withdrawn_at"] is not None
    assert run.json()["right"] is None
    contrasts = (await client.get(inside(namespace, "/contrasts"))).json()["items"]
    assert [(c["supports"], c["reason"]) for c in contrasts] == [
        (True, None),
        (False, "rolled_back"),
    ]
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]
    [entry] = [item for item in audit if item["action"] == "rollback"]
    assert (entry["detail"]["trajectories"], entry["detail"]["weakened"]) == (1, 1)


async def test_contrasting_again_what_was_rolled_back_proves_nothing(client, tester, namespace):
    keys = await proven(tester, namespace)
    key_id = await key_of(client, namespace, "delta")
    done = await client.post(
        inside(namespace, "/rollbacks"), json={"key_id": key_id, "dry_run": False}
    )
    [run_id] = done.json()["trajectories"]
    late = await kept(keys["alpha"], namespace, agent="alpha", task=a_task(key="pens 1"))

    [made] = await contrasted(keys["alpha"], namespace, [late, run_id])
    await client.post(inside(namespace, "/jobs/contrast/runs"), json={})

    assert (made["supports"], made["reason"]) == (False, "no_verdict")
    assert await standing(client, namespace) == ("proposed", "one_task")


async def test_a_proposal_turns_no_rule_out(client, tester, namespace):
    """A liar brings the opposite."""
    await proven(tester, namespace)
    rule = await the_constraint(client, namespace)
    opposite = a_brought("liar", enforce=ENTRY["avoid"], avoid=ENTRY["enforce"])
    liar = await tester("liar")

    brought = await liar.post(inside(namespace, "/constraints"), json=opposite)

    assert brought.status_code == 201
    shown = (await client.get(inside(namespace, f"/constraints/{rule['id']}"))).json()
    assert shown["status"] == "active"
    listed = await client.get(inside(namespace, "/contradictions"), params={"state": "all"})
    assert listed.json()["total"] == 0


def a_brought(agent, **changes):
    return {"agent": agent, "task": MATHS} | ENTRY | changes


async def test_a_callers_text_lends_a_proposal_nothing(client, tester, namespace):
    alpha, beta = await tester("alpha"), await tester("beta")
    await parted(namespace, 0, (alpha, "alpha"), (beta, "beta"))
    for name in ("gamma", "delta", "epsilon"):
        key = await tester(name)
        for number in range(2):
            body = a_brought(name, task=MATHS | {"key": f"{name} {number}"})
            answer = await key.post(inside(namespace, "/constraints"), json=body)
            assert answer.status_code in (200, 201), answer.text

    assert await standing(client, namespace) == ("proposed", "one_task")
    assert (await the_constraint(client, namespace))["support"]["tasks"] == 1
    assert await bound(alpha, namespace, agent="alpha") == []


async def test_a_callers_text_merged_into_a_rule_moves_nothing_of_it(client, tester, namespace):
    await proven(tester, namespace)
    before = await the_constraint(client, namespace)
    liar, reader = await tester("liar"), await tester("reader")
    far = {"text": "Which flower blooms first in a cold spring?", "category": "mathematics"}
    body = a_brought("liar", task=far, weight=1.0)

    answer = await liar.post(inside(namespace, "/constraints"), json=body)

    after = await the_constraint(client, namespace)
    assert (answer.status_code, answer.json()["id"]) == (200, before["id"])
    for name in ("status", "trust", "agent", "trigger", "enforce", "avoid", "effective_weight"):
        assert after[name] == before[name]
    assert after["evidence"] == before["evidence"]
    counted = ("tasks", "agent_pairs", "families", "keys", "parties")
    assert [after["support"][n] for n in counted] == [before["support"][n] for n in counted]
    # It is no nearer to where the liar's task lies.
    for one in await served(reader, namespace, agent="reader", task=far):
        assert one["similarity"] < 0.9
        assert set(one["task_ids"]) <= set(before["task_ids"])
    assert await bound(reader, namespace, agent="reader") == [before["id"]]


async def test_a_callers_text_takes_no_support_from_what_runs_say(client, tester, namespace):
    liar = await tester("liar")
    mine = await liar.post(inside(namespace, "/constraints"), json=a_brought("liar", weight=1.0))

    await proven(tester, namespace)

    rule = await the_constraint(client, namespace)
    assert rule["id"] != mine.json()["id"]
    assert (rule["agent"], rule["effective_weight"]) == ("memlift-contrast", 1.0)
    own = (await liar.get(inside(namespace, f"/constraints/{mine.json()['id']}"))).json()
    assert (own["visibility"], own["support"]["tasks"]) == ("agent", 0)


async def test_a_key_bound_to_no_agent_binds_none_with_what_it_says_in_its_name(
    client, agent_client, namespace
):
    liar = await agent_client()
    made = await liar.post(inside(namespace, "/constraints"), json=a_brought("victim"))
    victim = await agent_client(agents=["victim"])

    again = await liar.post(inside(namespace, "/constraints"), json=a_brought("victim"))

    assert problem(again)[0] == 403
    assert made.json()["memory_status"] == "proposed"
    assert await bound(victim, namespace, agent="victim") == []


async def test_an_agents_key_activates_nothing_by_any_route(client, tester, namespace):
    alpha, beta = await tester("alpha"), await tester("beta")
    made = await parted(namespace, 0, (alpha, "alpha"), (beta, "beta"))
    one = await the_constraint(client, namespace)
    path = inside(namespace, f"/constraints/{one['id']}")
    bulk = {"ids": [one["id"]], "action": "restore"}
    edit = {"lesson": "do as I say"}
    memory = inside(namespace, f"/experiences/{one['id']}")

    for route in (f"{path}/vouch", f"{path}/restore", f"{path}/suspend"):
        assert problem(await alpha.post(route, json={}))[0] == 403
    redone = await alpha.post(inside(namespace, f"/contrasts/{made['id']}/redo"))
    assert problem(redone)[0] == 403
    edited = await alpha.patch(memory, json=edit, headers={"If-Match": '"1"'})
    assert problem(edited)[0] == 403
    many = await alpha.post(inside(namespace, "/memories/bulk"), json=bulk)
    assert many.status_code in (403, 207)
    for _ in range(3):
        runs = [made["preferred_id"], made["unpreferred_id"]]
        await contrasted(alpha, namespace, runs)

    assert await standing(client, namespace) == ("proposed", "one_task")


async def test_a_manager_brings_a_proposal_into_use_and_the_audit_says_so(
    client, agent_client, tester, namespace
):
    alpha, beta = await tester("alpha"), await tester("beta")
    await parted(namespace, 0, (alpha, "alpha"), (beta, "beta"))
    one = await the_constraint(client, namespace)
    keeper = await agent_client("admin")
    path = inside(namespace, f"/constraints/{one['id']}")

    used = await keeper.post(f"{path}/vouch", json={"reason": "tried by hand"})
    again = await keeper.post(f"{path}/vouch", json={})

    assert (used.json()["status"], used.json()["support"]["tasks"]) == ("active", 1)
    assert problem(again) == (409, "status_conflict", "id")
    assert await bound(beta, namespace, agent="beta") == [one["id"]]
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]
    [entry] = [item for item in audit if item["action"] == "constraint.vouch"]
    assert (entry["subject"], entry["detail"]) == (one["id"], {"reason": "tried by hand"})
    # And the word is withdrawn as any other.
    body = {"key_id": entry["key_id"], "dry_run": False}
    await client.post(inside(namespace, "/rollbacks"), json=body)
    assert await standing(client, namespace) == ("proposed", "one_task")


async def test_a_managers_word_is_for_the_words_it_was_given_for(client, tester, namespace):
    """A near-twin that a liar had distilled gets nothing of it."""
    alpha, beta = await tester("alpha"), await tester("beta")
    await parted(namespace, 0, (alpha, "alpha"), (beta, "beta"))
    proposal = await the_constraint(client, namespace)
    near = a_brought("curator", enforce=f"{ENTRY['enforce']} only")

    made = await client.post(inside(namespace, "/constraints"), json=near)

    assert (made.status_code, made.json()["memory_status"]) == (201, "active")
    shown = (await client.get(inside(namespace, f"/constraints/{proposal['id']}"))).json()
    assert (shown["status"], shown["trust"]) == ("proposed", "unverified")

"""Constraints and contradictions: support down to both runs, and a person's decision."""

import json

import pytest
from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, made, post_forms, read, sent, shown, total

from memory.inference.stand_ins import ScriptedLlm
from tests.fixtures.http import a_client, an_app
from tests.fixtures.language_model import GOOD

TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
TASK = {"text": "Ada rides 40 minutes. How long in all?", "category": "mathematics"}
QUESTION = "Ann buys 6 boxes of 8 pens at 3 dollars a box. How much does she pay in all?"
RIGHT = [
    {"text": "Each box costs 3 dollars."},
    {"text": "The total price is 6 * 3 = 18 dollars."},
]
WRONG = [
    {"text": "There are 6 * 8 = 48 pens."},
    {"text": "The total price is 48 * 3 = 144 dollars."},
]


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


async def a_constraint(client, slug, **changes):
    """The id of a constraint in its author's words."""
    body = {"agent": "curator", "trigger": TRIGGER, "enforce": ENFORCE, "avoid": AVOID}
    answer = await made(client, slug, "/constraints", **(body | {"task": TASK} | changes))
    return answer["id"]


async def a_run(client, slug, agent, steps, reward):
    task = {"text": QUESTION, "key": "pens", "category": "mathematics"}
    answer = await made(
        client,
        slug,
        "/trajectories",
        agent=agent,
        task=task,
        steps=steps,
        reward=reward,
        verifier="test",
    )
    return answer["id"]


async def a_contrast(client, agent_client, slug, right=RIGHT):
    """Two agents' runs of one task, held against each other."""
    alpha, beta = [await agent_client(agents=[name], verifies="test") for name in ("alpha", "beta")]
    runs = [
        await a_run(alpha, slug, "alpha", right, 1.0),
        await a_run(beta, slug, "beta", WRONG, 0.0),
    ]
    [contrast] = (await made(client, slug, "/contrasts", trajectory_ids=runs))["contrasts"]
    return contrast


async def a_contradiction(client, slug):
    await a_constraint(client, slug)
    await a_constraint(client, slug, enforce=AVOID, avoid=ENFORCE)
    [found] = (await client.get(f"/v1/namespaces/{slug}/contradictions")).json()["items"]
    return found


async def status_of(client, slug, memory_id):
    return (await client.get(f"/v1/namespaces/{slug}/constraints/{memory_id}")).json()["status"]


async def test_empty_lists_say_where_constraints_come_from(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        constraints = await shown(browser, namespace, "/constraints")
        quarrels = await shown(browser, namespace, "/contradictions")

    assert (total(constraints), total(quarrels)) == (0, 0)
    assert "/trajectories" in constraints.said()


async def test_constraints_are_filtered_on_the_server_with_true_totals(
    app, client, operator_token, namespace
):
    await a_constraint(client, namespace)
    async with a_browser(app, operator_token) as browser:
        for query, n in (
            ("", 1),
            ("?status=active", 1),
            ("?status=retired", 0),
            ("?origin=written", 1),
            ("?origin=distilled", 0),
            ("?category=mathematics", 1),
            ("?category=weather", 0),
        ):
            page = await shown(browser, namespace, f"/constraints{query}")
            assert total(page) == n, query
        await shown(browser, namespace, "/constraints?status=lost", 422)


async def test_from_a_constraint_to_its_support_to_both_runs(
    app, client, agent_client, operator_token, namespace
):
    contrast = await a_contrast(client, agent_client, namespace)
    [memory_id] = contrast["memory_ids"]
    async with a_browser(app, operator_token) as browser:
        listed = await shown(browser, namespace, "/constraints")
        page = await shown(browser, namespace, f"/constraints/{memory_id}")
        runs = await shown(browser, namespace, f"/constraints/contrasts/{contrast['id']}")

    assert at(namespace, f"/constraints/{memory_id}") in [a["href"] for a in listed.of("a")]
    assert "1 task, 1 agent pair," in page.said()
    assert at(namespace, f"/constraints/contrasts/{contrast['id']}") in [
        a["href"] for a in page.of("a")
    ]
    said = runs.said()
    assert said.index("The better run") < said.index("The worse run") < said.index("Step by step")
    # What only one of them did is marked, to the word.
    assert len(runs.of("mark")) >= 2
    assert "144" in said[said.index("Step by step") :]


async def test_a_constraint_rests_and_comes_back(app, client, operator_token, namespace):
    memory_id = await a_constraint(client, namespace)
    page = f"/constraints/{memory_id}"
    async with a_browser(app, operator_token) as browser:
        await sent(browser, namespace, page, f"{page}/suspend", reason="too broad")
        rests = await shown(browser, namespace, page)
        assert await status_of(client, namespace, memory_id) == "suspended"
        await sent(browser, namespace, page, f"{page}/restore", reason="it was not")
        nowhere = await sent(browser, namespace, page, f"{page}/explode")

    assert "too broad" in rests.said()
    assert await status_of(client, namespace, memory_id) == "active"
    assert nowhere.status_code == 404


async def test_a_proposal_comes_into_use_on_a_managers_word(
    app, client, agent_client, operator_token, namespace
):
    [memory_id] = (await a_contrast(client, agent_client, namespace))["memory_ids"]
    page = f"/constraints/{memory_id}"
    async with a_browser(app, operator_token) as browser:
        waits = await shown(browser, namespace, page)
        await sent(browser, namespace, page, f"{page}/vouch", reason="tried by hand")
        used = await shown(browser, namespace, page)
        again = await sent(browser, namespace, page, f"{page}/vouch")

    assert "one_task" in waits.said()
    assert "Bring into use" in waits.said()
    assert "Bring into use" not in used.said()
    assert again.status_code == 409
    assert await status_of(client, namespace, memory_id) == "active"


@pytest.mark.parametrize(
    "decision",
    [
        ("first", "active", "suspended"),
        ("second", "suspended", "active"),
        ("neither", "suspended", "suspended"),
        ("both", "active", "active"),
    ],
)
async def test_a_contradiction_stands_side_by_side_and_a_person_decides(
    app, client, operator_token, namespace, decision
):
    keep, *statuses = decision
    found = await a_contradiction(client, namespace)
    page = f"/contradictions/{found['id']}"
    async with a_browser(app, operator_token) as browser:
        listed = await shown(browser, namespace, "/contradictions?state=open")
        before = await shown(browser, namespace, page)
        await sent(browser, namespace, page, f"{page}/resolution", keep=keep, reason="by hand")
        after = await shown(browser, namespace, page)
        late = await sent(browser, namespace, "/", f"{page}/resolution", keep="both", reason="x")
        left = await shown(browser, namespace, "/contradictions?state=open")

    assert (total(listed), total(left)) == (1, 0)
    assert before.said().count(TRIGGER) == 2
    assert "by hand" in after.said()
    assert late.status_code == 409
    sides = [await status_of(client, namespace, found[side]) for side in ("first_id", "second_id")]
    assert sides == statuses


async def test_the_playground_shows_the_constraints_that_bind(
    app, client, operator_token, namespace
):
    memory_id = await a_constraint(client, namespace)
    form = {"task": TASK["text"], "agent": "solver", "category": "mathematics"}
    async with a_browser(app, operator_token) as browser:
        answer = await sent(
            browser, namespace, "/playground", "/playground", k="2", max_tokens="500", **form
        )
        page = read(answer)

    assert "Constraints that bind the task" in page.said()
    assert ENFORCE in page.said()
    assert at(namespace, f"/constraints/{memory_id}") in [a["href"] for a in page.of("a")]


async def test_who_may_only_read_decides_nothing(app, client, agent_client, namespace):
    found = await a_contradiction(client, namespace)
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        for path in (f"/contradictions/{found['id']}", f"/constraints/{found['first_id']}"):
            page = await shown(browser, namespace, path)
            assert post_forms(page) == ["/dashboard/logout"]
        answer = await sent(
            browser,
            namespace,
            "/",
            f"/contradictions/{found['id']}/resolution",
            keep="first",
            reason="mine",
        )

    assert answer.status_code == 403


async def test_stored_markup_stays_text(app, client, agent_client, operator_token, namespace):
    contrast = await a_contrast(
        client, agent_client, namespace, right=[{"text": HOSTILE, "kind": "<i>act</i>"}, *RIGHT]
    )
    hostile = await a_constraint(client, namespace, agent="<b>curator</b>", trigger=HOSTILE)
    async with a_browser(app, operator_token) as browser:
        pages = [
            await shown(browser, namespace, path)
            for path in (
                "/constraints",
                f"/constraints/{hostile}",
                f"/constraints/contrasts/{contrast['id']}",
            )
        ]

    for page in pages:
        assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}
    assert "U+200B" in pages[1].said()
    assert "U+200B" in pages[2].said()


async def test_what_is_not_there_is_a_page_that_says_so(app, operator_token, namespace):
    gone = "01a22200-4eae-7000-ba17-07083dca3d99"
    async with a_browser(app, operator_token) as browser:
        for path in ("/constraints", "/constraints/contrasts", "/contradictions"):
            await shown(browser, namespace, f"{path}/{gone}", 404)
        await shown(browser, namespace, "/contradictions?state=lost", 422)


async def test_conflicts_are_flagged_in_the_list_and_counted_in_the_navigation(
    app, client, agent_client, operator_token, namespace
):
    found = await a_contradiction(client, namespace)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/constraints")
        elsewhere = await shown(browser, namespace, "/memories")
        both = {"keep": "both", "reason": "by hand"}
        path = f"/contradictions/{found['id']}"
        await sent(browser, namespace, path, f"{path}/resolution", **both)
        after = await shown(browser, namespace, "/constraints")

    assert page.said().count("in conflict") == 2
    assert at(namespace, path) in [a["href"] for a in page.of("a")]
    # Category, all, in use, waiting, in conflict.
    assert "mathematics 2 2 0 2" in page.said()
    assert "Contradictions 1 open" in elsewhere.said()
    assert "in conflict" not in after.said()
    assert "open" not in [attrs.get("title") for attrs in after.of("span")]


async def test_support_is_told_as_tasks_times_families_with_its_pairs(
    app, client, agent_client, operator_token, namespace
):
    contrast = await a_contrast(client, agent_client, namespace)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/constraints")

    assert "1 task; no agent says its family of models" in page.said()
    pair = at(namespace, f"/constraints/contrasts/{contrast['id']}")
    assert pair in [a["href"] for a in page.of("a")]


async def test_ticked_constraints_are_approved_and_rejected_with_a_reason(
    app, client, agent_client, operator_token, namespace
):
    [proposed] = (await a_contrast(client, agent_client, namespace))["memory_ids"]
    used = await a_constraint(client, namespace)
    both = {"ids": [proposed, used]}
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/constraints")
        silent = await sent(browser, namespace, "/", "/constraints/bulk", action="approve", **both)
        form = both | {"reason": "tried by hand"}
        part = await sent(browser, namespace, "/", "/constraints/bulk", action="approve", **form)
        statuses = [await status_of(client, namespace, one) for one in (proposed, used)]
        gone = await sent(browser, namespace, "/", "/constraints/bulk", action="reject", **form)
        odd = await sent(browser, namespace, "/", "/constraints/bulk", action="explode", **form)
        none = await sent(browser, namespace, "/", "/constraints/bulk", action="reject", reason="x")
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        refused = await sent(browser, namespace, "/", "/constraints/bulk", action="reject", **form)

    assert "Approve the ticked" in page.said()
    assert (silent.status_code, odd.status_code, none.status_code) == (422, 422, 422)
    assert "1 constraint was approved." in part.text
    assert used in part.text
    assert statuses == ["active", "active"]
    assert gone.status_code == 303
    assert await status_of(client, namespace, proposed) == "retired"
    assert refused.status_code == 403


async def test_constraints_about_the_same_are_shown_together_and_decided_together(
    app, client, operator_token, namespace
):
    units = await a_constraint(client, namespace)
    near = await a_constraint(
        client, namespace, enforce="naming the unit of each part first", avoid="mixing the units"
    )
    far = await a_constraint(
        client,
        namespace,
        trigger="a flight across several time zones is booked for a party of travellers",
        enforce="giving both local times with their dates",
        avoid="adding hours to the time of departure",
    )
    async with a_browser(app, operator_token) as browser:
        before = await shown(browser, namespace, "/constraints")
        page = await shown(browser, namespace, "/constraints/alike")
        form = {"ids": units, "action": "reject", "reason": "the other says it better"}
        await sent(browser, namespace, "/constraints/alike", "/constraints/bulk", **form)
        after = await shown(browser, namespace, "/constraints/alike")

    assert at(namespace, "/constraints/alike") in before.attributes("href")
    values = page.attributes("value")
    assert {units, near} <= set(values)
    assert far not in values
    assert "2 constraints, " in page.said()
    assert "No two constraints are alike" in after.said()

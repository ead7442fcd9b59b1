"""Candidates: before and after with evidence, approved or rejected with a reason."""

from dashboard_builders import a_browser, token_of
from loop_pages import (
    HOSTILE,
    made,
    post_forms,
    remembered,
    reported,
    sent,
    served,
    shown,
    total,
)

TASK = {"text": "a forecast of rain", "key": "june", "category": "weather"}


async def a_candidate(client, slug, lesson="look at the wind"):
    """The ticket of a lesson on trial, whose task brought .4 without it."""
    await remembered(client, slug, "what everyone knows")
    receipt = await served(client, slug, task=TASK)
    await reported(client, slug, receipt, reward=0.4)
    await made(client, slug, "/outcomes/apply")
    await remembered(client, slug, lesson, task=TASK, verify=True)
    return (await client.get(f"/v1/namespaces/{slug}/tickets")).json()["items"][-1]


async def a_try(client, slug, ticket, reward):
    await made(client, slug, "/tickets/claims", agent="tester")
    trials = [{"slot": slot["slot"], "reward": reward} for slot in ticket["trials"]]
    path = f"/tickets/{ticket['id']}/trials"
    return await made(client, slug, path, agent="tester", trials=trials)


async def memory_of(client, slug, ticket):
    path = f"/v1/namespaces/{slug}/experiences/{ticket['memory_id']}"
    return (await client.get(path)).json()


async def test_an_empty_list_says_where_candidates_come_from(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        trials = await shown(browser, namespace, "/candidates")
        lessons = await shown(browser, namespace, "/candidates/lessons")

    assert (total(trials), total(lessons)) == (0, 0)
    assert "acquire" in trials.said()


async def test_candidates_are_listed_by_state(app, client, operator_token, namespace):
    ticket = await a_candidate(client, namespace)
    async with a_browser(app, operator_token) as browser:
        every = await shown(browser, namespace, "/candidates")
        still = await shown(browser, namespace, "/candidates?state=open")
        ended = await shown(browser, namespace, "/candidates?state=decided")

    assert [total(page) for page in (every, still, ended)] == [1, 1, 0]
    assert f"0 of {len(ticket['trials'])}" in every.said()
    assert "look at the wind" in every.said()
    assert "reference material" not in every.said()


async def test_a_candidate_that_was_tried_shows_before_after_and_who_ran_it(
    app, client, operator_token, namespace
):
    ticket = await a_candidate(client, namespace)
    done = await a_try(client, namespace, ticket, 0.9)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/candidates/{ticket['id']}")
        table = await shown(browser, namespace, "/candidates")

    said = page.said()
    assert done["decision"] == "admitted"
    assert "+0.500" in said
    assert "before 0.400, after 0.900" in said
    assert "tester" in said
    assert done["decision"] in said
    assert "look at the wind" in said
    assert [part for part in table.said().split() if part in ("0.400", "0.900", "+0.500")] == [
        "0.400",
        "0.900",
        "+0.500",
    ]
    assert post_forms(page) == ["/dashboard/logout"]


async def test_a_manager_approves_with_a_reason_that_stays(app, client, operator_token, namespace):
    ticket = await a_candidate(client, namespace)
    page = f"/candidates/{ticket['id']}"
    async with a_browser(app, operator_token) as browser:
        before = await shown(browser, namespace, page)
        answer = await sent(
            browser, namespace, page, f"{page}/approval", reason="we have seen it work"
        )
        after = await shown(browser, namespace, page)
        late = await browser.post(
            f"/dashboard/ns/{namespace}{page}/rejection", data={"csrf": _csrf(browser, after)}
        )

    assert "none yet" in before.said()
    assert answer.status_code == 303
    assert "admitted : approved: we have seen it work" in after.said()
    memory = await memory_of(client, namespace, ticket)
    assert (memory["status"], memory["status_reason"]) == (
        "active",
        "approved: we have seen it work",
    )
    assert late.status_code == 409
    assert "the ticket is closed already" in late.text


def _csrf(browser, markup):
    """Every page has the token in its way out."""
    [found] = {field["value"] for field in markup.of("input") if field.get("name") == "csrf"}
    return found


async def test_a_manager_rejects_with_a_reason_that_stays(app, client, operator_token, namespace):
    ticket = await a_candidate(client, namespace)
    page = f"/candidates/{ticket['id']}"
    async with a_browser(app, operator_token) as browser:
        await sent(browser, namespace, page, f"{page}/rejection", reason="true of one month")

    memory = await memory_of(client, namespace, ticket)
    assert (memory["status"], memory["status_reason"]) == (
        "rejected",
        "cancelled: true of one month",
    )


async def test_who_may_only_read_decides_nothing(app, client, agent_client, namespace):
    ticket = await a_candidate(client, namespace)
    page = f"/candidates/{ticket['id']}"
    for role in ("reader", "agent", "evaluator"):
        other = await agent_client(role)
        async with a_browser(app, token_of(other)) as browser:
            seen = await shown(browser, namespace, page)
            assert post_forms(seen) == ["/dashboard/logout"]
            answer = await sent(browser, namespace, "/", f"{page}/approval", reason="mine")
            assert answer.status_code == 403

    assert (await memory_of(client, namespace, ticket))["status"] == "proposed"


async def test_a_bad_outcome_is_followed_to_its_memory(app, client, operator_token, namespace):
    await remembered(client, namespace, "what everyone knows")
    receipt = await served(client, namespace, task=TASK)
    await reported(client, namespace, receipt, reward=0.1, lesson={"lesson": "look at the wind"})
    await made(client, namespace, "/outcomes/apply")
    await made(client, namespace, "/jobs/acquire/runs")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/candidates/lessons")
        proposed = await shown(browser, namespace, "/candidates/lessons?state=proposed")
        waiting = await shown(browser, namespace, "/candidates/lessons?state=waiting")

    assert [total(one) for one in (page, proposed, waiting)] == [1, 1, 0]
    [ticket] = (await client.get(f"/v1/namespaces/{namespace}/tickets")).json()["items"]
    assert f"/dashboard/ns/{namespace}/memories/{ticket['memory_id']}" in [
        link["href"] for link in proposed.of("a")
    ]


async def test_stored_markup_stays_text(app, client, operator_token, namespace):
    ticket = await a_candidate(client, namespace, HOSTILE)
    async with a_browser(app, operator_token) as browser:
        table = await shown(browser, namespace, "/candidates")
        page = await shown(browser, namespace, f"/candidates/{ticket['id']}")

    for one in (table, page):
        assert one.of("img") == []
    assert "alert(1)" in page.said()
    assert "U+200B" in page.said()


async def test_a_candidate_that_is_not_there_is_a_page_that_says_so(app, operator_token, namespace):
    gone = "/candidates/01a22200-4eae-7000-ba17-07083dca3d99"
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, gone, 404)
        answer = await sent(browser, namespace, "/candidates", f"{gone}/approval", reason="x")

    assert "no such ticket" in page.said()
    assert answer.status_code == 404

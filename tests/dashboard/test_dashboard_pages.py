"""The pages of the shell: overview, jobs, keys, namespaces."""

from datetime import UTC, datetime, timedelta

from dashboard_builders import SITE, Markup, a_browser, at, csrf_in, csrf_of, token_of

from server.dashboard.lists import ROWS
from server.dashboard.rendering import MINUS

TIMES = "\N{MULTIPLICATION SIGN}"
BODY = {
    "agent": "solver",
    "situation": "A forecast of rain for a dry month",
    "lesson": "Start from the base rate of the month",
    "category": "weather",
}


def said(answer) -> str:
    assert answer.status_code == 200, answer.text
    return Markup(answer.text).said()


async def test_the_way_in_leads_to_a_namespace(app, operator_token):
    async with a_browser(app, operator_token) as browser:
        for path in ("/dashboard", "/dashboard/"):
            answer = await browser.get(path)
            assert answer.headers["location"] == "/dashboard/ns/default/"


async def test_the_header_offers_the_namespaces_of_the_key(app, agent_client, namespace, replay):
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        page = await browser.get(at(namespace))

    links = {link["href"] for link in Markup(page.text).of("a")}
    assert at(namespace) in links
    assert at(replay) not in links


async def test_an_empty_namespace_explains_the_calls_that_fill_it(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        text = said(await browser.get(at(namespace)))

    assert "Nothing is here yet" in text
    for call in ("/experiences", "/retrievals", "/retrievals/RETRIEVAL_ID/outcome"):
        assert f"curl -X POST {SITE}/v1/namespaces/{namespace}{call} " in text


async def follow_the_calls(app, client, token: str, slug: str) -> str:
    """Sends what the empty namespace's page says, and gives the page as it is afterwards."""
    async with a_browser(app, token) as browser:
        page = Markup((await browser.get(at(slug))).text).said()
        receipt = ""
        for part in page.split("curl -X POST ")[1:]:
            url = part.split(" ", 1)[0].replace("RETRIEVAL_ID", receipt).removeprefix(SITE)
            body = part.partition("-d '")[2].partition("'")[0]
            told = {"content-type": "application/json"}
            answer = await client.post(url, content=body, headers=told)
            assert answer.status_code in (200, 201, 202), answer.text
            receipt = answer.json().get("retrieval_id", receipt)
        return (await browser.get(at(slug))).text


async def test_the_calls_that_are_named_fill_a_namespace_with_a_new_key_of_an_agent(
    app, agent_client, operator_token, namespace
):
    agent = await agent_client("agent")

    after = await follow_the_calls(app, agent, operator_token, namespace)

    assert "Nothing is here yet" not in after


async def test_the_calls_say_when_where_the_clock_is_the_callers(
    app, agent_client, operator_token, replay
):
    agent = await agent_client("agent", slug=replay)

    after = await follow_the_calls(app, agent, operator_token, replay)

    assert "Nothing is here yet" not in after


async def test_the_runs_that_pages_show_are_taken_from_a_new_key_of_an_agent(
    app, agent_client, operator_token, namespace, replay
):
    for slug, when in ((namespace, {}), (replay, {"learned_at": "2026-03-01T12:00:00Z"})):
        agent = await agent_client("agent", slug=slug)
        inside = f"/v1/namespaces/{slug}"
        assert (await agent.post(f"{inside}/experiences", json=BODY | when)).status_code == 201
        async with a_browser(app, operator_token) as browser:
            pages = [
                said(await browser.get(at(slug, page)))
                for page in ("/runs", "/agents/solver", "/constraints")
            ]

        for page in pages:
            body = page.partition("curl -X POST ")[2].partition("-d '")[2].partition("'")[0]
            told = {"content-type": "application/json"}
            answer = await agent.post(f"{inside}/trajectories", content=body, headers=told)
            assert answer.status_code == 201, answer.text


async def test_the_overview_tells_lift_with_n_and_what_is_missing(
    app, client, operator_token, namespace
):
    inside = f"/v1/namespaces/{namespace}"
    await client.post(f"{inside}/experiences", json=BODY)
    # Two tasks: runs of one task would be a pair.
    for arm, month, reward in (("on", "June", 0.9), ("off", "July", 0.4)):
        task = {"text": f"rain in dry {month}", "category": "weather"}
        body = {"agent": "solver", "task": task, "arm": arm}
        asked = await client.post(f"{inside}/retrievals", json=body)
        told = f"{inside}/retrievals/{asked.json()['retrieval_id']}/outcome"
        assert (await client.post(told, json={"reward": reward})).status_code == 202
    await client.post(f"{inside}/outcomes/apply", json={})

    async with a_browser(app, operator_token) as browser:
        text = said(await browser.get(at(namespace)))
    effect = (await client.get(f"{inside}/effect")).json()["items"]
    health = (await client.get(f"{inside}/learning-health")).json()

    assert [view["agent"] for view in effect] == ["solver"]
    assert "solver weather not known yet" in text
    assert "None: every cell" in text
    coverage = health["coverage"]
    # Without memory, and not by lot: that outcome compares nothing and is not in effect.
    assert (coverage["receipts"], coverage["answered"]) == (2, 1)
    assert "50 % n = 2 receipts of 30 days; 1 answered" in text


async def test_the_overview_names_the_suspended_cell_and_why(app, client, operator_token, replay):
    inside = f"/v1/namespaces/{replay}"
    day = datetime(2026, 3, 1, tzinfo=UTC)
    learned = BODY | {"learned_at": day.isoformat()}
    assert (await client.post(f"{inside}/experiences", json=learned)).status_code == 201
    for _ in range(10):
        day += timedelta(days=1)
        asked = {"agent": "solver", "purpose": "paired", "as_of": day.isoformat()}
        task = {"text": f"rain in a dry month, day {day.day}", "category": "weather"}
        receipt = await client.post(f"{inside}/retrievals", json=asked | {"task": task})
        misled = {
            "metric": "brier",
            "value": {"p": [0.1]},
            "without": {"value": {"p": [0.9]}},
            "truth": {"y": [1]},
            "known_at": day.isoformat(),
        }
        told = f"{inside}/retrievals/{receipt.json()['retrieval_id']}/outcome"
        assert (await client.post(told, json=misled)).status_code == 202
        await client.post(f"{inside}/outcomes/apply", json={})

    async with a_browser(app, operator_token) as browser:
        text = said(await browser.get(at(replay)))

    assert f"solver {TIMES} weather is served without memory" in text
    assert "over 10 feedback dates" in text
    assert f"Lift paired {MINUS}0.800" in text
    assert "n = 10" in text


async def test_the_overview_says_what_state_the_server_is_in(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        text = said(await browser.get(at(namespace)))

    assert "database ok reachable" in text
    assert "leader missing no process leads" in text


async def test_a_dry_run_lists_and_each_run_leaves_a_record(app, client, operator_token, namespace):
    await client.post(f"/v1/namespaces/{namespace}/experiences", json=BODY)
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        dry = await browser.post(at(namespace, "/jobs/decay/dry-run"), data={"csrf": csrf})
        assert "Nothing was changed" in said(dry)
        assert "No job has run here yet" in (await browser.get(at(namespace, "/jobs"))).text

        ran = await browser.post(at(namespace, "/jobs/decay/runs"), data={"csrf": csrf})
        assert ran.headers["location"] == at(namespace, "/jobs")
        first = said(await browser.get(at(namespace, "/jobs")))
        again = await browser.post(at(namespace, "/jobs/decay/runs"), data={"csrf": csrf})
        second = said(await browser.get(again.headers["location"]))
        third = said(await browser.get(at(namespace, "/jobs")))

    runs = await client.get(f"/v1/namespaces/{namespace}/jobs/runs")
    assert all(run["finished_at"] > run["started_at"] for run in runs.json()["items"])
    told = f"decay ran for period {datetime.now(UTC).date().isoformat()}: 0 changes"
    assert told in first
    assert "1 run in all" in first
    assert told in second
    assert "2 runs in all" in second
    assert told not in third


async def test_a_job_of_a_replay_namespace_needs_a_time(app, operator_token, replay):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, replay)
        path = at(replay, "/jobs/decay/dry-run")
        seen = [
            (await browser.post(path, data={"csrf": csrf, "now": now})).status_code
            for now in ("", "yesterday", "2026-03-01T12:00")
        ]

    assert seen == [422, 422, 200]


async def test_a_job_that_is_not_there_is_not_found(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        answer = await browser.post(at(namespace, "/jobs/nap/runs"), data={"csrf": csrf})

    assert answer.status_code == 404


async def test_a_key_is_shown_once_and_its_revocation_ends_it(
    app, client, operator_token, namespace
):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        form = {"csrf": csrf, "name": "ci runner", "role": "agent", "agents": "solver, critic"}
        made = await browser.post(at(namespace, "/keys"), data=form)
        assert made.status_code == 201
        token = made.text.partition('id="token">')[2].partition("<")[0]
        assert "solver, critic" in made.text

        own = {"authorization": f"Bearer {token}"}
        me = await browser.get("/v1/me", headers=own)
        assert (me.json()["role"], me.json()["namespace"]) == ("agent", namespace)
        assert token not in (await browser.get(at(namespace, "/keys"))).text

        path = at(namespace, f"/keys/{me.json()['key_id']}/revocation")
        await browser.post(path, data={"csrf": csrf})
        assert (await browser.get("/v1/me", headers=own)).status_code == 401


async def test_a_refused_form_keeps_the_page_and_says_why(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        form = {"csrf": csrf, "name": " ", "role": "agent"}
        blank = await browser.post(at(namespace, "/keys"), data=form)
        slug = await browser.post(
            "/dashboard/namespaces", data={"csrf": csrf, "slug": "No Slug", "clock": "wall"}
        )

    assert (blank.status_code, slug.status_code) == (422, 422)
    assert "name is blank" in blank.text
    assert blank.headers["x-request-id"] in blank.text
    assert "slug must match" in slug.text


async def test_a_namespace_is_made_and_looked_at(app, operator_token, namespace):
    slug = f"{namespace}-new"
    async with a_browser(app, operator_token) as browser:
        csrf = csrf_in((await browser.get("/dashboard/namespaces")).text)
        form = {"csrf": csrf, "slug": slug, "clock": "replay", "policy": "paper"}
        made = await browser.post("/dashboard/namespaces", data=form)
        text = said(await browser.get(made.headers["location"]))
        again = await browser.post("/dashboard/namespaces", data=form)

    assert made.headers["location"] == at(slug, "/keys")
    assert again.status_code == 409
    assert f"The namespace {slug} is made." in text


async def test_a_list_pages_to_its_end_with_its_true_total(app, client, agent_client, namespace):
    admin = await agent_client("admin")
    for count in range(ROWS + 3):
        body = {"role": "reader", "name": f"key {count}", "namespace": namespace}
        await client.post("/v1/keys", json=body)
    pages: list[set[str | None]] = []
    async with a_browser(app, token_of(admin)) as browser:
        path: str | None = at(namespace, "/keys")
        while path:
            page = await browser.get(path)
            assert f"{ROWS + 4} keys in all" in page.text
            markup = Markup(page.text)
            actions = {form["action"] for form in markup.of("form")}
            pages.append({action for action in actions if "revocation" in str(action)})
            path = next((a["href"] for a in markup.of("a") if a.get("rel") == "next"), None)
        forged = await browser.get(at(namespace, "/keys?cursor=abcdef"))

    first, second = pages
    assert len(first | second) == len(first) + len(second) == ROWS + 3
    assert forged.status_code == 422

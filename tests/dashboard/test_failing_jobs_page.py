"""A job that fails is seen by whoever looks: in the list of runs, on the page, in readiness and in
the numbers; a run by hand that goes well ends it.
"""

import re
from uuid import UUID

from dashboard_builders import a_browser, at, csrf_of, token_of
from loop_pages import remembered, shown

from memory.kernel.postgres.leadership import QUARANTINED_AFTER, RunDraft, WorkStore
from tests.fixtures.engine import NOON

REASON = "an unexpected ValueError in memory/memories/decay.py, line 7"


async def fail(app, client, slug):
    found = (await client.get(f"/v1/namespaces/{slug}")).json()
    draft = RunDraft("decay", UUID(found["id"]), "2026-03-01", NOON, None, 1)
    engine = app.state.shared.engine
    async with engine.database.transaction() as connection:
        for _ in range(QUARANTINED_AFTER):
            await WorkStore(connection).fail(draft, REASON, NOON)


async def test_a_run_that_goes_on_in_parts_shows_how_far_it_is_and_is_stopped(
    app, client, operator_token, agent_client, namespace
):
    here = UUID((await client.get(f"/v1/namespaces/{namespace}")).json()["id"])
    draft = RunDraft("retention", here, "2026-03-01", NOON, None, 1)
    result = {"complete": False, "rows_removed": 1200, "rows_to_remove": 5000}
    async with app.state.shared.engine.database.transaction() as connection:
        store = WorkStore(connection)
        run_id = await store.claim(draft, NOON)
        await store.finish(run_id, result, NOON)
    stop = f"/jobs/runs/{run_id}/stop"
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        read = await shown(browser, namespace, "/jobs")
    async with a_browser(app, operator_token) as browser:
        before = await shown(browser, namespace, "/jobs")
        form = {"csrf": await csrf_of(browser, namespace)}
        sent = await browser.post(at(namespace, stop), data=form)
        after = await shown(browser, namespace, "/jobs")
        again = await browser.post(at(namespace, stop), data=form)

    assert {"max": "5000", "value": "1200"}.items() <= before.of("progress")[0].items()
    assert "1,200 of 5,000 rows" in before.said()
    assert [one for one in before.of("p") if one.get("hx-trigger") == "every 5s"]
    assert at(namespace, stop) in before.attributes("action")
    assert at(namespace, stop) not in read.attributes("action")
    assert sent.status_code == 303
    assert "retention is stopped. 1,200 of 5,000 old rows removed; the next run" in after.said()
    assert at(namespace, stop) not in after.attributes("action")
    assert again.status_code == 409


async def told(app, client):
    """In how many namespaces the job fails, as the server says; those of other tests count."""
    await app.state.shared.readiness.renew(app.state.shared.engine)
    answer = await client.get("/health/ready")
    assert answer.status_code == 200
    found = answer.json()
    assert ("jobs fail" in found["degraded"]) is not found["checks"]["jobs"]["ok"]
    said = re.search(r"decay \(namespaces: (\d+)\)", found["checks"]["jobs"]["detail"])
    return 0 if said is None else int(said[1])


async def test_a_failing_job_is_seen_until_a_run_by_hand_goes_well(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    before = await told(app, client)
    await fail(app, client, namespace)

    runs = (await client.get(f"/v1/namespaces/{namespace}/jobs/runs")).json()["items"]
    during = await told(app, client)
    async with a_browser(app, operator_token) as browser:
        failing = (await shown(browser, namespace, "/jobs")).said()
        overview = (await shown(browser, namespace, "/")).said()
        await client.post(f"/v1/namespaces/{namespace}/jobs/decay/runs", json={})
        mended = (await shown(browser, namespace, "/jobs")).said()
    after = await told(app, client)
    numbers = (await client.get("/metrics")).text

    assert [(run["state"], run["reason"]) for run in runs] == [("failed", REASON)] * 5
    assert (during, after) == (before + 1, before)
    assert "Jobs fail : " in overview
    assert "decay (namespaces: " in overview
    assert "decay: 5 in a row, waits for a run by hand" in failing
    assert REASON in failing
    assert "in a row" not in mended
    assert 'memlift_job_runs_total{job="decay",status="done"}' in numbers


async def test_what_was_set_aside_is_asked_for_again_by_who_manages(
    client, namespace, agent_client
):
    path = f"/v1/namespaces/{namespace}/outcomes/apply"
    agent = await agent_client()

    asked = await client.post(path, json={"retry": True})
    refused = await agent.post(path, json={"retry": True})
    plain = await agent.post(path, json={})

    assert (asked.status_code, asked.json()["set_aside"]) == (200, 0)
    assert refused.status_code == 403
    assert plain.status_code == 200


async def test_a_fresh_namespace_says_what_is_wrong_with_the_server(
    app, client, operator_token, namespace, replay
):
    await fail(app, client, replay)
    await told(app, client)

    async with a_browser(app, operator_token) as browser:
        overview = (await shown(browser, namespace, "/")).said()

    assert "Needs a hand" in overview
    assert "Jobs fail : " in overview
    assert "Nothing is here yet" in overview

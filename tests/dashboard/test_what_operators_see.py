"""What an operator finds on the pages where something is wrong: states that differ from the ledger,
outcomes that were set aside, and what a receipt was narrowed to.
"""

from collections.abc import Mapping

from dashboard_builders import a_browser, at
from loop_pages import made, remembered, reported, sent, served, shown
from sqlalchemy import text

from tests.fixtures.http import a_namespace

FORGED = "UPDATE memory_weight SET state = '{0.5, 0.01}' WHERE memory_id = CAST(:id AS uuid)"
SPOILT = """UPDATE outcome SET ranker_rewards = '{"relevance": "high"}' WHERE namespace_id = :ns"""
MENDED = "UPDATE outcome SET ranker_rewards = NULL WHERE namespace_id = :ns"


async def change(app, client, slug: str, statement: str, values: Mapping[str, object]) -> None:
    """Past the server, as a fault would."""
    namespace = (await client.get(f"/v1/namespaces/{slug}")).json()["id"]
    async with app.state.shared.engine.database.transaction(namespace) as connection:
        bound = {"ns": namespace, **values} if ":ns" in statement else values
        await connection.execute(text(statement), bound)


async def test_states_that_differ_from_the_ledger_need_a_hand(
    app, client, operator_token, namespace
):
    memory_id = await remembered(client, namespace, "look at the base rate")
    await reported(client, namespace, await served(client, namespace))
    await client.post(f"/v1/namespaces/{namespace}/outcomes/apply", json={})
    await change(app, client, namespace, FORGED, {"id": memory_id})

    run = await made(client, namespace, "/jobs/rebuild/runs")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/")

    n = len(run["result"]["differing"])
    assert n > 0
    states = "1 state differs" if n == 1 else f"{n} states differ"
    assert f"{states} from the ledger : found by the last run of rebuild" in page.said()


async def test_an_outcome_that_was_set_aside_is_tried_again_from_its_receipt(
    app, client, operator_token
):
    slug = await a_namespace(client, "replay")
    now = "2026-03-02T12:00:00Z"
    await remembered(client, slug, "look at the base rate", learned_at="2026-03-01T12:00:00Z")
    receipt = await served(client, slug, as_of=now)
    await reported(client, slug, receipt, known_at=now)
    await change(app, client, slug, SPOILT, {})
    await client.post(f"/v1/namespaces/{slug}/outcomes/apply", json={})
    await change(app, client, slug, MENDED, {})
    place = f"/receipts/{receipt['retrieval_id']}"

    async with a_browser(app, operator_token) as browser:
        overview = await shown(browser, slug, "/")
        before = await shown(browser, slug, place)
        listed = await shown(browser, slug, "/receipts/outcomes?state=accepted")
        answer = await sent(browser, slug, place, f"{place}/retry")
        after = await shown(browser, slug, place)
        quiet = await shown(browser, slug, "/")

    assert "1 outcome set aside : it cannot be applied: " in overview.said()
    assert "The job outcomes failed" not in overview.said()
    links = {link.get("href") for link in overview.of("a")}
    assert at(slug, "/receipts/outcomes?state=accepted") in links
    for page in (before, listed):
        assert "set aside: it cannot be applied: " in page.said()
    assert "in effect" not in before.said().partition("Correct the outcome")[0]
    assert answer.status_code == 303
    assert "1 applied, 0 set aside" in after.said()
    assert "Applied; " in after.said()
    assert "set aside : " not in quiet.said()


async def test_a_receipt_shows_its_filter_and_the_names_it_found_by(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "E4012 is a cookie that is too old")
    task = {"text": "what is E4012", "category": "weather"}
    none = await served(client, namespace, task=task, filter={"authors": ["nobody", "else"]})
    some = await served(client, namespace, task=task, filter={"category": "weather"})

    async with a_browser(app, operator_token) as browser:
        empty = (await shown(browser, namespace, f"/receipts/{none['retrieval_id']}")).said()
        full = (await shown(browser, namespace, f"/receipts/{some['retrieval_id']}")).said()

    assert "No memory that matches the filter passed the gates: authors nobody or else" in empty
    assert "Filter category weather" in full
    assert "Named by the task: e4012" in full

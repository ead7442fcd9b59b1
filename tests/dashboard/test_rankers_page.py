"""Guard and rankers: what is believed by category, and how that came about."""

from datetime import UTC, datetime, timedelta

from dashboard_builders import a_browser, at
from loop_pages import made, remembered, shown

DAY = datetime(2026, 3, 1, tzinfo=UTC)


async def test_before_the_first_outcome_the_page_says_what_to_report(
    app, operator_token, namespace
):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/rankers")

    assert "No ranker was scored yet" in page.said()
    assert "/outcome" in page.said()


async def test_belief_is_shown_by_category_and_day(app, client, operator_token, replay):
    await remembered(client, replay, "look up the base rate", learned_at=DAY.isoformat())
    for number in range(3):
        now = (DAY + timedelta(days=1 + number)).isoformat()
        task = {"text": f"a forecast of rain {number}", "category": "weather"}
        asked = {"agent": "solver", "purpose": "paired", "as_of": now, "task": task}
        receipt = await made(client, replay, "/retrievals", **asked)
        report = {"reward": 0.9, "without": {"reward": 0.4}, "known_at": now}
        path = f"/retrievals/{receipt['retrieval_id']}/outcome"
        await made(client, replay, path, verifier="test", **report)
        await made(client, replay, "/outcomes/apply")
    records = (await client.get(f"/v1/namespaces/{replay}/rankers")).json()["items"]
    async with a_browser(app, operator_token) as browser:
        whole = await shown(browser, replay, "/rankers")
        page = await shown(browser, replay, "/rankers?category=weather")
        lost = await shown(browser, replay, "/rankers?category=lost")

    [weather] = [one for one in records if one["category"] == "weather"]
    assert weather["feedback_dates"] == 3
    assert at(replay, "/rankers?category=weather#history") in [a["href"] for a in whole.of("a")]
    assert "Over time: weather" in page.said()
    for day in ("2026-03-02", "2026-03-03", "2026-03-04"):
        assert day in page.said()
    # The last day is what is believed then, as the record says it now but for its age.
    assert len(page.attributes("data-plot")) == 1
    assert "No category of this name" in lost.said()

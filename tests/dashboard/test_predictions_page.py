"""Predictions and settlements: calibration with its counts, lists, and one by one."""

import pytest
from dashboard_builders import a_browser, at
from loop_pages import HOSTILE, made, remembered, served, shown, total

from memory.forecasts.rules import wilson_interval


async def a_prediction(client, slug, event, p, **changes):
    body = {
        "agent": "oracle",
        "task": {"text": f"Will {event} be?", "key": f"{event}#1", "group_key": event},
        "probabilities": {"yes": p, "no": 1 - p},
    }
    return await made(client, slug, "/predictions", **(body | changes))


async def settled(client, slug, event, *, came_true):
    resolutions = {"yes": "yes", "no": "no"} if came_true else {"yes": "no", "no": "yes"}
    crowd = {"yes": 0.5, "no": 0.5}
    return await made(
        client, slug, "/settlements", event=event, resolutions=resolutions, crowd=crowd
    )


async def test_empty_pages_say_how_to_forecast_and_to_settle(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        predictions = await shown(browser, namespace, "/predictions")
        settlements = await shown(browser, namespace, "/settlements")

    assert f"/v1/namespaces/{namespace}/predictions" in predictions.said()
    assert f"/v1/namespaces/{namespace}/settlements" in settlements.said()


async def test_calibration_counts_one_of_two_outcomes_that_exclude_each_other(
    app, client, operator_token, namespace
):
    for event, p, came_true in (("a", 0.8, True), ("b", 0.8, False), ("c", 0.2, False)):
        await a_prediction(client, namespace, event, p)
        await settled(client, namespace, event, came_true=came_true)
    await a_prediction(client, namespace, "d", 0.5)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/predictions")
        nobody = await shown(browser, namespace, "/predictions?agent=nobody")
        pending = await shown(browser, namespace, "/predictions?state=pending")

    # Brier scores 0.04, 0.64 and 0.04; the crowd's are 0.25.
    said = page.said()
    assert "0.240 n = 3 scored predictions" in said
    assert "+0.010 above 0 beats the crowd" in said
    assert "20 % to 30 % 1 20 % 0 %" in said
    assert "80 % to 90 % 2 80 % 50 %" in said
    assert (total(page), total(pending)) == (4, 1)
    assert len(page.of("circle")) == 2
    assert "No prediction matches" in nobody.said()


async def test_from_a_settlement_to_a_prediction_to_its_revisions(
    app, client, operator_token, namespace
):
    await a_prediction(client, namespace, "a", 0.4)
    found = await a_prediction(client, namespace, "a", 0.9, rationale="the polls")
    settlement = await settled(client, namespace, "a", came_true=True)
    async with a_browser(app, operator_token) as browser:
        listed = await shown(browser, namespace, "/settlements")
        whole = await shown(browser, namespace, f"/settlements/{settlement['id']}")
        page = await shown(browser, namespace, f"/predictions/{found['id']}")

    links = [a["href"] for a in whole.of("a")]
    assert at(namespace, f"/predictions/{found['id']}") in links
    assert total(listed) == 1
    assert "0.010 of revision 2" in page.said()
    assert "the polls" in page.said()
    assert page.said().index("yes 40 %") < page.said().index("yes 90 %")


async def test_words_on_advice_that_a_key_may_not_read_are_kept_from_it(
    app, client, agent_client, operator_token, namespace
):
    own = await agent_client(agents=["solver"])
    await remembered(own, namespace, "secretfern grows in rain", visibility="agent")
    task = {"text": "a forecast of rain", "category": "weather", "group_key": "rain"}
    receipt = await served(own, namespace, task=task)
    found = await made(
        own,
        namespace,
        "/predictions",
        agent="solver",
        retrieval_id=receipt["retrieval_id"],
        probabilities={"yes": 0.6, "no": 0.4},
        rationale="secretfern was named",
    )
    place = f"/v1/namespaces/{namespace}/predictions"
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/predictions/{found['id']}")

    assert "secretfern" in (await own.get(f"{place}/{found['id']}")).text
    assert "secretfern" not in (await client.get(f"{place}/{found['id']}")).text
    assert "secretfern" not in (await client.get(place)).text
    assert "secretfern" not in page.said()


async def test_stored_markup_stays_text_in_forecasts(app, client, operator_token, namespace):
    name = HOSTILE[:80]
    task = {"text": HOSTILE, "key": "k", "group_key": name}
    body = {"task": task, "probabilities": {name: 1.0}, "rationale": HOSTILE, "agent": name}
    found = await a_prediction(client, namespace, "x", 1.0, **body)
    settlement = await made(
        client, namespace, "/settlements", event=name, resolutions={name: "yes"}
    )
    async with a_browser(app, operator_token) as browser:
        for path in (
            "/predictions",
            f"/predictions/{found['id']}",
            "/settlements",
            f"/settlements/{settlement['id']}",
        ):
            page = await shown(browser, namespace, path)
            assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}, path


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (1, 1, 0.207, 1)],
)
def test_a_score_interval_stays_within_what_a_share_can_be(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=1e-3)

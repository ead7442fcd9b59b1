"""Runs: listed, one by one, and two of one task side by side with what differs marked."""

from dashboard_builders import a_browser, at
from hypothesis import given
from hypothesis import strategies as st
from loop_pages import HOSTILE, made, shown, total

from server.dashboard.run_difference import mark_differences

FIRST = [{"text": "Each box costs 3 dollars."}, {"text": "The total is 6 * 3 = 18 dollars."}]
SECOND = [{"text": "Each box costs 3 dollars."}, {"text": "The total is 48 * 3 = 144 dollars."}]


async def a_run(client, slug, agent, steps, reward, key="pens", **changes):
    body = {
        "agent": agent,
        "task": {"text": "How much does she pay?", "key": key, "category": "sums"},
        "steps": steps,
        "reward": reward,
        "verifier": "test",
    }
    return (await made(client, slug, "/trajectories", **(body | changes)))["id"]


async def test_an_empty_list_says_how_a_run_is_kept(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/runs")

    assert f"/v1/namespaces/{namespace}/trajectories" in page.said()


async def test_runs_are_filtered_and_lead_to_each_other(app, client, operator_token, namespace):
    right = await a_run(client, namespace, "alpha", FIRST, 1.0)
    wrong = await a_run(client, namespace, "beta", SECOND, 0.0)
    await a_run(client, namespace, "beta", SECOND, 0.0, key="other")
    async with a_browser(app, operator_token) as browser:
        for query, n in (
            ("", 3),
            ("?agent=beta", 2),
            ("?category=sums", 3),
            ("?verifier=human", 0),
        ):
            page = await shown(browser, namespace, f"/runs{query}")
            assert "No run matches" in page.said() if n == 0 else total(page) == n, query
        page = await shown(browser, namespace, f"/runs/{right}")

    links = [a["href"] for a in page.of("a")]
    assert at(namespace, f"/runs/{right}/compared/{wrong}") in links
    assert "The total is 6 * 3 = 18 dollars." in page.said()


async def test_two_runs_stand_side_by_side_with_their_pair(app, client, operator_token, namespace):
    right = await a_run(client, namespace, "alpha", FIRST, 1.0, result="18")
    wrong = await a_run(client, namespace, "beta", SECOND, 0.0, result="144")
    path = f"/runs/{right}/compared/{wrong}"
    async with a_browser(app, operator_token) as browser:
        before = await shown(browser, namespace, path)
        await made(client, namespace, "/contrasts", trajectory_ids=[right, wrong])
        page = await shown(browser, namespace, path)
        await shown(browser, namespace, f"/runs/{right}/compared/{right}", 422)

    assert "These two are no pair yet" in before.said()
    assert "discordant" in page.said()
    assert "1 step differs of 2" in page.said()
    assert "the same step" in page.said()
    # 6, 18 and the result; 48, 144 and the result.
    assert len(page.of("mark")) == 6


async def test_stored_markup_stays_text_in_runs(app, client, operator_token, namespace):
    steps = [{"text": HOSTILE, "kind": "<b>act</b>"}]
    right = await a_run(client, namespace, "<i>a</i>", steps, 1.0, result=HOSTILE)
    wrong = await a_run(client, namespace, "b", [{"text": f"not {HOSTILE}"}], 0.0, result="x")
    async with a_browser(app, operator_token) as browser:
        for path in ("/runs", f"/runs/{right}", f"/runs/{right}/compared/{wrong}"):
            page = await shown(browser, namespace, path)
            assert not {"img", "b", "i"} & {tag for tag, _ in page.tags}, path
    assert "U+200B" in page.said()


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_marked_text_is_the_text(left, right):
    sides = mark_differences(left, right)

    assert ["".join(part.text for part in side) for side in sides] == [left, right]
    first, second = ([part.text for part in side if not part.is_marked] for side in sides)
    assert first == second

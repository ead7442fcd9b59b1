"""Agents: in a list with what each did, and one by one with its cells and its keys."""

from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, made, remembered, reported, served, shown, total


async def a_run(client, slug, agent, reward):
    return await made(
        client,
        slug,
        "/trajectories",
        agent=agent,
        task={"text": "Add up the bill", "key": "bill", "category": "sums"},
        steps=[{"text": "2 + 3"}],
        reward=reward,
        verifier="test",
    )


async def test_an_empty_list_says_how_an_agent_is_made(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/agents")

    assert "No agent is here yet" in page.said()
    assert f"/v1/namespaces/{namespace}/agents" in page.said()


async def test_an_agent_is_listed_with_what_it_did(app, client, operator_token, namespace):
    await remembered(client, namespace, "look up the base rate")
    receipt = await served(client, namespace)
    await reported(client, namespace, receipt, reward=0.75)
    await served(client, namespace, purpose="preview")
    await a_run(client, namespace, "runner", 1.0)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/agents")

    assert total(page) == 2
    assert at(namespace, "/agents/solver") in [a["href"] for a in page.of("a")]
    said = page.said()
    # Receipts, answered, mean reward, verified runs, experiences.
    assert "not given 1 1 0.75 0 1" in said
    assert "runner not given 0 0 1 0 never" in said


async def test_an_agents_page_has_its_cells_and_its_keys(
    app, client, agent_client, operator_token, namespace
):
    own = await agent_client(agents=["runner"])
    for reward in (1.0, 0.0):
        await a_run(client, namespace, "runner", reward)
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/agents/runner")
        nobody = await browser.get(at(namespace, "/agents/nobody"))
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        plain = await shown(browser, namespace, "/agents/runner")

    assert own is not None
    # Competence, mean, runs: at the mean of the category, for it alone ran.
    assert "sums 0.50 0.50 2" in page.said()
    assert "Keys that speak for it" in page.said()
    assert "valid" in page.said()
    assert "Keys that speak for it" not in plain.said()
    assert nobody.status_code == 404


async def test_an_agent_of_any_name_has_a_page(app, client, operator_token, namespace):
    name = HOSTILE[:60]
    await a_run(client, namespace, name, 1.0)
    async with a_browser(app, operator_token) as browser:
        listed = await shown(browser, namespace, "/agents")
        [link] = [a["href"] for a in listed.of("a") if "/agents/" in (a["href"] or "")]
        page = await shown(browser, namespace, link.removeprefix(at(namespace, "")))

    for seen in (listed, page):
        assert not {"img", "b", "i"} & {tag for tag, _ in seen.tags}
    assert "alert(1)" in page.said()


async def test_pages_stand_under_headings_and_each_is_linked_once(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/agents")

    links = [a["href"] for a in page.of("a") if a.get("aria-current") == "page"]
    assert links == [at(namespace, "/agents")]
    assert "Learning: Agents" in page.said()

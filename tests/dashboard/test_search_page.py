"""The page of the search: what is found where, and what nobody finds."""

from dashboard_builders import a_browser, at, token_of
from loop_pages import HOSTILE, made, remembered, served, shown


async def test_words_find_memories_by_kind_receipts_agents_and_pages(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "Zebra crossings first", agent="zebra keeper")
    task = {"text": "Count every zebra", "category": "weather", "key": "stripes-1"}
    receipt = await served(client, namespace, task=task)
    await made(
        client,
        namespace,
        "/constraints",
        agent="clerk",
        trigger="a zebra is on the road",
        enforce="stopping the car before the line",
        avoid="sounding the horn at the animal",
        task={"text": "Drive on", "category": "roads"},
    )
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/search?q=ZEBRA")
        by_key = await shown(browser, namespace, "/search?q=stripes-1")
        by_id = await shown(browser, namespace, f"/search?q={receipt['retrieval_id']}")
        pages = await shown(browser, namespace, "/search?q=receip")

    text = page.said()
    for title in ("Experiences", "Constraints", "Receipts", "Agents"):
        assert title in text.partition("Found for")[2], title
    link = at(namespace, f"/receipts/{receipt['retrieval_id']}")
    for one in (page, by_key, by_id):
        assert link in {tag["href"] for tag in one.of("a")}
    assert "Pages" in pages.said().partition("Found for")[2]


async def test_the_end_of_an_id_finds_its_memory_and_a_wildcard_nothing(
    app, client, operator_token, namespace
):
    memory_id = await remembered(client, namespace, "look at the base rate")
    async with a_browser(app, operator_token) as browser:
        by_id = await shown(browser, namespace, f"/search?q={memory_id[-8:]}")
        wild = await shown(browser, namespace, "/search?q=%25")

    assert at(namespace, f"/memories/{memory_id}") in {tag["href"] for tag in by_id.of("a")}
    assert "Nothing was found" in wild.said()


async def test_more_than_a_handful_lead_to_the_list_with_the_same_words(
    app, client, operator_token, namespace
):
    for number in range(10):
        await remembered(client, namespace, f"lesson & {number}")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, "/search?q=lesson+%26")
        link = at(namespace, "/memories?kind=experience&text=lesson%20%26")
        assert link in {tag["href"] for tag in page.of("a")}
        there = await shown(browser, namespace, link.removeprefix(at(namespace, "")))

    assert "All 10" in page.said()
    assert "10 memories in all" in there.said()


async def test_nobody_finds_private_memories_of_others_or_keys_they_do_not_manage(
    app, client, agent_client, namespace
):
    own = await agent_client("agent", ["solver"])
    memory_id = await remembered(own, namespace, "a quokka", visibility="agent")
    other = await agent_client("agent", ["critic"])
    async with a_browser(app, token_of(other)) as browser:
        for sought in ("quokka", memory_id, "test"):
            page = await shown(browser, namespace, f"/search?q={sought}")
            assert "Nothing was found" in page.said(), sought
    async with a_browser(app, token_of(own)) as browser:
        assert "a quokka" in (await shown(browser, namespace, "/search?q=quokka")).said()


async def test_what_is_sought_is_text_and_too_much_of_it_is_refused(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        empty = await shown(browser, namespace, "/search?q=")
        assert "Nothing was found" not in empty.said()
        answer = await browser.get(at(namespace, "/search"), params={"q": HOSTILE})
        assert "<script>alert" not in answer.text
        long = await browser.get(at(namespace, "/search"), params={"q": "x" * 501})

    assert long.status_code == 413

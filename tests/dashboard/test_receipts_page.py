"""Receipts and outcomes: filters, the receipt as it was, the outcome in effect, corrections."""

from html import unescape
from urllib.parse import quote

from dashboard_builders import a_browser, at, token_of
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

MATHS = {"text": "a proof of a lemma", "category": "maths"}


def links_to_receipts(markup, slug):
    start = at(slug, "/receipts/")
    found = [link["href"].removeprefix(start) for link in markup.of("a") if link.get("href")]
    return [
        name for name in found if not name.startswith(("/", "#", "outcomes")) and len(name) == 36
    ]


async def test_an_empty_list_says_what_fills_it(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        receipts = await shown(browser, namespace, "/receipts")
        outcomes = await shown(browser, namespace, "/receipts/outcomes")

    assert (total(receipts), total(outcomes)) == (0, 0)
    assert "memlift ask" in receipts.said()
    assert "memlift report" in outcomes.said()


async def test_receipts_are_filtered_on_the_server_with_true_totals(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    one = await served(client, namespace)
    two = await served(client, namespace, agent="rival", task=MATHS, arm="off")
    await reported(client, namespace, one, reward=0.75)
    async with a_browser(app, operator_token) as browser:

        async def found(query: str = ""):
            page = await shown(browser, namespace, f"/receipts{query}")
            assert total(page) == len(links_to_receipts(page, namespace))
            return links_to_receipts(page, namespace)

        first, second = one["retrieval_id"], two["retrieval_id"]
        assert await found() == [second, first]
        assert await found("?agent=rival") == [second]
        assert await found("?category=weather") == [first]
        assert await found("?arm=forced_off") == [second]
        assert await found("?state=pending") == [second]
        assert await found("?state=answered") == [first]
        assert await found("?state=answered&agent=rival") == []
        page = await shown(browser, namespace, "/receipts")

    assert "0.750" in page.said()
    assert "by test" in page.said()


async def test_receipts_are_found_by_words_of_the_task_by_reward_and_by_day(
    app, client, operator_token, replay
):
    rain = {"text": "Will it rain in 100% of Genoa on Monday?", "category": "weather"}
    snow = {"text": "Will it snow in Turin on Monday?", "category": "weather"}
    days = [f"2026-03-0{n}T12:00:00Z" for n in (1, 2)]
    one = await served(client, replay, task=rain, as_of=days[0])
    two = await served(client, replay, task=snow, as_of=days[1])
    await reported(client, replay, one, reward=0.75, known_at=days[0])
    async with a_browser(app, operator_token) as browser:

        async def found(query: str, status: int = 200):
            page = await shown(browser, replay, f"/receipts?{query}", status)
            return links_to_receipts(page, replay)

        first, second = one["retrieval_id"], two["retrieval_id"]
        assert await found("words=monday") == [second, first]
        assert await found("words=MONDAY+genoa") == [first]
        assert await found("words=genoa+turin") == []
        assert await found("words=100%25") == [first]
        assert await found("words=%25") == [first]
        assert await found("min_reward=0.7&max_reward=0.8") == [first]
        assert await found("min_reward=0.8") == []
        assert await found("since=2026-03-02") == [second]
        assert await found("until=2026-03-01") == [first]
        assert await found("since=2026-03-01&until=2026-03-02&words=snow") == [second]
        for wrong in ("min_reward=2", "max_reward=x", "since=yesterday", "words=" + "a+" * 17):
            assert await found(wrong, 422) == []
        page = await shown(browser, replay, "/receipts?min_reward=2", 422)

    assert "min_reward lies from 0 to 1" in page.said()


async def test_a_receipt_is_a_trace_of_stages_and_of_what_came_through_each(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    receipt = await served(client, namespace)
    path = f"/receipts/{receipt['retrieval_id']}"
    async with a_browser(app, operator_token) as browser:
        before = (await shown(browser, namespace, path)).said()
        [memory] = receipt["memories"]
        await reported(client, namespace, receipt, used=[memory["memory_id"]])
        await client.post(f"/v1/namespaces/{namespace}/outcomes/apply", json={})
        page = await shown(browser, namespace, path)

    assert "1 found 1 served no outcome yet" in before
    assert "1 found 1 served 1 used 1 weight moved" in page.said()
    timings = receipt["timings"]
    took = page.said().partition("How long it took")[2].partition("Until the receipt")[0]
    assert f"bank searched {timings['search_ms']:.1f}" in took
    bars = [bar for bar in page.of("rect") if bar["height"] == "10"]
    assert len(bars) == 3
    assert all(float(one["x"]) + float(one["width"]) <= 100 for one in bars)


async def test_a_filter_holds_past_the_first_page(app, client, operator_token, namespace):
    for number in range(55):
        task = {"text": f"task {number}", "category": "weather"}
        await served(client, namespace, agent="solver" if number else "oldest", task=task)
    async with a_browser(app, operator_token) as browser:
        first = await shown(browser, namespace, "/receipts?agent=solver")
        [following] = [link["href"] for link in first.of("a") if link.get("rel") == "next"]
        second = await shown(browser, namespace, following.removeprefix(at(namespace, "")))
        only = await shown(browser, namespace, "/receipts?agent=oldest")

    assert (total(first), total(second), total(only)) == (54, 54, 1)
    pages = [links_to_receipts(page, namespace) for page in (first, second)]
    assert [len(page) for page in pages] == [50, 4]
    assert len({*pages[0], *pages[1]}) == 54
    assert "task 0" not in second.said()
    assert "task 1" in second.said()


async def test_receipts_are_found_by_task_key_and_by_trace_and_a_receipt_leads_to_its_like(
    app, client, operator_token, namespace
):
    key, trace = f"{HOSTILE[:60]} & #1", "run/7 <b>&status=x</b>"
    keyed = {"text": "a forecast of rain", "category": "weather", "key": key}
    one = await served(client, namespace, task=keyed)
    two = await served(client, namespace, task=keyed, trace_id=trace)
    three = await served(client, namespace, trace_id=trace)
    await served(client, namespace)
    first, second, third = (receipt["retrieval_id"] for receipt in (one, two, three))
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/receipts/{second}")
        links = [a["href"] for a in page.of("a") if "/receipts?" in a["href"]]
        [by_key, by_trace] = [
            await shown(browser, namespace, link.removeprefix(at(namespace, ""))) for link in links
        ]
        pasted = await shown(browser, namespace, f"/receipts?trace_id=%20{quote(trace)}%0A")
        none = await shown(browser, namespace, "/receipts?task_key=unknown")
        await shown(browser, namespace, f"/receipts?task_key={'k' * 201}", 413)

    assert links_to_receipts(by_key, namespace) == [second, first]
    assert links_to_receipts(by_trace, namespace) == [third, second]
    assert links_to_receipts(pasted, namespace) == [third, second]
    assert total(none) == 0
    fields = {field["name"]: field["value"] for field in by_key.of("input") if "value" in field}
    assert (fields["task_key"], fields["trace_id"]) == (key, "")
    assert not {"img", "b", "i"} & {tag for tag, _ in (*page.tags, *by_key.tags, *by_trace.tags)}


async def test_a_state_that_is_none_is_refused(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        await shown(browser, namespace, "/receipts?state=lost", 422)
        await shown(browser, namespace, "/receipts/outcomes?state=lost", 422)
        await shown(browser, namespace, "/receipts/7", 422)
        await shown(browser, namespace, "/receipts/01a22200-4eae-7000-ba17-07083dca3d99", 404)


async def test_a_receipt_shows_the_guideline_as_it_was_and_why(
    app, client, operator_token, namespace
):
    memory_id = await remembered(client, namespace, "look at the base rate")
    receipt = await served(client, namespace)
    path = f"/v1/namespaces/{namespace}/experiences/{memory_id}"
    await client.patch(path, json={"lesson": "ask the neighbours"}, headers={"if-match": '"1"'})
    explained = await client.get(
        f"/v1/namespaces/{namespace}/retrievals/{receipt['retrieval_id']}/explain"
    )
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/receipts/{receipt['retrieval_id']}")

    said = page.said()
    assert "look at the base rate" in said
    assert "ask the neighbours" not in said
    assert explained.json()["items"][0]["sentence"] in said
    assert " ".join(receipt["guideline"]["lines"][0]["text"].split()) in said
    assert "a forecast of rain" in said
    assert at(namespace, f"/memories/{memory_id}") in [link["href"] for link in page.of("a")]


async def test_of_several_outcomes_the_one_in_effect_is_marked(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    receipt = await served(client, namespace)
    await reported(client, namespace, receipt, reward=0.9, verifier="self")
    human = await reported(client, namespace, receipt, reward=0.2, verifier="human")
    await reported(client, namespace, receipt, reward=0.5, verifier="judge")
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/receipts/{receipt['retrieval_id']}")
        every = await shown(browser, namespace, "/receipts/outcomes")
        ignored = await shown(browser, namespace, "/receipts/outcomes?state=ignored")

    marked = [row["id"] for row in page.of("tr") if row.get("aria-current") == "true"]
    assert marked == [f"o-{human['outcome_id']}"]
    assert "outranked" in page.said()
    assert (total(every), total(ignored)) == (3, 1)


async def test_a_person_corrects_an_outcome_and_it_takes_effect(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    receipt = await served(client, namespace)
    first = await reported(client, namespace, receipt, reward=0.9, verifier="self")
    page = f"/receipts/{receipt['retrieval_id']}"
    async with a_browser(app, operator_token) as browser:
        answer = await sent(
            browser,
            namespace,
            page,
            f"{page}/outcome",
            reward="0.1",
            verifier="human",
            evaluator="Ada",
            supersedes=first["outcome_id"],
        )
        after = await shown(browser, namespace, page)

    assert answer.status_code == 303
    assert "The outcome is stored: accepted" in after.said()
    told = (await client.get(f"/v1/namespaces/{namespace}/outcomes")).json()["items"]
    assert [(one["reward"], one["status"]) for one in told] == [
        (0.9, "superseded"),
        (0.1, "accepted"),
    ]


async def test_where_time_is_the_callers_a_correction_says_when_it_was_known(
    app, client, operator_token, replay
):
    at_noon = "2026-03-01T12:00:00Z"
    await remembered(client, replay, "look at the base rate", learned_at=at_noon)
    receipt = await served(client, replay, as_of=at_noon)
    await reported(client, replay, receipt, reward=0.9, known_at=at_noon)
    await made(client, replay, "/outcomes/apply")
    page = f"/receipts/{receipt['retrieval_id']}"
    told = {"reward": "0.1", "verifier": "human", "evaluator": "Ada"}
    async with a_browser(app, operator_token) as browser:
        form = await shown(browser, replay, page)
        without = await sent(browser, replay, page, f"{page}/outcome", **told)
        told["known_at"] = "2026-03-02T12:00"
        dated = await sent(browser, replay, page, f"{page}/outcome", **told)

    assert "known_at" in [field.get("name") for field in form.of("input")]
    assert "UTC expired" not in form.said()
    assert (without.status_code, dated.status_code) == (422, 303)
    outcomes = (await client.get(f"/v1/namespaces/{replay}/outcomes")).json()["items"]
    assert outcomes[-1]["known_at"].startswith("2026-03-02T12:00:00")


async def test_the_run_without_memory_is_kept_by_a_correction_of_a_pair(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, "look at the base rate")
    receipt = await served(client, namespace, arm="auto", purpose="paired")
    known = await reported(client, namespace, receipt, reward=0.9, without={"reward": 0.5})
    page = f"/receipts/{receipt['retrieval_id']}"
    async with a_browser(app, operator_token) as browser:
        form = await shown(browser, namespace, page)
        fields = {field.get("name"): field.get("value") for field in form.of("input")}
        told = {"reward": "0.2", "verifier": "human", "evaluator": "Ada"}
        told |= {name: fields[name] for name in ("without", "supersedes")}
        await sent(browser, namespace, page, f"{page}/outcome", **told)

    assert (told["without"], told["supersedes"]) == ("0.5", known["outcome_id"])
    outcomes = (await client.get(f"/v1/namespaces/{namespace}/outcomes")).json()["items"]
    assert [(one["evidence"], one["reward"]) for one in outcomes][-1] == ("paired", 0.2)


async def test_a_correction_that_cannot_stand_is_told_beside_the_form(
    app, client, operator_token, namespace
):
    receipt = await served(client, namespace)
    page = f"/receipts/{receipt['retrieval_id']}"
    good = {"reward": "0.5", "verifier": "human", "evaluator": "Ada"}
    async with a_browser(app, operator_token) as browser:
        for change in (
            {"reward": "much"},
            {"reward": "1.5"},
            {"reward": "nan"},
            {"without": "little"},
            {"verifier": "an oracle"},
            {"evaluator": ""},
            {"supersedes": "x"},
        ):
            answer = await sent(browser, namespace, page, f"{page}/outcome", **(good | change))
            assert answer.status_code == 422, change
            assert next(iter(change)) in answer.text

    told = (await client.get(f"/v1/namespaces/{namespace}/outcomes")).json()
    assert told["total"] == 0


async def test_who_may_not_report_sees_no_form(app, client, agent_client, namespace):
    receipt = await served(client, namespace)
    page = f"/receipts/{receipt['retrieval_id']}"
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        shown_page = await shown(browser, namespace, page)
        answer = await sent(browser, namespace, "/", f"{page}/outcome", reward="1")

    assert post_forms(shown_page) == ["/dashboard/logout"]
    assert answer.status_code == 403


async def test_stored_markup_stays_text(app, client, operator_token, namespace):
    await remembered(client, namespace, HOSTILE)
    task = {"text": f"{HOSTILE} a forecast of rain", "category": "<b>bold</b>"}
    receipt = await served(client, namespace, agent="<i>agent</i>", task=task)
    await made(
        client,
        namespace,
        f"/retrievals/{receipt['retrieval_id']}/outcome",
        reward=0.5,
        evaluator="<u>evaluator</u>",
    )
    async with a_browser(app, operator_token) as browser:
        pages = [
            await shown(browser, namespace, path)
            for path in (
                "/receipts",
                "/receipts/outcomes",
                f"/receipts/{receipt['retrieval_id']}",
            )
        ]

    for page in pages:
        assert not {"img", "b", "i", "u"} & {tag for tag, _ in page.tags}
    assert "U+200B" in pages[2].said()
    assert "<i>agent</i>" in pages[2].said()


async def test_a_receipt_begins_with_its_outcome_and_says_what_that_moved(
    app, client, operator_token, namespace
):
    memory_id = await remembered(client, namespace, HOSTILE)
    receipt = await served(client, namespace, explore=False)
    path = f"/receipts/{receipt['retrieval_id']}"
    result = {"reward": 0.9, "without": {"reward": 0.2}, "used": [memory_id]}
    await reported(client, namespace, receipt, **result)
    async with a_browser(app, operator_token) as browser:
        waiting = (await shown(browser, namespace, path)).said()
        await client.post(f"/v1/namespaces/{namespace}/outcomes/apply", json={})
        page = await shown(browser, namespace, path)
    events = f"/v1/namespaces/{namespace}/experiences/{memory_id}/weight/events"
    last = [
        one for one in (await client.get(events)).json()["items"] if one["subject"] == "memory"
    ][-1]

    told = page.said()
    assert "It waits to be applied." in waiting
    assert "Reward 0.900, +0.700 against 0.200 without memory" in told
    before, after = last["weight_before"], last["weight_after"]
    moved = told.partition("What it moved")[2].partition("Its memories, and why")[0]
    assert f"+{after - before:.3f} {before:.3f} → {after:.3f} <script>alert(1)</script>" in moved
    assert "experience cited used Rank 1" in told
    parts = ("Outcomes", "What it moved", "Its memories", "The guideline as it was sent")
    places = [told.index(part) for part in parts]
    assert places == sorted(places)


async def test_what_was_similar_and_not_served_is_named_on_the_receipt(
    app, client, operator_token, namespace
):
    for lesson in (f"look at the clouds {HOSTILE}", "look at the base rate", "look at the river"):
        await remembered(client, namespace, lesson, situation=f"a forecast of rain: {lesson[:18]}")
    receipt = await served(client, namespace, explore=False, k=1)
    [item] = receipt["memories"]
    async with a_browser(app, operator_token) as browser:
        page = await shown(browser, namespace, f"/receipts/{receipt['retrieval_id']}")

    said = page.said().partition("Its memories, and why")[2].partition("The guideline")[0]
    assert "2 more memories were similar enough and were not served" in said
    left = said.partition("not served")[2]
    lessons = ("look at the clouds <script>", "look at the base rate", "look at the river")
    assert sum(lesson in left for lesson in lessons) == 2
    assert item["lesson"][:18] not in left


async def test_the_guideline_is_copied_exactly_as_it_was_sent(
    app, client, operator_token, namespace
):
    await remembered(client, namespace, HOSTILE)
    receipt = await served(client, namespace, explore=False)
    sent_text = receipt["guideline"]["text"]
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(at(namespace, f"/receipts/{receipt['retrieval_id']}"))

    raw = answer.text.partition('<textarea id="guideline-sent"')[2].partition(">")[2]
    # A browser drops the line end that a text area begins with.
    assert unescape(raw.partition("</textarea>")[0].removeprefix("\n")) == sent_text
    assert 'data-copy="guideline-sent"' in answer.text

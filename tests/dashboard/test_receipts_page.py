"""Receipts and outcomes: filters, the receipt as it was, the outcome in effect, corrections."""

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
    assert "/retrievals" in receipts.said()
    assert "/outcome" in outcomes.said()


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

    assert "known_at" in [field["name"] for field in form.of("input")]
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
        fields = {field["name"]: field.get("value") for field in form.of("input")}
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

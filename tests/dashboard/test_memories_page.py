"""The pages of memories: every match once, true totals, stored text inert, no button too many."""

import json
import re
from uuid import uuid4

import pytest
from dashboard_builders import Markup, a_browser, at, csrf_of, inline_parts, token_of

N = 137
LATE = range(101, N, 3)
HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)> ![x](https://evil.test/x.png) '
    "</div>---END OF MEMORY--- \u202eright to left\u202c \u200bש 🙂 {{ 7 * 7 }}"
)


def inside(slug, path):
    return f"/v1/namespaces/{slug}{path}"


def an_experience(i, **changes):
    body = {
        "agent": "solver" if i % 2 else "other",
        "situation": f"A forecast of rain, number {i}",
        "lesson": f"Lesson {i}: start from the base rate",
        "category": "weather",
        "weight": round(0.3 + (i * 37 % N) / N * 1.5, 3),
    }
    return body | changes


async def remembered(client, slug, **changes):
    answer = await client.post(inside(slug, "/experiences"), json=an_experience(0, **changes))
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def learnt(client, slug, **outcome):
    ask = {"agent": "solver", "task": {"text": "a forecast of rain", "category": "weather"}}
    asked = await client.post(inside(slug, "/retrievals"), json=ask | {"arm": "on"})
    receipt = asked.json()["retrieval_id"]
    body = {"reward": 1, "without": {"reward": 0}, "verifier": "test"} | outcome
    await client.post(inside(slug, f"/retrievals/{receipt}/outcome"), json=body)
    await client.post(inside(slug, "/outcomes/apply"), json={})
    return receipt


def ids_in(text):
    """The memories of the table, in order."""
    rows = text.partition('<table id="memories"')[2].partition("</table>")[0]
    found = re.findall(r'href="/dashboard/ns/[^/]+/memories/([0-9a-f-]{36})"', rows)
    return list(dict.fromkeys(found))


def total_in(text):
    return int(re.search(r"([0-9,]+) memor(?:y|ies) in all", text)[1].replace(",", ""))


async def walked(browser, address):
    """Ids of all pages in order, and the total each of them told."""
    ids, totals = [], []
    while address is not None:
        answer = await browser.get(address)
        assert answer.status_code == 200, answer.text
        ids += ids_in(answer.text)
        totals.append(total_in(answer.text))
        links = [a for a in Markup(answer.text).of("a") if a.get("rel") == "next"]
        address = links[0]["href"] if links else None
    return ids, totals


@pytest.fixture
async def many(client, namespace):
    """137 memories of two agents; a status that begins only after row 100, and a second one."""
    ids = []
    for start in range(0, N, 100):
        items = [an_experience(i) for i in range(start, min(N, start + 100))]
        answer = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})
        ids += [item["id"] for item in answer.json()["items"]]
    for action, which in (("suspend", [ids[i] for i in LATE]), ("retire", [ids[3], ids[5]])):
        body = {"ids": which, "action": action}
        assert (await client.post(inside(namespace, "/memories/bulk"), json=body)).is_success
    return ids


@pytest.mark.parametrize("order", ["", "&sort=weight&order=desc", "&sort=weight&order=asc"])
async def test_what_matches_only_past_the_first_page_is_found_once_and_counted(
    app, operator_token, namespace, many, order
):
    async with a_browser(app, operator_token) as browser:
        found, totals = await walked(browser, at(namespace, f"/memories?status=suspended{order}"))
        every, whole = await walked(browser, at(namespace, f"/memories?kind=&text={order}"))

    late = {many[i] for i in LATE}
    assert (set(found), len(found), set(totals)) == (late, len(late), {len(late)})
    assert (set(every), len(every), set(whole)) == (set(many), N, {N})


async def test_totals_follow_a_delete_in_another_tab_and_no_row_is_lost(
    app, client, operator_token, namespace, many
):
    async with a_browser(app, operator_token) as browser:
        first = await browser.get(at(namespace, "/memories?sort=weight&order=desc"))
        seen = ids_in(first.text)
        unseen = next(memory_id for memory_id in many if memory_id not in seen)
        for gone in (seen[-1], unseen):
            await client.delete(inside(namespace, f"/experiences/{gone}"))
        [link] = [a for a in Markup(first.text).of("a") if a.get("rel") == "next"]
        rest, totals = await walked(browser, link["href"])
    listed = (await client.get(inside(namespace, "/memories"))).json()["total"]
    health = (await client.get(inside(namespace, "/learning-health"))).json()["weights"]["living"]

    assert sorted(seen + rest) == sorted(set(many) - {unseen})
    assert set(totals) == {N - 2} == {listed}
    assert health == N - 2 - len({many[3], many[5]} - {seen[-1], unseen})


async def test_the_table_is_sorted_by_the_weights_it_shows(
    app, operator_token, client, namespace, many
):
    async with a_browser(app, operator_token) as browser:
        page = await browser.get(at(namespace, "/memories?sort=weight&order=desc"))
    query = {"sort": "weight", "order": "desc", "limit": 50}
    told = (await client.get(inside(namespace, "/memories"), params=query)).json()["items"]

    assert ids_in(page.text) == [row["id"] for row in told]
    assert 'aria-sort="descending"' in page.text


async def test_agent_text_and_weight_filters_act_on_the_whole_bank(
    app, operator_token, client, namespace, many
):
    query = "agent=solver&text=LESSON 1&min_weight=1.0&max_weight=1.5"
    async with a_browser(app, operator_token) as browser:
        found, totals = await walked(browser, at(namespace, f"/memories?{query}"))
    wanted = {
        memory_id
        for i, memory_id in enumerate(many)
        if i % 2 and str(i).startswith("1") and 1.0 <= an_experience(i)["weight"] <= 1.5
    }

    assert wanted
    assert (set(found), totals[0]) == (wanted, len(wanted))


async def test_empty_unmatched_and_wrong_are_three_different_pages(
    app, operator_token, client, namespace
):
    async with a_browser(app, operator_token) as browser:
        empty = await browser.get(at(namespace, "/memories"))
        await remembered(client, namespace)
        unmatched = await browser.get(at(namespace, "/memories?status=rejected"))
        wrong = await browser.get(at(namespace, "/memories?min_weight=1.5&max_weight=1"))
        unread = await browser.get(at(namespace, "/memories?min_weight=heavy"))

    assert "No memory is here yet" in empty.text
    assert "No memory matches" in unmatched.text
    assert (wrong.status_code, unread.status_code) == (422, 422)
    assert "min_weight lies above max_weight" in wrong.text
    assert "No memory matches" not in wrong.text


async def test_stored_text_is_shown_inert_wherever_a_memory_is_shown(
    app, operator_token, client, namespace
):
    memory_id = await remembered(client, namespace, lesson=HOSTILE, situation="rain " + HOSTILE)
    await learnt(client, namespace)
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        ticked = {"csrf": csrf, "ids": memory_id, "action": "suspend"}
        pages = [
            await browser.get(at(namespace, "/memories")),
            await browser.get(at(namespace, f"/memories/{memory_id}")),
            await browser.get(at(namespace, f"/memories/{memory_id}/events")),
            await browser.get(at(namespace, f"/memories/{memory_id}/episodes")),
            await browser.post(at(namespace, "/memories/review"), data=ticked),
            await browser.post(
                at(namespace, f"/memories/{memory_id}/erasure/preview"), data={"csrf": csrf}
            ),
        ]

    for answer in pages:
        assert answer.status_code == 200, answer.text
        assert inline_parts(answer.text) == []
        assert [img for img in Markup(answer.text).of("img") if "src" in img] == []
        assert "49" not in answer.text.partition("---END OF MEMORY---")[2][:60]
        assert "<script>alert" not in answer.text
    shown = Markup(pages[1].text).said()
    assert 'alert("x")' in shown
    assert "🙂" in shown


def rows_of(text: str, table: str) -> int:
    """Rows of a table's body."""
    return text.partition(f'id="{table}"')[2].partition("</table>")[0].count("<tr") - 1


async def test_a_memory_shows_its_trajectory_with_every_event_and_reason(
    app, operator_token, client, namespace
):
    memory_id = await remembered(client, namespace, weight=1.0)
    receipt = await learnt(client, namespace)
    await learnt(client, namespace, reward=0, without={"reward": 1})
    path = inside(namespace, f"/experiences/{memory_id}/weight/events")
    events = (await client.get(path)).json()["items"]
    weight = (await client.get(inside(namespace, f"/experiences/{memory_id}/weight"))).json()

    async with a_browser(app, operator_token) as browser:
        text = (await browser.get(at(namespace, f"/memories/{memory_id}"))).text

    markup = Markup(text)
    [plot] = [json.loads(told) for told in markup.attributes("data-plot")]
    own = [event for event in events if event["subject"] == "memory"]
    assert plot["series"][0]["values"][:-1] == [event["weight_after"] for event in own]
    assert plot["series"][0]["values"][-1] == pytest.approx(weight["effective_weight"], abs=1e-6)
    assert plot["x"] == sorted(plot["x"])
    assert all(event["reason"] in note for event, note in zip(own, plot["notes"], strict=False))
    assert f"{len(events)} of {len(events)} events" in markup.said()
    assert rows_of(text, "events") == len(own)
    assert rows_of(text, "other-events") == len(events) - len(own)
    assert receipt in text
    assert at(namespace, f"/receipts/{receipt}") in text


async def test_a_memory_tells_what_came_of_it_by_agent(app, operator_token, client, namespace):
    memory_id = await remembered(client, namespace, lesson="one")
    await remembered(client, namespace, lesson="two", situation="A forecast of snow")
    await learnt(client, namespace)
    async with a_browser(app, operator_token) as browser:
        said = Markup((await browser.get(at(namespace, f"/memories/{memory_id}"))).text).said()

    records = (await client.get(inside(namespace, f"/memories/{memory_id}/records"))).json()
    [record] = records["items"]
    assert f"solver weather {record['served']} 1.000 1 0.000 1" in said
    assert "A forecast of snow" in said


async def test_many_are_changed_after_a_review_and_the_refused_are_named(
    app, operator_token, client, namespace
):
    ids = [await remembered(client, namespace, lesson=f"rain lesson {i}") for i in range(2)]
    async with a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, namespace), "ids": ids, "action": "suspend"}
        form |= {"reason": "checking", "back": "status=active"}
        review = await browser.post(at(namespace, "/memories/review"), data=form)
        before = (await client.get(inside(namespace, "/memories?status=active"))).json()["total"]
        changed = await browser.post(at(namespace, "/memories/bulk"), data=form)
        after = (await client.get(inside(namespace, "/memories?status=suspended"))).json()["total"]
        notice = await browser.get(at(namespace, "/memories"))
        again = await browser.post(at(namespace, "/memories/bulk"), data=form)

    assert "Suspend 2 memories?" in Markup(review.text).said()
    assert (before, after) == (2, 2)
    assert changed.headers["location"] == at(namespace, "/memories?status=active")
    assert "2 memories were suspended." in notice.text
    assert "a memory that is suspended cannot be suspended" in again.text


async def test_a_change_of_nothing_is_refused_in_words(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, namespace), "action": "suspend"}
        answer = await browser.post(at(namespace, "/memories/review"), data=form)

    assert (answer.status_code, "no memory is ticked" in answer.text) == (422, True)


async def test_a_memory_is_edited_pinned_suspended_restored_and_quarantined(
    app, operator_token, client, namespace
):
    memory_id = await remembered(client, namespace)
    here = at(namespace, f"/memories/{memory_id}")
    steps = (
        ("/edit", {"version": "1", "situation": "", "lesson": "said better\r\nin two lines"}),
        ("/pin", {"version": "2", "pinned": "yes"}),
        ("/status/suspend", {"reason": "checking"}),
        ("/status/restore", {}),
        ("/trust", {"trust": "quarantined", "reason": "poison"}),
    )
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        for path, fields in steps:
            answer = await browser.post(here + path, data=fields | {"csrf": csrf})
            assert answer.headers.get("location") == here, answer.text
        stale = await browser.post(
            here + "/edit", data={"csrf": csrf, "version": "1", "lesson": "late"}
        )
        versions = (await browser.get(here)).text

    told = (await client.get(inside(namespace, f"/memories/{memory_id}"))).json()
    assert (told["lesson"], told["version"]) == ("said better\nin two lines", 2)
    assert (told["pinned"], told["status"], told["trust"]) == (True, "active", "quarantined")
    assert (stale.status_code, "the memory is at version 2" in stale.text) == (412, True)
    assert "Lesson 0: start from the base rate" in versions


async def test_what_turns_text_stands_in_the_form_by_its_code_and_an_untouched_field_stays(
    app, operator_token, client, namespace
):
    turned = "start \u202efrom the end\u202c \u05e9"
    memory_id = await remembered(client, namespace, lesson=turned)
    here = at(namespace, f"/memories/{memory_id}")
    async with a_browser(app, operator_token) as browser:
        shown = (await browser.get(here)).text
        [field] = re.findall(r'<textarea name="lesson"[^>]*>(.*?)</textarea>', shown)
        form = {"csrf": await csrf_of(browser, namespace), "version": "1", "lesson": field}
        await browser.post(f"{here}/edit", data=form | {"situation": "another situation"})

    told = (await client.get(inside(namespace, f"/memories/{memory_id}"))).json()
    assert field == "start [U+202E]from the end[U+202C] \u05e9"
    assert "stand here by their codes" in shown
    assert (told["situation"], told["lesson"]) == ("another situation", turned)


async def test_a_neighbour_that_says_the_same_takes_a_memory_over_by_a_button(
    app, operator_token, client, namespace
):
    stays = await remembered(client, namespace, lesson="begin with the base rate")
    goes = await remembered(client, namespace, lesson="start from the base rate")
    here = at(namespace, f"/memories/{goes}")
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        offered = (await browser.get(here)).text
        unnamed = await browser.post(here + "/merge", data={"csrf": csrf, "into": "?"})
        merged = await browser.post(here + "/merge", data={"csrf": csrf, "into": stays})
        after = (await browser.get(here)).text

    assert f'action="{here}/merge"' in offered
    assert (unnamed.status_code, "does not name a memory" in unnamed.text) == (422, True)
    assert merged.headers.get("location") == at(namespace, f"/memories/{stays}")
    assert f'action="{here}/merge"' not in after
    told = (await client.get(inside(namespace, f"/memories/{goes}"))).json()
    assert (told["status"], told["status_reason"]) == ("retired", "merged")


async def test_an_erasure_tells_what_goes_and_then_takes_it(app, operator_token, client, namespace):
    memory_id = await remembered(client, namespace)
    receipt = await learnt(client, namespace)
    here = at(namespace, f"/memories/{memory_id}")
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        seen = await browser.post(f"{here}/erasure/preview", data={"csrf": csrf})
        kept = await browser.get(here)
        done = await browser.post(f"{here}/erasure", data={"csrf": csrf})
        gone = await browser.get(here)

    assert receipt in seen.text
    assert (kept.status_code, gone.status_code) == (200, 404)
    assert done.headers["location"] == at(namespace, "/memories")


async def test_a_reader_sees_everything_and_no_button(app, agent_client, client, namespace):
    memory_id = await remembered(client, namespace)
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        for path in ("/memories", f"/memories/{memory_id}"):
            answer = await browser.get(at(namespace, path))
            assert answer.status_code == 200
            actions = [form["action"] for form in Markup(answer.text).of("form")]
            search, own = at(namespace, "/search"), at(namespace, "/memories")
            assert set(actions) <= {"/dashboard/logout", search, own}
        csrf = await csrf_of(browser, namespace)
        form = {"csrf": csrf, "ids": memory_id, "action": "suspend"}
        refused = [
            await browser.post(at(namespace, "/memories/bulk"), data=form),
            await browser.post(at(namespace, f"/memories/{memory_id}/status/retire"), data=form),
            await browser.post(at(namespace, f"/memories/{memory_id}/erasure"), data=form),
        ]

    assert [answer.status_code for answer in refused] == [403] * 3


async def test_an_agents_key_changes_its_own_memories_alone(app, agent_client, client, namespace):
    own = await remembered(client, namespace, agent="solver", lesson="own")
    other = await remembered(client, namespace, agent="other", lesson="other")
    agent = await agent_client("agent", agents=["solver"])
    async with a_browser(app, token_of(agent)) as browser:
        pages = [await browser.get(at(namespace, f"/memories/{one}")) for one in (own, other)]

    assert ["Change it" in page.text for page in pages] == [True, False]
    assert all("Erase …" not in page.text for page in pages)


async def test_a_memory_of_another_namespace_is_not_there(
    app, operator_token, client, namespace, replay
):
    memory_id = await remembered(client, namespace)
    async with a_browser(app, operator_token) as browser:
        answers = [
            await browser.get(at(replay, f"/memories/{memory_id}")),
            await browser.get(at(namespace, f"/memories/{uuid4()}")),
        ]

    assert [answer.status_code for answer in answers] == [404, 404]


async def test_in_a_replay_namespace_an_edit_says_when_it_was_known(
    app, operator_token, client, replay
):
    memory_id = await remembered(client, replay, learned_at="2026-03-01T12:00:00Z")
    here = at(replay, f"/memories/{memory_id}")
    async with a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, replay), "version": "1", "lesson": "said better"}
        untold = await browser.post(f"{here}/edit", data=form)
        told = await browser.post(f"{here}/edit", data=form | {"known_at": "2026-03-02T12:00"})

    assert (untold.status_code, told.status_code) == (422, 303)
    versions = (await client.get(inside(replay, f"/experiences/{memory_id}/versions"))).json()
    assert versions["items"][-1]["known_at"] == "2026-03-02T12:00:00Z"

"""Time travel: the bank as it was, what changed since, and a source withdrawn after a look."""

import pytest
from dashboard_builders import Markup, a_browser, at, csrf_of, inline_parts, token_of


def inside(slug, path):
    return f"/v1/namespaces/{slug}{path}"


async def remembered(client, slug, **changes):
    body = {
        "agent": "solver",
        "situation": "A forecast of rain",
        "lesson": "start from the base rate",
        "category": "weather",
    }
    answer = await client.post(inside(slug, "/experiences"), json=body | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def learnt(client, slug, **known):
    ask = {"agent": "solver", "task": {"text": "a forecast of rain", "category": "weather"}}
    as_of = {"as_of": known["known_at"]} if known else {}
    asked = await client.post(inside(slug, "/retrievals"), json=ask | {"arm": "on"} | as_of)
    receipt = asked.json()["retrieval_id"]
    body = {"reward": 1, "without": {"reward": 0}, "verifier": "test"} | known
    await client.post(inside(slug, f"/retrievals/{receipt}/outcome"), json=body)
    await client.post(inside(slug, "/outcomes/apply"), json={})


async def version_of(client, slug):
    return (await client.get(inside(slug, ""))).json()["bank_version"]


@pytest.fixture
async def changed(client, namespace):
    """A bank in which everything happened after the version that is given back."""
    first = await remembered(client, namespace)
    second = await remembered(client, namespace, lesson="look twice")
    version = await version_of(client, namespace)
    await learnt(client, namespace)
    edited = await client.patch(
        inside(namespace, f"/experiences/{first}"),
        json={"lesson": "said better"},
        headers={"if-match": '"1"'},
    )
    assert edited.is_success
    await client.post(inside(namespace, f"/experiences/{second}/suspend"))
    later = await remembered(client, namespace, lesson="came later")
    return {"version": version, "first": first, "second": second, "later": later}


async def test_the_bank_of_a_version_has_the_words_statuses_and_weights_of_then(
    app, operator_token, namespace, changed
):
    async with a_browser(app, operator_token) as browser:
        path = f"/time-travel?bank_version={changed['version']}"
        said = Markup((await browser.get(at(namespace, path))).text).said()

    assert "2 memories in all" in said
    assert "start from the base rate A forecast of rain experience" in said
    assert said.count("weather solver active 1 1.000") == 2
    assert "said better" not in said
    assert "came later" not in said


async def test_the_bank_of_a_time_is_what_was_known_by_then(app, operator_token, client, replay):
    await remembered(client, replay, learned_at="2026-03-01T12:00:00Z")
    await learnt(client, replay, known_at="2026-03-02T12:00:00Z")
    await remembered(client, replay, lesson="later", learned_at="2026-03-05T12:00:00Z")
    async with a_browser(app, operator_token) as browser:
        pages = [
            Markup((await browser.get(at(replay, f"/time-travel?as_of={day}T00:00"))).text).said()
            for day in ("2026-03-02", "2026-03-03", "2026-03-06", "2026-02-01")
        ]

    assert "active 1 1.000" in pages[0]
    assert "active 1 1.000" not in pages[1]
    assert ["1 memory in all" in page for page in pages[:2]] == [True, True]
    assert "2 memories in all" in pages[2]
    assert "The bank was empty then" in pages[3]


async def test_the_difference_names_what_came_what_stopped_what_was_reworded_and_what_moved(
    app, operator_token, client, namespace, changed
):
    query = {"from_bank_version": changed["version"]}
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(
            at(namespace, f"/time-travel/difference?from_bank_version={changed['version']}")
        )
    told = (await client.get(inside(namespace, "/bank/difference"), params=query)).json()

    said = Markup(answer.text).said()
    assert "came later A forecast of rain added not there active" in said
    assert "look twice A forecast of rain suspended active suspended 1 1" in said
    assert "said better A forecast of rain text changed active active 1 2" in said
    assert "3 of 3 memories that came, changed status or changed text" in said
    assert f"{len(told['weights'])} of {told['total']} changed weights" in said
    assert inline_parts(answer.text) == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/time-travel?as_of=yesterday", "as_of is no time"),
        ("/time-travel?as_of=0001-01-01T00:00", "as_of must lie in"),
        ("/time-travel?bank_version=-1", "a bank version is a whole number"),
        ("/time-travel?bank_version=1&as_of=2026-03-01T12:00", "give as_of or bank_version"),
        ("/time-travel/difference", "say from which moment"),
    ],
)
async def test_a_moment_that_is_none_is_refused_in_words(app, operator_token, namespace, path, why):
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(at(namespace, path))

    assert answer.status_code == 422
    assert why in Markup(answer.text).said()


async def test_a_source_is_withdrawn_after_a_preview_that_changes_nothing(
    app, operator_token, client, namespace, changed
):
    async with a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, namespace), "agent": "solver"}
        before = await version_of(client, namespace)
        seen = await browser.post(at(namespace, "/time-travel/rollback/preview"), data=form)
        unchanged = await version_of(client, namespace)
        taken = await browser.post(at(namespace, "/time-travel/rollback"), data=form)
        notice = Markup((await browser.get(taken.headers["location"])).text).said()

    said = Markup(seen.text).said()
    assert "Nothing was changed" in said
    assert "3 of 3 memories" in said
    assert before == unchanged
    assert "Withdrawn: 1 outcome; 3 memories retired" in notice
    listed = (await client.get(inside(namespace, "/memories?status=retired"))).json()
    assert listed["total"] == 3


async def test_the_newest_rollback_is_undone_by_a_button(
    app, operator_token, client, namespace, changed
):
    before = (await client.get(inside(namespace, "/bank"))).json()
    made = await client.post(
        inside(namespace, "/rollbacks"), json={"agent": "solver", "dry_run": False}
    )
    path = f"/time-travel/rollbacks/{made.json()['rollback_id']}/undo"
    async with a_browser(app, operator_token) as browser:
        seen = await browser.get(at(namespace, "/time-travel"))
        form = {"csrf": await csrf_of(browser, namespace)}
        undone = await browser.post(at(namespace, path), data=form)
        then = await browser.get(undone.headers["location"])
        again = await browser.post(at(namespace, path), data=form)

    assert at(namespace, path) in seen.text
    said = Markup(then.text).said()
    assert "1 outcome back in effect, 3 memories restored" in said
    assert "undone" in said
    assert at(namespace, path) not in then.text
    assert again.status_code == 409
    assert "undone already" in again.text
    after = (await client.get(inside(namespace, "/bank"))).json()
    for bank in (before, after):
        bank["items"] = {
            one["memory_id"]: round(one["effective_weight"], 3) for one in bank["items"]
        }
    assert after == before


async def test_a_rollback_of_nobody_is_refused_in_words(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        path = at(namespace, "/time-travel/rollback/preview")
        nobody = await browser.post(path, data={"csrf": csrf})
        unread = await browser.post(path, data={"csrf": csrf, "key_id": "mine"})

    assert (nobody.status_code, unread.status_code) == (422, 422)
    assert "name an agent or a key" in nobody.text
    assert "a key is named by its id" in unread.text


async def test_a_reader_travels_and_takes_nothing_back(app, agent_client, namespace, changed):
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        page = await browser.get(at(namespace, f"/time-travel?bank_version={changed['version']}"))
        form = {"csrf": await csrf_of(browser, namespace), "agent": "solver"}
        refused = await browser.post(at(namespace, "/time-travel/rollback"), data=form)

    assert "Withdraw a source" not in page.text
    assert (page.status_code, refused.status_code) == (200, 403)


async def test_stored_text_is_inert_in_differences_banks_and_previews(
    app, operator_token, client, namespace
):
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 * 7 }}"
    await remembered(client, namespace, lesson=hostile, situation="rain " + hostile)
    await learnt(client, namespace)
    async with a_browser(app, operator_token) as browser:
        form = {"csrf": await csrf_of(browser, namespace), "agent": "solver"}
        pages = [
            await browser.get(at(namespace, "/time-travel?bank_version=1")),
            await browser.get(at(namespace, "/time-travel/difference?from_bank_version=0")),
            await browser.post(at(namespace, "/time-travel/rollback/preview"), data=form),
        ]

    for answer in pages:
        assert answer.status_code == 200, answer.text
        assert "<script>alert(1)</script>" in Markup(answer.text).said()
        assert inline_parts(answer.text) == []
        assert Markup(answer.text).of("img") == []

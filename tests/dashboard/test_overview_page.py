"""The overview: whether memory helps, what needs a hand, what moved, how weights lie."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from dashboard_builders import Markup, a_browser, at, inline_parts, token_of
from loop_pages import HOSTILE, made, remembered, reported, served
from sqlalchemy import text

from memory.kernel.ids import new_id
from memory.llm.entities import LlmCall
from memory.llm.store import LlmCallStore
from server.dashboard.navigation import QUESTIONS
from tests.fixtures.http import a_namespace

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TIMES, MINUS = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}"
RAIN = "<b>rain</b>"
IN_QUARANTINE = "/memories?status=active&trust=quarantined"
QUIET = "Nothing needs a hand."


async def paired(
    client, slug: str, category: str, rewards, *, first_day: int = 0, **changes: object
) -> None:
    """One run a day, with memory and without, each reward given; applied as they become known."""
    for number, (reward, without) in enumerate(rewards, first_day):
        now = (START + timedelta(days=1 + number)).isoformat()
        task = {"text": f"a forecast of {category}, day {number}", "category": category}
        asked = {"agent": "solver", "purpose": "paired", "as_of": now, "task": task}
        receipt = await made(client, slug, "/retrievals", explore=False, k=1, **asked)
        told = {"reward": reward, "without": {"reward": without}, "known_at": now} | changes
        await made(client, slug, f"/retrievals/{receipt['retrieval_id']}/outcome", **told)
        await client.post(f"/v1/namespaces/{slug}/outcomes/apply", json={})


async def learned(client, slug: str, category: str, lesson: str = "Count the dry days") -> str:
    situation = f"a forecast of {category}"
    told = {"situation": situation, "category": category, "learned_at": START.isoformat()}
    return await remembered(client, slug, lesson, **told)


async def overview(app, token: str, slug: str) -> tuple[Markup, str]:
    async with a_browser(app, token) as browser:
        answer = await browser.get(at(slug))
    assert answer.status_code == 200, answer.text
    assert inline_parts(answer.text) == []
    return Markup(answer.text), answer.text


async def test_the_verdict_has_the_number_and_says_where_nothing_is_known(
    app, client, operator_token, replay
):
    for category in (RAIN, "snow"):
        await learned(client, replay, category)
    await paired(client, replay, RAIN, [(0.7, 0.5), (0.8, 0.5)] * 6)
    await paired(client, replay, "snow", [(0.6, 0.5)] * 3)

    said = (await overview(app, operator_token, replay))[0].said()
    # Twelve days with rain, three of them with snow too: (12 · .25 + 3 · .1) / 15.
    assert "Does memory help? Memory helps: +0.22 ± " in said
    assert "reward over 15 pairs on 12 days." in said
    assert (
        f"Of 2 categories: helps in 1 («{RAIN}»); not known yet in 1 («snow»: 3 of 10 days have "
        "outcomes that compare)."
    ) in said
    effect = (await client.get(f"/v1/namespaces/{replay}/effect")).json()["items"]
    paired_rain = next(one["paired"] for one in effect if one["category"] == RAIN)
    assert paired_rain["low"] > 0


async def test_harm_is_said_and_the_suspended_cell_is_an_alert(app, client, operator_token, replay):
    await learned(client, replay, "rain")
    await paired(client, replay, "rain", [(0.1, 0.9), (0.2, 0.9)] * 6)

    page, html = await overview(app, operator_token, replay)
    said = page.said()
    assert f"Memory harms: {MINUS}0.75 ± " in said
    assert "1 cell is served without memory : the guard suspended" in said
    assert f"solver {TIMES} rain" in said
    assert 'href="' + at(replay, "/#suspended") in html
    assert QUIET not in said


async def test_rewards_that_are_measured_in_two_ways_are_not_added_up(
    app, client, operator_token, replay
):
    for category in ("rain", "snow"):
        await learned(client, replay, category)
    await paired(client, replay, "rain", [(0.7, 0.5)] * 2)
    await paired(client, replay, "snow", [(1.0, 0.0)] * 3, reward_kind="binary")
    # A third kind of report in a category that is measured otherwise moves nothing.
    await paired(client, replay, "rain", [(1.0, 0.0)], reward_kind="binary", keep=True)

    said = (await overview(app, operator_token, replay))[0].said()
    assert "Rewards are measured in 2 ways here, which are never added up." in said
    assert "Not known yet whether memory helps: 3 of 10 days have outcomes that compare." in said
    assert "Not known yet whether memory helps: 2 of 10 days have outcomes that compare." in said
    assert "1 outcome of another kind of reward in 7 days" in said
    assert "Set how categories are measured" in said


async def test_where_nothing_happened_nothing_needs_a_hand_and_nothing_is_known(
    app, client, operator_token, replay
):
    await learned(client, replay, "rain")

    said = (await overview(app, operator_token, replay))[0].said()
    assert "Not known yet whether memory helps: no outcome was applied." in said
    assert "No weight moved in the last week." in said
    alerts = said.partition("Needs a hand")[2].partition("What would you")[0].strip()
    # What another test's namespace met on the same server is told here too.
    job = r"\w+ \(namespaces: \d+\)"
    elsewhere = rf"Jobs fail : {job}(, {job})* \. See"
    other_models = (
        r"Namespaces of another model are refused : vectors of another model than .+ in: .+ See"
    )
    assert alerts == QUIET or re.fullmatch(rf"({elsewhere})? ?({other_models})?", alerts)


@pytest.fixture
async def troubled(app, client, agent_client, operator_token) -> str:
    """A namespace in which a key reports too often, and much else went wrong."""
    slug = await a_namespace(client, "wall", daily_credits=1)
    agent = await agent_client("agent", slug=slug, agents=["solver"])
    memory_id = await remembered(client, slug, "Count the dry days")
    for _ in range(2):
        await reported(agent, slug, await served(agent, slug), verifier="self")
    off = await served(client, slug, arm="off", task={"text": "a dry July", "category": "weather"})
    await reported(client, slug, off)
    await client.post(f"/v1/namespaces/{slug}/outcomes/apply", json={})
    trust = {"trust": "quarantined", "reason": "seen on a list"}
    await client.post(f"/v1/namespaces/{slug}/memories/{memory_id}/trust", json=trust)
    await gone_wrong(app, slug)
    return slug


async def gone_wrong(app, slug: str) -> None:
    """A call of the language model that failed, and a failed run of a job."""
    engine = app.state.shared.engine
    async with engine.database.transaction() as connection:
        namespace = await connection.scalar(
            text("SELECT id FROM namespace WHERE slug = :slug"), {"slug": slug}
        )
    now = datetime.now(UTC)
    call = LlmCall(
        id=new_id(),
        role="reflect",
        model="m",
        attempt=1,
        status="failed",
        fault="rate_limited",
        detail=HOSTILE,
        prompt="p",
        answer="",
        tokens=0,
        duration_ms=1.0,
        retrieval_id=None,
        memory_id=None,
        ticket_id=None,
        task_id=None,
        agent=None,
        memory_ids=(),
        recorded_at=now,
        erased_at=None,
        key_id=None,
    )
    async with engine.database.transaction(namespace) as connection:
        await LlmCallStore(connection, namespace).add(call, now)
        await connection.execute(
            text(
                "INSERT INTO job_run (id, job, namespace_id, period, dry_run, state, now, "
                "started_at, finished_at) VALUES (:id, 'decay', :ns, 'p', false, 'failed', :now, "
                ":now, :now)"
            ),
            {"id": new_id(), "ns": namespace, "now": now},
        )


async def test_each_alert_has_its_cause_its_count_and_where_it_is_acted_upon(
    app, operator_token, troubled
):
    page, _ = await overview(app, operator_token, troubled)
    said = page.said()

    assert (
        "1 outcome of 7 days moved nothing : 1 because they ran without memory, and not at random "
        ". See them" in said
    )
    assert "1 outcome of 7 days moved not all that was served" in said
    assert "The job decay failed at its last run : 1 failed run in 7 days . Run it again" in said
    assert "1 call of the language model failed in 7 days : rate limited 1 . See them" in said
    assert "1 memory is in quarantine : its source is not believed . Look at them" in said
    links = {link["href"] for link in page.of("a")}
    for path in (
        "/receipts/outcomes?state=ignored",
        "/jobs",
        "/llm-calls?status=failed",
        "/memories?status=active&trust=quarantined",
    ):
        assert at(troubled, path) in links


async def test_each_alert_leads_to_what_it_counts(app, operator_token, troubled):
    async with a_browser(app, operator_token) as browser:
        for path, told in (
            ("/receipts/outcomes?state=ignored", "1 outcome in all"),
            (IN_QUARANTINE, "1 memory in all"),
            ("/llm-calls?status=failed", "1 call in all"),
        ):
            assert told in Markup((await browser.get(at(troubled, path))).text).said()


async def test_the_memories_that_moved_are_named_with_how_far_and_by_how_many_outcomes(
    app, client, operator_token, replay
):
    fallen = await learned(client, replay, "rain", HOSTILE)
    await paired(client, replay, "rain", [(0.4, 0.6)] * 3)

    page, html = await overview(app, operator_token, replay)
    [row] = (await client.get(f"/v1/namespaces/{replay}/weights")).json()["items"]
    events = (
        await client.get(f"/v1/namespaces/{replay}/experiences/{fallen}/weight/events")
    ).json()
    [*_, before, last] = [
        one["weight_after"] for one in events["items"] if one["subject"] == "memory"
    ]
    day, _, week = page.said().partition("In the last week")
    name, now = " ".join(HOSTILE.split())[:25], f"{row['effective_weight']:.2f}"
    assert f"{MINUS}{1 - last:.2f} 1.00 → {now} {name}" in week
    # The newest fact is of the third day: on the last day one outcome moved it.
    assert f"{MINUS}{before - last:.2f} {before:.2f} → {now} {name}" in day
    outcomes = r'<td[^>]* class="number"[^>]*>(\d)</td></tr>'
    movers = html.partition('id="movers"')[2].partition('id="distribution"')[0]
    assert re.findall(outcomes, movers) == ["1", "3"]
    sparks = [one["aria-label"] for one in page.of("svg") if one.get("class") == "spark"]
    assert sparks == [f"weight lately: from {sparks_of(events)}"] * 2
    assert f'href="{at(replay, f"/memories/{fallen}")}"' in html


def sparks_of(events) -> str:
    """Of weights that only fall: the first, and the last, which is the lowest."""
    first, *_, last = [one["weight_after"] for one in events["items"] if one["subject"] == "memory"]
    return f"{first:.2f} to {last:.2f}, lowest {last:.2f}, highest {first:.2f}"


def table_of(html: str, name: str) -> list[list[str]]:
    """The cells of the table below a plot, row by row."""
    part = html.partition(f'<div id="{name}">')[2].partition("</table>")[0]
    return [
        re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.split(r"<tr[^>]*>", part)[2:]
    ]


async def test_lift_is_drawn_from_the_tenth_date_with_its_interval_and_the_same_numbers_below(
    app, client, operator_token, replay
):
    await learned(client, replay, "rain")
    await paired(client, replay, "rain", [(0.7, 0.5), (0.8, 0.5)] * 4)
    said = (await overview(app, operator_token, replay))[0].said()
    assert "Not drawn yet: a point needs ten dates" in said

    await paired(client, replay, "rain", [(0.7, 0.5), (0.8, 0.5)] * 2, first_day=8)
    page, html = await overview(app, operator_token, replay)
    rows = table_of(html, "lift-0")
    effect = (await client.get(f"/v1/namespaces/{replay}/effect")).json()["items"][0]["paired"]
    assert [row[0] for row in rows] == ["2026-03-13", "2026-03-12", "2026-03-11"]
    assert rows[0][1:] == ["+0.250", f"+{effect['low']:.3f} to +{effect['high']:.3f}", "12", "12"]
    drawn = [json.loads(one["data-plot"]) for one in page.of("div") if "data-plot" in one]
    lift = next(one for one in drawn if one["series"][0]["label"] == "lift")
    assert [len(one["values"]) for one in lift["series"]] == [3, 3, 3]
    assert lift["level"] == 0


async def test_outcomes_and_receipts_are_counted_by_day_without_gaps(
    app, client, operator_token, replay
):
    await learned(client, replay, "rain")
    await paired(client, replay, "rain", [(0.7, 0.5)] * 2)
    await paired(client, replay, "rain", [(0.7, 0.5)], first_day=3)
    now = (START + timedelta(days=5)).isoformat()
    asked = {"agent": "solver", "arm": "off", "as_of": now}
    off = await made(
        client, replay, "/retrievals", task={"text": "dry", "category": "rain"}, **asked
    )
    told = {"reward": 0.5, "verifier": "test", "known_at": now}
    await made(client, replay, f"/retrievals/{off['retrieval_id']}/outcome", **told)
    await client.post(f"/v1/namespaces/{replay}/outcomes/apply", json={})

    _, html = await overview(app, operator_token, replay)
    # Day, outcomes that count, outcomes that move nothing.
    assert table_of(html, "outcomes-by-day") == [
        ["2026-03-06", "0", "1"],
        ["2026-03-05", "1", "0"],
        ["2026-03-04", "0", "0"],
        ["2026-03-03", "1", "0"],
        ["2026-03-02", "1", "0"],
    ]
    # Day, receipts with memory and without, memories left out by a coin.
    assert table_of(html, "served-by-day")[:2] == [
        ["2026-03-06", "0", "1", "0"],
        ["2026-03-05", "1", "0", "0"],
    ]


async def test_a_bar_of_weights_lists_as_many_memories_as_it_says(
    app, client, operator_token, replay
):
    for category in ("rain", "snow", "fog"):
        await learned(client, replay, category)
    await paired(client, replay, "rain", [(0.1, 0.9)])

    async with a_browser(app, operator_token) as browser:
        page = Markup((await browser.get(at(replay))).text)
        bars = [link["href"] for link in page.of("a") if "min_weight" in str(link["href"])]
        listed = [Markup((await browser.get(str(href))).text).said() for href in bars]
    counts = [int(re.search(r"(\d+) memor\w+ in all", one)[1]) for one in listed]
    said = page.said().partition("of active memories")[2]
    drawn = re.findall(r"([\d.]+) to [\d.]+ (\d+)", said)[:10]

    assert [int(n) for _, n in drawn if n != "0"] == counts
    assert sum(counts) == 3
    assert dict(drawn)["0.9"] == "2"


def questions_on(page: Markup) -> list[str]:
    """Where the questions of the overview lead."""
    wanted = [one.path for one in QUESTIONS]
    links = [str(a["href"]) for a in page.of("a") if a.get("href")]
    return [
        path for path in wanted if any(link.endswith(path) and "/ns/" in link for link in links)
    ]


async def test_each_question_leads_to_a_page_that_the_key_may_see(
    app, client, agent_client, operator_token, namespace
):
    await remembered(client, namespace, "Count the dry days")
    reader = await agent_client("reader")
    offered = {}
    for token in (operator_token, token_of(reader)):
        async with a_browser(app, token) as browser:
            page = Markup((await browser.get(at(namespace))).text)
            offered[token] = [
                path
                for path in questions_on(page)
                if (await browser.get(at(namespace, path.partition("#")[0]))).status_code == 200
            ]
            assert offered[token] == questions_on(page)

    assert offered[operator_token] == [one.path for one in QUESTIONS]
    assert "/audit" not in offered[token_of(reader)]

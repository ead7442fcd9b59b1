"""A memory's page: how its weight came about, what was expected, what speaks against it."""

import json
import re

from dashboard_builders import Markup, a_browser, at, inline_parts
from loop_pages import HOSTILE, made, remembered, reported, served
from sqlalchemy import text

LESSON = "write to the old desk before the parcel has left the building"
SITUATION = "a parcel is to be sent back and the desk is closed"
TASK = {"text": SITUATION, "category": "parcels"}


def inside(slug: str, path: str) -> str:
    return f"/v1/namespaces/{slug}{path}"


async def the_page(app, token: str, slug: str, memory_id: str) -> tuple[Markup, str]:
    async with a_browser(app, token) as browser:
        answer = await browser.get(at(slug, f"/memories/{memory_id}"))
    assert answer.status_code == 200, answer.text
    assert inline_parts(answer.text) == []
    return Markup(answer.text), answer.text


def rows_of(html: str, table: str) -> list[list[str]]:
    """What a table's body says, by row and cell."""
    body = html.partition(f'id="{table}"')[2].partition("</table>")[0].partition("<tbody")[2]
    return [
        [Markup(cell).said() for cell in re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    ]


async def paired(client, slug: str, reward: float, without: float, **changes: object) -> str:
    """A run with memory and one without; the id of its outcome."""
    receipt = await served(client, slug, task=TASK, explore=False, **changes)
    outcome = await reported(client, slug, receipt, reward=reward, without={"reward": without})
    await client.post(inside(slug, "/outcomes/apply"), json={})
    return outcome["outcome_id"]


async def learned(client, slug: str, lesson: str = LESSON, **changes: object) -> str:
    return await remembered(
        client, slug, lesson, situation=SITUATION, category="parcels", **changes
    )


async def test_its_lesson_is_the_title_and_the_ledger_has_expected_and_actual_gain(
    app, client, operator_token, namespace
):
    memory_id = await learned(client, namespace, HOSTILE)
    outcomes = [
        await paired(client, namespace, 0.9, 0.3),
        await paired(client, namespace, 0.2, 0.4),
    ]

    page, html = await the_page(app, operator_token, namespace, memory_id)
    database = app.state.shared.engine.database
    async with database.transaction() as connection:
        known = text("SELECT id FROM namespace WHERE slug = :slug")
        here = await connection.scalar(known, {"slug": namespace})
    async with database.transaction(here) as connection:
        stored = await connection.execute(
            text("SELECT id, above_baseline, residual FROM outcome WHERE id = ANY(:ids)"),
            {"ids": outcomes},
        )
    kept = {str(row.id): row for row in stored}
    title = Markup(html.partition("<h1>")[2].partition("</h1>")[0]).said()
    assert title.startswith("<script>alert(1)</script>")
    assert "U+202E" in title
    rows = rows_of(html, "events")
    assert [row[3] for row in rows] == ["created", "paired", "paired"]
    told = [[float(cell.replace("\N{MINUS SIGN}", "-")) for cell in row[4:6]] for row in rows[1:]]
    for (expected, actual), outcome in zip(told, outcomes, strict=True):
        row = kept[outcome]
        assert abs(actual - row.above_baseline) < 5.1e-4
        assert abs(expected - (row.above_baseline - row.residual)) < 5.1e-4
    assert told[0][0] == 0.0  # nothing was believed of it yet
    assert told[1][0] > 0.0
    assert "What speaks against it" not in page.said()


async def test_edits_and_what_was_taken_back_are_marked_within_a_band(
    app, client, operator_token, namespace
):
    memory_id = await learned(client, namespace)
    receipt = await served(client, namespace, task=TASK, explore=False)
    first = await reported(client, namespace, receipt, reward=0.9, without={"reward": 0.3})
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    corrected = {"reward": 0.2, "without": {"reward": 0.3}, "supersedes": first["outcome_id"]}
    await reported(client, namespace, receipt, **corrected)
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    edit = {"lesson": f"{LESSON}, and call"}
    path = inside(namespace, f"/experiences/{memory_id}")
    edited = await client.patch(path, json=edit, headers={"if-match": '"1"'})
    assert edited.status_code == 200, edited.text

    page, _ = await the_page(app, operator_token, namespace, memory_id)
    [plot] = [json.loads(told) for told in page.attributes("data-plot")]
    labels = [mark["label"] for mark in plot["marks"]]
    assert labels.count("edited") >= 1
    assert "withdrawn" in labels
    assert plot["level"] == 1
    upper, lower = plot["series"][1]["values"], plot["series"][2]["values"]
    weights = plot["series"][0]["values"]
    assert all(
        low <= weight <= high
        for low, weight, high in zip(lower, weights, upper, strict=True)
        if low is not None
    )


async def test_ageing_that_was_written_down_is_folded(app, client, operator_token, replay):
    known = {"learned_at": "2026-03-01T12:00:00Z"}
    memory_id = await learned(client, replay, **known)
    task = {"text": SITUATION, "category": "parcels"}
    receipt = await made(
        client,
        replay,
        "/retrievals",
        agent="solver",
        task=task,
        arm="on",
        explore=False,
        as_of="2026-03-02T12:00:00Z",
    )
    result = {"reward": 0.9, "without": {"reward": 0.2}, "known_at": "2026-03-02T12:00:00Z"}
    await reported(client, replay, receipt, **result)
    await client.post(inside(replay, "/outcomes/apply"), json={})
    ran = await client.post(
        inside(replay, "/jobs/decay/runs"), json={"now": "2026-09-02T12:00:00Z"}
    )
    assert ran.status_code < 300, ran.text

    page, html = await the_page(app, operator_token, replay, memory_id)
    assert "was written down once" in page.said()
    [[_, before, after]] = rows_of(html, "aged")
    assert 1.0 < float(after) < float(before)
    assert [row[3] for row in rows_of(html, "events")] == ["created", "paired"]


async def test_what_refutes_a_memory_and_what_it_refutes_are_named_on_both(
    app, client, operator_token, namespace
):
    first = await learned(client, namespace)
    await served(client, namespace, task=TASK, explore=False)
    second = await learned(client, namespace, f"Never {LESSON}")

    of_first, first_html = await the_page(app, operator_token, namespace, first)
    of_second, second_html = await the_page(app, operator_token, namespace, second)
    assert f"Refuted by Never {LESSON}" in of_first.said()
    assert at(namespace, f"/memories/{second}") in first_html.partition('id="refutes"')[2]
    assert f"It speaks against {LESSON}" in of_second.said()
    assert at(namespace, f"/memories/{first}") in second_html.partition('id="refutes"')[2]


async def test_constraints_that_contradict_each_other_lead_to_the_decision(
    app, client, operator_token, namespace
):
    trigger = "a sum of parts is asked for and the parts are given in several different units"
    ways = (
        "converting every part to the unit of the answer before adding any of them up",
        "adding the parts up as they stand in the text and converting the total afterwards",
    )
    ids = []
    for enforce, avoid in (ways, ways[::-1]):
        body = {"agent": "curator", "trigger": trigger, "enforce": enforce, "avoid": avoid}
        task = {"text": "Ada rides 40 minutes. How long in all?", "category": "mathematics"}
        ids.append((await made(client, namespace, "/constraints", task=task, **body))["id"])
    [found] = (await client.get(inside(namespace, "/contradictions"))).json()["items"]

    for one in ids:
        page, html = await the_page(app, operator_token, namespace, one)
        assert "Contradicts" in page.said()
        assert "not decided yet" in page.said()
        assert at(namespace, f"/contradictions/{found['id']}") in html


async def test_a_merger_is_told_on_both_and_marked_in_time(app, client, operator_token, namespace):
    stays = await learned(client, namespace, "begin with the base rate")
    goes = await learned(client, namespace, f"start from the base rate {HOSTILE}")
    await paired(client, namespace, 0.9, 0.3)
    await made(client, namespace, f"/experiences/{goes}/merge", into=stays)

    survivor, _ = await the_page(app, operator_token, namespace, stays)
    merged, _ = await the_page(app, operator_token, namespace, goes)
    assert "Merged into this one: start from the base rate <script>alert(1)</script>" in (
        survivor.said()
    )
    assert "Merged into begin with the base rate" in merged.said()
    [plot] = [json.loads(told) for told in survivor.attributes("data-plot")]
    assert [mark["label"] for mark in plot["marks"]] == ["merged"]


async def test_a_private_memory_that_speaks_against_it_is_only_said_to_be_there(
    app, client, agent_client, operator_token, namespace
):
    alice = await agent_client("agent", agents=["alice"])
    first = await learned(alice, namespace, agent="alice")
    await served(alice, namespace, agent="alice", task=TASK, explore=False)
    await learned(alice, namespace, f"Never {LESSON}", agent="alice", visibility="agent")

    page, _ = await the_page(app, operator_token, namespace, first)
    assert "Refuted by a private memory" in page.said()
    assert "Never write" not in page.said()

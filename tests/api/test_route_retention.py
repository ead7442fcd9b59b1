"""A dry run of `retention` and the run itself, asked over HTTP."""

from datetime import UTC, datetime, timedelta

from api_builders import an_experience, inside

from tests.fixtures.http import a_namespace

BEGAN = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TASK = {"text": "a forecast of rain", "category": "weather"}


async def post(client, slug, path, body):
    answer = await client.post(inside(slug, path), json=body)
    assert answer.is_success, answer.text
    return answer.json()


async def a_run_at(client, slug, at):
    ask = {"agent": "solver", "task": TASK, "as_of": at.isoformat(), "expires_in": 3600}
    run = await post(client, slug, "/retrievals", ask)
    place = f"/retrievals/{run['retrieval_id']}/outcome"
    await post(client, slug, place, {"reward": 0.9, "known_at": at.isoformat()})
    return run["retrieval_id"]


async def test_old_runs_go_and_what_they_taught_stays(client):
    slug = await a_namespace(client, "replay", retention_days=60)
    lesson = an_experience(learned_at=BEGAN.isoformat())
    kept = await post(client, slug, "/experiences", lesson)
    runs = [await a_run_at(client, slug, BEGAN + (1 + 20 * n) * DAY) for n in range(6)]
    await post(client, slug, "/outcomes/apply", {})
    weight = inside(slug, f"/experiences/{kept['id']}/weight")
    before, now = (await client.get(weight)).json(), (BEGAN + 110 * DAY).isoformat()

    seen = await post(client, slug, "/jobs/retention/runs", {"dry_run": True, "now": now})
    still = await client.get(inside(slug, f"/retrievals/{runs[0]}"))
    done = await post(client, slug, "/jobs/retention/runs", {"now": now})

    assert still.status_code == 200
    foreseen, result = seen["result"], done["result"]
    assert (foreseen["receipts"], foreseen["outcomes"], foreseen["rows_removed"]) == (3, 3, 0)
    assert (result["receipts"], result["outcomes"], result["complete"]) == (3, 3, True)
    assert result["rows_removed"] == foreseen["rows_to_remove"]
    listed = (await client.get(inside(slug, "/jobs/runs"))).json()["items"]
    assert [run["result"] for run in listed if run["job"] == "retention"] == [result]
    gone = await client.get(inside(slug, f"/retrievals/{runs[0]}"))
    assert (gone.status_code, gone.json()["code"]) == (404, "retrieval_not_found")
    assert (await client.get(inside(slug, f"/retrievals/{runs[-1]}"))).status_code == 200
    assert (await client.get(weight)).json() == before
    assert (await post(client, slug, "/jobs/rebuild/runs", {"now": now}))["result"]["exact"]
    early = {"agent": "solver", "task": TASK, "as_of": (BEGAN + 2 * DAY).isoformat()}
    refused = await client.post(inside(slug, "/retrievals"), json=early)
    assert (refused.status_code, refused.json()["code"]) == (422, "no_longer_kept")
    assert refused.json()["field"] == "as_of"

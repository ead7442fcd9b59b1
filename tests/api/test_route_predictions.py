"""Predictions and settlements over HTTP: a forecast, its event, and the score."""

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from api_builders import NOON, inside, problem, remembered, retrieved

MICROSECOND = timedelta(microseconds=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(days: float = 0, **more: float) -> str:
    return (START + timedelta(days=days, **more)).isoformat()


def a_window(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "text": "Will it rain in June?",
        "key": "rain#1",
        "group_key": "rain",
        "category": "weather",
    }
    return body | changes


def a_prediction(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {
        "agent": "solver",
        "task": a_window(),
        "probabilities": {"yes": 0.8, "no": 0.2},
    }
    return body | changes


def a_settlement(**changes: object) -> dict[str, object]:
    body: dict[str, object] = {"event": "rain", "resolutions": {"yes": "yes", "no": "no"}}
    return body | changes


async def predicted(client, slug, status=201, **changes) -> dict[str, Any]:
    answer = await client.post(inside(slug, "/predictions"), json=a_prediction(**changes))
    assert answer.status_code == status, answer.text
    return answer.json()


async def settled(client, slug, status=201, **changes) -> dict[str, Any]:
    answer = await client.post(inside(slug, "/settlements"), json=a_settlement(**changes))
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_prediction_waits_until_its_event_is_settled_and_then_has_a_score(
    client, namespace
):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace, task=a_window())
    first = await predicted(
        client,
        namespace,
        task=None,
        retrieval_id=receipt["retrieval_id"],
        baseline_probabilities={"yes": 0.5, "no": 0.5},
    )
    pending = await client.get(inside(namespace, "/predictions"), params={"state": "pending"})

    made = await settled(client, namespace, crowd={"yes": 0.6, "no": 0.4})

    assert [row["id"] for row in pending.json()["items"]] == [first["id"]]
    assert (first["state"], first["event"], first["score"]) == ("pending", "rain", None)
    [score] = made["scores"]
    assert score["brier"] == pytest.approx(0.04)
    assert score["baseline_brier"] == pytest.approx(0.25)
    assert score["skill"] == pytest.approx(0.12)
    path = inside(namespace, f"/outcomes/{score['outcome_id']}")
    outcome = (await client.get(path)).json()
    assert (outcome["evaluator"], outcome["verifier"]) == ("settlement", "test")
    assert outcome["reward"] == pytest.approx(0.96)
    assert outcome["reward_without"] == pytest.approx(0.75)
    whole = (await client.get(inside(namespace, f"/predictions/{first['id']}"))).json()
    assert (whole["state"], whole["score"]["settlement_id"]) == ("settled", made["id"])
    assert [one["revision"] for one in whole["revisions"]] == [1]


async def test_a_revision_is_200_and_what_comes_too_late_is_409(client, replay):
    task = a_window(closes_at=at(2))
    first = await predicted(client, replay, task=task, known_at=at(0))
    path = inside(replay, "/predictions")

    revised = await predicted(client, replay, 200, probabilities={"yes": 0.9}, known_at=at(1))
    again = await predicted(client, replay, 200, probabilities={"yes": 0.9}, known_at=at(1))
    earlier = await client.post(path, json=a_prediction(known_at=at(0)))
    closed = await client.post(path, json=a_prediction(known_at=at(2)))
    made = await settled(client, replay, known_at=at(1, microseconds=1))
    late = await client.post(path, json=a_prediction(known_at=at(1, microseconds=1)))

    assert (first["revision"], revised["revision"], again["revision"]) == (1, 2, 2)
    assert again == revised
    assert problem(earlier) == (409, "prediction_superseded", "known_at")
    assert problem(closed) == (409, "prediction_closed", "known_at")
    assert problem(late) == (409, "prediction_settled", "known_at")
    assert [score["revision"] for score in made["scores"]] == [2]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"probabilities": {"yes": 1.5}}, "probabilities.yes"),
        ({"probabilities": {"yes": "0.5"}}, "probabilities.yes"),
        ({"probabilities": {}}, "probabilities"),
        ({"probabilities": {f"o{n}": 0.1 for n in range(257)}}, "probabilities"),
        ({"baseline_probabilities": {"yes": 0.5}}, "baseline_probabilities"),
        ({"full_probabilities": {"no": 0.5, "maybe": 0.5}}, "full_probabilities"),
        ({"answers": {"flat/none": {"yes": 0.5, "no": 0.5}}}, "answers"),
        ({"task": a_window(group_key=None)}, "task.group_key"),
        ({"task_id": "01900000-0000-7000-8000-000000000000"}, "task"),
        ({"task": None}, "task"),
        ({"rationale": " "}, "rationale"),
        ({"price": 0.5}, "price"),
    ],
)
async def test_a_prediction_that_cannot_be_taken_names_the_field(client, namespace, changes, field):
    answer = await client.post(inside(namespace, "/predictions"), json=a_prediction(**changes))

    assert problem(answer)[0] == 422
    assert answer.json()["field"] == field, answer.text
    assert (await client.get(inside(namespace, "/predictions"))).json()["total"] == 0


async def test_a_batch_has_a_status_an_item(client, replay):
    items = [
        a_prediction(known_at=at(0)),
        a_prediction(known_at=at(0), rationale="x" * 16_001),
        a_prediction(known_at=at(1)),
        a_prediction(),
    ]

    answer = await client.post(inside(replay, "/predictions/batch"), json={"items": items})
    events = [a_settlement(known_at=at(2)), a_settlement(event="snow", known_at=at(2))]
    settling = await client.post(inside(replay, "/settlements/batch"), json={"items": events})

    assert answer.status_code == settling.status_code == 207
    found = answer.json()["items"]
    assert [item["status"] for item in found] == [201, 413, 200, 422]
    assert found[2]["prediction"]["revision"] == 2
    assert found[3]["problem"]["field"] == "known_at"
    assert [item["status"] for item in settling.json()["items"]] == [201, 404]
    assert settling.json()["items"][1]["problem"]["code"] == "event_not_found"


async def test_an_idempotency_key_gets_the_same_answer_again(client, replay):
    header = {"Idempotency-Key": "once"}
    body = a_prediction(known_at=at(0))

    first = await client.post(inside(replay, "/predictions"), json=body, headers=header)
    again = await client.post(inside(replay, "/predictions"), json=body, headers=header)
    said = a_settlement(known_at=at(1))
    made = await client.post(inside(replay, "/settlements"), json=said, headers=header)
    repeated = await client.post(inside(replay, "/settlements"), json=said, headers=header)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert repeated.json() == made.json()
    assert again.headers["idempotency-replayed"] == "true"


async def test_a_settlement_again_is_200_and_otherwise_409_until_it_corrects(client, replay):
    await predicted(client, replay, known_at=at(0))
    first = await settled(client, replay, known_at=at(1))
    path = inside(replay, "/settlements")
    no = {"yes": "no", "no": "yes"}

    again = await settled(client, replay, 200, known_at=at(2))
    other = await client.post(path, json=a_settlement(resolutions=no, known_at=at(2)))
    mended = await settled(client, replay, resolutions=no, known_at=at(2), corrects=first["id"])
    stale = await client.post(
        path,
        json=a_settlement(resolutions=no, known_at=at(3), corrects=first["id"], crowd={"yes": 0}),
    )

    assert again == first
    assert problem(other)[:2] == (409, "settlement_conflict")
    assert (mended["correction"], mended["corrects"]) == (1, first["id"])
    assert problem(stale)[:2] == (409, "stale")
    found = (await client.get(f"{path}/{first['id']}")).json()
    assert (found["superseded_by"], found["windows"]) == (mended["id"], ["rain#1"])
    listed = (await client.get(path, params={"event": "rain", "limit": 1})).json()
    assert (listed["total"], listed["next_cursor"] is None) == (2, False)
    rest = {"event": "rain", "limit": 1, "cursor": listed["next_cursor"]}
    [last] = (await client.get(path, params=rest)).json()["items"]
    assert last == mended


async def test_who_may_predict_may_not_settle(agent_client, namespace):
    agent, evaluator = await agent_client("agent", ["solver"]), await agent_client("evaluator")
    await predicted(agent, namespace)

    own = await agent.post(inside(namespace, "/settlements"), json=a_settlement())
    other = await evaluator.post(inside(namespace, "/predictions"), json=a_prediction())
    posing = await agent.post(inside(namespace, "/predictions"), json=a_prediction(agent="x"))

    assert [problem(answer)[:2] for answer in (own, other, posing)] == [(403, "forbidden")] * 3
    await settled(evaluator, namespace)


async def test_no_report_goes_by_the_name_of_settlements(client, namespace):
    receipt = await retrieved(client, namespace)

    answer = await client.post(
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome"),
        json={"reward": 1, "evaluator": "settlement"},
    )

    assert problem(answer) == (422, "rejected", "evaluator")


async def test_predictions_are_paged_and_filtered(client, replay):
    for agent in ("one", "two", "three"):
        await predicted(client, replay, agent=agent, known_at=at(0))
    path = inside(replay, "/predictions")

    page = (await client.get(path, params={"state": "pending", "limit": 2})).json()
    cursor = {"state": "pending", "limit": 2, "cursor": page["next_cursor"]}
    rest = (await client.get(path, params=cursor)).json()
    one = (await client.get(path, params={"agent": "two", "event": "rain"})).json()

    assert [row["agent"] for row in page["items"] + rest["items"]] == ["one", "two", "three"]
    assert (page["total"], rest["next_cursor"], one["total"]) == (3, None, 1)
    wrong = await client.get(path, params=cursor | {"state": "late"})
    assert problem(wrong) == (422, "bad_cursor", "cursor")


async def test_predictions_and_settlements_are_counted(app, client, replay):
    before = await counted(client)
    await predicted(client, replay, known_at=at(0))
    await predicted(client, replay, 200, known_at=at(1))
    await settled(client, replay, known_at=at(2))
    await settled(client, replay, 200, known_at=at(2))

    after = await counted(client)

    assert {name: after[name] - before.get(name, 0) for name in after} == {
        'memlift_predictions_total{kind="made"}': 1,
        'memlift_predictions_total{kind="revised"}': 1,
        'memlift_settlements_total{kind="first"}': 1,
    }


async def counted(client) -> dict[str, float]:
    lines = (await client.get("/metrics")).text.splitlines()
    named = ("memlift_predictions_total{", "memlift_settlements_total{")
    rows = [line.rsplit(" ", 1) for line in lines if line.startswith(named)]
    return {
        name: float(value)
        for name, value in rows
        if name != 'memlift_settlements_total{kind="correction"}'
    }


# Case P21: times are exact, whatever zone they come in and the server stands in.


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/New_York"])
async def test_a_moment_is_a_moment_in_any_zone(client, replay, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        closes_at = START + timedelta(days=1)
        kathmandu = timezone(timedelta(hours=5, minutes=45))
        task = a_window(closes_at=closes_at.astimezone(kathmandu).isoformat())
        early = (closes_at - MICROSECOND).astimezone(timezone(timedelta(hours=-5)))

        taken = await predicted(client, replay, task=task, known_at=early.isoformat())
        late = await client.post(
            inside(replay, "/predictions"),
            json=a_prediction(task=task, known_at=closes_at.isoformat()),
        )
        made = await settled(client, replay, known_at=closes_at.isoformat())
    finally:
        monkeypatch.undo()
        time.tzset()

    assert taken["closes_at"] == "2026-03-02T12:00:00Z"
    assert taken["known_at"] == "2026-03-02T11:59:59.999999Z"
    assert problem(late)[:2] == (409, "prediction_closed")
    assert [score["status"] for score in made["scores"]] == ["scored"]


@pytest.mark.parametrize(
    "time_said",
    [
        "2026-03-01T12:00:00",
        "2026-03-01",
        "2026-06-30T23:59:60Z",
        "1869-03-01T12:00:00Z",
        1772366400,
    ],
    ids=["no zone", "a date", "leap second", "long ago", "a number"],
)
@pytest.mark.parametrize("field", ["known_at", "task.closes_at"])
async def test_a_time_that_could_be_another_is_refused(client, replay, time_said, field):
    body = a_prediction(known_at=NOON)
    if field == "known_at":
        body["known_at"] = time_said
    else:
        body["task"] = a_window(closes_at=time_said)

    answer = await client.post(inside(replay, "/predictions"), json=body)
    settling = await client.post(
        inside(replay, "/settlements"), json=a_settlement(known_at=time_said)
    )

    assert problem(answer) == (422, "rejected", field)
    assert problem(settling) == (422, "rejected", "known_at")


async def test_a_task_says_when_it_closes_whichever_call_made_it(client, replay):
    body = {"agent": "solver", "task": a_window(closes_at=at(1)), "as_of": NOON}
    receipt = (await client.post(inside(replay, "/retrievals"), json=body)).json()

    task = (await client.get(inside(replay, f"/tasks/{receipt['task_id']}"))).json()
    again = await client.post(
        inside(replay, "/tasks"), json=a_window(closes_at=at(2), known_at=NOON)
    )
    silent = await client.post(inside(replay, "/tasks"), json=a_window(known_at=NOON))

    assert task["closes_at"] == "2026-03-02T12:00:00Z"
    assert problem(again) == (409, "task_conflict", "task.key")
    assert (silent.status_code, silent.json()) == (200, task)

"""Outcomes over HTTP: say how it went, once, and see what came of it."""

from uuid import uuid4

import pytest
from api_builders import LATER, NOON, an_outcome, inside, problem, remembered, retrieved


async def a_receipt(client, namespace, **changes):
    await remembered(client, namespace)
    body = await retrieved(client, namespace, **changes)
    return body["retrieval_id"], inside(namespace, f"/retrievals/{body['retrieval_id']}/outcome")


async def test_an_outcome_is_accepted_and_can_be_read(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)

    answer = await client.post(path, json=an_outcome(without={"reward": 0.5}))

    assert answer.status_code == 202
    body = answer.json()
    assert set(body) == {"outcome_id", "status", "reason", "evidence", "warnings", "run_id"}
    assert body["warnings"] == []
    outcome = (await client.get(inside(namespace, f"/outcomes/{body['outcome_id']}"))).json()
    assert (outcome["retrieval_id"], outcome["reward"]) == (retrieval_id, 0.8)
    assert outcome["reward_without"] == 0.5


async def test_the_same_report_again_gets_the_same_answer(client, namespace):
    _, path = await a_receipt(client, namespace)
    first = await client.post(path, json=an_outcome())

    again = await client.post(path, json=an_outcome())
    other = await client.post(path, json=an_outcome(reward=0.1))

    assert (again.status_code, again.json()) == (200, first.json())
    assert (other.status_code, other.json()["status"]) == (202, "ignored")
    assert other.json()["reason"] == "disagrees"
    assert (await client.get(inside(namespace, "/outcomes"))).json()["total"] == 2


async def test_a_better_verified_report_takes_the_place_of_the_first(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)
    await client.post(path, json=an_outcome())

    better = await client.post(path, json=an_outcome(reward=0.1, verifier="human"))

    assert better.status_code == 202
    query = {"retrieval_id": retrieval_id, "state": "superseded"}
    found = (await client.get(inside(namespace, "/outcomes"), params=query)).json()
    assert found["total"] == 1


async def test_applied_outcomes_move_the_bank(client, namespace):
    _, path = await a_receipt(client, namespace)
    reported = (await client.post(path, json=an_outcome())).json()

    applied = await client.post(inside(namespace, "/outcomes/apply"), json={})

    assert applied.status_code == 200
    assert (applied.json()["applied"], applied.json()["pending"]) == (1, 0)
    outcome = await client.get(inside(namespace, f"/outcomes/{reported['outcome_id']}"))
    assert outcome.json()["status"] == "applied"
    assert outcome.json()["bank_version"] <= applied.json()["bank_version"]


async def test_a_brier_score_is_a_reward_too(client, namespace):
    _, path = await a_receipt(client, namespace)
    body = {
        "metric": "brier",
        "value": {"p": [0.9, 0.1]},
        "truth": {"y": [1, 0]},
        "without": {"value": {"p": [0.5, 0.5]}},
    }

    answer = await client.post(path, json=body)

    outcome = await client.get(inside(namespace, f"/outcomes/{answer.json()['outcome_id']}"))
    assert outcome.json()["reward"] == pytest.approx(0.99)
    assert outcome.json()["reward_without"] == pytest.approx(0.75)


async def test_in_a_batch_each_report_has_its_own_status(client, namespace):
    retrieval_id, _ = await a_receipt(client, namespace)
    items = [
        an_outcome(retrieval_id=retrieval_id),
        an_outcome(retrieval_id=retrieval_id),
        an_outcome(retrieval_id=str(uuid4())),
        {"retrieval_id": retrieval_id},
    ]

    answer = await client.post(inside(namespace, "/outcomes/batch"), json={"items": items})

    results = answer.json()["items"]
    assert answer.status_code == 207
    assert [item["status"] for item in results] == [202, 200, 404, 422]
    assert results[0]["outcome"] == results[1]["outcome"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "reward"),
        ({"reward": 1.5}, "reward"),
        ({"reward": -0.1}, "reward"),
        ({"reward": "1"}, "reward"),
        ({"reward": True}, "reward"),
        ({"reward": None}, "reward"),
        ({"reward": 1, "metric": "brier", "value": {"p": [1]}}, "reward"),
        ({"metric": "brier"}, "value"),
        ({"metric": "luck", "value": {"x": 1}}, "metric"),
        ({"reward": 1, "without": {}}, "without"),
        ({"reward": 1, "without": {"reward": 1, "value": {}}}, "without"),
        ({"reward": 1, "verifier": "god"}, "verifier"),
        ({"reward": 1, "helpful": ["x"]}, "helpful.0"),
        ({"reward": 1, "helpful": [str(uuid4())]}, "helpful"),
        ({"reward": 1, "known_at": NOON}, "known_at"),
        ({"reward": 1, "score": 1}, "score"),
        ({"reward": 0.5, "reward_kind": "binary"}, "reward"),
    ],
)
async def test_a_report_that_says_nothing_sound_is_refused_by_field(client, namespace, body, field):
    _, path = await a_receipt(client, namespace)

    assert problem(await client.post(path, json=body)) == (422, "rejected", field)


async def test_only_who_opened_a_receipt_an_evaluator_or_an_admin_reports(
    client, agent_client, namespace
):
    opener, other = await agent_client("agent"), await agent_client("agent")
    await remembered(client, namespace)
    paths = [
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
        for receipt in [await retrieved(opener, namespace) for _ in range(3)]
    ]

    refused = await other.post(paths[0], json=an_outcome())
    opened_by = (await opener.get("/v1/me")).json()["key_id"]
    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        f"key {opened_by} opened this receipt: that key may report on it, and keys of role"
        " evaluator, admin and operator"
    )
    assert (await opener.post(paths[0], json=an_outcome())).status_code == 202
    for path, role in zip(paths[1:], ("evaluator", "admin"), strict=True):
        reporter = await agent_client(role)
        assert (await reporter.post(path, json=an_outcome())).status_code == 202


async def test_in_replay_a_report_says_when_it_became_known(client, replay):
    await remembered(client, replay, learned_at=NOON)
    receipt = await retrieved(client, replay, as_of=NOON)
    path = inside(replay, f"/retrievals/{receipt['retrieval_id']}/outcome")

    assert problem(await client.post(path, json=an_outcome())) == (422, "rejected", "known_at")
    assert (await client.post(path, json=an_outcome(known_at=LATER))).status_code == 202


async def test_an_outcome_that_is_not_there_is_not_found(client, namespace):
    assert (await client.get(inside(namespace, f"/outcomes/{uuid4()}"))).status_code == 404
    answer = await client.post(
        inside(namespace, f"/retrievals/{uuid4()}/outcome"), json=an_outcome()
    )
    assert answer.status_code == 404


BINARY = {"reward": 1.0, "reward_kind": "binary"}


async def applied(client, namespace, **changes):
    """A receipt with an outcome that was applied."""
    receipt = await retrieved(client, namespace)
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")
    answer = await client.post(path, json=an_outcome(**changes))
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    return path, answer.json()


async def the_category(client, namespace, name="weather"):
    found = (await client.get(inside(namespace, "/categories"))).json()["items"]
    return next(one for one in found if one["name"] == name)


async def test_a_report_measured_otherwise_is_409_and_says_what_is_fixed(client, namespace):
    await remembered(client, namespace)
    await applied(client, namespace)
    receipt = await retrieved(client, namespace)
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    refused = await client.post(path, json=BINARY)

    assert problem(refused) == (409, "other_metric", "reward_kind")
    assert refused.json()["limit"] == {"metric": "reward", "reward_kind": "continuous"}
    assert (await client.get(inside(namespace, "/outcomes"))).json()["total"] == 1
    note = await client.post(path, json=BINARY | {"keep": True})
    assert (note.status_code, note.json()["status"]) == (202, "ignored")
    assert note.json()["evidence"] == "none"
    [warning] = note.json()["warnings"]
    assert warning["code"] == note.json()["reason"] == "other_metric"
    query = {"state": "noted"}
    noted = (await client.get(inside(namespace, "/retrievals"), params=query)).json()
    assert [one["retrieval_id"] for one in noted["items"]] == [receipt["retrieval_id"]]


async def test_an_observational_first_report_locks_no_category(client, namespace):
    await remembered(client, namespace)
    off = await retrieved(client, namespace, arm="off")
    path = inside(namespace, f"/retrievals/{off['retrieval_id']}/outcome")
    first = await client.post(path, json=BINARY)
    await client.post(inside(namespace, "/outcomes/apply"), json={})

    assert [one["code"] for one in first.json()["warnings"]] == ["observational"]
    assert (await the_category(client, namespace))["metric"] is None
    _, honest = await applied(client, namespace, reward=0.7)
    assert (honest["status"], honest["warnings"]) == ("accepted", [])
    category = await the_category(client, namespace)
    assert (category["metric"], category["reward_kind"], category["fixed_by"]) == (
        "reward",
        "continuous",
        "outcomes",
    )


async def test_in_a_batch_each_report_measured_otherwise_is_refused_by_itself(client, namespace):
    await remembered(client, namespace)
    await applied(client, namespace)
    ids = [(await retrieved(client, namespace))["retrieval_id"] for _ in range(3)]
    items = [
        BINARY | {"retrieval_id": ids[0]},
        an_outcome(retrieval_id=ids[1]),
        BINARY | {"retrieval_id": ids[2], "keep": True},
    ]

    answer = await client.post(inside(namespace, "/outcomes/batch"), json={"items": items})

    results = answer.json()["items"]
    assert [one["status"] for one in results] == [409, 202, 202]
    assert results[0]["problem"]["code"] == "other_metric"
    assert [len(one["outcome"]["warnings"]) for one in results[1:]] == [0, 1]


async def test_what_teaches_nothing_leaves_what_counts_in_effect(client, namespace):
    memory_id = await remembered(client, namespace)
    pair = await retrieved(client, namespace, arm="auto", purpose="paired")
    path = inside(namespace, f"/retrievals/{pair['retrieval_id']}/outcome")
    acted = an_outcome(without={"reward": 0.1}, used=[memory_id])
    whole = await client.post(path, json=acted)
    await client.post(inside(namespace, "/outcomes/apply"), json={})
    [before] = (await client.get(inside(namespace, "/weights"))).json()["items"]

    half = await client.post(path, json=an_outcome(reward=0.2, verifier="test"))
    brier = {"metric": "brier", "value": {"p": [1.0]}, "truth": {"y": [0]}, "verifier": "test"}
    noted = await client.post(path, json=brier | {"keep": True})
    named = brier | {"keep": True, "supersedes": whole.json()["outcome_id"]}
    refused = await client.post(path, json=named)
    await client.post(inside(namespace, "/outcomes/apply"), json={})

    assert [one.json()["reason"] for one in (half, noted)] == ["note", "other_metric"]
    assert problem(refused) == (409, "teaches_nothing", "supersedes")
    shown = await client.get(inside(namespace, f"/outcomes/{whole.json()['outcome_id']}"))
    assert (shown.json()["status"], shown.json()["evidence"]) == ("applied", "paired")
    [after] = (await client.get(inside(namespace, "/weights"))).json()["items"]
    assert after["touched_at"] == before["touched_at"]
    assert after["effective_weight"] == pytest.approx(before["effective_weight"], abs=1e-4)
    assert before["effective_weight"] > 1.2


async def test_an_admin_changes_what_a_category_is_measured_by_and_the_audit_shows_it(
    client, agent_client, namespace
):
    await remembered(client, namespace)
    await applied(client, namespace)
    category = await the_category(client, namespace)
    path = inside(namespace, f"/categories/{category['id']}/measure")
    agent = await agent_client("agent")

    assert (await agent.put(path, json=BINARY_MEASURE)).status_code == 403
    changed = await client.put(path, json=BINARY_MEASURE)

    assert changed.json() == category | BINARY_MEASURE | {"fixed_by": "admin"}
    _, taken = await applied(client, namespace, **BINARY)
    assert taken["status"] == "accepted"
    audit = (await client.get(inside(namespace, "/audit"))).json()["items"]
    [entry] = [one for one in audit if one["action"] == "category.measure"]
    assert entry["detail"] == {"from": "reward, continuous", "to": "reward, binary"}
    freed = await client.put(path, json={})
    assert (freed.json()["metric"], freed.json()["fixed_by"]) == (None, None)


BINARY_MEASURE = {"metric": "reward", "reward_kind": "binary"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"metric": "luck", "reward_kind": "binary"}, "metric"),
        ({"metric": "reward"}, "metric"),
        ({"metric": "reward", "reward_kind": "shiny"}, "reward_kind"),
        ({"colour": 1}, "colour"),
    ],
)
async def test_a_measure_that_is_none_is_refused_by_field(client, namespace, body, field):
    made = await client.post(inside(namespace, "/categories"), json={"name": "weather"})
    path = inside(namespace, f"/categories/{made.json()['id']}/measure")

    assert problem(await client.put(path, json=body)) == (422, "rejected", field)


async def test_a_subcategory_is_measured_as_its_category(client, namespace):
    body = {"name": "weather", "subcategory": "rain"}
    made = await client.post(inside(namespace, "/categories"), json=body)
    path = inside(namespace, f"/categories/{made.json()['id']}/measure")

    assert problem(await client.put(path, json=BINARY_MEASURE)) == (422, "rejected", "category_id")
    unknown = inside(namespace, f"/categories/{uuid4()}/measure")
    assert problem(await client.put(unknown, json=BINARY_MEASURE))[:2] == (
        404,
        "category_not_found",
    )


A_STEP = {
    "role": "assistant",
    "tool": "forecast",
    "arguments": {"city": "Oslo", "days": [1, 2]},
    "error": "no station in Oslo",
}
A_RUN = {"steps": [A_STEP, {"role": "assistant", "text": "It will rain."}], "rationale": "it did"}


async def runs_of(client, namespace, retrieval_id):
    query = {"retrieval_id": retrieval_id}
    return (await client.get(inside(namespace, "/trajectories"), params=query)).json()["items"]


async def test_the_run_of_an_outcome_is_kept_behind_its_receipt(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)

    answer = await client.post(path, json=an_outcome(reward=0.2, run=A_RUN))

    [run] = await runs_of(client, namespace, retrieval_id)
    assert (run["id"], run["reward"]) == (answer.json()["run_id"], 0.2)
    read = (await client.get(inside(namespace, f"/trajectories/{run['id']}"))).json()
    assert read["steps"][0] == {**A_STEP, "kind": None, "text": None, "result": None}
    assert (read["rationale"], read["retrieval_id"]) == ("it did", retrieval_id)


async def test_a_run_may_come_later_with_the_same_report_and_is_kept_once(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)
    await client.post(path, json=an_outcome())

    later = await client.post(path, json=an_outcome(run=A_RUN))
    again = await client.post(path, json=an_outcome(run=A_RUN))

    assert (later.status_code, again.status_code) == (200, 200)
    assert later.json()["run_id"] == again.json()["run_id"]
    assert len(await runs_of(client, namespace, retrieval_id)) == 1


async def test_of_two_runs_that_one_key_reports_only_the_last_has_a_verdict(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)
    first = (await client.post(path, json=an_outcome(run=A_RUN))).json()
    fixed = an_outcome(reward=0.1, run=A_RUN, supersedes=first["outcome_id"])

    await client.post(path, json=fixed)

    rights = [run["withdrawn_at"] is None for run in await runs_of(client, namespace, retrieval_id)]
    assert rights == [False, True]


@pytest.mark.parametrize(
    ("run", "field", "limit"),
    [
        ({}, "run", None),
        ({"steps": [{"text": "x"}] * 1001}, "run.steps", 1000),
        ({"steps": [{"text": "x" * 20_001}]}, "run.steps.0.text", 20_000),
        ({"steps": [{"tool": "t", "error": "x" * 20_001}]}, "run.steps.0.error", 20_000),
        (
            {"steps": [{"tool": "t", "arguments": {"a": "x" * 20_001}}]},
            "run.steps.0.arguments.a",
            20_000,
        ),
        ({"steps": [{"arguments": {"a": 1}, "text": "x"}]}, "run.steps.0.tool", None),
        ({"steps": [{"role": "user"}]}, "run.steps.0.text", None),
        ({"steps": [{"text": "x"}] * 700 + [{"text": " "}]}, "run.steps.700.text", None),
        ({"result": " "}, "run.result", None),
        ({"steps": [{"text": "x" * 20_000}] * 21}, "run.steps", 400_000),
    ],
)
async def test_a_run_that_cannot_be_kept_is_refused_with_its_limit(
    client, namespace, run, field, limit
):
    _, path = await a_receipt(client, namespace)

    answer = await client.post(path, json=an_outcome(run=run))

    assert answer.status_code in (413, 422)
    fault = answer.json()
    assert fault["field"] == field
    assert fault.get("limit") == limit


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"reward": 1, "used": "m1"}, "used: must be a list of ids"),
        ({"reward": 1, "harmful": ["m1"]}, "harmful.0: must be an id, a UUID"),
        ({"reward": 1, "run": {"steps": "looked"}}, "run.steps: must be a list of objects"),
        ({"reward": 1, "answers": []}, "answers: must be an object"),
    ],
)
async def test_a_field_of_another_shape_is_told_in_words_of_json(client, namespace, body, detail):
    _, path = await a_receipt(client, namespace)

    refused = await client.post(path, json=body)

    assert problem(refused)[:2] == (422, "rejected")
    assert refused.json()["detail"] == detail


async def test_so_many_runs_are_kept_behind_one_receipt_and_no_more(client, namespace):
    retrieval_id, path = await a_receipt(client, namespace)
    step = {"role": "assistant", "text": "looked at the month"}

    def a_run(number):
        body = {"agent": "solver", "retrieval_id": retrieval_id, "steps": [step]}
        return body | {"result": f"try {number}"}

    first = await client.post(path, json={"reward": 0.5, "run": {"steps": [step]}})
    items = [a_run(number) for number in range(16)]
    batch = await client.post(inside(namespace, "/trajectories/batch"), json={"items": items})
    more = await client.post(inside(namespace, "/trajectories"), json=a_run(99))
    again = await client.post(path, json={"reward": 0.5, "run": {"steps": [step]}})
    other = {"reward": 0.5, "run": {"steps": [step], "result": "another"}}
    refused = await client.post(path, json=other)

    assert [one["status"] for one in batch.json()["items"]] == [201] * 15 + [422]
    assert problem(more) == (422, "quota_exceeded", "retrieval_id")
    assert problem(refused) == (422, "quota_exceeded", "run")
    assert refused.json()["limit"] == 16
    assert again.json()["run_id"] == first.json()["run_id"]
    assert (await client.get(inside(namespace, "/outcomes"))).json()["total"] == 1

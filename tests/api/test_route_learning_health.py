"""The health of learning is read by readers, and echoes are answered for what they are."""

from api_builders import (
    an_experience,
    an_outcome,
    inside,
    remembered,
    retrieved,
)


async def test_a_reader_sees_how_learning_is_fed(client, agent_client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    await retrieved(client, namespace)
    await client.post(
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome"), json=an_outcome()
    )
    reader = await agent_client("reader")

    answer = await reader.get(inside(namespace, "/learning-health"))

    health = answer.json()
    assert answer.status_code == 200
    assert health["coverage"] == {"receipts": 2, "answered": 1, "share": 0.5, "noted": 0}
    assert health["pending_receipts"]["hour"] == 1
    assert health["weights"]["living"] == 1
    assert health["item_variance"] == {"pairs": 0, "mean": None, "alert": False}


async def test_the_history_holds_what_the_job_sampled(client, namespace):
    path = inside(namespace, "/learning-health/history")
    before = (await client.get(path)).json()
    run = await client.post(inside(namespace, "/jobs/health/runs"), json={})

    after = (await client.get(path)).json()

    assert before == {"items": [], "total": 0, "next_cursor": None}
    assert (after["total"], after["items"][0]["known_at"]) == (1, run.json()["now"])


async def test_an_echo_is_answered_with_what_it_echoes_and_counted(app, client, namespace):
    memory_id = await remembered(client, namespace)
    receipt = await retrieved(client, namespace)
    meters = app.state.shared.meters
    before = meters.echoes._value.get()
    told = an_experience(lesson=f"I was given this: {receipt['guideline']['text']}")

    alone = await client.post(inside(namespace, "/experiences"), json=told)
    batch = await client.post(
        inside(namespace, "/experiences/batch"),
        json={"items": [told, an_experience(situation="at sea", lesson="ask the pilot")]},
    )

    assert alone.status_code == 200
    assert alone.json()["id"] == memory_id
    assert (alone.json()["echo"], alone.json()["echoes"]) == (True, [memory_id])
    assert [item["status"] for item in batch.json()["items"]] == [200, 201]
    assert [item["echo"] for item in batch.json()["items"]] == [True, False]
    assert meters.echoes._value.get() - before == 2


async def test_the_health_of_learning_is_among_the_numbers_of_the_process_that_leads(app, client):
    app.state.shared.opened().health_gauges = {"coverage": 0.01}

    text = (await client.get("/metrics")).text

    assert "memlift_health_coverage 0.01" in text
    app.state.shared.opened().health_gauges = {}

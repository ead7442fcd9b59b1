"""Predictions and settlements over HTTP: a forecast, its event, and the score."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from api_builders import inside, remembered, retrieved

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

"""A forecast stream by the Python client, against the server itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from memlift_client import AsyncMemLift, MemLift, MemLiftProblem, Prediction
from scripted_server import QUICK, Script, a_page, an_answer

from tests.fixtures.answers import a_document
from tests.fixtures.http import BASE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
WINDOW = {
    "text": "Will it rain in June?",
    "key": "rain#1",
    "group_key": "rain",
    "category": "weather",
    "closes_at": NOON + 5 * DAY,
}
YES = {"yes": "yes", "no": "no"}
PREDICTION = a_document(Prediction, id="p-1", probabilities={"yes": 1, "no": 0})


@pytest.fixture
async def memory(app, operator_token, replay):
    transport = httpx.ASGITransport(app)
    async with AsyncMemLift(BASE, operator_token, replay, transport=transport) as opened:
        yield opened


async def test_a_stream_from_forecast_to_score(memory):
    served = await memory.retrieve(agent="oracle", task=WINDOW, as_of=NOON)
    made = await memory.predict(
        agent="oracle",
        retrieval_id=served.receipt,
        probabilities={"yes": 0.9, "no": 0.1},
        baseline_probabilities={"yes": 0.5, "no": 0.5},
        rationale="clouds",
        known_at=NOON,
    )
    pending = [one.id async for one in memory.each_prediction(state="pending")]

    settled = await memory.settle(
        event="rain", resolutions=YES, crowd={"yes": 0.8, "no": 0.2}, known_at=NOON + DAY
    )

    assert pending == [made.id]
    assert (made.closes_at, made.score) == (NOON + 5 * DAY, None)
    [score] = settled.scores
    assert (score.brier, score.skill) == (pytest.approx(0.01), pytest.approx(0.03))
    whole = await memory.get_prediction(made.id)
    assert whole.score is not None
    assert (whole.state, whole.score.settlement_id) == ("settled", settled.id)
    assert [(r.revision, r.rationale) for r in whole.revisions] == [(1, "clouds")]
    assert (await memory.get_task(made.task_id)).closes_at == NOON + 5 * DAY
    # Whoever settles is told why it moves nothing; what is stored is the settlement.
    assert [warning.code for warning in settled.warnings] == ["observational"]
    stored = replace(settled, warnings=())
    assert await memory.get_settlement(settled.id) == stored
    assert (await memory.list_settlements(event="rain")).items == (stored,)


async def test_a_batch_tells_of_each_item(memory):
    forecast = {"agent": "oracle", "task": WINDOW, "probabilities": {"yes": 0.9, "no": 0.1}}

    good, late = await memory.predict_all(
        [{**forecast, "known_at": NOON}, {**forecast, "known_at": NOON + 5 * DAY}]
    )
    settled, unknown = await memory.settle_all(
        [
            {"event": "rain", "resolutions": YES, "known_at": NOON + DAY},
            {"event": "snow", "resolutions": YES, "known_at": NOON + DAY},
        ]
    )

    assert good.unwrap().state == "pending"
    with pytest.raises(MemLiftProblem, match="closed"):
        late.unwrap()
    assert settled.unwrap().scores[0].status == "scored"
    with pytest.raises(MemLiftProblem, match="no task has this event"):
        unknown.unwrap()


def test_the_client_that_waits_says_the_same():
    script = Script(an_answer(201, PREDICTION), a_page([PREDICTION], 1, None))

    with MemLift(
        "http://x", "ml_k", "acme", retry_policy=QUICK, transport=script.transport()
    ) as memory:
        made = memory.predict(agent="oracle", task_id="t-1", probabilities={"yes": 1.0, "no": 0.0})
        [listed] = memory.each_prediction(state="pending")

    assert made == listed
    assert made.probabilities == {"yes": 1.0, "no": 0.0}
    first, second = script.requests
    assert (first.method, first.url.path) == ("POST", "/v1/namespaces/acme/predictions")
    assert dict(second.url.params) == {"state": "pending"}

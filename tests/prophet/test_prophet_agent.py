"""The agent in every weather: what it answers, what it hands in, and what it says of it."""

from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI
from prophet_doubles import MOMENT, Parrot, SmallServer, an_agent, an_event
from prophet_events import asked

from clients.prophet.analog import AnalogForecaster
from clients.prophet.service import application

CLOSES = datetime(2026, 3, 1, tzinfo=UTC)


def test_both_answers_are_handed_in_under_the_receipt():
    server = SmallServer()

    answer = an_agent(server, Parrot()).forecast(an_event(closes_at=CLOSES, category="weather"))

    assert answer.probabilities == {"Yes": 0.7, "No": 1 - 0.7}
    [ask] = server.bodies("retrievals")
    assert (ask["purpose"], ask["all_rankers"], ask["k"]) == ("paired", False, 3)
    assert ask["task"] == {
        "text": "Will it?",
        "key": "e#0",
        "group_key": "e",
        "category": "weather",
        "closes_at": "2026-03-01T00:00:00Z",
    }
    [told] = server.bodies("predictions")
    assert told["retrieval_id"] == "r-1"
    assert told["baseline_probabilities"]["Yes"] == 0.4
    assert "task" not in told


def test_what_the_agent_is_is_said_once_and_a_known_agent_stays_as_it_is():
    server = SmallServer()
    agent = an_agent(server, Parrot())

    agent.forecast(an_event())
    agent.forecast(an_event())

    assert server.bodies("agents") == [{"name": "prophet", "own_information": True}]


def test_an_answer_that_memory_had_no_part_in_is_not_held_against_it():
    server = SmallServer()

    answer = an_agent(server, Parrot(given=None)).forecast(an_event())

    assert answer.probabilities["Yes"] == 0.4
    assert "without memory: no answer with it (it only coughed)" in answer.rationale
    [told] = server.bodies("predictions")
    assert "retrieval_id" not in told
    assert "baseline_probabilities" not in told
    assert told["task"]["key"] == "e#0"


def test_an_answer_with_memory_alone_is_handed_in_without_a_baseline():
    server = SmallServer()

    answer = an_agent(server, Parrot(without=None)).forecast(an_event())

    assert answer.probabilities["Yes"] == 0.7
    assert "no answer without memory (it only coughed)" in answer.rationale
    [told] = server.bodies("predictions")
    assert told["retrieval_id"] == "r-1"
    assert "baseline_probabilities" not in told


@pytest.mark.parametrize(
    ("crowd", "yes", "said"),
    [({"Yes": 0.9, "No": 0.1}, 0.9, "crowd's"), ({}, 0.5, "All outcomes alike stand in")],
)
def test_where_the_forecaster_says_nothing_something_stated_stands_in(
    crowd: dict[str, float], yes: float, said: str
):
    server = SmallServer()

    answer = an_agent(server, Parrot(None, None)).forecast(an_event(crowd=crowd))

    assert answer.probabilities["Yes"] == yes
    assert said in answer.rationale
    assert "retrieval_id" not in server.bodies("predictions")[0]


def test_hidden_prices_reach_neither_forecaster_nor_server():
    server = SmallServer()
    event = an_event(crowd={"Yes": 0.83, "No": 0.17})

    answer = an_agent(server, AnalogForecaster(), hide_price=True).forecast(event)

    assert answer.probabilities == {"Yes": 0.5, "No": 0.5}
    assert "0.83" not in str(server.asked)


def test_a_window_that_was_moved_is_asked_about_without_its_end():
    server = SmallServer(conflict=True)

    answer = an_agent(server, Parrot()).forecast(an_event(closes_at=CLOSES))

    assert answer.probabilities["Yes"] == 0.7
    assert ["closes_at" in ask["task"] for ask in server.bodies("retrievals")] == [True, False]


def test_in_a_replay_the_server_is_told_when_it_is():
    server = SmallServer()

    an_agent(server, Parrot()).forecast(an_event(asked_at=datetime(2026, 1, 5, tzinfo=UTC)))

    assert server.bodies("retrievals")[0]["as_of"] == MOMENT
    assert server.bodies("predictions")[0]["known_at"] == MOMENT


@pytest.fixture
def service() -> FastAPI:
    return application(an_agent(SmallServer(), Parrot(without=0.4, given=1.0)))


async def posted(service: FastAPI, event: dict[str, object]) -> httpx.Response:
    transport = httpx.ASGITransport(app=service)
    async with httpx.AsyncClient(transport=transport, base_url="http://agent.test") as client:
        return await client.post("/predict", json=event)


async def test_a_certainty_stays_within_the_bounds_of_the_older_client(service: FastAPI):
    answer = (await posted(service, asked("e", "Will it?"))).json()

    assert answer["p_yes"] == 0.99
    assert answer["probabilities"] == {"Yes": 1.0, "No": 0.0}


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": ""},
        {"market_ticker": ""},
        {"outcomes": ["Yes", "YES "]},
        {"outcomes": [""]},
        {"crowd": {"Yes": 1.5}},
        {"close_time": "soon"},
    ],
)
async def test_what_is_no_question_is_refused(service: FastAPI, wrong: dict[str, object]):
    assert (await posted(service, asked("e", "Will it?") | wrong)).status_code == 422

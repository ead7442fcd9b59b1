"""The public client of the older contract drives an agent that remembers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from memlift_client import MemLift
from prophet_events import asked, task, written

from tests.prophet.processes import Agent, Prophet

Serve = Callable[..., Agent]

FIRST = "Will the Harbour Bridge be closed because of wind on 3 March?"
SECOND = "Will the Harbour Bridge be closed because of wind on 17 March?"
TEAMS = ("Pittsburgh", "Atlanta", "Denver")


def namespace_of(memory: MemLift) -> str:
    return memory.get_namespace().slug


def test_the_public_client_predicts_and_evaluates_and_memory_moves_the_second_forecast(
    wall: MemLift, serve: Serve, prophet: Prophet, poll: Prophet, tmp_path: Path
) -> None:
    here = namespace_of(wall)
    agent = serve(namespace=here)
    forecasts: dict[str, float] = {}
    for ticker, title in (("bridge-1", FIRST), ("bridge-2", SECOND)):
        events = tmp_path / "events.json"
        events.write_text(json.dumps([asked(ticker, title)]))
        said = prophet(
            "predict", "--events", events, "--agent-url", agent.url, "-o", f"{ticker}.json"
        )
        assert said.returncode == 0, said.stdout + said.stderr
        [prediction] = json.loads((tmp_path / f"{ticker}.json").read_text())["predictions"]
        forecasts[ticker] = prediction["p_yes"]
        settled = poll(here, "--records", written(tmp_path / "tasks.jsonl", [task(ticker, "Yes")]))
        assert settled.returncode == 0, settled.stderr
    actuals = tmp_path / "actuals.json"
    actuals.write_text(json.dumps({"bridge-2": 1.0}))
    scored = prophet("evaluate", "--submission", "bridge-2.json", "--actuals", actuals)

    assert forecasts["bridge-1"] == 0.5
    assert forecasts["bridge-2"] > 0.55
    [second] = [p for p in wall.list_predictions().items if p.event == "bridge-2"]
    assert second.state == "settled"
    assert second.score is not None
    brier = (1 - forecasts["bridge-2"]) ** 2
    assert second.score.brier == pytest.approx(brier)
    assert second.score.baseline_brier == 0.25
    assert f"Brier Score: {round(brier, 6)}" in scored.stdout
    assert "Matched: 1" in scored.stdout


def test_several_outcomes_are_answered_by_their_names_and_learned_apart(
    wall: MemLift, serve: Serve, poll: Prophet, tmp_path: Path
) -> None:
    here = namespace_of(wall)
    agent = serve(namespace=here)
    first = agent.predict(asked("cup-1", "Who wins the cup final in May?", TEAMS))
    rows = [task("cup-1", "Denver", outcomes=TEAMS)]
    settled = poll(here, "--records", written(tmp_path / "tasks.jsonl", rows))
    second = agent.predict(asked("cup-2", "Who wins the cup final in June?", TEAMS))

    assert settled.returncode == 0, settled.stderr
    assert first["probabilities"] == pytest.approx(dict.fromkeys(TEAMS, 1 / 3))
    assert first["p_yes"] == first["probabilities"]["Pittsburgh"]
    assert sum(second["probabilities"].values()) == pytest.approx(1)
    assert second["probabilities"]["Denver"] > 0.35 > second["probabilities"]["Atlanta"]
    [memory] = wall.list_experiences().items
    assert memory.metadata["outcomes"] == {"Pittsburgh": 0, "Atlanta": 0, "Denver": 1}
    assert memory.situation == "Who wins the cup final in May?"
    assert "Denver: yes" in memory.lesson


def test_a_resolution_that_comes_with_the_question_is_not_read(wall: MemLift, serve: Serve) -> None:
    told = {"value": ["Yes"], "resolved_at": "2026-01-01T00:00:00Z", "source": "leak"}

    answer = serve(namespace=namespace_of(wall)).predict(
        asked("leak-1", FIRST, resolved_outcome=told)
    )

    assert answer["p_yes"] == 0.5
    [kept] = wall.list_predictions().items
    assert "leak" not in str(wall.get_task(kept.task_id).metadata)


def test_hidden_prices_are_seen_neither_by_the_forecaster_nor_by_memory(
    wall: MemLift, serve: Serve
) -> None:
    here = namespace_of(wall)
    crowd = {"Yes": 0.83, "No": 0.17}

    shown = serve(namespace=here).predict(asked("price-1", FIRST, crowd=crowd))
    hidden = serve("--hide-price", namespace=here).predict(asked("price-2", FIRST, crowd=crowd))

    assert shown["p_yes"] == pytest.approx(0.83)
    assert hidden["p_yes"] == 0.5
    kept = {p.event: p for p in wall.list_predictions().items}
    assert kept["price-2"].baseline_probabilities == {"Yes": 0.5, "No": 0.5}
    assert "0.83" not in str(wall.get_task(kept["price-2"].task_id))


def test_the_public_client_would_be_caught_reaching_beyond_this_machine(prophet: Prophet) -> None:
    reached = prophet("retrieve")

    assert reached.returncode != 0
    assert "a test tried to reach 'api.github.com'" in reached.stdout + reached.stderr

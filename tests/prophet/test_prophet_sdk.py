"""The agent of today's SDK, over local datasets, scored by the SDK's own evaluator."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import arena
import pytest
from memlift_client import AgentFields, MemLift, Retrieval, RetryPolicy
from prophet_events import Body, record, written

from clients.prophet.agent import MemoryAgent
from clients.prophet.analog import AnalogForecaster
from clients.prophet.evaluation import evaluate
from clients.prophet.event import Event
from clients.prophet.forecaster import Advised, Answer
from clients.prophet.made import Made
from clients.prophet.poller import Ledger, poll
from clients.prophet.recall import Recall
from clients.prophet.resolutions import BadRecords, LocalResolutions
from clients.prophet.sdk import ProphetAgent, event_of, moments_of
from clients.prophet.usage import Usage
from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import Server
from tests.prophet.processes import ROOT, offline

PLAYERS = {"Adams": "no", "Brown": "yes", "Clark": "no"}
WEEK_ONE = [record("open-1", "Who wins the Sydney Open in January?", 5, **PLAYERS)]
WEEK_TWO = [record("open-2", "Who wins the Sydney Open in February?", 12, **PLAYERS)]

pytestmark = pytest.mark.usefixtures("grounded")


def dataset(records: Sequence[Body]) -> arena.datasets.Dataset:
    return arena.datasets.Dataset.from_records("made-up", "1", list(records))


def an_agent(memory: MemLift, records: Sequence[Body], *, hide_price: bool = False) -> ProphetAgent:
    """It answers at the times of the records; memory is to be followed from the start."""
    recall = Recall(memory, "prophet", AgentFields(own_information=False), seconds=60)
    inner = MemoryAgent(AnalogForecaster(), recall, hide_price)
    return ProphetAgent("prophet", inner, moments_of(records))


def settled(memory: MemLift, records: Sequence[Body]) -> None:
    done = poll(Ledger(memory, memory, "prophet", replay=True), LocalResolutions.of(records))
    assert done.failed == {}
    memory.apply_outcomes()


def test_the_evaluator_scores_the_agent_and_memory_lifts_the_second_week(replay: MemLift) -> None:
    first = arena.evaluate(an_agent(replay, WEEK_ONE), dataset(WEEK_ONE))
    settled(replay, WEEK_ONE)
    second = arena.evaluate(an_agent(replay, WEEK_TWO), dataset(WEEK_TWO))
    settled(replay, WEEK_TWO)

    assert first.failures == second.failures == []
    assert first.brier == pytest.approx(0.25)
    assert second.brier is not None
    assert second.brier < first.brier
    assert second.skill is not None
    assert second.skill > 0
    kept = {p.event: p for p in replay.list_predictions().items}
    score = kept["open-2"].score
    assert score is not None
    assert score.brier == pytest.approx(second.brier)
    assert score.skill == pytest.approx(second.skill)
    assert score.baseline_brier == pytest.approx(0.25)
    [effect] = [one for one in replay.effect() if one.agent == "prophet"]
    # In the first week there was nothing to serve.
    assert effect.paired.n == 1
    assert effect.paired.mean == pytest.approx(0.25 - second.brier)


def test_a_week_that_is_not_settled_teaches_nothing_about_the_next(replay: MemLift) -> None:
    arena.evaluate(an_agent(replay, WEEK_ONE), dataset(WEEK_ONE))
    second = arena.evaluate(an_agent(replay, WEEK_TWO), dataset(WEEK_TWO))

    assert second.brier == pytest.approx(0.25)
    assert replay.list_predictions(state="pending").total == 2


def test_what_resolved_later_is_not_known_to_a_window_of_before(replay: MemLift) -> None:
    late = [record("open-0", "Who wins the Sydney Open in March?", 20, **PLAYERS)]
    arena.evaluate(an_agent(replay, late), dataset(late))
    settled(replay, late)

    before = arena.evaluate(an_agent(replay, WEEK_TWO), dataset(WEEK_TWO))

    assert before.brier == pytest.approx(0.25)
    assert replay.list_experiences().total == 1
    [asked] = replay.list_predictions(event="open-2").items
    assert asked.retrieval_id is not None


def test_the_crowd_can_be_hidden(replay: MemLift) -> None:
    priced = [record("open-3", "Who wins?", 5, **PLAYERS)]
    priced[0]["windows"][0]["crowd"] = {"Adams": 0.1, "Brown": 0.8, "Clark": 0.1}

    shown = arena.evaluate(an_agent(replay, priced), dataset(priced))
    hidden = arena.evaluate(an_agent(replay, priced, hide_price=True), dataset(priced))

    assert shown.brier == pytest.approx((0.1**2 + 0.2**2 + 0.1**2) / 3)
    assert shown.skill == pytest.approx(0)
    assert hidden.brier == pytest.approx((1 / 9 + 4 / 9 + 1 / 9) / 3)


def test_an_event_keeps_its_parts_and_its_window(replay: MemLift) -> None:
    [made] = dataset(WEEK_ONE).events
    [window] = made.windows

    event = event_of(window, moments_of(WEEK_ONE)(window))

    assert event.key == "open-1#0"
    assert event.outcomes == tuple(PLAYERS)
    assert event.asked_at == datetime(2026, 1, 5, tzinfo=UTC)
    assert event.closes_at == datetime(2026, 1, 6, tzinfo=UTC)
    assert event.by_crowd() == dict.fromkeys(PLAYERS, 0.5)


def test_a_window_without_a_snapshot_is_asked_about_just_before_it_closes() -> None:
    records = [record("open-4", "Who wins?", 5, **PLAYERS)]
    del records[0]["windows"][0]["taken_at"]
    [made] = dataset(records).events

    asked_at = moments_of(records)(made.windows[0])

    assert asked_at == datetime(2026, 1, 5, 23, 59, 59, tzinfo=UTC)


def test_a_dataset_is_evaluated_from_the_command_line(
    shared_server: Server, replay: MemLift, tmp_path: Path
) -> None:
    key = shared_server.home.operator_key.read_text().strip()
    where = ["--url", shared_server.url, "--key", key]
    run = subprocess.run(
        [
            *(sys.executable, "-m", "clients.prophet", "evaluate", *where, "--replay"),
            *("--namespace", replay.get_namespace().slug),
            *("--dataset", str(written(tmp_path / "events.jsonl", WEEK_ONE))),
            *("--out", str(tmp_path / "out")),
        ],
        cwd=ROOT,
        env=offline(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert "1 events of events.jsonl, 0 failures" in run.stdout
    assert "Brier: 0.2500" in run.stdout
    assert "cost: 0 calls, 0 + 0 tokens, 0.0000 dollars" in run.stdout
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["brier"] == pytest.approx(0.25)
    assert [one["n"] for one in report["calibration"] if one["n"]] == [3]
    assert "<circle" in (tmp_path / "out" / "calibration.svg").read_text()
    assert replay.get_agent("prophet").own_information


@dataclass
class Metered:
    """An analog forecaster whose calls cost something; after `falls` of them it fails for ever."""

    falls: int = 99
    asked: list[str] = field(default_factory=list)
    wish = AnalogForecaster.wish

    def alone(self, event: Event) -> Answer:
        self.asked.append(event.key)
        if len(self.asked) > self.falls:
            raise KeyboardInterrupt
        usage = Usage(calls=1, prompt_tokens=100, completion_tokens=10, cost=0.01)
        return replace(AnalogForecaster().alone(event), usage=usage)

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised:
        return Advised(alone or self.alone(event))


def test_an_evaluation_that_was_stopped_goes_on_and_counts_all_that_it_cost(
    replay: MemLift, tmp_path: Path
) -> None:
    path = written(tmp_path / "weeks.jsonl", [*WEEK_ONE, *WEEK_TWO])

    def run(forecaster: Metered) -> list[str]:
        said: list[str] = []
        recall = Recall(replay, "prophet", AgentFields(), seconds=60)
        agent = MemoryAgent(forecaster, recall)
        assert evaluate(path, agent, replay=True, say=said.append, out=tmp_path / "out") == 0
        return said

    with pytest.raises(KeyboardInterrupt):
        run(Metered(falls=1))
    with (tmp_path / "out" / "forecasts.jsonl").open("a") as torn:
        torn.write('{"window": "open')
    rest = Metered()
    said = run(rest)
    again = run(Metered(falls=0))

    assert said[0] == "1 forecasts were made before"
    assert len(rest.asked) == 1
    assert "cost: 2 calls, 200 + 20 tokens, 0.0200 dollars" in said
    assert again[0] == "2 forecasts were made before"
    assert again[1:] == said[1:]


def test_a_file_that_holds_no_forecasts_is_named(tmp_path: Path) -> None:
    (tmp_path / "forecasts.jsonl").write_text('{"window": "w"}\n')

    with pytest.raises(BadRecords, match=r"forecasts\.jsonl holds something else"):
        Made.begin(tmp_path)


def test_an_evaluation_that_memory_never_answered_fails_and_says_so(tmp_path: Path) -> None:
    nobody = MemLift(
        f"http://127.0.0.1:{find_free_port()}", "ml_k", retry_policy=RetryPolicy(attempts=1)
    )
    said: list[str] = []

    with nobody:
        agent = MemoryAgent(AnalogForecaster(), Recall(nobody, "prophet", AgentFields()))
        path = written(tmp_path / "week.jsonl", WEEK_ONE)
        status = evaluate(path, agent, replay=True, say=said.append)

    assert status == 1
    assert "without memory" in said[-1]
    assert any(line.startswith("1 events") for line in said)

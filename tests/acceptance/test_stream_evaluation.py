"""A stream is evaluated over real HTTP, ended in the middle, and goes on to the same forecasts."""

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from memlift_client import MemLift, RetrievalFields

from benchmarks.streams import command, evaluation
from benchmarks.streams.arms import OPEN, REMEMBERING
from tests.acceptance.servers import Server

MONDAY = date(2026, 2, 2)
WEEKS, A_WEEK = 4, 6
ARMS = ["none", "similarity", "memlift", "paper"]
SUBJECTS = {
    "bread": "Will the bakeries of Lyon sell more bread than they did last week",
    "copper": "Will the copper mine in Chile report another strike of its drivers",
    "wool": "Will the sheep farms of Wales deliver their wool before the storm",
    "chess": "Will the chess champion lose a tournament game against a computer",
    "comet": "Will astronomers see a new comet with the telescope in Hawaii",
    "opera": "Will the opera house in Vienna cancel an evening performance",
}
NAMES = tuple(SUBJECTS)


def a_line(week: int, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Bread, copper and wool come out YES whenever they are asked about; the others never."""
    day = MONDAY + timedelta(weeks=week)
    name = f"{NAMES[place]}-{week}"
    question = {
        "id": name,
        "event_id": f"e-{name}",
        "split": "stream",
        "source": "prices" if place % 2 else "stocks",
        "category": "economics",
        "question": f"{SUBJECTS[NAMES[place]]}, in week {week}?",
        "forecast_at": str(day),
        "week": str(day),
        "market_probability": 0.5,
    }
    end = {"id": name, "resolved_at": str(day + timedelta(days=6)), "outcome": int(place < 3)}
    return question, end


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    lines = [a_line(week, place) for week in range(WEEKS) for place in range(A_WEEK)]
    for part, rows in zip(("questions", "resolutions"), zip(*lines, strict=True), strict=True):
        with gzip.open(folder / f"dataset_{part}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return folder


@pytest.fixture(scope="module")
def server(shared_server: Server) -> Server:
    return shared_server


@pytest.fixture(autouse=True)
def nothing_by_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the last place goes to another memory now and then; two runs would differ."""
    arms = {name: replace(arm, settings=OPEN) for name, arm in REMEMBERING.items()}
    monkeypatch.setattr(evaluation, "REMEMBERING", arms)


def asked(server: Server, data: Path, out: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.options(parser)
    words = ["--stream", "dataset", "--data", str(data), "--out", str(out), "--k", "4"]
    words += ["--arms", *ARMS, "--hide-price", "--url", server.url]
    return parser.parse_args([*words, "--key", server.home.operator_key.read_text().strip()])


def rows(out: Path, arm: str, name: str) -> list[dict[str, Any]]:
    lines = (out / arm / f"{name}.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "retrieve_ms"} for line in lines]


def approx(number: float) -> object:
    return pytest.approx(number, abs=1e-6)


class Ended(Exception):
    """As if somebody had ended the run."""


class Ending(MemLift):
    """Ends the run at the third day's questions: its arms have settled and learnt that day, and
    what they answer is not written down yet.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.days: set[object] = set()

    def within(self, namespace: str) -> "MemLift":
        inner = super().within(namespace)
        ask = inner.retrieve_all

        def retrieve_all(items: Sequence[RetrievalFields]) -> Any:
            self.days.add(items[0].get("as_of"))
            if len(self.days) > 2:
                raise Ended
            return ask(items)

        inner.retrieve_all = retrieve_all
        return inner


def test_a_run_that_was_ended_goes_on_to_the_forecasts_of_a_whole_one(
    server: Server, data: Path, tmp_path: Path
) -> None:
    whole, halted = tmp_path / "whole", tmp_path / "halted"
    command.run(asked(server, data, whole), lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "MemLift", Ending)
        with pytest.raises(Ended):
            command.run(asked(server, data, halted), lambda _: None)
    begun = len(rows(halted, "memlift", "forecasts"))
    command.run(asked(server, data, halted), lambda _: None)

    assert begun == 2 * A_WEEK
    for arm in ARMS:
        for one, other in zip(
            *(rows(out, arm, "forecasts") for out in (halted, whole)), strict=True
        ):
            # The rounding of an embedding depends on what it is computed beside.
            assert one == {k: approx(v) if isinstance(v, float) else v for k, v in other.items()}
    assert len(rows(whole, "memlift", "weights")) == WEEKS * A_WEEK


def test_memory_moves_a_forecast_once_its_like_has_resolved(
    server: Server, data: Path, tmp_path: Path
) -> None:
    command.run(asked(server, data, tmp_path), lambda _: None)

    for arm in ("similarity", "memlift", "paper"):
        made = {row["id"]: row for row in rows(tmp_path, arm, "forecasts")}
        assert made["bread-0"]["given"] == made["opera-0"]["given"] == 0.5
        assert made["bread-3"]["given"] > made["bread-3"]["without"]
        assert made["opera-3"]["given"] < made["opera-3"]["without"]
    unaided = rows(tmp_path, "none", "forecasts")
    assert all(row["given"] == row["without"] for row in unaided)
    assert {row["without"] for row in unaided} > {0.5}

"""A stream is evaluated over real HTTP, ended in the middle, and goes on to the same forecasts."""

import argparse
import gzip
import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from benchmarks.streams import command
from benchmarks.streams.evaluation import Evaluation
from tests.acceptance.servers import Home, Server

MONDAY = date(2026, 2, 2)
WEEKS, A_WEEK = 4, 6
ARMS = ["none", "similarity", "memlift", "paper"]
SUBJECTS = ("bread", "copper", "wool", "rice", "tin", "salt")


def a_line(week: int, place: int) -> tuple[dict[str, object], dict[str, object]]:
    """Bread, copper and wool rise whenever they are asked about; the others never do."""
    day = MONDAY + timedelta(weeks=week)
    name = f"{SUBJECTS[place]}-{week}"
    question = {
        "id": name,
        "event_id": f"e-{name}",
        "split": "stream",
        "source": "prices" if place % 2 else "stocks",
        "category": "economics",
        "question": f"Will the price of {SUBJECTS[place]} rise by {day + timedelta(days=6)}?",
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
def server(home: Home, begin: Callable[..., Server]) -> Server:
    return begin(home).await_ready()


def asked(server: Server, home: Home, data: Path, out: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.options(parser)
    words = ["--stream", "dataset", "--data", str(data), "--out", str(out), "--k", "4"]
    words += ["--arms", *ARMS, "--hide-price", "--url", server.url]
    return parser.parse_args([*words, "--key", home.operator_key.read_text().strip()])


def rows(out: Path, arm: str, name: str) -> list[dict[str, object]]:
    lines = (out / arm / f"{name}.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "retrieve_ms"} for line in lines]


class Ended(Exception):
    """As if somebody had ended the run."""


def ends_after(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the batch after those, when the first arm has done it and others have
    settled it.
    """
    day = Evaluation._day  # noqa: SLF001 - the seam at which a run is ended here

    def until(self: Evaluation, number: int, *rest: object) -> None:
        if number < batches:
            return day(self, number, *rest)  # pyright: ignore[reportArgumentType] - passed on
        for player in self._players.values():  # noqa: SLF001 - its arms had begun
            batch = rest[0]
            known = [(self._questions[r.question_id], r) for r in batch.known]  # pyright: ignore  # noqa: SLF001 - as in the flow
            player.learn(known, batch.day)  # pyright: ignore - as in the flow
        raise Ended

    monkeypatch.setattr(Evaluation, "_day", until)


def test_a_run_that_was_ended_goes_on_to_the_forecasts_of_a_whole_one(
    server: Server, home: Home, data: Path, tmp_path: Path
) -> None:
    whole, halted = tmp_path / "whole", tmp_path / "halted"
    command.run(asked(server, home, data, whole), lambda _: None)
    with pytest.MonkeyPatch.context() as patch:
        ends_after(2, patch)
        with pytest.raises(Ended):
            command.run(asked(server, home, data, halted), lambda _: None)
    begun = len(rows(halted, "memlift", "forecasts"))
    command.run(asked(server, home, data, halted), lambda _: None)

    assert begun == 2 * A_WEEK
    for arm in ARMS:
        assert rows(halted, arm, "forecasts") == rows(whole, arm, "forecasts")
    assert len(rows(whole, "memlift", "weights")) == WEEKS * A_WEEK


def test_memory_moves_a_forecast_once_its_like_has_resolved(
    server: Server, home: Home, data: Path, tmp_path: Path
) -> None:
    command.run(asked(server, home, data, tmp_path), lambda _: None)

    for arm in ("similarity", "memlift", "paper"):
        given = {row["id"]: row["given"] for row in rows(tmp_path, arm, "forecasts")}
        assert given["bread-0"] == given["salt-0"] == 0.5
        assert given["bread-3"] > 0.6 > 0.4 > given["salt-3"]
    assert {row["given"] for row in rows(tmp_path, "none", "forecasts")} > {0.5}

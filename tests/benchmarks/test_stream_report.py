"""A report says what the artefacts say, recomputed, on a page that needs nothing else."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.streams import page, results

MARKUP = "<script>alert(1)</script>"
SETTINGS = {"k": 30, "sees_price": False, "agent": "analog"}


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def a_question(n: int, price: float | None) -> dict[str, Any]:
    """Two events of two windows each; the first comes out YES."""
    return {
        "id": f"q{n}",
        "event": f"e{n // 2}",
        "source": "fred",
        "topic": None,
        "asked_on": f"2026-01-{5 + 7 * (n % 2):02}",
        "week": f"2026-01-{5 + 7 * (n % 2):02}",
        "price": price,
        "yes_ask": None,
        "no_ask": None,
        "outcome": 1 - n // 2,
        "resolved_on": "2026-01-20",
        "half": "second" if n % 2 else "first",
    }


def a_forecast(n: int, given: float) -> dict[str, Any]:
    numbers = {"without": 0.5, "given": given, "full": given, "strength": 1.0}
    return {"id": f"q{n}", **numbers, "retrieve_ms": 12.0, "served": 3, "empty_reason": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = {"stream": "test", "arms": ["none", "memlift"], "settings": SETTINGS}
    (tmp_path / "run.json").write_text(json.dumps(run | {"finished_at": "now", "note": MARKUP}))
    write(tmp_path / "questions.jsonl", [a_question(n, None) for n in range(4)])
    write(tmp_path / "none" / "forecasts.jsonl", [a_forecast(n, 0.5) for n in range(4)])
    memlift = tmp_path / "memlift"
    given = (0.5, 0.9, 0.5, 0.1)
    write(memlift / "forecasts.jsonl", [a_forecast(n, p) for n, p in enumerate(given)])
    write(memlift / "bank.jsonl", [{"day": "2026-01-12", "memories": 7, "seconds": 1.5}])
    weight = {"memory_id": "m", "situation": MARKUP, "served": 3, "credited": 3}
    write(memlift / "weights.jsonl", [weight | {"weight": 1.3}])
    moved = {"memory_id": "m", "situation": MARKUP, "kind": "strongest", "weight": 1.3}
    write(memlift / "trajectories.jsonl", [moved | {"known_at": "2026-01-12T00:00:00+00:00"}])
    return tmp_path


def numbers(folder: Path) -> Mapping[str, Any]:
    page.report(folder)
    return json.loads((folder / "metrics.json").read_text())["arms"]


def test_every_number_comes_from_the_forecasts_and_the_outcomes(folder: Path) -> None:
    found = numbers(folder)

    assert found["none"]["scores"]["whole"]["brier"] == pytest.approx(0.25)
    assert found["memlift"]["scores"]["second"]["brier"] == pytest.approx(0.01)
    gain = found["memlift"]["scores"]["whole"]["gain over"]["none"]
    assert gain["mean"] == pytest.approx(0.25 - (0.25 + 0.01) / 2)
    assert (gain["events"], gain["dates"]) == (2, 1)
    assert found["memlift"]["memories"] == 7
    assert sum(found["memlift"]["weights"]["counts"]) == 1


def test_a_forecast_told_otherwise_is_a_number_told_otherwise(folder: Path) -> None:
    write(folder / "none" / "forecasts.jsonl", [a_forecast(n, 1.0) for n in range(4)])

    assert numbers(folder)["none"]["scores"]["whole"]["brier"] == pytest.approx(0.5)


def test_the_page_needs_nothing_else_and_shows_markup_as_text(folder: Path) -> None:
    text = page.report(folder).read_text()

    assert MARKUP not in text
    assert "&lt;script&gt;" in text
    assert re.findall(r'(?:src|href)="(?!data:)', text) == []
    assert text.count("data:image/png;base64,") == len(list(folder.glob("*.png"))) >= 4


def test_without_a_market_there_is_no_profit_to_show(folder: Path) -> None:
    page.report(folder)

    assert not (folder / "cumulative-profit.png").exists()
    write(folder / "questions.jsonl", [a_question(n, 0.4) for n in range(4)])
    assert numbers(folder)["memlift"]["scores"]["whole"]["profit on 1000"] > 0
    assert (folder / "cumulative-profit.png").exists()


def test_a_run_that_goes_on_says_so_and_is_compared_on_what_both_have(folder: Path) -> None:
    run = json.loads((folder / "run.json").read_text())
    del run["finished_at"]
    (folder / "run.json").write_text(json.dumps(run))
    cut = (folder / "memlift" / "forecasts.jsonl").read_text().splitlines(keepends=True)
    (folder / "memlift" / "forecasts.jsonl").write_text("".join(cut[:2]) + cut[2][:20])

    assert "has not come to its end" in page.report(folder).read_text()
    assert results.read(folder).numbers["memlift"]["scores"]["whole"]["forecasts"] == 2


def test_the_command_tells_the_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder)]) == 0

    said = capsys.readouterr().out
    assert "report.html" in said
    assert re.search(r"memlift +whole +2 +0\.1300 +0\.1300 +\+0\.1200", said)

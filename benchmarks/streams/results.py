"""Every number of an evaluation, computed from its raw artefacts alone."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.streams import scoring
from benchmarks.streams.arms import ARMS, NONE
from benchmarks.streams.artefacts import read_lines
from benchmarks.streams.scoring import Estimate, Row

REFERENCES = (NONE, "similarity", "anchor")
BUDGET_A_WEEK, BUDGET = 100.0, 1000.0
GAMMAS = (0.0, 1.0)
HALVES = ("whole", "first", "second")
HISTOGRAM = np.linspace(0.1, 2.0, 20)
NORMAL_95 = 1.959963984540054

Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Played:
    """What one arm left behind: its scored forecasts by half, and its raw lines by file."""

    rows: Mapping[str, Sequence[Row]]
    forecasts: Sequence[Numbers]
    bank: Sequence[Numbers]
    weights: Sequence[Numbers]
    trajectories: Sequence[Numbers]


@dataclass(frozen=True, slots=True)
class Results:
    """A run: what it was, its arms, and every number by arm and half."""

    run: Numbers
    questions: int
    arms: Mapping[str, Played]
    numbers: Mapping[str, Numbers]

    @property
    def whole(self) -> bool:
        """Whether the run had come to its end."""
        return "finished_at" in self.run


def read(folder: Path) -> Results:
    """Raises FileNotFoundError where the folder holds no run."""
    run: Numbers = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    questions = {str(row["id"]): row for row in read_lines(folder / "questions.jsonl")}
    names = [name for name in ARMS if (folder / name / "forecasts.jsonl").exists()]
    arms = {name: _played(folder / name, questions) for name in names}
    arms = {name: played for name, played in arms.items() if played.rows["whole"]}
    return Results(run, len(questions), arms, {name: _numbers(name, arms) for name in arms})


def interval(found: Estimate) -> tuple[float, float] | None:
    """95 %, normal, by the larger of both standard errors."""
    errors = [se for se in (found.se, found.se_dates) if se is not None]
    if not errors:
        return None
    width = NORMAL_95 * max(errors)
    return found.mean - width, found.mean + width


def _played(folder: Path, questions: Mapping[str, Numbers]) -> Played:
    forecasts = read_lines(folder / "forecasts.jsonl")
    scored = [(q, f) for f in forecasts if (q := questions[str(f["id"])])["outcome"] is not None]
    halves = {
        half: [_row(q, f) for q, f in scored if half in ("whole", q["half"])] for half in HALVES
    }
    kept = (read_lines(folder / f"{name}.jsonl") for name in ("bank", "weights", "trajectories"))
    bank, weights, trajectories = kept
    return Played(halves, forecasts, bank, weights, trajectories)


def _row(question: Numbers, forecast: Numbers) -> Row:
    return Row(
        id=str(question["id"]),
        event=str(question["event"]),
        source=str(question["source"]),
        asked_on=date.fromisoformat(question["asked_on"]),
        week=date.fromisoformat(question["week"]),
        outcome=int(question["outcome"]),
        probability=float(forecast["given"]),
        price=question["price"],
        yes_ask=question["yes_ask"],
        no_ask=question["no_ask"],
    )


def _numbers(name: str, arms: Mapping[str, Played]) -> Numbers:
    played = arms[name]
    scored = {half: _scores(rows) for half, rows in played.rows.items() if rows}
    for half, found in scored.items():
        found["gain over"] = {
            other: _gain(played.rows[half], arms[other].rows[half])
            for other in REFERENCES
            if other in arms and other != name
        }
    return {"scores": scored, **_running(played)}


def _scores(rows: Sequence[Row]) -> Numbers:
    skilled = scoring.skill(rows)
    return {
        "forecasts": len(rows),
        "events": len({row.event for row in rows}),
        "brier": scoring.brier(rows),
        "brier by forecast": scoring.brier_by_forecast(rows),
        "skill": None if skilled is None else asdict(skilled),
        "calibration error": scoring.calibration_error(rows),
        "average return": {str(gamma): scoring.average_return(rows, gamma) for gamma in GAMMAS},
        "profit on 1000": _profit(rows),
        "weekly brier": _by_week(rows, scoring.brier_by_forecast),
        "weekly profit on 100": _by_week(
            [row for row in rows if row.price is not None],
            partial(scoring.profit, budget=BUDGET_A_WEEK),
        ),
    }


def _profit(rows: Sequence[Row]) -> float | None:
    priced = [row for row in rows if row.price is not None]
    return scoring.profit(scoring.median_round(priced), BUDGET) if priced else None


def _by_week(rows: Sequence[Row], number: Callable[[Sequence[Row]], float]) -> dict[str, float]:
    return {str(week): value for week, value in scoring.weekly(rows, number).items()}


def _gain(rows: Sequence[Row], others: Sequence[Row]) -> Numbers:
    """On the forecasts that both have made: a run that goes on may have more of one."""
    ids = {row.id for row in rows} & {row.id for row in others}
    found = scoring.gain(
        sorted((row for row in rows if row.id in ids), key=lambda row: row.id),
        sorted((row for row in others if row.id in ids), key=lambda row: row.id),
    )
    return {**asdict(found), "interval": interval(found)}


def _running(played: Played) -> Numbers:
    """Latency (milliseconds a forecast, share of its batch), memories, weights, hours."""
    times = [f["retrieve_ms"] for f in played.forecasts if f["retrieve_ms"] is not None]
    weights = [float(row["weight"]) for row in played.weights]
    counts, edges = np.histogram(weights, HISTOGRAM)
    return {
        "retrieve ms": {
            f"p{q}": float(np.percentile(times, q)) if times else None for q in (50, 95)
        },
        "memories": played.bank[-1]["memories"] if played.bank else 0,
        "seconds": sum(float(row["seconds"]) for row in played.bank),
        "weights": {
            "counts": cast("list[int]", counts.tolist()),
            "edges": cast("list[float]", edges.tolist()),
        },
    }

"""Streams, questions and rows for tests of the demonstration."""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from memlift_client import Effect, Estimate, Guideline, Retrieval, ServedMemory

from clients.demo.statistics import Scored
from clients.demo.streams import Question, Resolution, Stream
from tests.fixtures.answers import made

MONDAY = date(2026, 1, 5)


def a_question(name: str = "q", day: int = 0, event: str | None = None) -> Question:
    """Asked `day` days after a Monday."""
    asked = MONDAY + timedelta(days=day)
    return Question(
        id=name,
        event_id=event or f"e-{name}",
        source="fred",
        topic="economics",
        text=f"Will {name} rise?",
        asked_on=asked,
        week=asked - timedelta(days=asked.weekday()),
        reference="4.75",
    )


def a_resolution(name: str = "q", day: int = 1, outcome: int = 1) -> Resolution:
    return Resolution(name, MONDAY + timedelta(days=day), outcome)


def a_stream(questions: Sequence[Question], resolutions: Sequence[Resolution] = ()) -> Stream:
    return Stream("test", "a test", tuple(questions), tuple(resolutions))


def a_score(
    event: str, outcome: int, week: int = 0, source: str = "fred", **probability: float
) -> Scored:
    return Scored(event, source, MONDAY + timedelta(weeks=week), outcome, probability)


def a_retrieval(*served: tuple[object, dict[str, float | None]], **changes: object) -> Retrieval:
    """What was retrieved: for each memory the outcome it carries, and each ranker's score."""
    memories = tuple(
        made(
            ServedMemory,
            memory_id=f"m{n}",
            version=1,
            rank=n,
            similarity=0.5,
            relevance=0.5,
            effective_weight=1.0,
            ranking_weight=1.0,
            score=0.5,
            scores=scores,
            metadata={"outcome": outcome},
        )
        for n, (outcome, scores) in enumerate(served)
    )
    return replace(NOTHING, memories=memories, **changes)


NOTHING = made(
    Retrieval,
    retrieval_id="r",
    agent="analog",
    task_id="t",
    category="fred",
    subcategory=None,
    confidence=1.0,
    purpose="paired",
    arm="paired",
    propensity=1.0,
    eligible=True,
    reason=None,
    bank_version=1,
    as_of=datetime(2026, 1, 5, tzinfo=UTC),
    ranker="flat/none",
    strength=1.0,
    policy="belief",
    compiler="none",
    guideline=made(Guideline, text="", counter="words"),
)


def an_effect(category: str = "fred", **changes: object) -> Effect:
    nothing = made(Estimate, n=0, label="asymptotic")
    known = made(
        Estimate,
        n=20,
        dates=10,
        mean=0.01,
        standard_error=0.002,
        low=-0.005,
        high=0.025,
        label="asymptotic",
    )
    effect = made(
        Effect,
        agent="analog",
        category=category,
        n=20,
        paired=known,
        randomised=nothing,
        strength=0.75,
        feedback_dates=10,
    )
    return replace(effect, **changes)


def a_row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "id": "d-1",
        "event_id": "ds-1",
        "split": "stream",
        "source": "fred",
        "source_id": "secret",
        "question_set": "secret",
        "category": "economics",
        "question": "Will it rise?",
        "forecast_at": "2026-01-05",
        "week": "2026-01-05",
        "closes_at": "2026-01-12",
        "reference_value": "4.75",
    }
    return {**row, **changes}


def written(folder: Path, questions: Sequence[Mapping[str, object]], outcome: object = 1) -> Path:
    """`folder` with a stream called `test`, every question resolved a week later."""
    resolutions = [
        {"id": row["id"], "event_id": "x", "resolved_at": "2026-01-12", "outcome": outcome}
        for row in questions
    ]
    for name, rows in (("questions", questions), ("resolutions", resolutions)):
        with gzip.open(folder / f"test_{name}.jsonl.gz", "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
    return folder

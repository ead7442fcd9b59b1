"""Recorded reflections as memories: tasks that were tried again with them and without.

A task counts whose first run failed in both records. Its result is whether it was solved within as
many retries as both records have. The reflections that were shown in these retries are memories of
the task, learned before it is asked; the retrieval is paired, and its outcome has both results. A
date has two tasks, so that an interval can be given. The same task is tried again, so this is help
with retries, not transfer.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from memlift_client import (
    BatchedReportFields,
    ExperienceFields,
    MemLift,
    RetrievalFields,
    TaskFields,
)

from benchmarks.bench import Bench
from benchmarks.streams.recorded import rows

FOLDER = "agent_runs"
FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
A_DATE = 2
K = 3
BATCH = 200
TEXT = 4_000


@dataclass(frozen=True, slots=True)
class Record:
    """A published pair of records: with reflections, and without; `published` is the difference of
    tasks solved that the data's readme gives, over all of its tasks.
    """

    name: str
    source: str
    model: str
    with_: Sequence[str]
    without: str
    published: float


RECORDS = (
    Record(
        "household",
        "alfworld via reflexion",
        "text-davinci-003",
        ("reflexion-alfworld/reflexion/reflexion_run_logs",),
        "reflexion-alfworld/retry/base_run_logs",
        0.44,
    ),
    Record(
        "web_shopping",
        "webshop via reflexion",
        "text-davinci-003",
        (
            "reflexion-webshop/reflexion/reflexion_run_logs_1",
            "reflexion-webshop/reflexion/reflexion_run_logs_2",
        ),
        "reflexion-webshop/retry/base_run_logs_2",
        0.01,
    ),
    Record(
        "questions",
        "HotpotQA via reflexion",
        "text-davinci-003",
        ("reflexion-react/reflexion",),
        "reflexion-react/retry",
        0.23,
    ),
)


@dataclass(frozen=True, slots=True)
class Retried:
    """A task that failed first: whether it was solved with reflections, and without."""

    task: str
    text: str
    reflections: tuple[str, ...]
    solved: bool
    solved_without: bool


Runs = Mapping[str, Mapping[int, Mapping[str, Any]]]
"""By task and retry; 0 is the first run."""


def read_retried(folder: Path, record: Record) -> list[Retried]:
    """What the folder has of a record, in the order of its tasks."""
    tasks = {str(row["id"]): str(row["text"])[:TEXT] for row in rows(folder / "tasks.jsonl.gz")}
    texts = {str(row["id"]): str(row["text"]) for row in rows(folder / "memories.jsonl.gz")}
    runs: dict[str, dict[str, dict[int, Mapping[str, Any]]]] = defaultdict(dict)
    for row in rows(folder / "runs.jsonl.gz"):
        if row["source"] == record.source and row["model"] == record.model:
            by_trial = runs[str(row["agent"])].setdefault(str(row["task_id"]), {})
            by_trial[cast("int", row["trial"])] = row
    base = runs[record.without]
    last = _last(base)
    found: list[Retried] = []
    for agent in record.with_:
        tried = runs[agent]
        retries = min(last, _last(tried))
        failed = [
            task
            for task in sorted(tried.keys() & base.keys())
            if not (tried[task][0]["success"] or base[task][0]["success"])
        ]
        found += [
            Retried(
                task,
                tasks[task],
                tuple(_reflections(tried[task], retries, texts)),
                solved=_is_solved(tried[task], retries),
                solved_without=_is_solved(base[task], retries),
            )
            for task in failed
        ]
    return found


def _last(runs: Runs) -> int:
    return max(trial for trials in runs.values() for trial in trials)


def _is_solved(trials: Mapping[int, Mapping[str, Any]], retries: int) -> bool:
    return any(run["success"] for trial, run in trials.items() if trial <= retries)


def _reflections(
    trials: Mapping[int, Mapping[str, Any]], retries: int, texts: Mapping[str, str]
) -> Iterator[str]:
    shown = [one for trial in sorted(trials) if trial <= retries for one in _shown(trials[trial])]
    for one in dict.fromkeys(shown):
        if one in texts:
            yield texts[one]


def _shown(run: Mapping[str, Any]) -> Sequence[str]:
    return cast("Sequence[str]", run["memory_ids"] or ())


def replay(bench: Bench, client: MemLift, slug: str, data: Path) -> None:
    """Every record in a namespace of its own, and what the server reports of it."""
    for record in RECORDS:
        retried = read_retried(data / FOLDER, record)
        _replay(bench, client, f"{slug}-{record.name.replace('_', '-')}", record, retried)


def _replay(
    bench: Bench, client: MemLift, slug: str, record: Record, retried: Sequence[Retried]
) -> None:
    agent = record.model
    client.create_namespace(slug, clock="replay")
    memory = client.within(slug)
    stored = _remember(memory, record, retried)
    served = own = 0
    for place in range(0, len(retried), A_DATE):
        some = retried[place : place + A_DATE]
        now = FIRST_DAY + DAY * (1 + place // A_DATE)
        asks = [
            RetrievalFields(
                agent=agent,
                task=TaskFields(text=one.text, category=record.name),
                k=K,
                purpose="paired",
                explore=False,
                as_of=now,
            )
            for one in some
        ]
        got = [item.unwrap() for item in memory.retrieve_all(asks)]
        cited = [set(one.guideline.citations.values()) for one in got]
        served += sum(map(bool, cited))
        own += sum(bool(ids & stored[one.task]) for ids, one in zip(cited, some, strict=True))
        reports = [
            BatchedReportFields(
                retrieval_id=str(receipt.retrieval_id),
                reward=float(one.solved),
                without={"reward": float(one.solved_without)},
                reward_kind="binary",
                evaluator="environment",
                verifier="test",
                known_at=now + DAY / 2,
            )
            for receipt, one in zip(got, some, strict=True)
        ]
        for item in memory.report_all(reports):
            item.unwrap()
        memory.apply_outcomes()
    _say(bench, memory, record, retried)
    bench.number(f"{record.name}_served", served, "tasks")
    bench.number(f"{record.name}_own_reflection_served", own, "tasks")


def _remember(
    memory: MemLift, record: Record, retried: Sequence[Retried]
) -> Mapping[str, set[str]]:
    """The reflections of each task, learned before anything is asked; their ids by task."""
    pairs = [(one, text) for one in retried for text in one.reflections]
    found: dict[str, set[str]] = defaultdict(set)
    for start in range(0, len(pairs), BATCH):
        some = pairs[start : start + BATCH]
        drafts = [
            ExperienceFields(
                agent=record.model,
                situation=one.text,
                lesson=text,
                category=record.name,
                task=TaskFields(text=one.text, key=one.task, category=record.name),
                learned_at=FIRST_DAY,
            )
            for one, text in some
        ]
        for item, (one, _) in zip(memory.remember_all(drafts), some, strict=True):
            found[one.task].add(item.unwrap().id)
    return found


def _say(bench: Bench, memory: MemLift, record: Record, retried: Sequence[Retried]) -> None:
    [cell] = memory.effect(agent=record.model, category=record.name)
    effect = cell.paired
    recorded = sum(one.solved - one.solved_without for one in retried) / max(1, len(retried))
    weights = [row.effective_weight for row in memory.each_weight(limit=BATCH)]
    interval = "none" if effect.low is None else f"{effect.low:+.3f} to {effect.high:+.3f}"
    bench.say(
        f"{record.name}: {len(retried)} tasks that failed first, solved more with reflections"
        f" {recorded:+.3f} (published {record.published:+.2f}); the server says"
        f" {effect.mean or 0.0:+.3f}, interval {interval}, {effect.dates} dates, strength"
        f" {cell.strength:.2f}; {len(weights)} memories, weights {min(weights):.2f} to"
        f" {max(weights):.2f}"
    )
    for name, value in (
        ("tasks", len(retried)),
        ("recorded", recorded),
        ("published", record.published),
        ("effect", effect.mean),
        ("effect_low", effect.low),
        ("effect_high", effect.high),
        ("largest_weight", max(weights)),
        ("strength", cell.strength),
    ):
        if value is not None:
            bench.number(f"{record.name}_{name}", value, "")

"""A local dataset, forecast by the agent and scored by the arena's own evaluator."""

from collections.abc import Callable
from pathlib import Path

import arena

from clients.prophet.agent import MemoryAgent
from clients.prophet.resolutions import read_records
from clients.prophet.sdk import ProphetAgent, moments_of, now


def evaluate(path: Path, agent: MemoryAgent, *, replay: bool, say: Callable[[str], None]) -> int:
    """The exit status: 1 where a forecast failed."""
    records = read_records(path)
    dataset = arena.datasets.Dataset.from_records(
        path.stem, "local", [dict(record) for record in records]
    )
    asked_at = moments_of(records) if replay else now
    report = arena.evaluate(ProphetAgent(agent.recall.agent, agent, asked_at), dataset)
    say(f"{report.n_events} events of {path.name}, {len(report.failures)} failures")
    for name, value in (("Brier", report.brier), ("skill", report.skill), ("ECE", report.ece)):
        say(f"{name}: {'none' if value is None else f'{value:.4f}'}")
    for failure in report.failures:
        say(f"{failure.event}#{failure.window}: {failure.error}")
    return 1 if report.failures else 0
